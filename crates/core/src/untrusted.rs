//! Text that came from a page, an app or a peer.
//!
//! It has no `Display`: whoever shows it must choose how. [`Untrusted::escaped`] is safe on a terminal; HTML renderers
//! escape [`Untrusted::raw`] themselves.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// Text from outside, kept as it was seen.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Untrusted(String);

impl std::fmt::Debug for Untrusted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Untrusted({:?})", self.0)
    }
}

impl Untrusted {
    /// Wraps text from outside.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Wraps at most `max` bytes, cut at a character; says whether anything was cut.
    pub fn bounded(text: &str, max: usize) -> (Self, bool) {
        if text.len() <= max {
            return (Self(text.to_owned()), false);
        }
        let mut end = max;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        (Self(text[..end].to_owned()), true)
    }

    /// The text as it was seen; for comparing, and for renderers that escape it.
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Safe on one line of a terminal, at most `max` characters: controls, escapes, bidirectional and invisible format characters are
    /// written as `\u{…}`, line breaks as `⏎`.
    pub fn escaped(&self, max: usize) -> String {
        escape(&self.0, max)
    }
}

/// See [`Untrusted::escaped`].
pub fn escape(text: &str, max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max));
    for (taken, c) in text.chars().enumerate() {
        if taken == max {
            out.push('…');
            break;
        }
        match c {
            '\n' => out.push('⏎'),
            '\t' => out.push(' '),
            c if c.is_control() || is_format(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Bidirectional, zero-width, tag and separator characters: they change how other text looks, or hide in it.
fn is_format(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_acts_on_a_terminal_and_keeps_plain_text() {
        assert_eq!(escape("grün ✓ 漢", 80), "grün ✓ 漢");
        assert_eq!(
            escape("a\u{1b}[31mb\u{202e}c\nd\u{200b}", 80),
            "a\\u{1b}[31mb\\u{202e}c⏎d\\u{200b}"
        );
        assert_eq!(escape("abcdef", 3), "abc…");
    }

    #[test]
    fn cuts_at_a_character() {
        assert_eq!(Untrusted::bounded("aé", 2), (Untrusted::new("a"), true));
        assert_eq!(Untrusted::bounded("aé", 3), (Untrusted::new("aé"), false));
    }
}
