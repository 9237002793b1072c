//! `target.start` in the schema.

use serde_json::{Value, json};

use super::{duration, status};

pub(super) fn start() -> Value {
    json!({
        "type": "object", "additionalProperties": false, "required": ["command", "ready"],
        "description": "How jurat starts the app, in a lane of its own, afresh for each viewport; leave it out when it runs already.",
        "properties": {
            "command": {
                "type": "array", "minItems": 1, "items": { "type": "string" },
                "description": "The program and its arguments; there is no shell. It stays in the foreground."
            },
            "ready": {
                "type": "object", "additionalProperties": false,
                "description": "When the app counts as started.",
                "oneOf": [{ "required": ["path"] }, { "required": ["log"], "not": { "required": ["status"] } }],
                "properties": {
                    "path": { "$ref": "#/$defs/path" },
                    "status": status(Some(200), "The status that means ready."),
                    "log": {
                        "type": "string", "pattern": "\\S",
                        "description": "A text in a line that the app writes when it is ready."
                    },
                    "within": duration("30s", "How long to wait for it.")
                }
            },
            "env": {
                "type": "array", "default": [],
                "description": "What the app gets beside PATH, HOME, TMPDIR and LANG: a name, with the value that jurat has, or a name with its value.",
                "items": { "anyOf": [
                    { "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
                    {
                        "type": "object", "minProperties": 1, "maxProperties": 1,
                        "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
                        "additionalProperties": { "type": "string" }
                    }
                ] }
            },
            "cwd": {
                "type": "string", "pattern": "^[^/]", "description": "Where it runs: a folder at or below the contract's own. Default: the contract's folder."
            },
            "writable": {
                "type": "boolean", "default": false,
                "description": "Whether it may write in its folder: to a private copy that is gone afterwards."
            },
            "network": {
                "enum": ["none", "host"], "default": "none",
                "description": "What it can reach: a loopback device of its own, or the host's network, which evidence names as an exception."
            }
        }
    })
}
