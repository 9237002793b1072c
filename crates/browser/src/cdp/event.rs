//! What arrives without being asked for, and what the connection itself has to report.

use std::sync::Arc;
use std::time::Instant;

use serde_json::value::RawValue;

use super::frame::FrameFault;
use super::protocol::{EventType, SessionId};

/// One entry of a subscription, in the order of arrival.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// An event of the browser.
    Message(Arc<Message>),
    /// Events that the subscriber was too slow for were dropped here. Evidence is missing: no pass.
    Gap {
        /// How many.
        count: u64,
    },
    /// A message longer than the connection reads was dropped here. Evidence is missing: no pass.
    Lost(Lost),
    /// The peer broke the protocol here. Evidence may be missing: no pass.
    Fault(Fault),
    /// The browser's end of the pipe closed; nothing follows.
    Closed,
}

impl Event {
    /// The event of the browser, if this is one.
    pub fn message(&self) -> Option<&Message> {
        match self {
            Self::Message(message) => Some(message),
            _ => None,
        }
    }

    /// Whether evidence is, or may be, missing at this place.
    pub fn is_gap(&self) -> bool {
        matches!(self, Self::Gap { .. } | Self::Lost(_) | Self::Fault(_))
    }
}

/// An event of the browser with its payload unread.
#[derive(Debug)]
pub struct Message {
    /// The session it came on; `None` is the browser's own.
    pub session: Option<SessionId>,
    /// `Domain.event`.
    pub method: Box<str>,
    /// Its payload.
    pub params: Box<RawValue>,
    /// Its place in the order of arrival on this connection, replies included.
    pub index: u64,
    /// When it was read.
    pub at: Instant,
}

impl Message {
    /// Whether this is an `E`.
    pub fn is<E: EventType>(&self) -> bool {
        &*self.method == E::METHOD
    }

    /// The payload as an `E`; `None` when it is another event.
    ///
    /// # Errors
    /// When the payload has another shape than expected. The raw payload is still there.
    pub fn decode<E: EventType>(&self) -> Option<Result<E, serde_json::Error>> {
        self.is::<E>().then(|| serde_json::from_str(self.params.get()))
    }
}

/// A message that was too long to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// Its length.
    pub bytes: u64,
    /// The call it answered, which failed with `TooLarge`; `None` when it was an event or its id was not in front.
    pub id: Option<u64>,
}

/// How the peer broke the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Bytes that are no DevTools message.
    #[error(transparent)]
    Frame(#[from] FrameFault),
    /// An answer to a call that was never made.
    #[error("an answer to a call that was never made ({id})")]
    UnknownId {
        /// The id of the answer.
        id: u64,
    },
    /// A second answer to one call.
    #[error("a second answer to call {id}")]
    ReusedId {
        /// The id of the answer.
        id: u64,
    },
    /// The stream ended within a message.
    #[error("the stream ended {bytes} bytes into a message")]
    CutShort {
        /// How much of it there was.
        bytes: u64,
    },
}

/// Counts of one connection, from its start. Any of the first four above zero means that evidence is or may be missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Protocol faults of the peer.
    pub faults: u64,
    /// Messages that were too long to be read.
    pub lost_messages: u64,
    /// Bytes of those messages.
    pub lost_bytes: u64,
    /// Events dropped because a subscriber was too slow.
    pub dropped_events: u64,
    /// Lone surrogates that were repaired.
    pub repaired_surrogates: u64,
    /// Messages read, replies included.
    pub messages: u64,
    /// Bytes read.
    pub bytes: u64,
    /// The most bytes of one unfinished message that were held at once.
    pub most_buffered: u64,
}

impl Stats {
    /// Whether all that the browser sent was read and handed on.
    pub fn complete(&self) -> bool {
        self.faults == 0 && self.lost_messages == 0 && self.dropped_events == 0
    }
}
