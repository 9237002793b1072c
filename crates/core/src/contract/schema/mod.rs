//! The published JSON Schema of a contract (2020-12), for editors and other tools.
//!
//! It says what shape a contract has. [`super::parse()`] is stricter: it also knows what a schema cannot say (unique ids,
//! origins that agree, patterns that compile). What the schema refuses, `parse` refuses too.

mod expectation;
mod locator;
mod start;
mod step;

use serde_json::{Map, Value, json};

use super::permission::PERMISSIONS;

/// The JSON Schema of `contract/1`.
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://jurat.dev/schemas/contract-1.json",
        "title": "jurat contract, version 1",
        "description": "What must hold for a web page: what is done, and what must be seen then.",
        "type": "object",
        "additionalProperties": false,
        "required": ["jurat", "name", "target"],
        "anyOf": [
            { "required": ["steps"] },
            { "required": ["expect"] },
            { "required": ["checks"] },
            { "required": ["accept"] },
            { "properties": { "target": { "type": "object", "required": ["http"] } } }
        ],
        "properties": {
            "jurat": { "const": "contract/1", "description": "The version of this format." },
            "name": {
                "type": "string", "pattern": "\\S", "maxLength": 200,
                "description": "One line that says what is proven, such as: a note survives a reload."
            },
            "target": target(),
            "viewports": {
                "type": "array", "minItems": 1,
                "items": { "$ref": "#/$defs/viewport" },
                "default": [{ "name": "desktop", "width": 1440, "height": 900 }],
                "description": "The windows that everything is done in, one after the other, each in a fresh context."
            },
            "emulate": emulate(),
            "steps": {
                "type": "array", "minItems": 1,
                "items": { "$ref": "#/$defs/step" },
                "description": "What is done, in order. Each step is a criterion: step-1, step-2, … or its own id."
            },
            "expect": {
                "type": "array", "minItems": 1,
                "items": { "$ref": "#/$defs/end_expectation" },
                "description": "What must hold at the end, when all requests have been answered and the page has settled."
            },
            "checks": {
                "type": "array", "minItems": 1, "uniqueItems": true,
                "items": { "enum": [
                    "responsive", "keyboard", "accessibility", "reduced-motion", "loading", "error", "repeated-action"
                ] },
                "description": "Built-in checks, run on each viewport."
            },
            "accept": {
                "type": "string", "pattern": "\\S", "maxLength": 4096,
                "description": "An acceptance prompt in plain words, kept verbatim; at most 4096 bytes."
            },
            "budget": {
                "type": "object", "additionalProperties": false,
                "description": "How long and how much.",
                "properties": {
                    "wall": duration("120s", "The whole run of this contract; at most 30m."),
                    "step": duration("10s", "One step or expectation; at most wall. Default: 10s, or wall where that is less."),
                    "judge_rounds": whole(1, 100, Some(3), "Rounds of a judge."),
                    "agent_steps": whole(1, 1000, Some(20), "Steps of an agent.")
                }
            },
            "capture": {
                "type": "object", "additionalProperties": false,
                "description": "What is kept beside the facts.",
                "properties": { "screenshot": {
                    "enum": ["never", "on-failure", "always"], "default": "on-failure",
                    "description": "When a screenshot is kept."
                } }
            }
        },
        "$defs": defs()
    })
}

fn defs() -> Value {
    let mut defs = Map::new();
    defs.insert("id".into(), json!({
        "type": "string",
        "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$",
        "not": { "anyOf": [
            { "pattern": "^(step|expect|target-http)-[0-9]+$" },
            { "enum": [
                "accept", "responsive", "keyboard", "accessibility", "reduced-motion", "loading", "error", "repeated-action"
            ] }
        ] },
        "description": "A name of your own for this criterion; unique in the contract."
    }));
    defs.insert("viewport".into(), json!({
        "type": "object", "additionalProperties": false, "required": ["name", "width", "height"],
        "properties": {
            "name": {
                "type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,63}$",
                "description": "Its name in reports; unique."
            },
            "width": whole(240, 7680, None, "CSS pixels."),
            "height": whole(240, 7680, None, "CSS pixels."),
            "mobile": { "type": "boolean", "description": "Mobile layout and touch. Default: true when it is less than 600 px wide." },
            "scale": whole(1, 4, Some(1), "Device pixels for one CSS pixel.")
        }
    }));
    defs.insert("path".into(), path("A path of the target, beginning with one \"/\"."));
    defs.insert("role".into(), locator::role());
    defs.insert("locator".into(), locator::alone());
    defs.insert("within".into(), locator::within());
    defs.insert("expectation".into(), expectation::alone());
    defs.insert("end_expectation".into(), expectation::at_the_end());
    defs.insert("step".into(), step::step());
    Value::Object(defs)
}

