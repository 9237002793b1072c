//! Steps.

use serde_json::{Map, Value, json};

use super::expectation::fields;
use super::locator::{perhaps, with};
use super::{one_of, path, whole};
use crate::contract::decode::{KEY_NAMES, STEPS};

pub(super) fn step() -> Value {
    let mut schema = one_of(STEPS, &properties(), "One step: exactly one action.");
    if let Some(all) = schema.as_object_mut() {
        all.insert(
            "not".into(),
            json!({ "required": ["dialog"], "anyOf": [{ "required": ["wait"] }, { "required": ["expect"] }] }),
        );
    }
    schema
}

fn properties() -> Map<String, Value> {
    let locator = |description: &str| json!({ "$ref": "#/$defs/locator", "description": description });
    let nothing =
        |description: &str| json!({ "type": "object", "additionalProperties": false, "description": description });
    let text = |description: &str| json!({ "type": "string", "description": description });
    let mut all = Map::new();
    let mut add = |key: &str, value: Value| all.insert(key.to_owned(), value);
    add("id", json!({ "$ref": "#/$defs/id" }));
    add(
        "page",
        json!({
            "enum": ["main", "popup"], "default": "main",
            "description": "The tab it acts in; popup is the newest other one."
        }),
    );
    add(
        "dialog",
        json!({
            "type": "object", "additionalProperties": false, "required": ["accept"],
            "description": "How a dialog that this step opens is answered. Without it, dialogs are dismissed.",
            "properties": {
                "accept": {
                    "type": ["boolean", "string"],
                    "description": "true is OK, false is Cancel, a text answers a prompt."
                },
                "message": text("What the dialog must say, exactly.")
            }
        }),
    );
    add("navigate", path("Loads a path of the target."));
    add("reload", nothing("Reloads the page. Write {}."));
    add("back", nothing("Goes one page back. Write {}."));
    add(
        "click",
        with(
            fields([
                ("count", whole(1, 3, Some(1), "2 is a double click.")),
                (
                    "button",
                    json!({ "enum": ["left", "middle", "right"], "default": "left", "description": "Which button." }),
                ),
                (
                    "modifiers",
                    json!({
                        "type": "array", "minItems": 1, "uniqueItems": true,
                        "items": { "enum": ["Alt", "Control", "Meta", "Shift"] },
                        "description": "Keys that are held down."
                    }),
                ),
            ]),
            &[],
            "Clicks an element.",
        ),
    );
    add(
        "fill",
        with(
            fields([("value", text("Empty to clear it."))]),
            &["value"],
            "Gives a form control a value at once.",
        ),
    );
    add(
        "type",
        with(
            fields([(
                "value",
                json!({ "type": "string", "minLength": 1, "description": "What is typed." }),
            )]),
            &["value"],
            "Types key by key.",
        ),
    );
    let names: Vec<&str> = KEY_NAMES.to_vec();
    add(
        "press",
        perhaps(
            fields([(
                "key",
                json!({
                    "type": "string",
                    "pattern": format!("^((Alt|Control|Meta|Shift)\\+){{0,4}}({}|.)$", names.join("|")),
                    "description": "A character, a key such as Enter or ArrowDown, or a chord such as Control+a.",
                    "examples": names
                }),
            )]),
            &["key"],
            "Presses a key, in the focused element when no locator stands.",
        ),
    );
    add("check", locator("Makes a checkbox, radio or switch checked."));
    add("uncheck", locator("Makes a checkbox or switch unchecked."));
    add("hover", locator("Moves the pointer over an element."));
    add(
        "drag",
        with(
            fields([("to", locator("Where it is dropped."))]),
            &["to"],
            "Drags an element onto another.",
        ),
    );
    add("scroll", locator("Scrolls an element into view."));
    let mut select = with(
        fields([
            ("option", text("One option, by its label or value.")),
            (
                "options",
                json!({
                    "type": "array", "minItems": 1, "uniqueItems": true, "items": { "type": "string" },
                    "description": "Several options, by label or value."
                }),
            ),
        ]),
        &[],
        "Chooses in a native select.",
    );
    if let Some(fields) = select.as_object_mut() {
        let one = json!([{ "oneOf": [{ "required": ["option"] }, { "required": ["options"] }] }]);
        fields.insert("allOf".into(), one);
    }
    add("select", select);
    add(
        "upload",
        with(
            fields([(
                "files",
                json!({
                    "type": "array", "minItems": 1,
                    "items": { "type": "string", "pattern": "^(?!/)(?!~)(?!.*(^|/)\\.\\.(/|$))[^\\\\]+$" },
                    "description": "Files beside the contract, by relative paths."
                }),
            )]),
            &["files"],
            "Gives files to a file input, or to the control that opens a file chooser.",
        ),
    );
    add(
        "wait",
        json!({
            "$ref": "#/$defs/expectation",
            "description": "Waits until this holds; what showed and went before does not count against it."
        }),
    );
    add(
        "expect",
        json!({ "$ref": "#/$defs/expectation", "description": "Demands that this holds." }),
    );
    all
}
