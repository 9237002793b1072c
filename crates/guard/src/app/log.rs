//! What the app writes: its head and its tail, and whether a text has stood in one of its lines.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jurat_core::canon::Digest;
use jurat_core::observation::AppLog;
use jurat_core::untrusted::Untrusted;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Bytes that are kept of the head.
const HEAD: usize = 128 * 1024;
/// Bytes that are kept of the tail.
const TAIL: usize = 128 * 1024;
/// Bytes of one line that are searched.
const LINE: usize = 8 * 1024;
/// Bytes of the tail that stand in evidence beside the blob.
const TOLD: usize = 2048;

/// Standard output and error, in the order in which they came.
#[derive(Debug)]
pub(super) struct Log {
    book: Arc<Mutex<Book>>,
    found: watch::Receiver<bool>,
    reader: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Book {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Log {
    /// Reads a pipe until it ends or this is dropped; looks for `wanted` in its lines.
    pub(super) fn read(pipe: OwnedFd, wanted: Option<String>) -> std::io::Result<Self> {
        let mut pipe = Receiver::from_owned_fd(pipe)?;
        let book: Arc<Mutex<Book>> = Arc::default();
        let kept = Arc::clone(&book);
        let (told, found) = watch::channel(false);
        let reader = tokio::spawn(async move {
            let mut search = wanted.map(Search::new);
            let mut chunk = [0; 8192];
            while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
                let bytes = &chunk[..read];
                lock(&kept).add(bytes);
                if search.as_mut().is_some_and(|search| search.feed(bytes)) {
                    search = None;
                    told.send_replace(true);
                }
            }
            // Who waits for a line learns that none will come when this is dropped.
            drop(told);
        });
        Ok(Self { book, found, reader })
    }

    /// Waits until the wanted text has stood in a line; forever if it never does.
    pub(super) async fn found(&self) {
        let mut found = self.found.clone();
        if found.wait_for(|found| *found).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until the pipe has ended: its last words are in. Something that holds it open must be gone before.
    pub(super) async fn ended(&mut self) {
        let _ = (&mut self.reader).await;
    }

    /// What was kept, and what evidence says about it; none if nothing was written.
    pub(super) fn take(&self) -> Option<(Vec<u8>, AppLog)> {
        let book = lock(&self.book);
        if book.total == 0 {
            return None;
        }
        let bytes = book.bytes();
        let log = AppLog {
            blob: Digest::of(&bytes),
            bytes: bytes.len() as u64,
            total: book.total,
            tail: tail(&bytes),
        };
        Some((bytes, log))
    }

    /// The last lines, at most 2048 bytes.
    pub(super) fn tail(&self) -> Untrusted {
        tail(&lock(&self.book).bytes())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Book {
    fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..excess);
    }

    /// Head and tail, with a line between them that says what is missing.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head.clone();
        let missing = self.total - (self.head.len() + self.tail.len()) as u64;
        if missing > 0 {
            bytes.extend(format!("\n[jurat: {missing} bytes are left out here]\n").bytes());
        }
        bytes.extend(&self.tail);
        bytes
    }
}

fn tail(bytes: &[u8]) -> Untrusted {
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TOLD)..]);
    // A replacement character may be longer than the byte that it stands for.
    let mut from = text.len().saturating_sub(TOLD);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    Untrusted::new(&text[from..])
}

/// Looks for a text within a line, whatever colours it is written in.
#[derive(Debug)]
struct Search {
    wanted: String,
    line: Vec<u8>,
}

impl Search {
    fn new(wanted: String) -> Self {
        Self {
            wanted,
            line: Vec::new(),
        }
    }

    /// Whether the text stands in the line that is being written, or in one that these bytes end.
    fn feed(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            if *byte == b'\n' {
                if self.holds() {
                    return true;
                }
                self.line.clear();
            } else if self.line.len() < LINE {
                self.line.push(*byte);
            }
        }
        self.holds()
    }

    fn holds(&self) -> bool {
        plain(&String::from_utf8_lossy(&self.line)).contains(&self.wanted)
    }
}

/// Without control sequences (ECMA-48, 5.4: ESC [ parameters final).
fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' && rest.peek() == Some(&'[') {
            rest.next();
            for c in rest.by_ref() {
                if ('\u{40}'..='\u{7e}').contains(&c) {
                    break;
                }
            }
        } else if !c.is_control() || c == '\t' {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_in_one_line_only() {
        let found = |parts: &[&str]| {
            let mut search = Search::new("ready in".to_owned());
            parts.iter().any(|part| search.feed(part.as_bytes()))
        };
        assert!(found(&["VITE ready in 5 ms\n"]));
        assert!(found(&["VITE re", "ady in"]), "before the line has ended");
        assert!(found(&["\u{1b}[32mready\u{1b}[0m \u{1b}[1;2min\n"]));
        assert!(!found(&["ready\n in\n"]));
        assert!(!found(&["not yet\n"]));
    }

    #[test]
    fn head_and_tail_are_kept_and_the_middle_is_counted() {
        let mut book = Book::default();
        book.add(b"first ");
        assert_eq!(book.bytes(), b"first ");
        for _ in 0..1000 {
            book.add(&[b'x'; 1000]);
        }
        book.add(b"\xfflast");
        let bytes = book.bytes();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with("first x") && text.ends_with("last"));
        assert!(text.contains("[jurat: "), "what is missing is said");
        assert!(bytes.len() < HEAD + TAIL + 100);
        assert_eq!(book.total, 1_000_011);
        assert!(tail(&bytes).raw().len() <= TOLD && tail(&bytes).raw().ends_with("last"));
    }
}
