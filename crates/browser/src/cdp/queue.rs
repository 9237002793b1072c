//! Subscriptions: bounded queues between the reader and whoever wants the events.
//!
//! The reader never waits for a subscriber. A queue that is full drops what comes, counts it, and says where and how
//! many by one [`Event::Gap`]; it takes events again when half of it is free. Events that decide about targets and
//! dialogs have a quarter more room, so that a flood of console lines does not hide a dialog from the one who must
//! answer it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::event::{Event, Message};
use super::limits::Limits;
use super::protocol::SessionId;

/// Which events a subscription gets. Gaps, losses, faults and the end of the connection come to every subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// All events of the connection.
    All,
    /// Those of one session; `None` is the browser's own.
    Session(Option<SessionId>),
}

impl Filter {
    fn admits(&self, event: &Event) -> bool {
        match (self, event) {
            (Self::Session(session), Event::Message(message)) => *session == message.session,
            _ => true,
        }
    }
}

/// What one queued event is counted as, beside its payload, in bytes.
const OVERHEAD: usize = 256;

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Event>,
    bytes: usize,
    dropped: u64,
    finished: bool,
}

/// One bounded queue.
#[derive(Debug)]
pub(super) struct Queue {
    filter: Filter,
    limits: Limits,
    waiting: Mutex<Waiting>,
    ready: Notify,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues one event, and gives the number of events that were dropped by that.
    fn push(&self, event: &Event) -> u64 {
        if !self.filter.admits(event) {
            return 0;
        }
        let mut waiting = self.lock();
        let size = size(event);
        if !self.has_room(&waiting, event, size) {
            waiting.dropped += 1;
            return 1;
        }
        if waiting.dropped > 0 {
            let count = std::mem::take(&mut waiting.dropped);
            waiting.bytes += OVERHEAD;
            waiting.events.push_back(Event::Gap { count });
        }
        waiting.bytes += size;
        waiting.events.push_back(event.clone());
        drop(waiting);
        self.ready.notify_one();
        0
    }

    fn has_room(&self, waiting: &Waiting, event: &Event, size: usize) -> bool {
        let (events, bytes) = (waiting.events.len() + 1, waiting.bytes + size);
        let (max_events, max_bytes) = (self.limits.queue_events, self.limits.queue_bytes);
        match event {
            Event::Closed => true,
            Event::Message(message) if !is_control(message) => {
                let parts = if waiting.dropped > 0 { 2 } else { 1 };
                events <= max_events / parts && bytes <= max_bytes / parts
            }
            _ => events <= max_events + max_events / 4 && bytes <= max_bytes + max_bytes / 4,
        }
    }

    fn pop(&self) -> Popped {
        let mut waiting = self.lock();
        if let Some(event) = waiting.events.pop_front() {
            waiting.bytes = waiting.bytes.saturating_sub(size(&event));
            waiting.finished = matches!(event, Event::Closed);
            return Popped::Event(event);
        }
        if waiting.dropped > 0 {
            return Popped::Event(Event::Gap {
                count: std::mem::take(&mut waiting.dropped),
            });
        }
        if waiting.finished {
            Popped::Finished
        } else {
            Popped::Nothing
        }
    }
}

enum Popped {
    Event(Event),
    Nothing,
    Finished,
}

fn size(event: &Event) -> usize {
    OVERHEAD + event.message().map_or(0, |message| message.params.get().len())
}

fn is_control(message: &Message) -> bool {
    ["Target.", "Inspector.", "Page.javascriptDialog"]
        .iter()
        .any(|prefix| message.method.starts_with(prefix))
}

/// A bounded queue of events, in the order of arrival. It gets what arrives after it was made, so it is made before the
/// command that makes the browser send.
#[derive(Debug)]
pub struct Subscription {
    queue: Arc<Queue>,
}

