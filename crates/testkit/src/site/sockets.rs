//! Answers that are no plain response: sockets that stay open, and bodies that should not exist.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compress, Compression, Crc, FlushCompress};
use sha1::{Digest, Sha1};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Stream;
use super::http::Request;

const HTML_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nconnection: close\r\n\r\n";
/// What every such page says first.
const WELCOME: &str = "<p>Welcome</p>\n";
/// What a gzip bomb unpacks to.
const BOMB_BYTES: usize = 64 * 1024 * 1024;
/// What a huge text holds.
const HUGE_BYTES: usize = 200_000_000;

/// Answers as no server should; the connection never goes on.
pub(super) async fn misbehave(stream: &mut TcpStream, kind: Stream) -> io::Result<bool> {
    match kind {
        Stream::Endless => {
            stream.write_all(HTML_HEAD).await?;
            stream.write_all(WELCOME.as_bytes()).await?;
            let row = "<p>endless</p>\n".repeat(64);
            loop {
                stream.write_all(row.as_bytes()).await?;
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        }
        Stream::Stall => {
            stream.write_all(HTML_HEAD).await?;
            stream.write_all(WELCOME.as_bytes()).await?;
            until_closed(stream).await?;
        }
        Stream::NoHead => until_closed(stream).await?,
        Stream::Reset => stream.set_zero_linger()?,
        Stream::GzipBomb => {
            let body = bomb()?;
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(&body).await?;
            until_closed(stream).await?;
        }
        Stream::HugeText => {
            stream.write_all(HTML_HEAD).await?;
            stream.write_all(WELCOME.as_bytes()).await?;
            stream.write_all(b"<p>").await?;
            let words = "word ".repeat(20_000);
            for _ in 0..HUGE_BYTES / words.len() {
                stream.write_all(words.as_bytes()).await?;
            }
        }
    }
    Ok(false)
}

async fn until_closed(stream: &mut TcpStream) -> io::Result<()> {
    let mut scratch = [0; 1024];
    while stream.read(&mut scratch).await? > 0 {}
    Ok(())
}

/// A gzip stream (RFC 1952) put together from two packed chunks, the second many times over: packing it whole would take seconds.
fn bomb() -> io::Result<Vec<u8>> {
    let head = format!("<!doctype html><title>bomb</title>{WELCOME}");
    let rows = "<p>AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA</p>\n".repeat(16 * 1024);
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let mut sum = Crc::new();
    for (chunk, times) in [(head.as_bytes(), 1), (rows.as_bytes(), BOMB_BYTES / rows.len())] {
        let packed = pack(chunk)?;
        let mut part = Crc::new();
        part.update(chunk);
        for _ in 0..times {
            bytes.extend_from_slice(&packed);
            sum.combine(&part);
        }
    }
    bytes.extend_from_slice(&[0x03, 0x00]);
    bytes.extend_from_slice(&sum.sum().to_le_bytes());
    bytes.extend_from_slice(&sum.amount().to_le_bytes());
    Ok(bytes)
}

/// Deflate blocks that end at a byte and refer to nothing before them (RFC 1951).
fn pack(chunk: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = Vec::with_capacity(chunk.len() + 1024);
    let mut deflate = Compress::new(Compression::best(), false);
    deflate
        .compress_vec(chunk, &mut packed, FlushCompress::Full)
        .map_err(io::Error::other)?;
    Ok(packed)
}

/// Three named events, then silence.
pub(super) async fn server_sent_events(stream: &mut TcpStream) -> io::Result<bool> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\naccess-control-allow-origin: *\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    stream
        .write_all(b"event: tick\ndata: one\n\nevent: tick\ndata: two\n\nevent: tick\ndata: three\n\n")
        .await?;
    until_closed(stream).await?;
    Ok(false)
}

/// RFC 6455: accepts the handshake and sends every short text frame back.
pub(super) async fn echo_websocket(stream: &mut TcpStream, request: &Request) -> io::Result<bool> {
    let Some(key) = request.header("sec-websocket-key") else {
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
            .await?;
        return Ok(true);
    };
    let accept = STANDARD.encode(Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11")));
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: {accept}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    loop {
        let mut start = [0; 2];
        if stream.read_exact(&mut start).await.is_err() {
            return Ok(false);
        }
        let (opcode, length) = (start[0] & 0x0f, usize::from(start[1] & 0x7f));
        if length > 125 || start[1] & 0x80 == 0 {
            return Ok(false);
        }
        let mut mask = [0; 4];
        stream.read_exact(&mut mask).await?;
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).await?;
        for (byte, key) in payload.iter_mut().zip(mask.iter().cycle()) {
            *byte ^= key;
        }
        let answer = match opcode {
            1 => 0x81,
            8 => 0x88,
            9 => 0x8a,
            _ => continue,
        };
        let mut frame = vec![answer, start[1] & 0x7f];
        frame.extend_from_slice(&payload);
        stream.write_all(&frame).await?;
        if opcode == 8 {
            return Ok(false);
        }
    }
}
