//! One DevTools message, as far as the connection must understand it.
//!
//! Only the envelope is read: `id`, `sessionId`, `method`, and whether the call succeeded. `params` and `result` stay
//! raw JSON, to be read by whoever knows their type. The peer is not trusted: whatever the bytes are, the answer is
//! an [`Envelope`] or a [`FrameFault`], never a panic and never silence.

use serde::Deserialize;
use serde_json::value::RawValue;

pub use super::framer::{Frame, Framer};
use super::protocol::SessionId;
use super::surrogate;

/// The deepest nesting that a message may have. Chromium's own writer stops far below it.
pub const MAX_DEPTH: usize = 512;

/// A message with its payload unread.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// The session it belongs to; `None` is the browser itself.
    pub session: Option<SessionId>,
    /// Reply or event.
    pub body: Body,
    /// How many lone surrogates were repaired in it.
    pub repaired: u32,
}

/// What a message is.
#[derive(Debug, Clone)]
pub enum Body {
    /// The answer to the call with this id.
    Reply {
        /// The id we sent.
        id: u64,
        /// The result, or the browser's refusal.
        outcome: Result<Box<RawValue>, ProtocolError>,
    },
    /// Something that happened.
    Event {
        /// `Domain.event`.
        method: Box<str>,
        /// Its payload, unread.
        params: Box<RawValue>,
    },
}

/// The browser's refusal of a call (JSON-RPC `error`). The message may quote the page: it is untrusted text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct ProtocolError {
    /// JSON-RPC error code.
    #[serde(default)]
    pub code: i64,
    /// The browser's words.
    #[serde(default)]
    pub message: String,
}

/// Why bytes were no DevTools message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} in a message of {bytes} bytes")]
pub struct FrameFault {
    /// What was wrong.
    pub kind: FaultKind,
    /// The id of the call it seems to answer.
    pub id: Option<u64>,
    /// The length of the message.
    pub bytes: usize,
}

/// The ways in which bytes are no DevTools message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum FaultKind {
    /// Not JSON, not UTF-8, cut short, or with a field given twice.
    #[error("malformed JSON")]
    Malformed,
    /// JSON, but no object.
    #[error("no object")]
    NotAnObject,
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("too deep nesting")]
    TooDeep,
    /// An object that is neither a reply nor an event.
    #[error("neither reply nor event")]
    Shapeless,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    id: Option<u64>,
    session_id: Option<SessionId>,
    method: Option<Box<str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<ProtocolError>,
}

/// Reads the envelope of one message (the bytes between two NULs).
///
/// # Errors
/// [`FrameFault`] when the bytes are no DevTools message; it names the call that is thereby left without an answer.
pub fn decode(message: &[u8]) -> Result<Envelope, FrameFault> {
    let fault = |kind| FrameFault {
        kind,
        id: leading_id(message),
        bytes: message.len(),
    };
    if !message.trim_ascii_start().starts_with(b"{") {
        let json = serde_json::from_slice::<serde::de::IgnoredAny>(message).is_ok();
        return Err(fault(if json {
            FaultKind::NotAnObject
        } else {
            FaultKind::Malformed
        }));
    }
    if too_deep(message) {
        return Err(fault(FaultKind::TooDeep));
    }
    let (json, repaired) = surrogate::repair(message);
    let wire: Wire<'_> = serde_json::from_slice(&json).map_err(|_| fault(FaultKind::Malformed))?;
    let body = match wire {
        Wire {
            id: Some(id),
            method: None,
            error: Some(error),
            result: None,
            ..
        } => Body::Reply {
            id,
            outcome: Err(error),
        },
        Wire {
            id: Some(id),
            method: None,
            error: None,
            result: Some(result),
            ..
        } => Body::Reply {
            id,
            outcome: Ok(result.to_owned()),
        },
        Wire {
            id: None,
            method: Some(method),
            error: None,
            result: None,
            params,
            ..
        } => {
            let params = params.map_or_else(|| empty().to_owned(), ToOwned::to_owned);
            Body::Event { method, params }
        }
        _ => return Err(fault(FaultKind::Shapeless)),
    };
    Ok(Envelope {
        session: wire.session_id,
        body,
        repaired,
    })
}

fn empty() -> &'static RawValue {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Empty(#[serde(borrow)] &'static RawValue);
    serde_json::from_str::<Empty>("{}").map_or(RawValue::NULL, |empty| empty.0)
}

/// The id at the very start of a message, `{"id":N`, where Chromium puts it. Nothing that a page controls comes before
/// it, so it can be trusted even when the rest is lost.
#[must_use]
pub fn leading_id(head: &[u8]) -> Option<u64> {
    let rest = head
        .trim_ascii_start()
        .strip_prefix(b"{")?
        .trim_ascii_start()
        .strip_prefix(b"\"id\"")?;
    let rest = rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let ends = rest.get(digits).is_some_and(|byte| b",} \t\r\n".contains(byte));
    if !ends {
        return None;
    }
    std::str::from_utf8(rest.get(..digits)?).ok()?.parse().ok()
}

/// Whether brackets nest deeper than [`MAX_DEPTH`], outside of strings.
fn too_deep(json: &[u8]) -> bool {
    if memchr::memchr2_iter(b'{', b'[', json).nth(MAX_DEPTH).is_none() {
        return false;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => at = string_end(json, at),
            _ => {}
        }
    }
    false
}

