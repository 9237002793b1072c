//! Text to a small tree with positions: what YAML and JSON have in common.
//!
//! Owns the syntax alone. It knows no key of a contract. Refused here: anchors, aliases, tags, merge keys, several
//! documents, duplicate keys, keys that are no text, more than [`MAX_BYTES`] bytes, deeper than [`MAX_DEPTH`].

mod json;
mod node;
mod plain;
mod yaml;

pub(crate) use node::{Entry, Node, Position, SyntaxError, Value, quoted};
pub(crate) use plain::plain;

use super::Format;

/// The most bytes that a contract may have.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// The deepest nesting of lists and maps.
pub(crate) const MAX_DEPTH: usize = 64;

/// Reads one document.
///
/// Errors: the first thing that is wrong with the syntax.
pub(crate) fn read(text: &str, format: Format) -> Result<Node, SyntaxError> {
    if text.len() > MAX_BYTES {
        return Err(SyntaxError::new(
            Position::START,
            format!("{} bytes are too many", text.len()),
            format!("a contract has at most {MAX_BYTES} bytes; split it"),
        ));
    }
    match format {
        Format::Yaml => yaml::read(text),
        Format::Json => json::read(text),
    }
}
