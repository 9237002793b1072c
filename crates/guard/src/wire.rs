//! The strict reader between the client's socket and the HTTP library.
//!
//! Bytes are handed on only after they were vetted: whole heads that [`crate::head`] accepted, bodies exactly as long as
//! their head said, and nothing behind a fault. What the library then parses cannot be read in two ways, and every head
//! that it sees is waiting in [`Wire`] in the same order.
//!
//! Memory per connection is bounded by one head.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use jurat_core::observation::guard::GUARD_HEADER;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::chunk::ChunkScan;
use crate::head::{self, Framing, Head, HeadFault};

/// Bytes read from the socket at once.
const READ: usize = 16 * 1024;

/// What the reader tells the request loop of the same connection.
#[derive(Debug, Default)]
pub(crate) struct Wire(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    heads: VecDeque<Head>,
    fault: Option<HeadFault>,
    seen: u64,
}

impl Wire {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The oldest head that was handed on and not taken yet.
    pub(crate) fn take(&self) -> Option<Head> {
        self.lock().heads.pop_front()
    }

    /// The fault that ended the connection.
    pub(crate) fn fault(&self) -> Option<HeadFault> {
        self.lock().fault
    }

    /// Heads handed on so far.
    pub(crate) fn seen(&self) -> u64 {
        self.lock().seen
    }
}

enum Expect {
    Head,
    Body(u64),
    Chunks(ChunkScan),
    /// A tunnel or an upgraded connection: bytes as they come.
    Raw,
    /// Nothing more is handed on.
    Over,
}

/// A callback for a fault, with the unread bytes that showed it.
pub(crate) type OnFault = Box<dyn FnMut(HeadFault, &[u8]) + Send>;

/// See the module.
pub(crate) struct StrictIo<T> {
    inner: T,
    wire: Arc<Wire>,
    buffer: BytesMut,
    vetted: usize,
    scanned: usize,
    expect: Expect,
    head_timeout: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    on_fault: OnFault,
    farewell: Vec<u8>,
}

impl<T> StrictIo<T> {
    pub(crate) fn new(inner: T, wire: Arc<Wire>, head_timeout: Duration, on_fault: OnFault) -> Self {
        Self {
            inner,
            wire,
            buffer: BytesMut::new(),
            vetted: 0,
            scanned: 0,
            expect: Expect::Head,
            head_timeout,
            timer: None,
            on_fault,
            farewell: Vec::new(),
        }
    }

    fn fault(&mut self, fault: HeadFault) {
        // Only between messages can an answer of our own be told apart from what was being sent.
        if matches!(self.expect, Expect::Head) {
            self.farewell = format!(
                "HTTP/1.1 {} Refused\r\n{GUARD_HEADER}: malformed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                fault.status()
            )
            .into_bytes();
        }
        self.expect = Expect::Over;
        self.timer = None;
        self.wire.lock().fault = Some(fault);
        (self.on_fault)(fault, &self.buffer);
        self.buffer.clear();
    }

    /// Vets the bytes in the buffer. `Ok(false)` asks for more.
    fn vet(&mut self) -> Result<bool, HeadFault> {
        if self.buffer.is_empty() {
            return Ok(false);
        }
        match &mut self.expect {
            Expect::Head => self.vet_head(),
            Expect::Body(left) => {
                let have = u64::try_from(self.buffer.len()).unwrap_or(u64::MAX);
                let take = have.min(*left);
                *left -= take;
                if *left == 0 {
                    self.expect = Expect::Head;
                }
                self.vetted = usize::try_from(take).unwrap_or(usize::MAX);
                Ok(true)
            }
            Expect::Chunks(scan) => {
                self.vetted = scan.feed(&self.buffer)?;
                if scan.done() {
                    self.expect = Expect::Head;
                }
                Ok(true)
            }
            Expect::Raw => {
                self.vetted = self.buffer.len();
                Ok(true)
            }
            Expect::Over => Ok(false),
        }
    }