/// The offset after the closing quote of the string whose text starts at `at`.
fn string_end(json: &[u8], mut at: usize) -> usize {
    while let Some(offset) = json.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += offset + 1;
        if json.get(at - 1) == Some(&b'"') {
            return at;
        }
        at += 1;
    }
    json.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::{Body, FaultKind, MAX_DEPTH, decode, leading_id};

    fn kind(message: &[u8]) -> FaultKind {
        decode(message).expect_err("a fault").kind
    }

    #[test]
    fn a_reply_and_an_event_are_told_apart() {
        let reply = decode(br#"{"id":3,"result":{"a":1},"sessionId":"S"}"#).unwrap();
        assert_eq!(reply.session.unwrap().as_str(), "S");
        assert!(matches!(reply.body, Body::Reply { id: 3, outcome: Ok(raw) } if raw.get() == r#"{"a":1}"#));
        let refusal = decode(br#"{"id":3,"error":{"code":-32000,"message":"no","data":"more"}}"#).unwrap();
        assert!(matches!(refusal.body, Body::Reply { outcome: Err(error), .. } if error.code == -32000));
        let event = decode(br#"{"method":"Page.x","params":{"t":"\ud800"},"later":[]}"#).unwrap();
        assert_eq!(event.repaired, 1);
        assert!(matches!(event.body, Body::Event { params, .. } if params.get() == r#"{"t":"\ufffd"}"#));
        let bare = decode(br#"{"method":"Page.x"}"#).unwrap();
        assert!(matches!(bare.body, Body::Event { params, .. } if params.get() == "{}"));
    }

    #[test]
    fn everything_else_is_a_named_fault() {
        assert_eq!(kind(b""), FaultKind::Malformed);
        assert_eq!(kind(br#"{"id":1,"result":{"#), FaultKind::Malformed);
        assert_eq!(kind(b"{\"id\":1,\"result\":\"\xff\"}"), FaultKind::Malformed);
        assert_eq!(kind(br#"{"id":1,"id":2,"result":{}}"#), FaultKind::Malformed);
        assert_eq!(kind(br#"{"id":-1,"result":{}}"#), FaultKind::Malformed);
        assert_eq!(kind(br#"{"id":1.5,"result":{}}"#), FaultKind::Malformed);
        assert_eq!(kind(br#"{"id":1,"result":{}} {}"#), FaultKind::Malformed);
        assert_eq!(kind(b"[1]"), FaultKind::NotAnObject);
        assert_eq!(kind(b"7"), FaultKind::NotAnObject);
        assert_eq!(kind(b"{}"), FaultKind::Shapeless);
        assert_eq!(kind(br#"{"id":1}"#), FaultKind::Shapeless);
        assert_eq!(kind(br#"{"id":1,"method":"a","result":{}}"#), FaultKind::Shapeless);
        assert_eq!(kind(br#"{"error":{"code":1,"message":"parse"}}"#), FaultKind::Shapeless);
        assert_eq!(decode(br#"{"id":41,"result":{"#).unwrap_err().id, Some(41));
    }

    #[test]
    fn depth_counts_brackets_outside_strings_only() {
        let nested = |depth: usize| {
            let inner = "[".repeat(depth) + &"]".repeat(depth);
            format!(r#"{{"id":1,"result":{inner}}}"#)
        };
        assert!(decode(nested(MAX_DEPTH - 1).as_bytes()).is_ok());
        assert_eq!(kind(nested(MAX_DEPTH).as_bytes()), FaultKind::TooDeep);
        assert_eq!(kind(nested(1_000_000).as_bytes()), FaultKind::TooDeep);
        let text = format!(r#"{{"id":1,"result":"{}\""}}"#, "[".repeat(100_000));
        assert!(decode(text.as_bytes()).is_ok());
    }

    #[test]
    fn damaged_messages_never_panic() {
        let whole = br#"{"id":12,"sessionId":"S","result":{"a":"\ud83d\ude00\ud800 \\","b":[1,{"c":null}]}}"#;
        assert!(decode(whole).is_ok());
        // A fixed generator (xorshift): the same damage in every run.
        let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
        let mut random = |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            usize::try_from(seed % below as u64).unwrap()
        };
        for _ in 0..20_000 {
            let mut bytes = whole.to_vec();
            for _ in 0..=random(4) {
                let at = random(bytes.len());
                match random(3) {
                    0 => bytes[at] = u8::try_from(random(256)).unwrap(),
                    1 => bytes.truncate(at.max(1)),
                    _ => bytes.insert(at, b"\\u\"{}[]d8"[random(9)]),
                }
            }
            if let Err(fault) = decode(&bytes) {
                assert_eq!(fault.bytes, bytes.len());
            }
        }
    }

    #[test]
    fn the_leading_id_is_read_only_where_the_browser_puts_it() {
        assert_eq!(leading_id(br#"{"id":12,"result":"x"#), Some(12));
        assert_eq!(leading_id(br#"{"id":12"#), None);
        assert_eq!(leading_id(br#"{"method":"x","params":{"id":12,"#), None);
        assert_eq!(leading_id(br#"{"id":99999999999999999999,"#), None);
    }
}
