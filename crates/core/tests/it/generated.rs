//! Generated contracts, as JSON values that should parse.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn word() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 \u{e9}\u{1f600}\"'\\\\:#{}\\[\\],&*!|>%@`-]{0,12}".prop_map(|s| format!("x{s}"))
}

/// Some fields, each there or not.
fn some(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Map<String, Value>> {
    fields
        .into_iter()
        .map(|(key, value)| option::of(value).prop_map(move |v| v.map(|v| (key.to_owned(), v))))
        .collect::<Vec<_>>()
        .prop_map(|fields| fields.into_iter().flatten().collect())
        .boxed()
}

fn merged(a: BoxedStrategy<Map<String, Value>>, b: BoxedStrategy<Map<String, Value>>) -> BoxedStrategy<Value> {
    (a, b)
        .prop_map(|(mut a, b)| {
            a.extend(b);
            Value::Object(a)
        })
        .boxed()
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn text() -> BoxedStrategy<Value> {
    word().prop_map(Value::String).boxed()
}

fn flag() -> BoxedStrategy<Value> {
    any::<bool>().prop_map(Value::Bool).boxed()
}

fn pick(values: &'static [&'static str]) -> BoxedStrategy<Value> {
    proptest::sample::select(values).prop_map(|v| json!(v)).boxed()
}

fn locator() -> BoxedStrategy<Map<String, Value>> {
    let by = prop_oneof![
        (pick(&["button", "link", "list"]), text(), flag())
            .prop_map(|(r, n, e)| json!({"role": r, "name": n, "exact": e})),
        pick(&["heading", "row"]).prop_map(|r| json!({ "role": r })),
        (text(), flag()).prop_map(|(t, e)| json!({"label": t, "exact": e})),
        (text(), flag()).prop_map(|(t, e)| json!({"text": t, "exact": e})),
        text().prop_map(|t| json!({ "placeholder": t })),
        Just(json!({"text": "^a+$", "regex": true})),
        text().prop_map(|t| json!({ "testid": t })),
        Just(json!({"css": "main > a"})),
    ];
    let leaf = (by, option::of(-5..5_i32))
        .prop_map(|(by, nth)| {
            let mut all = fields(by);
            if let Some(nth) = nth {
                all.insert("nth".into(), json!(nth));
            }
            all
        })
        .boxed();
    leaf.prop_recursive(3, 6, 2, |inner| {
        (inner.clone(), inner, 0..3)
            .prop_map(|(mut a, b, how)| {
                a.insert(
                    "within".into(),
                    match how {
                        0 => Value::Object(b),
                        1 => json!({"frame": Value::Object(b)}),
                        _ => json!({"frame": "f"}),
                    },
                );
                a
            })
            .boxed()
    })
    .boxed()
}

fn with(more: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let all: Vec<_> = more
        .into_iter()
        .map(|(key, value)| value.prop_map(move |v| (key.to_owned(), v)))
        .collect();
    merged(locator(), all.prop_map(|fields| fields.into_iter().collect()).boxed())
}

fn expectation() -> BoxedStrategy<Map<String, Value>> {
    let one = |key: &'static str, value: BoxedStrategy<Value>| {
        value.prop_map(move |v| Map::from_iter([(key.to_owned(), v)])).boxed()
    };
    let request = (pick(&["GET", "POST"]), option::of(100..600_u32), option::of(0..5_u32)).prop_map(|(m, s, c)| {
        let mut all = fields(json!({"method": m, "path": "/a?b"}));
        all.extend(s.map(|s| ("status".to_owned(), json!(s))));
        all.extend(c.map(|c| ("count".to_owned(), json!(c))));
        Value::Object(all)
    });
    prop_oneof![
        one("visible", with(vec![])),
        one("hidden", with(vec![])),
        one("text_contains", with(vec![("value", text())])),
        one(
            "attribute_equals",
            with(vec![("attribute", pick(&["href", "aria-busy"])), ("value", text())])
        ),
        one("title_equals", text()),
        one("url_is", pick(&["/", "/a?b#c", "http://127.0.0.1:4173/"])),
        one("request", request.boxed()),
        one("console_clean", Just(json!({})).boxed()),
        one(
            "aria_snapshot",
            with(vec![("template", pick(&["- list", "- button \"x\" [pressed]"]))])
        ),
    ]
    .boxed()
}

