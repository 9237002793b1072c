//! Strict JSON (RFC 8259) into the tree.
//!
//! `serde_json` decides what JSON is; the ranged parser only says where each value stands.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

use super::node::refuse_duplicates;
use super::{Entry, MAX_DEPTH, Node, Position, SyntaxError, Value};

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads one JSON document.
pub(super) fn read(text: &str) -> Result<Node, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let places = Places::of(text);
    refuse_depth(text, &places)?;
    if let Err(e) = serde_json::from_str::<serde_json::Value>(text) {
        return Err(syntax(text, &e));
    }
    let collect = CollectOptions {
        comments: CommentCollectionStrategy::Off,
        tokens: false,
    };
    let parsed = parse_to_ast(text, &collect, &STRICT).map_err(|e| {
        SyntaxError::plain(
            places.position(e.range().start),
            format!("this is no JSON: {}", e.kind()),
        )
    })?;
    match &parsed.value {
        Some(value) => convert(value, &places),
        None => Err(SyntaxError::plain(Position::START, "there is no contract in it")),
    }
}

/// A syntax error in our words, with its place: `serde_json` counts columns in bytes.
fn syntax(text: &str, error: &serde_json::Error) -> SyntaxError {
    let line = error.line().max(1);
    let bytes = error.column();
    let source = text.split('\n').nth(line - 1).unwrap_or("");
    let column = source.char_indices().take_while(|(at, _)| at + 1 < bytes).count() + 1;
    // An error at a line end is told at the beginning of the next line, where nobody would look for it.
    let before = (bytes == 0 && line > 1)
        .then(|| text.split('\n').nth(line - 2))
        .flatten();
    let (line, column) = before.map_or((line, column), |before| (line - 1, before.chars().count() + 1));
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default().to_owned();
    let hint = match message.as_str() {
        m if m.contains("trailing comma") => "take the comma before the bracket away",
        m if m.contains("lone leading surrogate") || m.contains("unexpected end of hex escape") => {
            "a character beyond U+FFFF is written as two \\u escapes, or as itself"
        }
        _ => "JSON has no comments, no trailing commas and double quotes only; a contract may also be written in YAML",
    };
    SyntaxError::new(Position { line, column }, format!("this is no JSON: {message}"), hint)
}

/// Counts brackets outside of strings, so that no parser ever recurses deeper.
fn refuse_depth(text: &str, places: &Places<'_>) -> Result<(), SyntaxError> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(SyntaxError::plain(
                        places.position(at),
                        format!("it is nested deeper than {MAX_DEPTH}"),
                    ));
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

fn convert(value: &ast::Value<'_>, places: &Places<'_>) -> Result<Node, SyntaxError> {
    let at = places.position(value.range().start);
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(b) => Value::Bool(b.value),
        ast::Value::NumberLit(n) => Value::Number(n.value.to_owned()),
        ast::Value::StringLit(s) => Value::Text(s.value.clone().into_owned()),
        ast::Value::Array(list) => Value::List(
            list.elements
                .iter()
                .map(|item| convert(item, places))
                .collect::<Result<_, _>>()?,
        ),
        ast::Value::Object(map) => {
            let mut entries = Vec::with_capacity(map.properties.len());
            for property in &map.properties {
                entries.push(Entry {
                    key: property.name.clone().into_string(),
                    key_at: places.position(property.range().start),
                    value: convert(&property.value, places)?,
                });
            }
            refuse_duplicates(&entries)?;
            Value::Map(entries)
        }
    };
    Ok(Node { at, value })
}

/// Byte offsets to lines and columns, each in constant time: a contract may be one long line.
struct Places<'a> {
    text: &'a [u8],
    /// Where lines begin, in bytes.
    starts: Vec<usize>,
    /// Characters before every [`STRIDE`]th byte.
    counted: Vec<usize>,
}

const STRIDE: usize = 256;

fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|b| (**b & 0xc0) != 0x80).count()
}

impl<'a> Places<'a> {
    fn of(text: &'a str) -> Self {
        let starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        let text = text.as_bytes();
        let mut total = 0;
        let mut counted = vec![0];
        for chunk in text.chunks(STRIDE) {
            total += characters(chunk);
            counted.push(total);
        }
        Self { text, starts, counted }
    }

    fn before(&self, byte: usize) -> usize {
        let byte = byte.min(self.text.len());
        let chunk = byte / STRIDE;
        self.counted.get(chunk).copied().unwrap_or(0) + self.text.get(chunk * STRIDE..byte).map_or(0, characters)
    }

    fn position(&self, byte: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= byte).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        Position {
            line,
            column: self.before(byte).saturating_sub(self.before(start)) + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[test]
    fn strings_are_read_as_rfc_8259_says() {
        let node = read(r#"{"a": "\ud83d\ude00 \u00e9 \/ \n"}"#).unwrap();
        let Value::Map(entries) = node.value else {
            panic!("a map")
        };
        assert!(matches!(&entries[0].value.value, Value::Text(t) if t == "\u{1f600} \u{e9} / \n"));
        assert!(read(r#""\ud83d""#).is_err());
        assert!(read(r#""\ude00\ud83d""#).is_err());
    }

    #[test]
    fn only_strict_json_passes() {
        for text in [
            "{} {}",
            "// c\n{}",
            "{a: 1}",
            "{'a': 1}",
            "[1,]",
            "[1 2]",
            "{\"a\": 0x1}",
            "[+1]",
            "[.5]",
            "[5.]",
            "[01]",
            "[NaN]",
            "[\"\\x41\"]",
            "[\"a\nb\"]",
            "",
            "{\"a\":1,}",
            "[\"\u{1}\"]",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&"[".repeat(100_000)).is_err());
        let error = read("{\"a\": 1,\n \"é\": 2, \"a\": 3}").unwrap_err();
        assert_eq!((error.at.line, error.at.column), (2, 10));
        let error = read("{\n  \"a\": tru\n}").unwrap_err();
        assert_eq!(error.at.line, 2);
    }
}
