//! Observations: what jurat itself saw.
//!
//! Facts of a criterion ([`Observation`]) and the event log ([`Event`]) share one count, `seq`, so that what came
//! after what is never in doubt. Nothing here is an answer: `visible` is not stored, but boxes, styles, what lies on
//! top and pixel counts are.

mod app;
mod element;
mod event;
mod fact;
pub mod guard;

pub use app::*;
pub use element::*;
pub use event::*;
pub use fact::*;
pub use guard::{
    CanaryHit, CanaryProtocol, Disposition, EscapeAttempt, GuardKind, GuardReason, GuardRecord, ListenerId,
    RequestHints, Transport,
};

/// All that was seen in one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// Facts of criteria, in order of `seq`.
    pub observations: Vec<Observation>,
    /// The event log, in order of `seq`.
    pub events: Vec<Event>,
}
