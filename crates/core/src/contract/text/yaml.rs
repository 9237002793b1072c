//! YAML 1.2 events into the tree.
//!
//! Plain scalars follow the core schema with one difference, which DESIGN fixes: a number with leading zeros (`012`) is a
//! text, because it is one in a postal code and octal in older YAML.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use super::node::refuse_duplicates;
use super::{Entry, MAX_DEPTH, Node, Position, SyntaxError, Value};

/// What is open while events arrive.
enum Open {
    List(Position, Vec<Node>),
    /// The key that waits for its value stands in the last field.
    Map(Position, Vec<Entry>, Option<(String, Position)>),
}

/// Reads one YAML document.
pub(super) fn read(text: &str) -> Result<Node, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser::new_from_str(text);
    let mut open: Vec<Open> = Vec::new();
    let mut root: Option<Node> = None;
    let mut documents = 0_u32;
    while let Some(event) = parser.next_event() {
        let (event, span) =
            event.map_err(|e| SyntaxError::plain(position(*e.marker()), format!("this is no YAML: {}", e.info())))?;
        let at = position(span.start);
        let node = match event {
            Event::Nothing | Event::StreamStart | Event::DocumentEnd => continue,
            Event::StreamEnd => break,
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    return Err(SyntaxError::new(
                        at,
                        "a second document begins here",
                        "one file holds one contract; put this one into a file of its own",
                    ));
                }
                continue;
            }
            Event::Alias(_) => {
                return Err(SyntaxError::new(
                    at,
                    "an alias is refused",
                    "write the value out where it is needed",
                ));
            }
            Event::Scalar(scalar, style, anchor, tag) => {
                refuse_decoration(at, anchor, tag.is_some())?;
                if let Some(Open::Map(_, _, key @ None)) = open.last_mut() {
                    if style == ScalarStyle::Plain && scalar == "<<" {
                        return Err(SyntaxError::new(at, "a merge key is refused", "write the fields out"));
                    }
                    *key = Some((scalar.into_owned(), at));
                    continue;
                }
                Node {
                    at,
                    value: resolve(&scalar, style),
                }
            }
            Event::SequenceStart(anchor, tag) => {
                refuse_decoration(at, anchor, tag.is_some())?;
                begin(&mut open, at, Open::List(at, Vec::new()))?;
                continue;
            }
            Event::MappingStart(anchor, tag) => {
                refuse_decoration(at, anchor, tag.is_some())?;
                begin(&mut open, at, Open::Map(at, Vec::new(), None))?;
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(at, items)) => Node {
                    at,
                    value: Value::List(items),
                },
                Some(Open::Map(at, entries, _)) => {
                    refuse_duplicates(&entries)?;
                    Node {
                        at,
                        value: Value::Map(entries),
                    }
                }
                None => return Err(SyntaxError::plain(at, "this is no YAML: nothing is open here")),
            },
        };
        match open.last_mut() {
            Some(Open::List(_, items)) => items.push(node),
            Some(Open::Map(_, entries, key)) => match key.take() {
                Some((key, key_at)) => entries.push(Entry {
                    key,
                    key_at,
                    value: node,
                }),
                None => return Err(complex_key(node.at)),
            },
            None => root = Some(node),
        }
    }
    root.ok_or_else(|| {
        SyntaxError::new(
            Position::START,
            "there is no contract in it",
            "a contract begins with: jurat: contract/1",
        )
    })
}

fn begin(open: &mut Vec<Open>, at: Position, what: Open) -> Result<(), SyntaxError> {
    if matches!(open.last(), Some(Open::Map(_, _, None))) {
        return Err(complex_key(at));
    }
    if open.len() >= MAX_DEPTH {
        return Err(SyntaxError::plain(at, format!("it is nested deeper than {MAX_DEPTH}")));
    }
    open.push(what);
    Ok(())
}

fn complex_key(at: Position) -> SyntaxError {
    SyntaxError::new(
        at,
        "a key is a text",
        "write the name of the field, a colon and its value",
    )
}