impl Subscription {
    /// The next event; `None` after [`Event::Closed`]. Cancel safe.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            match self.queue.pop() {
                Popped::Event(event) => return Some(event),
                Popped::Finished => return None,
                Popped::Nothing => self.queue.ready.notified().await,
            }
        }
    }

    /// The next event that is already here.
    pub fn try_next(&mut self) -> Option<Event> {
        match self.queue.pop() {
            Popped::Event(event) => Some(event),
            Popped::Nothing | Popped::Finished => None,
        }
    }

    /// How many events wait, and how many bytes they are counted as.
    pub fn waiting(&self) -> (usize, usize) {
        let waiting = self.queue.lock();
        (waiting.events.len(), waiting.bytes)
    }
}

/// All subscriptions of a connection.
#[derive(Debug, Default)]
pub(super) struct Subscribers {
    /// `None` once the connection has closed.
    queues: Mutex<Option<Vec<Arc<Queue>>>>,
}

impl Subscribers {
    pub(super) fn open() -> Self {
        Self {
            queues: Mutex::new(Some(Vec::new())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<Arc<Queue>>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn subscribe(&self, filter: Filter, limits: Limits) -> Subscription {
        let queue = Arc::new(Queue {
            filter,
            limits,
            waiting: Mutex::default(),
            ready: Notify::new(),
        });
        match self.lock().as_mut() {
            Some(queues) => queues.push(Arc::clone(&queue)),
            None => {
                queue.push(&Event::Closed);
            }
        }
        Subscription { queue }
    }

    /// Hands one event to all, and gives the number of events that were dropped by that.
    pub(super) fn publish(&self, event: &Event) -> u64 {
        let mut queues = self.lock();
        let Some(open) = queues.as_mut() else { return 0 };
        // A queue that only this list holds has lost its subscriber.
        open.retain(|queue| Arc::strong_count(queue) > 1);
        open.iter().map(|queue| queue.push(event)).sum()
    }

    /// Tells all that nothing follows.
    pub(super) fn close(&self) {
        for queue in self.lock().take().unwrap_or_default() {
            queue.push(&Event::Closed);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use std::time::Instant;

    fn message(method: &str, index: u64) -> Event {
        let params = serde_json::value::RawValue::from_string("{}".to_owned()).unwrap();
        Event::Message(Arc::new(Message {
            session: None,
            method: method.into(),
            params,
            index,
            at: Instant::now(),
        }))
    }

    #[test]
    fn a_full_queue_drops_counts_and_marks_the_place() {
        let subscribers = Subscribers::open();
        let limits = Limits {
            queue_events: 8,
            ..Limits::default()
        };
        let mut subscription = subscribers.subscribe(Filter::All, limits);
        let dropped: u64 = (0..20).map(|index| subscribers.publish(&message("Log.x", index))).sum();
        assert_eq!(dropped, 12);
        assert_eq!(
            subscribers.publish(&message("Page.javascriptDialogOpening", 20)),
            0,
            "control events have a reserve"
        );
        let mut seen = Vec::new();
        while let Some(event) = subscription.try_next() {
            seen.push(event);
        }
        assert_eq!(seen.len(), 10);
        assert!(matches!(seen[8], Event::Gap { count: 12 }));
        assert_eq!(subscription.waiting().0, 0);
        subscribers.publish(&message("Log.x", 21));
        assert_eq!(subscription.try_next().unwrap().message().unwrap().index, 21);
    }

    #[test]
    fn bytes_bound_a_queue_as_well() {
        let subscribers = Subscribers::open();
        let limits = Limits {
            queue_bytes: 4 * OVERHEAD + 8,
            ..Limits::default()
        };
        let subscription = subscribers.subscribe(Filter::Session(None), limits);
        let dropped: u64 = (0..10).map(|index| subscribers.publish(&message("Log.x", index))).sum();
        assert_eq!((dropped, subscription.waiting().0), (6, 4));
    }

    #[test]
    fn a_dropped_subscription_is_forgotten_and_a_late_one_is_closed() {
        let subscribers = Subscribers::open();
        drop(subscribers.subscribe(Filter::All, Limits::default()));
        subscribers.publish(&message("a", 0));
        assert_eq!(subscribers.lock().as_ref().unwrap().len(), 0);
        subscribers.close();
        let mut late = subscribers.subscribe(Filter::All, Limits::default());
        assert!(matches!(late.try_next(), Some(Event::Closed)));
        assert!(late.try_next().is_none());
    }
}
