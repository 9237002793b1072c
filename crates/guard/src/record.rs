//! The guard's log: numbered records over one bounded channel.
//!
//! A request that goes to an origin is announced when its head was judged ([`GuardEvent::Started`]) and told again, with the
//! same `seq`, when it ended; a refusal is told once. Numbers and announcements are in order of arrival over all listeners.
//!
//! Invariants: every started record is finished once, also when its task is dropped; an event that the channel could not
//! take is counted ([`crate::Guard::lost`]), and one lost event is a gap in evidence.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use jurat_core::observation::guard::{
    Disposition, GuardKind, GuardReason, GuardRecord, ListenerId, MAX_TEXT, RequestHints,
};
use tokio::sync::mpsc;

/// What the guard tells its owner, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardEvent {
    /// A request is on its way to an origin; its record is not final.
    Started(GuardRecord),
    /// The final record. Refusals come without a start.
    Finished(GuardRecord),
}

impl GuardEvent {
    /// The record, final or not.
    pub fn record(&self) -> &GuardRecord {
        match self {
            Self::Started(record) | Self::Finished(record) => record,
        }
    }
}

/// Microseconds from `epoch` until now.
pub(crate) fn micros_since(epoch: Instant) -> u64 {
    u64::try_from(epoch.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// Bytes that passed, counted where they pass.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) up: AtomicU64,
    pub(crate) down: AtomicU64,
}

/// What is known of a request when it has been judged.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) listener: ListenerId,
    pub(crate) kind: GuardKind,
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) url_cut: bool,
    pub(crate) via_connect: bool,
    pub(crate) hints: RequestHints,
}

#[derive(Debug)]
pub(crate) struct Recorder {
    events: mpsc::Sender<GuardEvent>,
    seq: Mutex<u64>,
    lost: AtomicU64,
    in_flight: AtomicUsize,
    epoch: Instant,
}

impl Recorder {
    pub(crate) fn new(epoch: Instant, capacity: usize) -> (Arc<Self>, mpsc::Receiver<GuardEvent>) {
        let (events, receiver) = mpsc::channel(capacity);
        let recorder = Self {
            events,
            seq: Mutex::new(0),
            lost: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            epoch,
        };
        (Arc::new(recorder), receiver)
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Acquire)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    /// Announces a request that goes to an origin.
    pub(crate) fn start(self: &Arc<Self>, draft: Draft) -> Open {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        let record = self.number(draft, Disposition::Forwarded, |record| {
            Some(GuardEvent::Started(record.clone()))
        });
        Open {
            recorder: Arc::clone(self),
            record,
            begun: Instant::now(),
            counters: Arc::default(),
            told: false,
        }
    }

    /// Records a refusal.
    pub(crate) fn refuse(
        &self,
        draft: Draft,
        disposition: Disposition,
        reason: GuardReason,
        detail: Option<String>,
        status: u16,
    ) {
        self.number(draft, disposition, |record| {
            record.reason = Some(reason);
            record.detail = detail;
            record.status = Some(status);
            record.ended = true;
            Some(GuardEvent::Finished(record.clone()))
        });
    }

    /// Numbers and sends under one lock, so that numbers arrive in order.
    fn number(
        &self,
        draft: Draft,
        disposition: Disposition,
        event: impl FnOnce(&mut GuardRecord) -> Option<GuardEvent>,
    ) -> GuardRecord {
        let mut seq = self.seq.lock().unwrap_or_else(PoisonError::into_inner);
        *seq += 1;
        let mut method = draft.method;
        method.truncate(MAX_TEXT);
        let mut record = GuardRecord {
            seq: *seq,
            at_us: micros_since(self.epoch),
            listener: draft.listener,
            kind: draft.kind,
            disposition,
            reason: None,
            detail: None,
            method,
            url: draft.url,
            url_cut: draft.url_cut,
            via_connect: draft.via_connect,
            tunnelled: draft.kind == GuardKind::Tunnel && disposition == Disposition::Forwarded,
            status: None,
            request_bytes: 0,
            response_bytes: 0,
            head_us: None,
            duration_us: 0,
            ended: false,
            aborted: false,
            resent: false,
            upstream: None,
            content_type: None,
            hints: draft.hints,
        };
        if let Some(event) = event(&mut record) {
            self.send(event);
        }
        record
    }

