//! What a context is made with, and the channel that its events leave by.

use std::time::Instant;

use jurat_core::contract::{Emulate, Viewport};
use jurat_core::observation::Happening;
use tokio::sync::mpsc;

/// What a context is made with.
#[derive(Debug)]
pub struct ContextOptions<'a> {
    /// Port on 127.0.0.1 of the guard's listener for this context: its only way out.
    pub proxy_port: u16,
    /// Size, scale, mobile.
    pub viewport: &'a Viewport,
    /// Locale, time zone, media, permissions, position.
    pub emulate: &'a Emulate,
    /// The origin that permissions are granted to.
    pub origin: &'a str,
    /// Where events go.
    pub events: EventSender,
}

/// Something that happened, with the moment at which it was read from the pipe.
#[derive(Debug, Clone)]
pub struct Seen {
    /// When.
    pub at: Instant,
    /// What.
    pub what: Happening,
}

/// The sending half of [`events`].
pub type EventSender = mpsc::Sender<Seen>;

/// The receiving half of [`events`].
pub type EventReceiver = mpsc::Receiver<Seen>;

/// How many events wait at most; what is sent beyond it becomes a `Gap`.
const CAPACITY: usize = 32_768;

/// A channel for the events of one context or of several.
pub fn events() -> (EventSender, EventReceiver) {
    mpsc::channel(CAPACITY)
}
