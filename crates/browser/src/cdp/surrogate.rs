//! Repair of lone surrogate escapes.
//!
//! JavaScript strings may hold half of a surrogate pair; Chromium sends it as the escape `\ud800`, which RFC 8259
//! allows and `serde_json` refuses together with the whole message around it. Such an escape is replaced by `\ufffd`
//! and counted, so that one odd character in a title costs a character, not a message.
//!
//! Invariants: the text keeps its length (both escapes are six bytes); a message without a lone surrogate is not
//! copied; an escaped backslash followed by `ud800` is text and stays as it is.

use std::borrow::Cow;

use memchr::memmem;

/// Replaces each lone surrogate escape of a JSON text by `\ufffd`, and counts them.
#[must_use]
pub fn repair(json: &[u8]) -> (Cow<'_, [u8]>, u32) {
    if memmem::find(json, br"\ud").is_none() && memmem::find(json, br"\uD").is_none() {
        return (Cow::Borrowed(json), 0);
    }
    let lone = lone_escapes(json);
    if lone.is_empty() {
        return (Cow::Borrowed(json), 0);
    }
    let mut owned = json.to_vec();
    for at in &lone {
        if let Some(escape) = owned.get_mut(*at..*at + 6) {
            escape.copy_from_slice(br"\ufffd");
        }
    }
    (Cow::Owned(owned), u32::try_from(lone.len()).unwrap_or(u32::MAX))
}

/// The offsets of escapes that are half a surrogate pair. In valid JSON a backslash stands in strings only, so escapes
/// can be read one after the other without knowing where strings begin.
fn lone_escapes(json: &[u8]) -> Vec<usize> {
    let mut lone = Vec::new();
    let mut from = 0;
    while let Some(offset) = json.get(from..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let at = from + offset;
        match unit(json, at) {
            Some(high) if (0xD800..0xDC00).contains(&high) => {
                if unit(json, at + 6).is_some_and(|low| (0xDC00..0xE000).contains(&low)) {
                    from = at + 12;
                } else {
                    lone.push(at);
                    from = at + 6;
                }
            }
            Some(low) if (0xDC00..0xE000).contains(&low) => {
                lone.push(at);
                from = at + 6;
            }
            Some(_) => from = at + 6,
            None => from = at + 2,
        }
    }
    lone
}

/// The code unit of the `\uXXXX` escape that starts at `at`, if there is one.
fn unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix(br"\u")?;
    digits.iter().try_fold(0_u16, |value, digit| {
        let nibble = char::from(*digit).to_digit(16)?;
        Some(value << 4 | u16::try_from(nibble).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::repair;

    fn repaired(json: &str) -> (String, u32) {
        let (bytes, count) = repair(json.as_bytes());
        (String::from_utf8_lossy(&bytes).into_owned(), count)
    }

    #[test]
    fn halves_are_replaced_and_pairs_are_not() {
        for (before, after, count) in [
            (r#""plain""#, r#""plain""#, 0),
            (r#""a\ud800b""#, r#""a\ufffdb""#, 1),
            (r#""\uDC00""#, r#""\ufffd""#, 1),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#, 0),
            (r#""\uD83D\uDE00\ud83d""#, r#""\uD83D\uDE00\ufffd""#, 1),
            (r#""\ud800\ud800\udc00""#, r#""\ufffd\ud800\udc00""#, 1),
            (r#""\\ud800""#, r#""\\ud800""#, 0),
            (r#""\\\ud800""#, r#""\\\ufffd""#, 1),
            (r#""\ud7a3""#, r#""\ud7a3""#, 0),
            (r#""\ud8"#, r#""\ud8"#, 0),
        ] {
            assert_eq!(repaired(before), (after.to_owned(), count), "{before}");
        }
    }

    #[test]
    fn a_repaired_text_parses() {
        let (bytes, _) = repair(br#"{"title":"a\ud800b"}"#);
        let value: Result<serde_json::Value, _> = serde_json::from_slice(&bytes);
        assert!(value.is_ok_and(|value| value["title"] == "a\u{fffd}b"));
    }
}
