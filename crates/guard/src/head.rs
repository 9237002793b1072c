//! A strict reading of HTTP/1.1 request heads (RFC 9112), and nothing else.
//!
//! The guard must see a request exactly as every server behind it would. So a head that two readers could take
//! differently is no request here: bare line feeds, folded lines, a second `Host`, a length next to a transfer coding.
//! Bytes reach the HTTP library only after this module has accepted the whole head.
//!
//! Pure; the entry point for fuzzing is [`parse`].

use std::fmt;

use jurat_core::observation::guard::{MAX_TEXT, RequestHints};

/// Longest head, from the request line to the empty line, in bytes.
pub const MAX_HEAD: usize = 128 * 1024;
/// Longest request target in bytes. The HTTP library takes 65,534.
pub const MAX_TARGET: usize = 60_000;
/// Most header fields.
pub const MAX_FIELDS: usize = 200;
/// Longest method in bytes.
pub const MAX_METHOD: usize = 32;
/// Largest request body in bytes.
pub const MAX_BODY: u64 = 8 << 30;

/// How the request's body is delimited (RFC 9112 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    None,
    /// `Content-Length` bytes.
    Length(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
}

/// An accepted request head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The method, as sent.
    pub method: String,
    /// The request target, as sent: visible ASCII without `#`.
    pub target: String,
    /// The one `Host` field, without surrounding white space.
    pub host: String,
    /// How the body is delimited.
    pub framing: Framing,
    /// A WebSocket handshake (RFC 6455 4.1): GET, both upgrade fields, key and version, no body.
    pub websocket: bool,
    /// What the client said about who asks.
    pub hints: RequestHints,
    /// Bytes of the head, its empty line included.
    pub len: usize,
}

/// Why bytes are not one unambiguous request head or body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeadFault {
    /// More bytes are needed. The only one that can still turn into a request.
    Incomplete,
    /// The head is longer than [`MAX_HEAD`].
    HeadTooLarge,
    /// More than [`MAX_FIELDS`] fields.
    TooManyFields,
    /// A line ends with LF alone.
    BareLf,
    /// A CR that no LF follows.
    BareCr,
    /// NUL or another control character.
    Control,
    /// Not `METHOD SP TARGET SP VERSION`.
    RequestLine,
    /// The method is no token, or too long.
    Method,
    /// The target is empty, too long, not visible ASCII, has a fragment, or is no URI.
    Target,
    /// Not `HTTP/1.1`.
    Version,
    /// A field line continues the one before.
    ObsFold,
    /// A field name is no token, or white space stands before the colon.
    FieldName,
    /// No `Host`.
    NoHost,
    /// More than one `Host`.
    DuplicateHost,
    /// `Host` is empty.
    EmptyHost,
    /// More than one `Content-Length`, or a list.
    DuplicateLength,
    /// `Content-Length` is no plain number.
    Length,
    /// The body is larger than [`MAX_BODY`].
    BodyTooLarge,
    /// `Content-Length` and `Transfer-Encoding` together.
    LengthAndCoding,
    /// A transfer coding other than one `chunked`.
    Coding,
    /// A `CONNECT` with a body.
    ConnectBody,
    /// A chunk whose framing is not exactly RFC 9112 7.1, or has an extension or trailers.
    Chunk,
    /// The connection closed within a head.
    Truncated,
    /// The head did not arrive in time.
    HeadTimeout,
}

