//! The facts of one criterion, picked out of a record: the last of each kind.

use crate::observation::{
    ActionFact, AriaFact, Event, Fact, Held, HttpFact, LogMark, NotObserved, Observation, PageFact, Painted, Probe,
    Settled,
};

/// The facts of one criterion in one viewport; of each kind the last.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts<'a> {
    /// How the action went.
    pub action: Option<(&'a Observation, &'a ActionFact)>,
    /// The look for its locator.
    pub probe: Option<(&'a Observation, &'a Probe)>,
    /// The page.
    pub page: Option<(&'a Observation, &'a PageFact)>,
    /// What was painted since the last action.
    pub painted: Option<(&'a Observation, &'a Painted)>,
    /// That it held.
    pub held: Option<(&'a Observation, &'a Held)>,
    /// That the page came to rest.
    pub settled: Option<(&'a Observation, &'a Settled)>,
    /// The accessibility tree.
    pub aria: Option<(&'a Observation, &'a AriaFact)>,
    /// How far the event log reached.
    pub log: Option<(&'a Observation, &'a LogMark)>,
    /// A plain HTTP answer.
    pub http: Option<(&'a Observation, &'a HttpFact)>,
    /// What could not be seen.
    pub unseen: Option<(&'a Observation, &'a NotObserved)>,
}

impl<'a> Facts<'a> {
    /// Picks the facts out of observations in order of `seq`.
    pub fn of(observations: impl IntoIterator<Item = &'a Observation>) -> Self {
        let mut facts = Self::default();
        for o in observations {
            match &o.fact {
                Fact::Action(f) => facts.action = Some((o, f)),
                Fact::Probe(f) => facts.probe = Some((o, f)),
                Fact::Page(f) => facts.page = Some((o, f)),
                Fact::Painted(f) => facts.painted = Some((o, f)),
                Fact::Held(f) => facts.held = Some((o, f)),
                Fact::Settled(f) => facts.settled = Some((o, f)),
                Fact::Aria(f) => facts.aria = Some((o, f)),
                Fact::Log(f) => facts.log = Some((o, f)),
                Fact::Http(f) => facts.http = Some((o, f)),
                Fact::NotObserved(f) => facts.unseen = Some((o, f)),
                Fact::Screenshot(_) => {}
            }
        }
        facts
    }

    /// All the observations behind these facts, in order of `seq`.
    pub fn observations(&self) -> Vec<&'a Observation> {
        let mut all: Vec<&'a Observation> = [
            self.action.map(|(o, _)| o),
            self.probe.map(|(o, _)| o),
            self.page.map(|(o, _)| o),
            self.painted.map(|(o, _)| o),
            self.held.map(|(o, _)| o),
            self.settled.map(|(o, _)| o),
            self.aria.map(|(o, _)| o),
            self.log.map(|(o, _)| o),
            self.http.map(|(o, _)| o),
            self.unseen.map(|(o, _)| o),
        ]
        .into_iter()
        .flatten()
        .collect();
        all.sort_by_key(|o| o.seq);
        all
    }
}

/// The events of one viewport that a criterion reads: from its mark's `since` up to its mark's `events`.
pub fn events_of<'a>(
    events: &'a [Event],
    viewport: &'a str,
    mark: &LogMark,
) -> impl Iterator<Item = &'a Event> + 'a + use<'a> {
    let (since, until) = (mark.since, mark.events);
    events
        .iter()
        .filter(move |e| e.viewport.as_deref() == Some(viewport) && e.seq >= since && e.seq < until)
}
