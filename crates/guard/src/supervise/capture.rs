//! The last words of a process: a bounded tail of what it wrote.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::task::JoinHandle;

/// Bytes that are kept.
const KEEP: usize = 64 * 1024;

/// Reads a pipe until it ends or this is dropped.
#[derive(Debug)]
pub(super) struct Tail {
    kept: Arc<Mutex<(VecDeque<u8>, u64)>>,
    reader: JoinHandle<()>,
}

impl Tail {
    pub(super) fn read(pipe: OwnedFd) -> std::io::Result<Self> {
        let mut pipe = Receiver::from_owned_fd(pipe)?;
        let kept: Arc<Mutex<(VecDeque<u8>, u64)>> = Arc::default();
        let book = Arc::clone(&kept);
        let reader = tokio::spawn(async move {
            let mut chunk = [0; 8192];
            while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
                let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
                book.0.extend(&chunk[..read]);
                book.1 += u64::try_from(read).unwrap_or(u64::MAX);
                let excess = book.0.len().saturating_sub(KEEP);
                book.0.drain(..excess);
            }
        });
        Ok(Self { kept, reader })
    }

    /// The kept bytes as text, and how many there were in all.
    pub(super) fn text(&self) -> (String, u64) {
        let mut book = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let total = book.1;
        (String::from_utf8_lossy(book.0.make_contiguous()).into_owned(), total)
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.reader.abort();
    }
}