impl HeadFault {
    /// A fixed word for records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::HeadTooLarge => "head_too_large",
            Self::TooManyFields => "too_many_fields",
            Self::BareLf => "bare_lf",
            Self::BareCr => "bare_cr",
            Self::Control => "control_character",
            Self::RequestLine => "request_line",
            Self::Method => "method",
            Self::Target => "target",
            Self::Version => "version",
            Self::ObsFold => "obs_fold",
            Self::FieldName => "field_name",
            Self::NoHost => "no_host",
            Self::DuplicateHost => "duplicate_host",
            Self::EmptyHost => "empty_host",
            Self::DuplicateLength => "duplicate_length",
            Self::Length => "length",
            Self::BodyTooLarge => "body_too_large",
            Self::LengthAndCoding => "length_and_coding",
            Self::Coding => "coding",
            Self::ConnectBody => "connect_body",
            Self::Chunk => "chunk",
            Self::Truncated => "truncated",
            Self::HeadTimeout => "head_timeout",
        }
    }

    /// The status that the guard answers with (RFC 9110 15.5, RFC 6585).
    pub fn status(self) -> u16 {
        match self {
            Self::HeadTooLarge | Self::TooManyFields => 431,
            Self::BodyTooLarge => 413,
            Self::HeadTimeout => 408,
            _ => 400,
        }
    }
}

impl fmt::Display for HeadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for HeadFault {}

/// Reads one request head at the start of `input`, which may go on after it.
///
/// [`HeadFault::Incomplete`] asks for more bytes; every other fault is final.
pub fn parse(input: &[u8]) -> Result<Head, HeadFault> {
    let (line, mut at) = line(input, 0)?;
    let (method, target) = request_line(line)?;
    let mut fields = Fields::default();
    let mut count = 0;
    loop {
        let (line, next) = self::line(input, at)?;
        at = next;
        if line.is_empty() {
            break;
        }
        count += 1;
        if count > MAX_FIELDS {
            return Err(HeadFault::TooManyFields);
        }
        let (name, value) = field(line)?;
        fields.take(name, value)?;
    }
    fields.finish(method, target, at)
}

/// One line from `start`, without its CRLF, and where the next begins.
fn line(input: &[u8], start: usize) -> Result<(&[u8], usize), HeadFault> {
    let rest = input.get(start..).unwrap_or_default();
    let rest = &rest[..rest.len().min(MAX_HEAD.saturating_sub(start))];
    for (i, byte) in rest.iter().enumerate() {
        match byte {
            b'\n' => return Err(HeadFault::BareLf),
            b'\r' => {
                return match rest.get(i + 1) {
                    Some(b'\n') => Ok((&rest[..i], start + i + 2)),
                    Some(_) => Err(HeadFault::BareCr),
                    None => Err(missing(input)),
                };
            }
            b'\t' | b' '..=b'~' | 0x80.. => {}
            _ => return Err(HeadFault::Control),
        }
    }
    Err(missing(input))
}

/// The fault of a head whose end is not there.
fn missing(input: &[u8]) -> HeadFault {
    if input.len() >= MAX_HEAD {
        HeadFault::HeadTooLarge
    } else {
        HeadFault::Incomplete
    }
}

fn request_line(line: &[u8]) -> Result<(String, String), HeadFault> {
    let mut parts = line.split(|b| *b == b' ');
    let (Some(method), Some(target), Some(version), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(HeadFault::RequestLine);
    };
    if method.len() > MAX_METHOD {
        return Err(HeadFault::Method);
    }
    let method = token(method).ok_or(HeadFault::Method)?;
    if target.len() > MAX_TARGET || !target.iter().all(|b| matches!(b, b'!'..=b'~') && *b != b'#') {
        return Err(HeadFault::Target);
    }
    let target = std::str::from_utf8(target).map_err(|_| HeadFault::Target)?;
    // What the HTTP library would not take must not reach it: it would answer without a record of ours.
    if target.parse::<hyper::http::Uri>().is_err() {
        return Err(HeadFault::Target);
    }
    if version != b"HTTP/1.1" {
        return Err(HeadFault::Version);
    }
    Ok((method.to_owned(), target.to_owned()))
}

fn field(line: &[u8]) -> Result<(&str, &[u8]), HeadFault> {
    if matches!(line[0], b' ' | b'\t') {
        return Err(HeadFault::ObsFold);
    }
    let colon = line.iter().position(|b| *b == b':').ok_or(HeadFault::FieldName)?;
    let name = token(&line[..colon]).ok_or(HeadFault::FieldName)?;
    Ok((name, line[colon + 1..].trim_ascii()))
}