    fn vet_head(&mut self) -> Result<bool, HeadFault> {
        // Parse at the first bytes, and then only when a line has ended or the limit is near: a slow sender costs little.
        let fresh = self.buffer.get(self.scanned..).unwrap_or_default();
        let worth = self.scanned == 0 || fresh.contains(&b'\n') || self.buffer.len() >= head::MAX_HEAD;
        self.scanned = self.buffer.len();
        if !worth {
            return Ok(false);
        }
        match head::parse(&self.buffer) {
            Ok(head) => {
                self.vetted = head.len;
                self.scanned = 0;
                self.timer = None;
                self.expect = match head.framing {
                    _ if head.method == "CONNECT" || head.websocket => Expect::Raw,
                    Framing::None | Framing::Length(0) => Expect::Head,
                    Framing::Length(length) => Expect::Body(length),
                    Framing::Chunked => Expect::Chunks(ChunkScan::new()),
                };
                let mut wire = self.wire.lock();
                wire.heads.push_back(head);
                wire.seen += 1;
                Ok(true)
            }
            Err(HeadFault::Incomplete) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    fn over(&self) -> Option<io::Result<()>> {
        if !matches!(self.expect, Expect::Over) {
            return None;
        }
        // With a farewell to send the library must see a plain end, or it would not close in order.
        Some(match self.wire.fault() {
            Some(fault) if self.farewell.is_empty() => Err(io::Error::new(io::ErrorKind::InvalidData, fault)),
            _ => Ok(()),
        })
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for StrictIo<T> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if this.vetted > 0 {
                let take = this.vetted.min(out.remaining());
                out.put_slice(&this.buffer[..take]);
                this.buffer.advance(take);
                this.vetted -= take;
                return Poll::Ready(Ok(()));
            }
            if let Some(end) = this.over() {
                return Poll::Ready(end);
            }
            match this.vet() {
                Ok(true) => continue,
                Ok(false) => {}
                Err(fault) => {
                    this.fault(fault);
                    continue;
                }
            }
            this.buffer.reserve(READ);
            let mut chunk = [0; READ];
            let mut read = ReadBuf::new(&mut chunk);
            match Pin::new(&mut this.inner).poll_read(cx, &mut read) {
                Poll::Ready(Ok(())) if read.filled().is_empty() => {
                    if matches!(this.expect, Expect::Head) && !this.buffer.is_empty() {
                        this.fault(HeadFault::Truncated);
                    }
                    this.expect = Expect::Over;
                    this.farewell.clear();
                    return Poll::Ready(Ok(()));
                }
                Poll::Ready(Ok(())) => this.buffer.extend_from_slice(read.filled()),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    if !matches!(this.expect, Expect::Head) || this.buffer.is_empty() {
                        return Poll::Pending;
                    }
                    let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(this.head_timeout)));
                    ready!(timer.as_mut().poll(cx));
                    this.fault(HeadFault::HeadTimeout);
                }
            }
        }
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for StrictIo<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while !this.farewell.is_empty() {
            let sent = ready!(Pin::new(&mut this.inner).poll_write(cx, &this.farewell))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            this.farewell.drain(..sent);
        }
        Pin::new(&mut this.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const GET: &str = "GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n";

    /// What is handed on of `input`, written in pieces of `piece` bytes, and the fault.
    async fn through(input: &[u8], piece: usize) -> (Vec<u8>, Option<HeadFault>, u64) {
        let (mut near, far) = duplex(64 * 1024);
        let wire = Arc::new(Wire::default());
        let mut io = StrictIo::new(far, Arc::clone(&wire), Duration::from_mins(1), Box::new(|_, _| {}));
        let input = input.to_vec();
        let writer = tokio::spawn(async move {
            for piece in input.chunks(piece) {
                if near.write_all(piece).await.is_err() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        });
        let mut out = Vec::new();
        let _ = io.read_to_end(&mut out).await;
        drop(io);
        writer.await.unwrap();
        (out, wire.fault(), wire.seen())
    }

    #[tokio::test]
    async fn clean_streams_pass_whole_however_they_are_cut() {
        let posts = format!(
            "{GET}POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello{GET}POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n{GET}"
        );
        for piece in [1, 2, 7, 64, 4096] {
            let (out, fault, seen) = through(posts.as_bytes(), piece).await;
            assert_eq!(String::from_utf8(out).unwrap(), posts, "in pieces of {piece}");
            assert_eq!((fault, seen), (None, 5));
        }
    }

    #[tokio::test]
    async fn nothing_behind_a_fault_is_handed_on() {
        for (bad, want) in [
            ("GET / HTTP/1.1\nHost: h\n\n", HeadFault::BareLf),
            (
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                HeadFault::LengthAndCoding,
            ),
            ("\x16\x03\x01", HeadFault::Control),
            ("GET / HTTP/1.1\r\nHost: h\r\n", HeadFault::Truncated),
        ] {
            for piece in [1, 4096] {
                let (out, fault, seen) = through(format!("{GET}{bad}").as_bytes(), piece).await;
                assert_eq!(out, GET.as_bytes(), "{bad:?}");
                assert_eq!((fault, seen), (Some(want), 1), "{bad:?}");
            }
        }
        let head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
        let (out, fault, _) = through(format!("{head}zz\r\n{GET}").as_bytes(), 4096).await;
        assert_eq!((out.as_slice(), fault), (head.as_bytes(), Some(HeadFault::Chunk)));
    }

    #[tokio::test]
    async fn bytes_after_connect_are_raw() {
        let text = "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n\x16\x03\n\n";
        let (out, fault, seen) = through(text.as_bytes(), 3).await;
        assert_eq!((out.as_slice(), fault, seen), (text.as_bytes(), None, 1));
    }

    #[tokio::test]
    async fn a_slow_head_times_out_and_is_told_so() {
        let (mut near, far) = duplex(1024);
        let wire = Arc::new(Wire::default());
        let mut io = StrictIo::new(far, Arc::clone(&wire), Duration::from_millis(20), Box::new(|_, _| {}));
        near.write_all(b"GET / HT").await.unwrap();
        let mut out = Vec::new();
        io.read_to_end(&mut out).await.unwrap();
        assert_eq!((out.len(), wire.fault()), (0, Some(HeadFault::HeadTimeout)));
        io.shutdown().await.unwrap();
        let mut answer = String::new();
        near.read_to_string(&mut answer).await.unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 408 ") && answer.contains("x-jurat-guard: malformed"),
            "{answer}"
        );
    }
}
