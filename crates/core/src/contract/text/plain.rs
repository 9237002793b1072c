//! The tree as plain JSON, for other readers than ours.

use serde_json::Value as Json;

use super::{Node, Value};

/// The same as `serde_json` holds it; a number that JSON cannot say stays a text.
pub(crate) fn plain(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(b) => Json::Bool(*b),
        Value::Number(n) => serde_json::from_str(n).unwrap_or_else(|_| Json::String(n.clone())),
        Value::Text(t) => Json::String(t.clone()),
        Value::List(items) => items.iter().map(plain).collect(),
        Value::Map(entries) => entries.iter().map(|e| (e.key.clone(), plain(&e.value))).collect(),
    }
}