fn step() -> BoxedStrategy<Value> {
    let one = |key: &'static str, value: BoxedStrategy<Value>| {
        value.prop_map(move |v| Map::from_iter([(key.to_owned(), v)])).boxed()
    };
    let action = prop_oneof![
        one("navigate", pick(&["/", "/a", "/a?b=c#d", "/a b"])),
        one("reload", Just(json!({})).boxed()),
        one(
            "click",
            with(vec![
                ("count", (1..4_u32).prop_map(|n| json!(n)).boxed()),
                ("button", pick(&["left", "right"]))
            ])
        ),
        one("fill", with(vec![("value", text())])),
        one(
            "press",
            pick(&["Enter", "a", "+", "Control+Shift+a", "Space"])
                .prop_map(|k| json!({ "key": k }))
                .boxed()
        ),
        one("select", with(vec![("option", text())])),
        one("drag", with(vec![("to", with(vec![]))])),
    ];
    let beside = some(vec![
        ("page", pick(&["main", "popup"])),
        (
            "dialog",
            prop_oneof![
                Just(json!({"accept": true})),
                text().prop_map(|t| json!({"accept": t, "message": "m"}))
            ]
            .boxed(),
        ),
    ]);
    let acting = merged(action.boxed(), beside);
    prop_oneof![
        acting,
        expectation().prop_map(|e| json!({ "expect": e })),
        expectation().prop_map(|e| json!({ "wait": e }))
    ]
    .boxed()
}

/// A contract that parses.
pub(crate) fn contract() -> impl Strategy<Value = Value> {
    let target = some(vec![
        ("allow", Just(json!(["https://a.example"])).boxed()),
        (
            "refuse",
            Just(json!(["https://*.b.example", "http://c.example:81"])).boxed(),
        ),
        ("http", Just(json!([{"path": "/"}])).boxed()),
    ]);
    let more = some(vec![
        (
            "expect",
            vec(expectation().prop_map(Value::Object), 1..4)
                .prop_map(Value::Array)
                .boxed(),
        ),
        ("accept", text()),
        ("checks", Just(json!(["keyboard", "error"])).boxed()),
        ("budget", Just(json!({"wall": "90s", "step": "10s"})).boxed()),
        (
            "emulate",
            some(vec![
                ("locale", pick(&["en-US", "de"])),
                ("color_scheme", pick(&["light", "dark"])),
                (
                    "geolocation",
                    (-90..90_i32, 0..1000_u32)
                        .prop_map(|(a, b)| json!({"latitude": a, "longitude": format!("12.{b}")}))
                        .boxed(),
                ),
            ])
            .prop_map(Value::Object)
            .boxed(),
        ),
        (
            "viewports",
            (240..2000_u32, option::of(any::<bool>()))
                .prop_map(|(w, m)| {
                    let mut all = fields(json!({"name": "a", "width": w, "height": 900}));
                    all.extend(m.map(|m| ("mobile".to_owned(), json!(m))));
                    json!([all])
                })
                .boxed(),
        ),
        (
            "capture",
            pick(&["never", "on-failure", "always"])
                .prop_map(|s| json!({ "screenshot": s }))
                .boxed(),
        ),
    ]);
    (word(), target, vec(step(), 1..5), more).prop_map(|(name, mut target, steps, mut all)| {
        target.insert("url".into(), json!("http://127.0.0.1:4173/"));
        all.extend(fields(
            json!({"jurat": "contract/1", "name": name, "target": target, "steps": steps}),
        ));
        Value::Object(all)
    })
}
