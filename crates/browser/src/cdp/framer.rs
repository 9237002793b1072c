//! Splitting the byte stream of the pipe into messages.
//!
//! A message ends at a NUL byte. One that grows past the cap is dropped while it streams in; its length and its first
//! bytes are kept, so that its loss can be reported and the call it answered can be failed by name.
//!
//! Invariant: [`Framer::buffered`] never exceeds the cap by more than one read.

use memchr::memchr;

/// The room made for one read, in bytes.
const READ: usize = 64 * 1024;
/// What is kept of a message that is dropped, in bytes: enough for its id.
const HEAD: usize = 64;
/// Above this capacity, in bytes, an empty buffer is given back.
const KEEP: usize = 1024 * 1024;

/// One message, or the loss of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The bytes between two NULs.
    Message(&'a [u8]),
    /// A message longer than the cap.
    Oversize {
        /// Its first bytes.
        head: &'a [u8],
        /// Its length.
        bytes: u64,
    },
}

/// Cuts a stream of bytes at NULs, under a cap.
#[derive(Debug)]
pub struct Framer {
    cap: usize,
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    dropping: bool,
    head: Vec<u8>,
    dropped: u64,
}

impl Framer {
    /// A framer that hands out messages of at most `cap` bytes.
    #[must_use]
    pub fn new(cap: usize) -> Self {
        Self {
            cap,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            dropping: false,
            head: Vec::new(),
            dropped: 0,
        }
    }

    /// The buffer to append the next read to, with room for one read.
    pub fn space(&mut self) -> &mut Vec<u8> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        if self.buffer.is_empty() && self.buffer.capacity() > KEEP {
            self.buffer = Vec::new();
        }
        self.buffer.reserve(READ);
        &mut self.buffer
    }

    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.space().extend_from_slice(bytes);
    }

    /// The next whole message or loss; `None` when more bytes are needed.
    // Not an `Iterator`: the item borrows from the framer.
    #[expect(
        clippy::should_implement_trait,
        reason = "the item borrows from the framer, so it cannot be an Iterator"
    )]
    pub fn next(&mut self) -> Option<Frame<'_>> {
        let end = self
            .buffer
            .get(self.scanned..)
            .and_then(|rest| memchr(0, rest))
            .map(|offset| self.scanned + offset);
        let Some(end) = end else {
            self.scanned = self.buffer.len();
            if self.dropping || self.scanned - self.start > self.cap {
                self.drop_to(self.scanned);
            }
            return None;
        };
        if self.dropping || end - self.start > self.cap {
            self.drop_to(end);
            (self.start, self.scanned, self.dropping) = (end + 1, end + 1, false);
            let bytes = std::mem::take(&mut self.dropped);
            return Some(Frame::Oversize {
                head: &self.head,
                bytes,
            });
        }
        let from = self.start;
        (self.start, self.scanned) = (end + 1, end + 1);
        self.buffer.get(from..end).map(Frame::Message)
    }

    /// How many bytes are held.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// How many bytes of an unfinished message there are, held or dropped: at the end of the stream, what was cut off.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        self.dropped + u64::try_from(self.buffered()).unwrap_or(u64::MAX)
    }

    /// Drops everything from `start` up to `end`, remembering length and first bytes.
    fn drop_to(&mut self, end: usize) {
        if !self.dropping {
            self.dropping = true;
            self.head.clear();
            self.head.extend(self.buffer.iter().skip(self.start).take(HEAD));
        }
        self.dropped += u64::try_from(end - self.start).unwrap_or(u64::MAX);
        (self.start, self.scanned) = (end, end);
    }
}

#[cfg(test)]
mod tests {
    use super::{Frame, Framer, READ};

    fn owned(frame: Frame<'_>) -> (Vec<u8>, Option<u64>) {
        match frame {
            Frame::Message(bytes) => (bytes.to_vec(), None),
            Frame::Oversize { head, bytes } => (head.to_vec(), Some(bytes)),
        }
    }

    fn split(cap: usize, chunks: &[&[u8]]) -> Vec<(Vec<u8>, Option<u64>)> {
        let mut framer = Framer::new(cap);
        let mut frames = Vec::new();
        for chunk in chunks {
            framer.push(chunk);
            while let Some(frame) = framer.next() {
                frames.push(owned(frame));
            }
        }
        frames
    }

    #[test]
    fn messages_end_at_nul_wherever_reads_end() {
        let whole: &[u8] = b"{\"id\":1}\0\0{\"id\":22}\0rest";
        let expected = split(100, &[whole]);
        assert_eq!(
            expected,
            [
                (b"{\"id\":1}".to_vec(), None),
                (Vec::new(), None),
                (b"{\"id\":22}".to_vec(), None)
            ]
        );
        for cut in 0..whole.len() {
            assert_eq!(split(100, &[&whole[..cut], &whole[cut..]]), expected, "cut at {cut}");
        }
    }

    #[test]
    fn an_oversize_message_is_dropped_with_its_length_and_the_next_one_is_read() {
        for chunks in [
            vec![&b"{\"id\":7,\"xx\":0}\0{}\0"[..]],
            vec![b"{\"id\":7,\"", b"xx\":", b"0}", b"\0{}\0"],
        ] {
            assert_eq!(split(8, &chunks)[0].1, Some(15));
            assert!(split(8, &chunks)[0].0.starts_with(b"{\"id\":7,"));
            assert_eq!(split(8, &chunks)[1], (b"{}".to_vec(), None));
        }
    }

    #[test]
    fn memory_stays_under_the_cap_while_a_long_message_streams_in() {
        let cap = 256 * 1024;
        let mut framer = Framer::new(cap);
        let chunk = vec![b'x'; READ];
        for _ in 0..3200 {
            framer.push(&chunk);
            assert!(framer.next().is_none());
            assert!(framer.buffered() <= cap + READ);
            assert!(framer.space().capacity() <= 4 * (cap + READ));
        }
        assert_eq!(framer.unfinished(), 3200 * 64 * 1024);
        framer.push(b"\0");
        assert!(matches!(
            framer.next(),
            Some(Frame::Oversize { bytes: 209_715_200, .. })
        ));
    }
}