    fn send(&self, event: GuardEvent) {
        if self.events.try_send(event).is_err() {
            self.lost.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// A forwarded request whose end is still to be told. Dropping it tells an abort by the client.
#[derive(Debug)]
pub(crate) struct Open {
    recorder: Arc<Recorder>,
    record: GuardRecord,
    begun: Instant,
    counters: Arc<Counters>,
    told: bool,
}

impl Open {
    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    pub(crate) fn dialled(&mut self, upstream: String) {
        self.record.upstream = Some(upstream);
    }

    pub(crate) fn resent(&mut self) {
        self.record.resent = true;
    }

    /// The answer's head is there.
    pub(crate) fn answered(&mut self, status: u16, content_type: Option<String>) {
        self.record.status = Some(status);
        self.record.content_type = content_type;
        self.record.head_us = Some(micros_since(self.begun));
    }

    /// It ended whole.
    pub(crate) fn finish(mut self) {
        self.tell();
    }

    /// It ended before it was whole.
    pub(crate) fn abort(mut self, reason: GuardReason, detail: Option<String>) {
        self.record.aborted = true;
        self.record.reason = Some(reason);
        self.record.detail = detail;
        self.tell();
    }

    fn tell(&mut self) {
        self.told = true;
        self.record.request_bytes = self.counters.up.load(Ordering::Acquire);
        self.record.response_bytes = self.counters.down.load(Ordering::Acquire);
        self.record.duration_us = micros_since(self.begun);
        self.record.ended = true;
        self.recorder.in_flight.fetch_sub(1, Ordering::AcqRel);
        self.recorder.send(GuardEvent::Finished(self.record.clone()));
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.told {
            self.record.aborted = true;
            self.record.reason = Some(GuardReason::ClientAborted);
            self.tell();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn draft() -> Draft {
        Draft {
            listener: ListenerId(1),
            kind: GuardKind::Request,
            method: "GET".to_owned(),
            url: "http://h/".to_owned(),
            url_cut: false,
            via_connect: false,
            hints: RequestHints::default(),
        }
    }

    #[test]
    fn a_start_is_finished_once_and_a_drop_is_an_abort() {
        let (recorder, mut events) = Recorder::new(Instant::now(), 8);
        let mut open = recorder.start(draft());
        assert_eq!(recorder.in_flight(), 1);
        open.answered(200, None);
        open.counters().up.fetch_add(3, Ordering::AcqRel);
        open.finish();
        drop(recorder.start(draft()));
        recorder.refuse(draft(), Disposition::Refused, GuardReason::OffOrigin, None, 403);
        let told: Vec<_> = std::iter::from_fn(|| events.try_recv().ok()).collect();
        let seqs: Vec<_> = told
            .iter()
            .map(|e| (matches!(e, GuardEvent::Started(_)), e.record().seq))
            .collect();
        assert_eq!(seqs, [(true, 1), (false, 1), (true, 2), (false, 2), (false, 3)]);
        assert_eq!((told[1].record().request_bytes, told[1].record().aborted), (3, false));
        assert_eq!(
            (told[3].record().aborted, told[3].record().reason),
            (true, Some(GuardReason::ClientAborted))
        );
        assert_eq!((recorder.in_flight(), recorder.lost()), (0, 0));
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let (recorder, _events) = Recorder::new(Instant::now(), 1);
        for _ in 0..3 {
            recorder.refuse(draft(), Disposition::Refused, GuardReason::OffOrigin, None, 403);
        }
        assert_eq!(recorder.lost(), 2);
    }
}
