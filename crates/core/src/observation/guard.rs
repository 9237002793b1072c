//! What the guard wrote down: requests, refusals and canary hits.
//!
//! These are the stored shapes; the guard fills them and the verdict reads them. The guard knows nothing of pages: who
//! owns a record is found later by joining method, URL and time with what DevTools reported.
//!
//! Invariants: times are microseconds since the run started; text that came over the wire is bounded
//! ([`MAX_URL`], [`MAX_TEXT`]) and untrusted; a record that was not forwarded has a reason.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::untrusted::Untrusted;

/// Longest stored URL, in bytes; [`GuardRecord::url_cut`] says when one was longer.
pub const MAX_URL: usize = 2048;

/// Longest other stored text (method, header values), in bytes.
pub const MAX_TEXT: usize = 256;

/// The response header by which an answer of the guard itself is known. An origin cannot send it through the guard.
///
/// Its values: `refused` (403), `malformed` (400, 408, 413, 431), [`UPSTREAM_UNREACHABLE`] and `upstream_malformed` (502).
pub const GUARD_HEADER: &str = "x-jurat-guard";

/// Value of [`GUARD_HEADER`] when nothing accepted a connection at the origin's address.
pub const UPSTREAM_UNREACHABLE: &str = "upstream_unreachable";

/// Which listener a connection came to: 0 is the browser's global one, which refuses all; `i` belongs to planned context `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ListenerId(pub u32);

impl ListenerId {
    /// The listener of the browser's own background traffic.
    pub const GLOBAL: Self = Self(0);

    /// Whether this is the browser's own listener.
    pub fn is_global(self) -> bool {
        self == Self::GLOBAL
    }
}

/// What came over the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuardKind {
    /// An HTTP request that the guard parsed.
    Request,
    /// A WebSocket handshake; bytes and duration are those of the whole connection.
    Websocket,
    /// `CONNECT host:port`: an opaque tunnel, or one that was refused.
    Tunnel,
    /// Bytes that are not one unambiguous HTTP/1.1 request.
    Malformed,
}

/// What the guard did with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// Sent to the origin it named.
    Forwarded,
    /// Refused: off the origins that the contract names, or not a request at all.
    Refused,
    /// Refused, as the contract's `refuse` said it would be.
    ExpectedRefusal,
    /// Refused because only observing was allowed at that time.
    MethodRefused,
}

/// Why a record is not a plain forwarded request that ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuardReason {
    /// No origin of the contract has this scheme, host and port.
    OffOrigin,
    /// Everything that comes to the global listener is refused.
    GlobalListener,
    /// A third party that the contract names under `refuse`.
    KnownThirdParty,
    /// The target carries a user name or password.
    Userinfo,
    /// A request target without scheme and host: the guard is no origin server.
    OriginForm,
    /// A scheme other than `http` (or `ws` for a handshake) in a request that is not a tunnel.
    Scheme,
    /// The request target does not parse as a URL.
    BadUrl,
    /// `Host` names another origin than the request target.
    HostMismatch,
    /// What came through `CONNECT` to the plain origin is no WebSocket handshake.
    NotWebsocket,
    /// A `CONNECT` to the plain origin was closed without a handshake.
    EmptyConnect,
    /// Not one unambiguous HTTP/1.1 request; `detail` names the fault.
    Malformed,
    /// A method that could act, while only observing was allowed.
    Method,
    /// The guard's strict reading and its HTTP library disagreed about a request.
    ParserDisagreement,
    /// The origin could not be connected to.
    UpstreamUnreachable,
    /// The origin's answer is no HTTP/1.1 response, or it closed before one.
    UpstreamMalformed,
    /// The origin closed in the middle of its answer.
    UpstreamAborted,
    /// The browser closed before the answer ended.
    ClientAborted,
}

/// Request headers that help to find out who asked. All are as the client sent them, bounded, and prove nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestHints {
    /// `Sec-Fetch-Dest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dest: Option<String>,
    /// `Sec-Fetch-Mode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// `Sec-Fetch-Site`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// `Sec-Purpose` (`prefetch`, `prefetch;prerender`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// `Origin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// `Referer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referer: Option<String>,
    /// The request fetches a service worker's script (`Service-Worker: script`).
    #[serde(default, skip_serializing_if = "is_false")]
    pub service_worker: bool,
}

