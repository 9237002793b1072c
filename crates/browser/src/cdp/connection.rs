//! The connection to one Chromium process.
//!
//! One task owns both pipes and the table of calls. Callers hold a cheap [`Session`] and await an answer, a deadline
//! or the death of the target, whichever comes first. The connection lives as long as a handle to it; when the last
//! one is gone both pipes close, and a browser that was started with `--remote-debugging-pipe` ends.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use super::event::Stats;
use super::limits::Limits;
use super::protocol::SessionId;
use super::pump::Pump;
use super::queue::{Filter, Subscribers, Subscription};
use super::session::Session;
use super::transport::{Reader, Writer};

/// Why a pipe could not be used.
#[derive(Debug, thiserror::Error)]
#[error("the DevTools pipe cannot be used: {0}")]
pub struct OpenError(#[from] io::Error);

/// The connection to one browser.
#[derive(Debug, Clone)]
pub struct Connection {
    browser: Session,
}

/// What handles and the task share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) limits: Limits,
    /// Bytes that wait to be written.
    pub(super) queued: AtomicUsize,
    /// Whether calls can no longer be made.
    pub(super) lost: AtomicBool,
    pub(super) subscribers: Subscribers,
    pub(super) stats: Mutex<Stats>,
}

impl Shared {
    pub(super) fn subscribe(&self, filter: Filter) -> Subscription {
        self.subscribers.subscribe(filter, self.limits)
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut Stats)) {
        change(&mut self.stats.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Connection {
    /// Opens the connection over the pipe that the browser reads from (its fd 3) and the one it writes to (its fd 4).
    /// To be called within a tokio runtime, whose task then serves it.
    ///
    /// # Errors
    /// When a descriptor is no pipe, or has the wrong direction.
    pub fn open(to_browser: OwnedFd, from_browser: OwnedFd, limits: Limits) -> Result<Self, OpenError> {
        let writer = Writer::open(to_browser)?;
        let reader = Reader::open(from_browser, limits.message_bytes)?;
        let shared = Arc::new(Shared {
            limits,
            queued: AtomicUsize::new(0),
            lost: AtomicBool::new(false),
            subscribers: Subscribers::open(),
            stats: Mutex::default(),
        });
        let (ops, incoming) = mpsc::unbounded_channel();
        tokio::spawn(Pump::new(reader, writer, incoming, Arc::clone(&shared)).run());
        Ok(Self {
            browser: Session { ops, shared, id: None },
        })
    }

    /// The browser's own session.
    pub fn browser(&self) -> &Session {
        &self.browser
    }

    /// The session with this id.
    #[must_use]
    pub fn session(&self, id: SessionId) -> Session {
        self.browser.with_id(Some(id))
    }

    /// The events that match, from now on.
    pub fn subscribe(&self, filter: Filter) -> Subscription {
        self.browser.shared.subscribe(filter)
    }

    /// The counts so far.
    pub fn stats(&self) -> Stats {
        *self.browser.shared.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
