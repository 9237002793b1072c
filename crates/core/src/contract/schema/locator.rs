//! Locators, alone and inline.

use serde_json::{Map, Value, json};

use super::super::decode::ROLES;

const BY: [&str; 6] = ["role", "label", "text", "placeholder", "testid", "css"];

fn properties() -> Map<String, Value> {
    let text = |description: &str| json!({ "type": "string", "pattern": "\\S", "description": description });
    let mut all = Map::new();
    let mut add = |key: &str, value: Value| all.insert(key.to_owned(), value);
    add("role", json!({ "$ref": "#/$defs/role" }));
    add(
        "name",
        text("The accessible name, beside role: a case-insensitive substring unless exact."),
    );
    add("label", text("The label of a form control."));
    add("text", text("A text; the smallest element that has it."));
    add("placeholder", text("The placeholder of a form control."));
    add("testid", text("data-testid, exactly."));
    add("css", text("A CSS selector; the last resort."));
    add(
        "exact",
        json!({
            "type": "boolean", "default": false,
            "description": "The whole text, case-sensitively, instead of a case-insensitive substring."
        }),
    );
    add(
        "regex",
        json!({
            "type": "boolean", "default": false,
            "description": "The text is a regular expression, case-sensitive; plain parts only (no look-around, flags or named groups)."
        }),
    );
    add(
        "nth",
        json!({
            "type": "integer", "minimum": -10_000, "maximum": 10_000,
            "description": "Which of several matches, from 0; -1 is the last. Without it, several matches are an error."
        }),
    );
    add("within", json!({ "$ref": "#/$defs/within" }));
    all
}

/// The roles, once.
pub(super) fn role() -> Value {
    json!({ "enum": ROLES, "description": "An ARIA role. Preferred, with name." })
}

/// A locator that stands for itself.
pub(super) fn alone() -> Value {
    with(Map::new(), &[], "Names one element.")
}

/// A locator with more fields beside it.
pub(super) fn with(more: Map<String, Value>, required: &[&str], description: &str) -> Value {
    let mut schema = any(more, required, description);
    if let Some(fields) = schema.as_object_mut() {
        fields.insert(
            "oneOf".into(),
            BY.iter().map(|key| json!({ "required": [key] })).collect(),
        );
    }
    schema
}

/// More fields, with a locator or without.
pub(super) fn perhaps(more: Map<String, Value>, required: &[&str], description: &str) -> Value {
    let mut schema = any(more, required, description);
    if let Some(fields) = schema.as_object_mut() {
        let mut branches: Vec<Value> = BY.iter().map(|key| json!({ "required": [key] })).collect();
        let every: Vec<Value> = properties().keys().map(|key| json!({ "required": [key] })).collect();
        branches.push(json!({ "not": { "anyOf": every } }));
        fields.insert("oneOf".into(), branches.into());
    }
    schema
}

fn any(more: Map<String, Value>, required: &[&str], description: &str) -> Value {
    let mut all = properties();
    all.extend(more);
    json!({
        "type": "object", "additionalProperties": false, "description": description,
        "properties": all,
        "required": required,
        "dependentRequired": { "name": ["role"] },
        "not": {
            "required": ["exact", "regex"],
            "properties": { "exact": { "const": true }, "regex": { "const": true } }
        }
    })
}

/// Where a locator looks.
pub(super) fn within() -> Value {
    json!({
        "description": "Where to look: inside another element, or inside the document of a frame.",
        "oneOf": [
            { "$ref": "#/$defs/locator" },
            {
                "type": "object", "additionalProperties": false, "required": ["frame"],
                "properties": { "frame": {
                    "description": "A frame, by its name, id or title, or by a locator of the frame element.",
                    "oneOf": [{ "type": "string", "pattern": "\\S" }, { "$ref": "#/$defs/locator" }]
                } }
            }
        ]
    })
}
