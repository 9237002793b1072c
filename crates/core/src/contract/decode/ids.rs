//! Ids of criteria: well formed, unique, and never one that jurat gives by itself.

use std::collections::HashMap;

use super::criteria::CHECKS;
use super::cursor::{Cursor, Problems};

/// The ids seen so far, with their lines.
#[derive(Debug, Default)]
pub(super) struct Ids {
    seen: HashMap<String, usize>,
}

impl Ids {
    pub(super) fn id(&mut self, cursor: &Cursor<'_>, problems: &mut Problems) -> Option<String> {
        let id = word(cursor, problems, true)?;
        if is_reserved(&id) {
            return cursor.wrong(
                problems,
                format!("\"{id}\" is an id that jurat gives by itself"),
                "choose another, or leave it out",
            );
        }
        let line = cursor.node.at.line;
        if let Some(first) = self.seen.insert(id.clone(), line) {
            return cursor.wrong(
                problems,
                format!("the id \"{id}\" stands on line {first} already"),
                "choose another",
            );
        }
        Some(id)
    }
}

/// A lower-case word of at most 64 characters.
pub(super) fn word(cursor: &Cursor<'_>, problems: &mut Problems, underscore: bool) -> Option<String> {
    let text = cursor.text(problems)?;
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || (underscore && c == '_');
    let first = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if text.len() <= 64 && text.starts_with(first) && text.chars().all(inner) {
        return Some(text.to_owned());
    }
    let allowed = if underscore { "\"-\" and \"_\"" } else { "and \"-\"" };
    cursor.wrong(
        problems,
        format!("{} is not well formed", crate::contract::text::quoted(text)),
        format!("write at most 64 of a-z, 0-9, {allowed}, beginning with a letter or digit"),
    )
}

fn is_reserved(id: &str) -> bool {
    let generated = ["step-", "expect-", "target-http-"].iter().any(|prefix| {
        id.strip_prefix(prefix)
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    });
    generated || id == "accept" || CHECKS.iter().any(|(name, _)| *name == id)
}