/// `bytes` as text if they are a token (RFC 9110 5.6.2).
fn token(bytes: &[u8]) -> Option<&str> {
    let good = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    if bytes.is_empty() || !bytes.iter().all(good) {
        return None;
    }
    std::str::from_utf8(bytes).ok()
}

/// The members of a comma-separated field, without white space.
fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|b| *b == b',').map(<[u8]>::trim_ascii)
}

#[derive(Default)]
struct Fields {
    host: Option<String>,
    length: Option<u64>,
    chunked: bool,
    connection_upgrade: bool,
    upgrade_websocket: bool,
    key: bool,
    version: bool,
    hints: RequestHints,
}

impl Fields {
    fn take(&mut self, name: &str, value: &[u8]) -> Result<(), HeadFault> {
        match name.to_ascii_lowercase().as_str() {
            "host" => {
                if self.host.is_some() {
                    return Err(HeadFault::DuplicateHost);
                }
                if value.is_empty() {
                    return Err(HeadFault::EmptyHost);
                }
                self.host = Some(String::from_utf8_lossy(value).into_owned());
            }
            "content-length" => {
                if self.length.is_some() {
                    return Err(HeadFault::DuplicateLength);
                }
                self.length = Some(length(value)?);
            }
            "transfer-encoding" => {
                if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(HeadFault::Coding);
                }
                self.chunked = true;
            }
            "connection" => {
                self.connection_upgrade |= members(value).any(|m| m.eq_ignore_ascii_case(b"upgrade"));
            }
            "upgrade" => self.upgrade_websocket = value.eq_ignore_ascii_case(b"websocket"),
            "sec-websocket-key" => self.key = !value.is_empty(),
            "sec-websocket-version" => self.version = value == b"13",
            "sec-fetch-dest" => self.hints.dest = Some(text(value)),
            "sec-fetch-mode" => self.hints.mode = Some(text(value)),
            "sec-fetch-site" => self.hints.site = Some(text(value)),
            "sec-purpose" => self.hints.purpose = Some(text(value)),
            "origin" => self.hints.origin = Some(text(value)),
            "referer" => self.hints.referer = Some(text(value)),
            "service-worker" => self.hints.service_worker = value == b"script",
            _ => {}
        }
        Ok(())
    }

    fn finish(self, method: String, target: String, len: usize) -> Result<Head, HeadFault> {
        let framing = match (self.length, self.chunked) {
            (Some(_), true) => return Err(HeadFault::LengthAndCoding),
            (Some(length), false) => Framing::Length(length),
            (None, true) => Framing::Chunked,
            (None, false) => Framing::None,
        };
        if method == "CONNECT" && framing != Framing::None {
            return Err(HeadFault::ConnectBody);
        }
        let websocket = method == "GET"
            && framing == Framing::None
            && self.connection_upgrade
            && self.upgrade_websocket
            && self.key
            && self.version;
        let host = self.host.ok_or(HeadFault::NoHost)?;
        Ok(Head {
            method,
            target,
            host,
            framing,
            websocket,
            hints: self.hints,
            len,
        })
    }
}

fn length(value: &[u8]) -> Result<u64, HeadFault> {
    if value.contains(&b',') {
        return Err(HeadFault::DuplicateLength);
    }
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(HeadFault::Length);
    }
    // All digits: what does not parse is too large for a u64.
    let length = std::str::from_utf8(value)
        .ok()
        .and_then(|text| text.parse::<u64>().ok());
    length
        .filter(|length| *length <= MAX_BODY)
        .ok_or(HeadFault::BodyTooLarge)
}

/// Bounded text of a field value.
pub(crate) fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(&value[..value.len().min(MAX_TEXT)]).into_owned()
}

#[cfg(test)]
#[path = "head_tests.rs"]
mod tests;
