//! What happened, on its way out: bounded by kind, counted where it is cut.
//!
//! What is kept of each kind in one step is enough for every criterion that reads the log: a flood's first entries stand, the rest is
//! counted. Errors of the page have a bound of their own, so that harmless lines cannot push them out; they are kept first in every
//! step, so that a step with an error beyond the bound has errors within it. Where leaving one out could change what follows
//! (a request that would be counted, a navigation to another origin), the rest is a `Gap`, and bars a pass.

use std::collections::BTreeMap;
use std::time::Instant;

use jurat_core::observation::{ConsoleFact, Happening};
use tokio::sync::mpsc::error::TrySendError;

use super::options::{EventSender, Seen};

/// A kind of entry that is bounded on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Console lines that are no errors.
    Console,
    /// Console errors, uncaught exceptions, unhandled rejections.
    Errors,
    /// Entries of the browser itself.
    Log,
    Dialogs,
    /// Navigations; those to another origin are [`Class::Away`].
    Navigations,
    Away,
    Targets,
    Requests,
    Downloads,
    Faults,
}

impl Class {
    /// Kept in one step, and in the whole context.
    fn bounds(self) -> (u32, u32) {
        match self {
            Self::Console | Self::Log | Self::Navigations => (200, 2_000),
            Self::Errors => (200, 4_000),
            Self::Dialogs | Self::Downloads | Self::Faults => (100, 1_000),
            Self::Away => (1_000, 2_000),
            Self::Targets => (500, 4_000),
            Self::Requests => (20_000, 20_000),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Console => "console",
            Self::Errors => "errors",
            Self::Log => "log",
            Self::Dialogs => "dialogs",
            Self::Navigations => "navigations",
            Self::Away => "navigations_away",
            Self::Targets => "targets",
            Self::Requests => "requests",
            Self::Downloads => "downloads",
            Self::Faults => "faults",
        }
    }