fn refuse_decoration(at: Position, anchor: usize, tagged: bool) -> Result<(), SyntaxError> {
    if anchor != 0 {
        return Err(SyntaxError::new(
            at,
            "an anchor is refused",
            "write the value out where it is needed",
        ));
    }
    if tagged {
        return Err(SyntaxError::new(
            at,
            "a tag is refused",
            "leave it out; put a text in quotes to keep it a text",
        ));
    }
    Ok(())
}

fn position(marker: Marker) -> Position {
    Position {
        line: marker.line().max(1),
        column: marker.col() + 1,
    }
}

/// The core schema for a scalar.
fn resolve(scalar: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::Text(scalar.to_owned());
    }
    match scalar {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if is_number(scalar) => Value::Number(scalar.to_owned()),
        _ => Value::Text(scalar.to_owned()),
    }
}

fn is_number(scalar: &str) -> bool {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if let Some(octal) = scalar.strip_prefix("0o") {
        return !octal.is_empty() && octal.bytes().all(|b| (b'0'..=b'7').contains(&b));
    }
    if let Some(hex) = scalar.strip_prefix("0x") {
        return !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit());
    }
    let unsigned = scalar.strip_prefix(['-', '+']).unwrap_or(scalar);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(scalar, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let (mantissa, exponent) = unsigned
        .split_once(['e', 'E'])
        .map_or((unsigned, None), |(m, e)| (m, Some(e)));
    if exponent.is_some_and(|e| !digits(e.strip_prefix(['-', '+']).unwrap_or(e))) {
        return false;
    }
    let whole = mantissa.split_once('.').map_or(mantissa, |(whole, _)| whole);
    if whole.len() > 1 && whole.starts_with('0') {
        return false;
    }
    match mantissa.split_once('.') {
        None => digits(mantissa),
        Some((whole, "")) => digits(whole),
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        let kind = |s: &str| match resolve(s, ScalarStyle::Plain) {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            _ => "text",
        };
        for text in [
            "no", "yes", "on", "012", "1_000", "0b1", "12:30", "1e", "-", ".", "0x", "-012", "1.2.3", "y",
        ] {
            assert_eq!(kind(text), "text", "{text}");
        }
        for number in [
            "0", "12", "-3", "+4", "0x1F", "0o17", "1.5", "1e3", ".5", "2.", "-.inf", ".nan",
        ] {
            assert_eq!(kind(number), "number", "{number}");
        }
        assert_eq!(
            (kind("~"), kind(""), kind("True"), kind("false")),
            ("null", "null", "bool", "bool")
        );
    }

    #[test]
    fn what_is_not_plain_data_is_refused() {
        let refused = |text: &str| {
            let e = read(text).unwrap_err();
            (e.at.line, e.at.column, e.message)
        };
        assert_eq!(refused("a: &x 1\n").2, "an anchor is refused");
        assert_eq!(refused("a: &x [1]\nb: *x\n").2, "an anchor is refused");
        assert_eq!(refused("a: !!str 1\n").2, "a tag is refused");
        assert_eq!(refused("a: 1\n\"a\": 2\n"), (2, 1, "the key \"a\" stands twice".into()));
        assert_eq!(refused("<<: {a: 1}\n").2, "a merge key is refused");
        assert_eq!(refused("a: 1\n---\nb: 1\n").2, "a second document begins here");
        assert_eq!(refused("[a]: 1\n").2, "a key is a text");
        assert_eq!(refused("").2, "there is no contract in it");
        assert_eq!(refused("# nothing\n").2, "there is no contract in it");
        assert!(refused(&"[".repeat(100)).2.starts_with("it is nested deeper"));
        assert!(refused("a: [1\n").2.starts_with("this is no YAML"));
        assert!(refused("a: *x\n").2.contains("alias") || refused("a: *x\n").2.contains("YAML"));
    }
}
