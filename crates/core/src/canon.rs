//! Canonical JSON (RFC 8785) and the digests that are taken over it.
//!
//! Everything that has an identity is hashed over these bytes, so they must be the same on every machine and in every
//! version of jurat. RFC 8785 writes numbers as IEEE doubles, which round; therefore a value that holds a float, or an
//! integer that a double cannot hold, is refused here and never reaches a hash.

mod floats;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The greatest integer that canonical JSON may hold, and the least one negated: 2^53 - 1.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Why a value has no canonical form.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CanonError {
    /// A float, at this JSON pointer (RFC 6901; empty for the whole value).
    #[error("a float has no canonical form: {value} at \"{pointer}\"")]
    Float {
        /// Where.
        pointer: String,
        /// The number as text.
        value: String,
    },
    /// An integer beyond ±(2^53 - 1).
    #[error("an integer beyond 2^53 - 1 has no canonical form: {value} at \"{pointer}\"")]
    Integer {
        /// Where.
        pointer: String,
        /// The number as text.
        value: String,
    },
    /// A float that JSON cannot say.
    #[error("a float has no canonical form: {value}")]
    NotFinite {
        /// NaN or an infinity.
        value: String,
    },
    /// The type serialises to something else than one plain JSON value, such as one key twice.
    #[error("the value does not serialise to plain JSON")]
    NotPlain,
    /// The type refused to serialise.
    #[error("the value does not serialise: {0}")]
    Serialize(#[source] serde_json::Error),
}

/// The canonical bytes of a value (RFC 8785).
///
/// Errors: a float or an integer beyond ±(2^53 - 1) anywhere, with its JSON pointer; a type that does not serialise to one
/// plain JSON value.
pub fn to_canonical<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonError> {
    // A tree cannot show a NaN (it becomes null), so floats are looked for on the way into it.
    floats::refuse(value)?;
    let tree = serde_json::to_value(value).map_err(CanonError::Serialize)?;
    check(&tree)?;
    let bytes = serde_json_canonicalizer::to_vec(&tree).map_err(CanonError::Serialize)?;
    // A tree cannot show a key that was written twice. The direct way can.
    let direct = serde_json_canonicalizer::to_vec(&value).map_err(CanonError::Serialize)?;
    if direct == bytes {
        Ok(bytes)
    } else {
        Err(CanonError::NotPlain)
    }
}

/// Refuses every number that RFC 8785 would round.
///
/// Errors: the first float or great integer, depth first, with its JSON pointer.
pub fn check(value: &Value) -> Result<(), CanonError> {
    // An explicit stack: the depth of a value must not decide whether we live.
    let mut pending = vec![(value, String::new())];
    while let Some((value, pointer)) = pending.pop() {
        match value {
            Value::Null | Value::Bool(_) | Value::String(_) => {}
            Value::Number(number) => {
                let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
                match magnitude {
                    Some(n) if n <= MAX_SAFE_INTEGER => {}
                    Some(_) => {
                        return Err(CanonError::Integer {
                            pointer,
                            value: number.to_string(),
                        });
                    }
                    None => {
                        return Err(CanonError::Float {
                            pointer,
                            value: number.to_string(),
                        });
                    }
                }
            }
            Value::Array(items) => {
                pending.extend(
                    items
                        .iter()
                        .enumerate()
                        .rev()
                        .map(|(i, item)| (item, format!("{pointer}/{i}"))),
                );
            }
            Value::Object(fields) => pending.extend(fields.iter().rev().map(|(key, field)| {
                (
                    field,
                    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")),
                )
            })),
        }
    }
    Ok(())
}

/// SHA-256 as 64 lower-case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        hex.push(char::from(DIGITS[usize::from(byte >> 4)]));
        hex.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    hex
}

/// A SHA-256 digest as it is written everywhere: `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Digest(String);

impl Digest {
    const PREFIX: &str = "sha256:";

    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("{}{}", Self::PREFIX, sha256_hex(bytes)))
    }

    /// Reads a digest.
    ///
    /// Errors: anything but `sha256:` and 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, DigestError> {
        let hex = text.strip_prefix(Self::PREFIX).ok_or(DigestError)?;
        let lower_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if hex.len() == 64 && hex.bytes().all(lower_hex) {
            Ok(Self(text.to_owned()))
        } else {
            Err(DigestError)
        }
    }

    /// With the prefix.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The 64 digits alone, as a blob's file name.
    pub fn hex(&self) -> &str {
        self.0.strip_prefix(Self::PREFIX).unwrap_or(&self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        Self::parse(&text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

/// A text that is no digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a digest is \"sha256:\" and 64 lower-case hexadecimal digits")]
pub struct DigestError;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_ordered_by_utf16_units() {
        // U+1F600 is a surrogate pair (d83d de00) and so comes before U+FB33, whose code point is less.
        let bytes = to_canonical(&json!({"\u{fb33}": 1, "\u{1f600}": 2, "b": 3, "a": 4})).unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "{\"a\":4,\"b\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}"
        );
    }

    #[test]
    fn floats_and_great_integers_are_refused_with_their_pointer() {
        let refused = |value: Value| to_canonical(&value).unwrap_err().to_string();
        assert!(refused(json!({"a": [1, {"b/c~d": 0.5}]})).ends_with("0.5 at \"/a/1/b~1c~0d\""));
        assert!(refused(json!(1.0)).ends_with("1.0 at \"\""));
        assert!(refused(json!({"n": MAX_SAFE_INTEGER + 1})).ends_with("9007199254740992 at \"/n\""));
        assert!(refused(json!([-9_007_199_254_740_992_i64])).ends_with("at \"/0\""));
        let edges = json!([MAX_SAFE_INTEGER, -9_007_199_254_740_991_i64]);
        assert_eq!(to_canonical(&edges).unwrap(), b"[9007199254740991,-9007199254740991]");
    }

    #[test]
    fn what_is_no_plain_json_is_refused() {
        #[derive(Serialize)]
        struct Inner {
            a: u8,
        }
        #[derive(Serialize)]
        struct Twice {
            a: u8,
            #[serde(flatten)]
            inner: Inner,
        }

        assert!(to_canonical(&f64::NAN).is_err());
        let nested = std::collections::BTreeMap::from([("a", (1, Some([f32::INFINITY])))]);
        assert!(matches!(to_canonical(&nested), Err(CanonError::NotFinite { .. })));
        assert!(to_canonical(&u128::MAX).is_err());

        assert!(
            to_canonical(&Twice {
                a: 1,
                inner: Inner { a: 2 }
            })
            .is_err()
        );
    }

    #[test]
    fn a_deep_value_is_no_trouble() {
        let mut value = json!(0.5);
        for _ in 0..100_000 {
            value = Value::Array(vec![value]);
        }
        assert!(matches!(check(&value), Err(CanonError::Float { .. })));
        // Dropping a tree recurses, so it is taken apart by hand.
        while let Value::Array(mut items) = value {
            value = items.pop().unwrap();
        }
    }

    #[test]
    fn a_digest_is_parsed_strictly() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").as_str(), empty);
        assert_eq!(Digest::parse(empty).unwrap().hex(), &empty[7..]);
        for wrong in [
            &empty[7..],
            &empty[..70],
            &empty.to_uppercase(),
            &format!("{empty}0"),
            &empty.replace('e', "g"),
        ] {
            assert!(Digest::parse(wrong).is_err(), "{wrong}");
            assert!(serde_json::from_value::<Digest>(json!(wrong)).is_err());
        }
        assert_eq!(serde_json::to_value(Digest::of(b"")).unwrap(), json!(empty));
    }
}
