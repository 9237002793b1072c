//! Expectations.

use serde_json::{Map, Value, json};

use super::locator::{perhaps, with};
use super::{one_of, status, whole};
use crate::contract::decode::EXPECTATIONS;

/// An expectation in a step.
pub(super) fn alone() -> Value {
    one_of(EXPECTATIONS, &properties(), "What must hold: exactly one of these.")
}

/// An expectation at the end.
pub(super) fn at_the_end() -> Value {
    let mut all = properties();
    all.insert("id".into(), json!({ "$ref": "#/$defs/id" }));
    one_of(
        EXPECTATIONS,
        &all,
        "What must hold at the end: exactly one of these, and an id if you like.",
    )
}

/// Fields beside a locator.
pub(super) fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn properties() -> Map<String, Value> {
    let locator = |description: &str| json!({ "$ref": "#/$defs/locator", "description": description });
    let valued = |value: Value, description: &str| with(fields([("value", value)]), &["value"], description);
    let text = |description: &str| json!({ "type": "string", "description": description });
    let some_text = |description: &str| json!({ "type": "string", "minLength": 1, "description": description });
    let url = |description: &str| {
        json!({
            "type": "string", "pattern": "^(/(?![/\\\\])|[hH][tT][tT][pP][sS]?://)", "description": description,
            "examples": ["/"]
        })
    };
    let mut all = Map::new();
    let mut add = |key: &str, value: Value| all.insert(key.to_owned(), value);
    add("visible", locator("A person could see it."));
    add(
        "hidden",
        locator("No match that a person could see, now and for a moment after."),
    );
    add(
        "present",
        locator("It is in the document, whether or not it can be seen."),
    );
    add(
        "absent",
        locator("No match in the document, now and for a moment after."),
    );
    add(
        "text_equals",
        valued(text("The whole text, white space folded."), "Its text is this."),
    );
    add(
        "text_contains",
        valued(
            some_text("A part of the text, case-sensitively."),
            "Its text has this in it.",
        ),
    );
    add(
        "value_equals",
        valued(text("The whole value."), "A form control has this value."),
    );
    add(
        "attribute_equals",
        with(
            fields([
                (
                    "attribute",
                    json!({
                        "type": "string", "pattern": "^[^\\s\"'>/=]+$", "description": "The attribute's name."
                    }),
                ),
                ("value", text("Its value, exactly.")),
            ]),
            &["attribute", "value"],
            "An attribute has this value.",
        ),
    );
    let mut count = valued(whole(0, 1_000_000, None, "How many."), "There are this many matches.");
    if let Some(properties) = count.get_mut("properties").and_then(Value::as_object_mut) {
        properties.remove("nth");
    }
    add("count", count);
    add("checked", locator("A checkbox, radio or switch is checked."));
    add(
        "url_is",
        url("The URL of the page, query and fragment included: a path of the target, or a URL of an allowed origin."),
    );
    add(
        "url_prefix",
        url("What the URL of the page begins with, up to the end of a path segment."),
    );
    add("title_equals", text("The title of the document."));
    add(
        "aria_snapshot",
        perhaps(
            fields([(
                "template",
                json!({
                    "type": "string", "pattern": "\\S",
                    "description": "The accessibility tree, in Playwright's ARIA snapshot syntax."
                }),
            )]),
            &["template"],
            "The accessibility tree of an element, or of the page, has this in it.",
        ),
    );
    add(
        "request",
        json!({
            "type": "object", "additionalProperties": false, "required": ["method", "path"],
            "description": "A request that left the browser since the last action.",
            "properties": {
                "method": {
                    "type": "string", "pattern": "^[A-Z_-]{1,32}$", "description": "In upper case.",
                    "examples": ["GET", "POST"]
                },
                "path": {
                    "type": "string", "pattern": "^/(?![/\\\\])[^#]*$",
                    "description": "Path and query exactly; the path alone when it has no \"?\"."
                },
                "status": status(None, "The status it was answered with; any when left out."),
                "count": whole(0, 1_000_000, None, "Exactly how many; at least one when left out.")
            }
        }),
    );
    add(
        "console_clean",
        json!({
            "type": "object", "additionalProperties": false,
            "description": "No console.error, uncaught exception or unhandled rejection since the last action. Write {}."
        }),
    );
    all
}
