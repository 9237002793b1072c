//! The two pipes to the browser, without blocking.

use std::io;
use std::os::fd::OwnedFd;

use tokio::net::unix::pipe::{Receiver, Sender};

use super::framer::Framer;

/// The size that the pipes are asked to have, in bytes: a screenshot in a few reads instead of dozens.
const PIPE: usize = 1024 * 1024;

/// The end that the browser reads from (its fd 3), and the bytes that wait for it.
#[derive(Debug)]
pub(super) struct Writer {
    pipe: Sender,
    queue: Vec<u8>,
    written: usize,
}

impl Writer {
    pub(super) fn open(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            pipe: Sender::from_owned_fd(widen(fd))?,
            queue: Vec::new(),
            written: 0,
        })
    }

    pub(super) fn queue(&mut self) -> &mut Vec<u8> {
        &mut self.queue
    }

    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// Waits until the browser takes bytes. Cancel safe.
    pub(super) async fn ready(&self) -> io::Result<()> {
        self.pipe.writable().await
    }

    /// Writes what the pipe takes now, and gives its length.
    pub(super) fn write(&mut self) -> io::Result<usize> {
        let mut total = 0;
        while let Some(rest) = self.queue.get(self.written..).filter(|rest| !rest.is_empty()) {
            match self.pipe.try_write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.written += count;
                    total += count;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(total),
                Err(error) => return Err(error),
            }
        }
        self.queue.clear();
        self.written = 0;
        Ok(total)
    }
}

/// The end that the browser writes to (its fd 4), cut into messages.
#[derive(Debug)]
pub(super) struct Reader {
    pipe: Receiver,
    pub(super) framer: Framer,
}

/// What one read gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    Bytes(usize),
    Nothing,
    End,
}

impl Reader {
    pub(super) fn open(fd: OwnedFd, cap: usize) -> io::Result<Self> {
        Ok(Self {
            pipe: Receiver::from_owned_fd(widen(fd))?,
            framer: Framer::new(cap),
        })
    }

    /// Waits until there is something to read. Cancel safe.
    pub(super) async fn ready(&self) -> io::Result<()> {
        self.pipe.readable().await
    }

    /// Reads once, without waiting.
    pub(super) fn read(&mut self) -> Read {
        match self.pipe.try_read_buf(self.framer.space()) {
            Ok(0) => Read::End,
            Ok(count) => Read::Bytes(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Read::Nothing,
            Err(_) => Read::End,
        }
    }
}

/// Asks for a larger pipe. Refusal costs time only.
fn widen(fd: OwnedFd) -> OwnedFd {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _refused = rustix::pipe::fcntl_setpipe_size(&fd, PIPE).is_err();
    fd
}
