//! Plugs: for each context the listener at the guard and the channel that its events come by.
//!
//! One task takes the guard's log apart: what came to a context's listener joins that context's own events, what came to
//! the global listener is the browser's own traffic and belongs to no run in particular.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jurat_browser::context::{EventReceiver, EventSender, Seen, events};
use jurat_core::observation::{GuardRecord, Happening};
use jurat_guard::GuardEvent;
use tokio::sync::mpsc::{self, error::TrySendError};

/// Records of the browser's own traffic kept for all runs.
const MAX_BACKGROUND: usize = 256;

/// See the module.
#[derive(Debug)]
pub(super) struct Plugs {
    ports: Vec<u16>,
    senders: Vec<EventSender>,
    receivers: Mutex<Vec<Option<EventReceiver>>>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    background: Mutex<Vec<(Instant, GuardRecord)>>,
    /// Records that found no room, by context.
    lost: Vec<AtomicU64>,
}

impl Plugs {
    /// Takes over the guard's log. `ports` are those of the contexts' listeners, in order.
    pub(super) fn new(ports: Vec<u16>, epoch: Instant, log: mpsc::Receiver<GuardEvent>) -> Self {
        let (senders, receivers): (Vec<_>, Vec<_>) = ports.iter().map(|_| events()).unzip();
        let shared = Arc::new(Shared {
            background: Mutex::default(),
            lost: ports.iter().map(|_| AtomicU64::new(0)).collect(),
        });
        tokio::spawn(sort(log, senders.clone(), epoch, Arc::clone(&shared)));
        Self {
            ports,
            senders,
            receivers: Mutex::new(receivers.into_iter().map(Some).collect()),
            shared,
        }
    }

    /// The port of a context's listener.
    pub(super) fn port(&self, slot: usize) -> u16 {
        self.ports[slot]
    }

    /// Where a context's events go.
    pub(super) fn sender(&self, slot: usize) -> EventSender {
        self.senders[slot].clone()
    }

    /// Where they come out; once for each context.
    pub(super) fn take(&self, slot: usize) -> Option<EventReceiver> {
        self.receivers.lock().unwrap_or_else(PoisonError::into_inner)[slot].take()
    }

    /// Whether a context's events are being read already.
    pub(super) fn taken(&self, slot: usize) -> bool {
        self.receivers.lock().unwrap_or_else(PoisonError::into_inner)[slot].is_none()
    }

    /// The browser's own traffic since a moment.
    pub(super) fn background(&self, since: Instant) -> Vec<(Instant, GuardRecord)> {
        let all = self.shared.background.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|(at, _)| *at >= since).cloned().collect()
    }

    /// Records of these contexts that found no room.
    pub(super) fn lost(&self, slots: std::ops::Range<usize>) -> u64 {
        let all = self.shared.lost.get(slots).unwrap_or_default();
        all.iter().map(|lost| lost.load(Ordering::SeqCst)).sum()
    }
}

async fn sort(mut log: mpsc::Receiver<GuardEvent>, senders: Vec<EventSender>, epoch: Instant, shared: Arc<Shared>) {
    while let Some(event) = log.recv().await {
        let (GuardEvent::Started(record) | GuardEvent::Finished(record)) = event;
        let offset = if record.ended {
            record.at_us + record.duration_us
        } else {
            record.at_us
        };
        let at = epoch + Duration::from_micros(offset);
        let slot = usize::try_from(record.listener.0).ok().and_then(|i| i.checked_sub(1));
        if let Some((slot, sender)) = slot.and_then(|slot| Some((slot, senders.get(slot)?))) {
            let what = Happening::Guard(record);
            // What ends after its run was sealed (a stream that is torn down with its context) is no loss to any other.
            if let Err(TrySendError::Full(_)) = sender.try_send(Seen { at, what }) {
                shared.lost[slot].fetch_add(1, Ordering::SeqCst);
            }
        } else {
            let mut background = shared.background.lock().unwrap_or_else(PoisonError::into_inner);
            if background.len() < MAX_BACKGROUND {
                background.push((at, record));
            }
        }
    }
}
