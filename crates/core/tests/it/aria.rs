//! ARIA snapshots: every rule with a tree that holds and a twin that does not.

use jurat_core::aria::{Node, Template, Tristate, matches, render, tidy};

fn holds(template: &str, seen: &[Node]) -> bool {
    matches(
        &Template::parse(template).unwrap_or_else(|e| panic!("{template}: {e}")),
        seen,
    )
    .is_ok()
}

fn el(role: &str, name: &str) -> Node {
    Node::element(role, name)
}

fn list() -> Vec<Node> {
    vec![
        Node {
            level: Some(1),
            ..el("heading", "Notes")
        },
        el("list", "Notes").with(vec![
            el("listitem", "").with(vec![Node::text("milk")]),
            el("listitem", "").with(vec![Node::text("bread "), el("link", "Edit"), Node::text(" today")]),
        ]),
        Node {
            disabled: true,
            ..el("button", "Add")
        },
        Node {
            checked: Some(Tristate::Mixed),
            ..el("checkbox", "All")
        },
    ]
}

#[test]
fn a_template_matches_a_part_of_the_tree_and_its_twin_does_not() {
    for (template, twin) in [
        ("- heading \"Notes\"", "- heading \"notes\""),
        ("- heading", "- banner"),
        ("- heading \"Notes\" [level=1]", "- heading \"Notes\" [level=2]"),
        ("- heading /^N.tes$/", "- heading /^n.tes$/"),
        ("- button \"Add\" [disabled]", "- button \"Add\" [disabled=false]"),
        ("- checkbox \"All\" [checked=mixed]", "- checkbox \"All\" [checked]"),
        ("- listitem: milk", "- listitem: mil"),
        ("- listitem: /mil/", "- listitem: /^il/"),
        (
            "- list:\n  - listitem: milk\n  - listitem",
            "- list:\n  - listitem: milk\n  - listitem\n  - listitem",
        ),
        (
            "- list \"Notes\":\n  - listitem:\n    - link \"Edit\"",
            "- list \"Notes\":\n  - listitem: milk\n  - listitem: milk",
        ),
        (
            "- listitem:\n  - text: bread\n  - link\n  - text: today",
            "- listitem:\n  - link\n  - text: bread",
        ),
        ("- heading\n- list\n- button", "- list\n- heading\n- button"),
        ("- heading\n- checkbox", "- checkbox\n- heading"),
        (
            "- list:\n  - /children: equal\n  - listitem\n  - listitem",
            "- list:\n  - /children: equal\n  - listitem",
        ),
        (
            "- list:\n  - /children: equal\n  - listitem: milk\n  - listitem:\n    - link",
            "- list:\n  - /children: deep-equal\n  - listitem: milk\n  - listitem:\n    - link",
        ),
        ("- text: milk", "- text: cream"),
    ] {
        assert!(holds(template, &list()), "{template}");
        assert!(!holds(twin, &list()), "{twin}");
    }
}

#[test]
fn properties_and_states() {
    let link = Node {
        url: Some(jurat_core::untrusted::Untrusted::new("/a?b")),
        ..el("link", "Home")
    };
    assert!(holds("- link \"Home\":\n  - /url: /a?b", std::slice::from_ref(&link)));
    assert!(holds("- link:\n  - /url: /^.a/", std::slice::from_ref(&link)));
    assert!(!holds("- link:\n  - /url: /b", std::slice::from_ref(&link)));
    assert!(!holds("- link:\n  - /url: /a", &[el("link", "Home")]));
    let tab = Node {
        selected: Some(true),
        expanded: Some(false),
        active: true,
        ..el("tab", "One")
    };
    assert!(holds(
        "- tab [selected] [expanded=false] [active]",
        std::slice::from_ref(&tab)
    ));
    assert!(!holds("- tab [selected=false]", std::slice::from_ref(&tab)));
    assert!(
        !holds("- tab [pressed=false]", std::slice::from_ref(&tab)),
        "a state that it has not is not false"
    );
}

#[test]
fn white_space_generic_elements_and_repeated_names_do_not_matter() {
    let seen = [el("generic", "").with(vec![
        el("button", "Save it").with(vec![Node::text("Save it")]),
        el("paragraph", "").with(vec![
            Node::text("one "),
            el("generic", "").with(vec![Node::text("\n two")]),
        ]),
    ])];
    assert!(holds("- button \"Save   it\"", &seen));
    assert!(holds("- paragraph: one   two", &seen));
    assert!(!holds("- paragraph: onetwo", &seen));
    assert!(holds("- img", &[el("image", "x")]) && holds("- image", &[el("img", "x")]));
}

