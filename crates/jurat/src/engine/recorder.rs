//! The recorder: the one place where what happened gets its place in the run.
//!
//! Events come from the browser and the guard through one channel; observations come from the session. Both get the next `seq` here, so what came after what
//! is never in doubt. Before anything is recorded, the channel is emptied.

use std::time::Instant;

use jurat_browser::context::{EventReceiver, Seen};
use jurat_core::observation::{ActionMark, Event, Fact, Happening, LogMark, Observation, Record};

/// Events kept for one run; what comes beyond is counted as a gap.
const MAX_EVENTS: usize = 60_000;

/// The record of one run while it grows.
#[derive(Debug)]
pub(super) struct Recorder {
    started: Instant,
    guard_epoch: Instant,
    record: Record,
    next: u64,
    viewport: Option<String>,
    channel: Option<EventReceiver>,
    past: Vec<(String, EventReceiver)>,
    actions: u32,
    /// `seq` of the mark of the last action.
    last_action: u64,
    overflow: u64,
}

impl Recorder {
    /// A recorder for a run that starts now, behind a guard that was opened at `guard_epoch`.
    pub(super) fn new(started: Instant, guard_epoch: Instant) -> Self {
        Self {
            started,
            guard_epoch,
            record: Record::default(),
            next: 1,
            viewport: None,
            channel: None,
            past: Vec::new(),
            actions: 0,
            last_action: 0,
            overflow: 0,
        }
    }

    /// From here on, events and observations are of this viewport.
    pub(super) fn enter(&mut self, viewport: &str, channel: EventReceiver) {
        self.viewport = Some(viewport.to_owned());
        self.channel = Some(channel);
        self.actions = 0;
        self.last_action = self.next;
    }

    /// The viewport is done; what its closing page still does is taken when the run ends.
    pub(super) fn leave(&mut self) {
        self.drain();
        if let (Some(viewport), Some(channel)) = (self.viewport.take(), self.channel.take()) {
            self.past.push((viewport, channel));
        }
    }

    /// Microseconds since the run started.
    fn at(&self, when: Instant) -> u64 {
        u64::try_from(when.saturating_duration_since(self.started).as_micros()).unwrap_or(u64::MAX)
    }

    /// Microseconds since the run started, now.
    pub(super) fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    fn take(&mut self) -> u64 {
        let seq = self.next;
        self.next += 1;
        seq
    }

    /// Records what has come in by now.
    pub(super) fn drain(&mut self) {
        while let Some(Seen { at, what }) = self.channel.as_mut().and_then(|c| c.try_recv().ok()) {
            self.push(at, what, self.viewport.clone());
        }
    }

    /// Records an observation of a viewport that is done.
    pub(super) fn keep_late(&mut self, observation: Observation) {
        self.drain_past();
        self.keep(vec![observation]);
    }

    /// Records what finished viewports still did.
    pub(super) fn drain_past(&mut self) {
        for (viewport, mut channel) in std::mem::take(&mut self.past) {
            while let Ok(Seen { at, what }) = channel.try_recv() {
                self.push(at, what, Some(viewport.clone()));
            }
            self.past.push((viewport, channel));
        }
    }

    /// Records something that happened at a known moment and belongs to no viewport.
    pub(super) fn event_at(&mut self, at: Instant, what: Happening) {
        self.push(at, what, None);
    }

    fn push(&mut self, at: Instant, what: Happening, viewport: Option<String>) {
        if self.record.events.len() >= MAX_EVENTS {
            self.overflow += 1;
            return;
        }
        let at_us = self.at(at);
        let what = self.on_our_clock(at_us, what);
        let seq = self.take();
        self.record.events.push(Event {
            seq,
            at_us,
            viewport,
            what,
        });
    }

    /// The guard and the canaries count from their own opening, which many runs share.
    fn on_our_clock(&self, at_us: u64, what: Happening) -> Happening {
        match what {
            Happening::Guard(mut record) => {
                record.at_us = at_us.saturating_sub(if record.ended { record.duration_us } else { 0 });
                Happening::Guard(record)
            }
            Happening::Canaries { mut hits } => {
                let epoch = self.at(self.guard_epoch);
                let before = u64::try_from(self.started.saturating_duration_since(self.guard_epoch).as_micros());
                for hit in &mut hits {
                    hit.at_us = (hit.at_us + epoch).saturating_sub(before.unwrap_or(0));
                }
                Happening::Canaries { hits }
            }
            other => other,
        }
    }

    /// Records an event of the run itself.
    pub(super) fn event(&mut self, what: Happening) {
        self.push(Instant::now(), what, None);
    }

    /// Records an event of the current viewport.
    pub(super) fn here(&mut self, what: Happening) {
        self.drain();
        self.push(Instant::now(), what, self.viewport.clone());
    }

    /// Marks the beginning of an action; returns its number within the viewport.
    pub(super) fn action(&mut self, criterion: &str) -> u32 {
        self.drain();
        self.actions += 1;
        self.last_action = self.next;
        let mark = ActionMark {
            action: self.actions,
            criterion: criterion.to_owned(),
        };
        self.push(Instant::now(), Happening::Action(mark), self.viewport.clone());
        self.actions
    }

    /// How many actions of the viewport have begun.
    pub(super) fn actions(&self) -> u32 {
        self.actions
    }

    /// How far the log reaches now; `since` the last action, or since the viewport began.
    pub(super) fn mark(&mut self, whole_viewport: bool) -> LogMark {
        self.drain();
        LogMark {
            events: self.next,
            since: if whole_viewport { 0 } else { self.last_action },
        }
    }

    /// An observation with the next place, not recorded yet.
    pub(super) fn observe(&mut self, criterion: &str, fact: Fact) -> Observation {
        Observation {
            seq: 0,
            at_us: self.now(),
            viewport: self.viewport.clone().unwrap_or_default(),
            criterion: criterion.to_owned(),
            after_action: self.actions,
            fact,
        }
    }

    /// Records observations; events that came before them get their places first.
    pub(super) fn keep(&mut self, observations: Vec<Observation>) {
        self.drain();
        for mut observation in observations {
            observation.seq = self.take();
            self.record.observations.push(observation);
        }
    }

    /// What has been recorded so far.
    pub(super) fn record(&mut self) -> &Record {
        self.drain();
        &self.record
    }

    /// The observations so far.
    pub(super) fn observations(&self) -> &[Observation] {
        &self.record.observations
    }

    /// The whole record.
    pub(super) fn finish(mut self) -> Record {
        self.leave();
        self.drain_past();
        if self.overflow > 0 {
            let count = self.overflow;
            let seq = self.take();
            let at_us = self.now();
            let what = Happening::Gap {
                at: "log".into(),
                count,
            };
            self.record.events.push(Event {
                seq,
                at_us,
                viewport: None,
                what,
            });
        }
        self.record
    }
}