    /// Whether leaving out what is beyond the bound of the step can change what follows from the log.
    fn counts(self) -> bool {
        matches!(self, Self::Requests | Self::Away | Self::Faults)
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Outlet {
    events: EventSender,
    /// The origin under test; leaving it is told more patiently than moving within it.
    origin: String,
    step: BTreeMap<Class, u32>,
    whole: BTreeMap<Class, u32>,
    cuts: BTreeMap<&'static str, u64>,
    /// Lost and not yet told.
    lost: u64,
}

impl Outlet {
    pub(super) fn new(events: EventSender, origin: &str) -> Self {
        let origin = origin.trim_end_matches('/').to_owned();
        Self {
            events,
            origin,
            step: BTreeMap::new(),
            whole: BTreeMap::new(),
            cuts: BTreeMap::new(),
            lost: 0,
        }
    }

    /// Whether a URL is of the origin under test.
    pub(super) fn at_home(&self, url: &str) -> bool {
        url.strip_prefix(&self.origin)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']))
    }

    /// A new step: what is kept counts anew.
    pub(super) fn begin_step(&mut self) {
        self.step.clear();
    }

    /// Whether another entry of this kind is kept. When not, it is counted here.
    pub(super) fn admits(&mut self, class: Class) -> bool {
        let (in_step, in_whole) = class.bounds();
        let step = self.step.entry(class).or_default();
        let whole = self.whole.entry(class).or_default();
        if *step < in_step && *whole < in_whole {
            *step += 1;
            *whole += 1;
            return true;
        }
        // Errors beyond the bound of a step stand beside errors within it; once the whole bound is reached they do not.
        let alone = class == Class::Errors && *step == 0;
        *self.cuts.entry(class.name()).or_default() += 1;
        if class.counts() || alone {
            self.lost += 1;
        }
        false
    }

    /// Hands on an entry that was admitted.
    pub(super) fn send(&mut self, at: Instant, what: Happening) {
        self.tell_lost(at);
        // When the channel is closed nobody records any more: the run is over.
        if let Err(TrySendError::Full(_)) = self.events.try_send(Seen { at, what }) {
            self.lost += 1;
        }
    }

    /// Admits and hands on.
    pub(super) fn emit(&mut self, class: Class, at: Instant, what: Happening) {
        if self.admits(class) {
            self.send(at, what);
        }
    }

    /// Entries that never arrived.
    pub(super) fn gap(&mut self, at: Instant, count: u64) {
        self.lost += count;
        self.tell_lost(at);
    }

    /// Tells what was lost, when there is room.
    pub(super) fn tell_lost(&mut self, at: Instant) {
        if self.lost > 0 {
            let what = Happening::Gap {
                at: "devtools".to_owned(),
                count: self.lost,
            };
            if self.events.try_send(Seen { at, what }).is_ok() {
                self.lost = 0;
            }
        }
    }

    pub(super) fn cuts(&self) -> BTreeMap<&'static str, u64> {
        self.cuts.clone()
    }
}

/// The class of a console call.
pub(super) fn class_of(fact: &ConsoleFact) -> Class {
    match fact.level.as_str() {
        "error" | "assert" => Class::Errors,
        "network" => Class::Log,
        _ => Class::Console,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::context::events;

    #[test]
    fn a_flood_of_one_kind_is_cut_and_counted_and_the_next_step_keeps_again() {
        let (sender, mut receiver) = events();
        let mut outlet = Outlet::new(sender, "http://127.0.0.1:1");
        let kept = (0..1000).filter(|_| outlet.admits(Class::Console)).count();
        assert_eq!(kept, 200);
        assert!(outlet.admits(Class::Errors), "harmless lines push no error out");
        assert_eq!(outlet.cuts().get("console"), Some(&800));
        outlet.begin_step();
        assert!(outlet.admits(Class::Console));
        outlet.tell_lost(Instant::now());
        assert!(receiver.try_recv().is_err(), "what was cut is no gap");
    }

    #[test]
    fn what_would_count_is_a_gap_beyond_the_bound() {
        let (sender, mut receiver) = events();
        let mut outlet = Outlet::new(sender, "http://127.0.0.1:1");
        for _ in 0..20_003 {
            outlet.admits(Class::Requests);
        }
        outlet.tell_lost(Instant::now());
        assert!(matches!(
            receiver.try_recv().unwrap().what,
            Happening::Gap { count: 3, .. }
        ));
    }

    #[test]
    fn errors_that_leave_no_error_in_their_step_are_a_gap() {
        let (sender, mut receiver) = events();
        let mut outlet = Outlet::new(sender, "http://127.0.0.1:1");
        for _ in 0..20 {
            outlet.begin_step();
            for _ in 0..300 {
                outlet.admits(Class::Errors);
            }
        }
        outlet.tell_lost(Instant::now());
        assert!(receiver.try_recv().is_err());
        outlet.begin_step();
        outlet.admits(Class::Errors);
        outlet.tell_lost(Instant::now());
        assert!(matches!(
            receiver.try_recv().unwrap().what,
            Happening::Gap { count: 1, .. }
        ));
    }

    #[test]
    fn a_receiver_that_is_too_slow_is_told_how_much_it_missed() {
        let (sender, mut receiver) = tokio::sync::mpsc::channel(2);
        let mut outlet = Outlet::new(sender, "http://127.0.0.1:1");
        let entry = || Happening::Download {
            url: jurat_core::untrusted::Untrusted::new("u"),
        };
        for _ in 0..5 {
            outlet.emit(Class::Downloads, Instant::now(), entry());
        }
        receiver.try_recv().unwrap();
        outlet.emit(Class::Downloads, Instant::now(), entry());
        receiver.try_recv().unwrap();
        assert!(matches!(
            receiver.try_recv().unwrap().what,
            Happening::Gap { count: 3, .. }
        ));
    }
}
