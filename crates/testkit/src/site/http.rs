//! Just enough HTTP/1.1 to serve fixtures: a request read whole, a response written whole.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A head longer than this is refused.
const MAX_HEAD: usize = 64 * 1024;
/// A body longer than this is refused.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// One request, its body read.
#[derive(Debug)]
pub(super) struct Request {
    /// The method as sent.
    pub(super) method: String,
    /// Path and query as sent.
    pub(super) target: String,
    headers: Vec<(String, String)>,
    /// The body.
    pub(super) body: Vec<u8>,
}

impl Request {
    /// The first header of this name.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_str())
    }

    /// The path without the query.
    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// One value of the query, undecoded.
    pub(super) fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(k, _)| *k == name)
            .map(|(_, v)| v)
    }
}

/// Reads the next request of a connection, or `None` when the peer has closed it.
pub(super) async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Request>> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            break at;
        }
        if buffer.len() > MAX_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    buffer.drain(..head_end + 4);
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target)) = (first.next(), first.next()) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let headers: Vec<_> = lines
        .filter_map(|l| l.split_once(':'))
        .map(|(n, v)| (n.to_owned(), v.trim().to_owned()))
        .collect();
    let mut request = Request {
        method: method.to_owned(),
        target: target.to_owned(),
        headers,
        body: Vec::new(),
    };
    request.body = if request.header("transfer-encoding").is_some() {
        read_chunked(stream, buffer).await?
    } else {
        let length = request
            .header("content-length")
            .and_then(|v| v.parse().ok())
            .unwrap_or(0);
        take(stream, buffer, length).await?
    };
    Ok(Some(request))
}

async fn take(stream: &mut TcpStream, buffer: &mut Vec<u8>, length: usize) -> io::Result<Vec<u8>> {
    if length > MAX_BODY {
        return Err(io::ErrorKind::InvalidData.into());
    }
    while buffer.len() < length {
        if stream.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(buffer.drain(..length).collect())
}

async fn read_chunked(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line_end = loop {
            if let Some(at) = buffer.windows(2).position(|w| w == b"\r\n") {
                break at;
            }
            if stream.read_buf(buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        let line = String::from_utf8_lossy(&buffer[..line_end]).into_owned();
        buffer.drain(..line_end + 2);
        let size = usize::from_str_radix(line.trim(), 16).map_err(|_| io::ErrorKind::InvalidData)?;
        let chunk = take(stream, buffer, size.saturating_add(2)).await?;
        if size == 0 {
            return Ok(body);
        }
        body.extend_from_slice(&chunk[..size]);
        if body.len() > MAX_BODY {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

/// A response with a known body.
#[derive(Debug)]
pub(super) struct Response {
    /// The status code.
    pub(super) status: u16,
    /// Headers beyond length and date.
    pub(super) headers: Vec<(String, String)>,
    /// The body.
    pub(super) body: Vec<u8>,
}

impl Response {
    /// A response of one content type.
    pub(super) fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".into(), content_type.into())],
            body: body.into(),
        }
    }

    /// With one more header, in place of one of the same name.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes it; the body of an answer to `HEAD` is left out.
    pub(super) async fn write(&self, stream: &mut TcpStream, method: &str) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        }
        if !head.to_ascii_lowercase().contains("\r\ncache-control:") {
            head.push_str("cache-control: no-store\r\n");
        }
        let bodiless = matches!(self.status, 204 | 304);
        if !bodiless {
            head.push_str("content-length: ");
            head.push_str(&self.body.len().to_string());
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        if !bodiless && method != "HEAD" {
            bytes.extend_from_slice(&self.body);
        }
        stream.write_all(&bytes).await
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        302 => "Found",
        303 => "See Other",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        500 => "Internal Server Error",
        _ => "Status",
    }
}
