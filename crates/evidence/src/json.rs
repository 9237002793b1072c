//! Strict reading of the canonical JSON files of a bundle.

use jurat_core::canon::to_canonical;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::audit::Problem;

/// Reads a value whose bytes must be its own canonical form. With `schema`, the version is looked at first, so that a file of a
/// version to come is named as such and not by its first new field.
pub(crate) fn read<T: DeserializeOwned + Serialize>(bytes: &[u8], schema: Option<&'static str>) -> Result<T, Problem> {
    if let Some(known) = schema {
        let tree: serde_json::Value = serde_json::from_slice(bytes).map_err(|e| malformed(&e))?;
        match tree.get("schema").and_then(serde_json::Value::as_str) {
            Some(found) if found == known => {}
            Some(found) => {
                return Err(Problem::UnknownVersion {
                    known,
                    found: shorten(found),
                });
            }
            None => return Err(Problem::Malformed("it names no schema".to_owned())),
        }
    }
    let value: T = serde_json::from_slice(bytes).map_err(|e| malformed(&e))?;
    match to_canonical(&value) {
        Ok(canonical) if canonical == bytes => Ok(value),
        _ => Err(Problem::NotCanonical),
    }
}

fn malformed(error: &serde_json::Error) -> Problem {
    let text = shorten(&error.to_string());
    if text.starts_with("unknown field") {
        Problem::UnknownField(text)
    } else {
        Problem::Malformed(text)
    }
}

/// Text out of a file that is not trusted, short and on one line.
fn shorten(text: &str) -> String {
    text.chars()
        .take(160)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}