fn target() -> Value {
    let origin = "^[hH][tT][tT][pP][sS]?://[^/?#@*\\s]+/?$";
    json!({
        "type": "object", "additionalProperties": false, "required": ["url"],
        "description": "The page under test. Its exact origin is the only address that can be reached.",
        "properties": {
            "url": {
                "type": "string", "pattern": "^[hH][tT][tT][pP][sS]?:[^#\\s]+$",
                "description": "Where it is: http or https, loopback, without credentials and fragment.",
                "examples": ["http://127.0.0.1:4173/"]
            },
            "allow": {
                "type": "array", "uniqueItems": true, "default": [],
                "items": { "type": "string", "pattern": origin },
                "description": "Further exact origins that may be reached; each is an exception that the report names."
            },
            "refuse": {
                "type": "array", "uniqueItems": true, "default": [],
                "items": { "type": "string", "pattern": "^[hH][tT][tT][pP][sS]?://(\\*\\.)?[^/?#@*\\s]+/?$" },
                "description": "Third parties (fonts, analytics) that are refused without holding it against the page: exact origins, or https://*.host."
            },
            "start": start::start(),
            "http": {
                "type": "array", "minItems": 1,
                "description": "Plain HTTP criteria, checked before the browser opens.",
                "items": {
                    "type": "object", "additionalProperties": false, "required": ["path"],
                    "properties": {
                        "path": { "$ref": "#/$defs/path" },
                        "status": status(Some(200), "The status it must be answered with.")
                    }
                }
            }
        }
    })
}

fn emulate() -> Value {
    let permissions: Vec<&str> = PERMISSIONS.iter().map(|(name, _)| *name).collect();
    json!({
        "type": "object", "additionalProperties": false,
        "description": "What the browser pretends to be.",
        "properties": {
            "locale": {
                "type": "string", "pattern": "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$", "default": "en-US",
                "description": "A BCP 47 language tag."
            },
            "timezone": {
                "type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z][A-Za-z0-9_+-]*){0,2}$", "default": "UTC",
                "description": "The name of an IANA time zone.", "examples": ["Europe/Berlin"]
            },
            "color_scheme": { "enum": ["light", "dark"], "default": "light", "description": "prefers-color-scheme." },
            "reduced_motion": {
                "enum": ["no-preference", "reduce"], "default": "no-preference",
                "description": "prefers-reduced-motion."
            },
            "permissions": {
                "type": "array", "minItems": 1, "uniqueItems": true, "items": { "enum": permissions },
                "description": "Permissions granted to the target."
            },
            "geolocation": {
                "type": "object", "additionalProperties": false, "required": ["latitude", "longitude"],
                "description": "A position for the Geolocation API; the permission is granted apart.",
                "properties": {
                    "latitude": decimal(90), "longitude": decimal(180),
                    "accuracy": whole(1, 1_000_000, Some(1), "Metres.")
                }
            }
        }
    })
}

fn decimal(most: u32) -> Value {
    json!({
        "description": format!("Decimal degrees, -{most} to {most}."),
        "anyOf": [
            { "type": "number", "minimum": -i64::from(most), "maximum": most },
            { "type": "string", "pattern": "^-?(0|[1-9][0-9]*)(\\.[0-9]{1,12})?$" }
        ]
    })
}

/// A path.
fn path(description: &str) -> Value {
    json!({ "type": "string", "pattern": "^/(?![/\\\\])", "description": description, "examples": ["/"] })
}

/// A duration.
fn duration(default: &str, description: &str) -> Value {
    json!({
        "type": "string", "pattern": "^[1-9][0-9]*(ms|s|m)$", "default": default, "description": description,
        "examples": ["500ms", "10s", "2m"]
    })
}

/// A whole number.
fn whole(least: i64, most: i64, default: Option<i64>, description: &str) -> Value {
    let mut schema = json!({ "type": "integer", "minimum": least, "maximum": most, "description": description });
    if let (Some(default), Some(fields)) = (default, schema.as_object_mut()) {
        fields.insert("default".into(), default.into());
    }
    schema
}

/// An HTTP status.
fn status(default: Option<i64>, description: &str) -> Value {
    whole(100, 599, default, description)
}

/// An object of which exactly one of `one_of` stands.
fn one_of(one_of: &[&str], properties: &Map<String, Value>, description: &str) -> Value {
    let branches: Vec<Value> = one_of.iter().map(|key| json!({ "required": [key] })).collect();
    json!({
        "type": "object", "additionalProperties": false, "description": description,
        "properties": properties, "oneOf": branches
    })
}