impl RequestHints {
    /// Whether no hint was sent.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One thing that came to the guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuardRecord {
    /// Order of arrival over all listeners, from 1, without holes.
    pub seq: u64,
    /// When the head had been read and judged, in microseconds since the run started.
    pub at_us: u64,
    /// The listener that it came to.
    pub listener: ListenerId,
    /// What it was.
    pub kind: GuardKind,
    /// What was done with it.
    pub disposition: Disposition,
    /// Why, where it was refused or did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<GuardReason>,
    /// More about the reason, in the guard's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The method; empty when none could be read.
    pub method: String,
    /// The canonical URL; `host:port` for a tunnel; empty when none could be read.
    pub url: String,
    /// The URL was longer than [`MAX_URL`].
    #[serde(default, skip_serializing_if = "is_false")]
    pub url_cut: bool,
    /// It came inside a `CONNECT` to the plain origin, as Chromium does for `ws:`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub via_connect: bool,
    /// Only bytes and times are known.
    #[serde(default, skip_serializing_if = "is_false")]
    pub tunnelled: bool,
    /// Status of the answer that the client got, the guard's own refusals included; none if it got none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Body bytes from the client; all bytes for a tunnel or WebSocket.
    pub request_bytes: u64,
    /// Body bytes to the client; all bytes for a tunnel or WebSocket.
    pub response_bytes: u64,
    /// Until the answer's head was there, in microseconds from `at_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_us: Option<u64>,
    /// Until it ended, in microseconds from `at_us`.
    pub duration_us: u64,
    /// It has ended. False only in the announcement of a request that is in flight.
    pub ended: bool,
    /// It ended before it was whole.
    #[serde(default, skip_serializing_if = "is_false")]
    pub aborted: bool,
    /// The guard sent it a second time because a kept-alive connection had gone stale. The origin saw one whole request.
    #[serde(default, skip_serializing_if = "is_false")]
    pub resent: bool,
    /// The address that was dialled, fixed at start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// `Content-Type` of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// What the client said about who asks.
    #[serde(default, skip_serializing_if = "RequestHints::is_empty")]
    pub hints: RequestHints,
}

/// The protocol of a canary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CanaryProtocol {
    /// A connection was accepted.
    Tcp,
    /// A datagram arrived.
    Udp,
}

/// How a packet that was to leave the lane was to travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A connection was tried (SYN).
    Tcp,
    /// A datagram was sent.
    Udp,
}

impl Transport {
    /// The word used in evidence and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

/// Something inside the lane tried to reach an address past the guard. Nothing is there: the attempt is seen on the lane's own
/// loopback and went no further.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EscapeAttempt {
    /// How.
    pub protocol: Transport,
    /// The address that it was sent to.
    pub address: String,
    /// The port.
    pub port: u16,
    /// The name that was asked for, where it was a DNS question; at most [`MAX_TEXT`] bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Untrusted>,
    /// How often, to the same protocol, address, port and name.
    pub count: u64,
}

/// Something reached a port that only jurat knows of: the confinement leaked, or somebody scans this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CanaryHit {
    /// How it came.
    pub protocol: CanaryProtocol,
    /// The canary's address.
    pub address: String,
    /// The canary's port.
    pub port: u16,
    /// When, in microseconds since the run started.
    pub at_us: u64,
    /// The socket at the other end belongs to another user than the browser's. It bars a pass all the same.
    pub foreign: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that skip_serializing_if asks for"
)]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_minimal_record_is_short_and_strict() {
        let text = r#"{"seq":1,"at_us":2,"listener":1,"kind":"request","disposition":"forwarded","method":"GET","url":"http://127.0.0.1:1/","request_bytes":0,"response_bytes":0,"duration_us":0,"ended":false}"#;
        let record: GuardRecord = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), text);
        assert!(serde_json::from_str::<GuardRecord>(&text.replacen('{', r#"{"owner":"page","#, 1)).is_err());
        assert!(!record.listener.is_global() && ListenerId(0).is_global());
    }

    #[test]
    fn flags_and_hints_are_written_when_set() {
        let text = r#"{"seq":1,"at_us":2,"listener":0,"kind":"tunnel","disposition":"refused","reason":"off_origin","method":"CONNECT","url":"a:1","url_cut":true,"tunnelled":true,"status":403,"request_bytes":0,"response_bytes":0,"duration_us":0,"ended":true,"hints":{"dest":"script","service_worker":true}}"#;
        let record: GuardRecord = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), text);
    }
}