#[test]
fn a_text_between_slashes_may_be_meant_as_it_is() {
    assert!(holds(
        "- paragraph: /api/",
        &[el("paragraph", "").with(vec![Node::text("/api/")])]
    ));
    assert!(
        holds("- text: 12", &[Node::text("12")])
            && holds("- listitem: true", &[el("listitem", "").with(vec![Node::text("true")])])
    );
}

#[test]
fn a_mismatch_names_the_line_and_the_nearest_that_was_seen() {
    let mismatch = |template: &str| matches(&Template::parse(template).unwrap(), &list()).unwrap_err();
    let found = mismatch("- list \"Notes\":\n  - listitem: milk\n  - listitem: butter\n");
    assert_eq!((found.line, found.expected.as_str()), (3, "text: butter"));
    assert_eq!(found.seen.unwrap().raw(), "text: bread");
    let found = mismatch("- heading \"Tasks\"");
    assert_eq!(
        (found.line, found.seen.unwrap().raw()),
        (1, "heading \"Notes\" [level=1]")
    );
    let found = mismatch("- dialog");
    assert_eq!((found.line, found.seen), (1, None));
    let found = mismatch("- list:\n  - /children: equal\n  - listitem");
    assert!(found.to_string().contains("no more children of list"), "{found}");
    assert!(
        !matches(&Template::parse("- dialog").unwrap(), &[el("heading", "\u{1b}[31m")])
            .unwrap_err()
            .to_string()
            .contains('\u{1b}')
    );
}

#[test]
fn a_template_that_would_match_nothing_or_anything_is_refused_with_its_line() {
    for (template, line) in [
        ("", 1),
        ("heading", 1),
        ("- heading\n- buton", 2),
        ("- heading \"x", 1),
        ("- heading [levl=1]", 1),
        ("- heading [level=0]", 1),
        ("- heading [level=1] [level=2]", 1),
        ("- checkbox [checked=yes]", 1),
        ("- list:\n  - /children: some", 2),
        ("- list:\n  - /title: x", 2),
        ("- list: {}", 1),
        ("- list: []", 1),
        ("- list:", 1),
        ("- text", 1),
        ("- generic", 1),
        ("- heading /(/", 1),
        ("- heading \"a\" b", 1),
        ("- /children: equal", 1),
        ("- /url: /", 1),
        ("- 12", 1),
        ("- *a", 1),
        ("- &a heading", 1),
    ] {
        let error = Template::parse(template).expect_err(template);
        assert_eq!(error.line, line, "{template}: {error}");
    }
}

#[test]
fn a_rendered_tree_is_a_template_that_matches_it() {
    let seen = vec![
        Node {
            level: Some(2),
            ..el("heading", "a \"b\" \\ c: d # e")
        },
        el("paragraph", "").with(vec![Node::text("- not: a list")]),
        el("paragraph", "").with(vec![Node::text("\u{1b}[31m \u{2028} null")]),
        Node {
            url: Some(jurat_core::untrusted::Untrusted::new("/x y")),
            ..el("link", "L")
        }
        .with(vec![el("img", "i")]),
        Node {
            pressed: Some(Tristate::True),
            expanded: Some(true),
            ..el("button", "[x]")
        },
        el("iframe", ""),
    ];
    let text = render(&seen);
    assert!(holds(&text, &seen), "{text}");
    assert_eq!(
        render(&list()),
        "- heading \"Notes\" [level=1]\n- list \"Notes\":\n  - listitem: milk\n  - listitem:\n    - text: bread\n    - link \"Edit\"\n    - text: today\n- button \"Add\" [disabled]\n- checkbox \"All\" [checked=mixed]\n"
    );
}

#[test]
fn a_tree_is_stored_and_read_again() {
    let json = serde_json::to_string(&list()).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Node>>(&json).unwrap(), list());
    assert!(serde_json::from_str::<Node>("{\"role\":\"x\",\"other\":1}").is_err());
    assert_eq!(tidy(&tidy(&list())), tidy(&list()));
}
