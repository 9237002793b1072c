//! Looking: an expectation is looked at until it holds or its time is over.
//!
//! Whether it holds is never decided here: [`jurat_core::evaluate`] does, from exactly what is then recorded.

use std::time::{Duration, Instant};

use jurat_browser::context::{ActError, Tab};
use jurat_browser::page::{self, Look, Proof, ReadError};
use jurat_core::contract::{Expectation, Locator};
use jurat_core::evaluate::{Decision, Facts, Setting, expectation, matching};
use jurat_core::observation::{Fact, Held, Observation, Settled};
use jurat_core::reason::ReasonDetail;

use super::scene::Scene;

/// How an expectation is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// What showed and went again since the last action counts.
    pub(super) strict: bool,
    /// It stands at the end: console and requests are read over the whole viewport, and the page has settled.
    pub(super) end: bool,
    /// Until when.
    pub(super) deadline: Instant,
}

/// The first pause between two looks, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(8);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// How long the last look may go on after the deadline.
const READ: Duration = Duration::from_millis(3500);
/// The pause between two looks that take pixel proofs.
const PROOF_PAUSE: Duration = Duration::from_millis(250);
/// Looks over a settle window come this often.
const HOLD_PAUSE: Duration = Duration::from_millis(40);

impl Scene<'_> {
    /// Looks until the expectation holds, cannot hold any more, or the deadline; records what was seen last.
    pub(super) async fn look_until(
        &mut self,
        tab: &Tab,
        wanted: &Expectation,
        manner: Manner,
        settled: Option<Settled>,
    ) -> Result<(), ReadError> {
        let mut pause = FIRST_PAUSE;
        let mut holding: Option<(Instant, u32)> = None;
        let mut proof = Proof::Never;
        loop {
            let held = holding.map(|(since, looks)| Held {
                window_us: micros(since.elapsed()),
                looks,
            });
            let look = Manner {
                deadline: self.reading(manner.deadline),
                ..manner
            };
            let mut seen = match self.look_once(tab, wanted, look, proof).await {
                Ok(seen) => seen,
                Err(error) if error.retryable() && Instant::now() < manner.deadline => {
                    holding = None;
                    self.pause(pause, manner.deadline).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if let Some(held) = held {
                seen.push(self.recorder.observe(&self.criterion, Fact::Held(held)));
            }
            if let Some(settled) = &settled {
                seen.push(self.recorder.observe(&self.criterion, Fact::Settled(settled.clone())));
            }
            let decision = self.decide(wanted, &seen, manner.strict);
            let over = Instant::now() >= manner.deadline;
            match decision {
                Decision::Met => {
                    self.recorder.keep(seen);
                    return Ok(());
                }
                Decision::NeedsProof(_) if proof == Proof::Never && !over => proof = Proof::IfNeeded,
                _ if over || is_final(&decision) => {
                    self.recorder.keep(seen);
                    return Ok(());
                }
                // Everything holds but the window: look on until it is over.
                Decision::Not { .. }
                    if wanted.is_negative() && self.only_hold_is_missing(wanted, &seen, manner.strict) =>
                {
                    let (since, looks) = holding.unwrap_or((Instant::now(), 0));
                    holding = Some((since, looks + 1));
                    self.pause(HOLD_PAUSE, manner.deadline).await;
                }
                _ => {
                    holding = None;
                    // A proof takes a dozen captures: leave the page some time in between.
                    let least = if proof == Proof::Never {
                        Duration::ZERO
                    } else {
                        PROOF_PAUSE
                    };
                    self.pause(pause.max(least), manner.deadline).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    fn decide(&mut self, wanted: &Expectation, seen: &[Observation], strict: bool) -> Decision {
        let (plan, viewport) = (self.plan, self.viewport);
        let events = &self.recorder.record().events;
        expectation::decide(
            wanted,
            &Facts::of(seen),
            Setting {
                plan,
                viewport,
                events,
                strict,
            },
        )
    }

    /// Whether the expectation would hold if it had been looked at over the whole window.
    fn only_hold_is_missing(&mut self, wanted: &Expectation, seen: &[Observation], strict: bool) -> bool {
        let window_us = self.plan.hold_ms * 1000;
        let mut with: Vec<_> = seen.to_vec();
        with.push(
            self.recorder
                .observe(&self.criterion, Fact::Held(Held { window_us, looks: 1 })),
        );
        self.decide(wanted, &with, strict) == Decision::Met
    }

    /// One look: everything that the expectation is judged by.
    async fn look_once(
        &mut self,
        tab: &Tab,
        wanted: &Expectation,
        manner: Manner,
        proof: Proof,
    ) -> Result<Vec<Observation>, ReadError> {
        let mut facts = Vec::new();
        match wanted {
            Expectation::UrlIs(_) | Expectation::UrlPrefix(_) | Expectation::TitleEquals(_) => {
                facts.push(Fact::Page(tab.page_fact(manner.deadline).await?));
            }
            Expectation::ConsoleClean(_) | Expectation::Request(_) => {
                // A round trip to the page: what it did before this has been told.
                tab.page_fact(manner.deadline).await?;
                facts.push(Fact::Log(
                    self.recorder
                        .mark(manner.end && matches!(wanted, Expectation::ConsoleClean(_))),
                ));
            }
            Expectation::AriaSnapshot(a) => {
                let mut root = None;
                if let Some(locator) = &a.locator {
                    let sight = page::look(tab, locator, &look_for(wanted, proof), manner.deadline).await?;
                    let index = matching::one(locator, &sight.probe)
                        .ok()
                        .and_then(|one| sight.probe.elements.iter().position(|e| std::ptr::eq(e, one)));
                    if let Some(index) = index {
                        root = Some(sight.handle(tab, index, manner.deadline).await?);
                    }
                    facts.push(Fact::Probe(sight.probe));
                }
                if a.locator.is_none() || root.is_some() {
                    facts.push(Fact::Aria(page::aria(tab, root.as_ref(), manner.deadline).await?));
                }
            }
            _ => {
                if let Some(locator) = wanted.locator() {
                    facts.push(
                        self.probe(tab, locator, look_for(wanted, proof), manner.deadline)
                            .await?,
                    );
                }
                if manner.strict
                    && let Some(locator) = wanted.negative_locator()
                {
                    facts.push(self.painted(tab, locator, manner.deadline).await?);
                }
            }
        }
        Ok(facts
            .into_iter()
            .map(|fact| self.recorder.observe(&self.criterion, fact))
            .collect())
    }

    async fn probe(&self, tab: &Tab, locator: &Locator, look: Look, deadline: Instant) -> Result<Fact, ReadError> {
        Ok(Fact::Probe(page::look(tab, locator, &look, deadline).await?.probe))
    }

    async fn painted(&mut self, tab: &Tab, locator: &Locator, deadline: Instant) -> Result<Fact, ReadError> {
        let all = match &mut self.watch {
            Some(watch) => watch.read(tab, deadline).await?,
            None => Vec::new(),
        };
        let index = self.armed.iter().position(|armed| armed == locator);
        let lost = || ActError::Lost {
            what: "read what was painted",
            detail: "it was not watched".into(),
        };
        Ok(Fact::Painted(
            index.and_then(|i| all.into_iter().nth(i)).ok_or_else(lost)?,
        ))
    }

    /// Until when a look may take that begins before `deadline`: the last one is not cut off in the middle.
    pub(super) fn reading(&self, deadline: Instant) -> Instant {
        (deadline + READ).min(self.wall)
    }

    /// Waits a moment.
    pub(super) async fn pause(&self, pause: Duration, deadline: Instant) {
        let until = (Instant::now() + pause).min(deadline);
        tokio::time::sleep_until(until.into()).await;
    }
}

/// What a look must bring for an expectation.
fn look_for(wanted: &Expectation, proof: Proof) -> Look {
    let layout = matches!(wanted, Expectation::Visible(_) | Expectation::Hidden(_));
    let attributes = match wanted {
        Expectation::AttributeEquals(a) => vec![a.attribute.clone()],
        _ => Vec::new(),
    };
    Look {
        attributes,
        layout,
        scroll: matches!(wanted, Expectation::Visible(_)),
        proof: if layout { proof } else { Proof::Never },
        ..Look::default()
    }
}

/// Whether more looks cannot change it: what was seen since the last action stays seen.
fn is_final(decision: &Decision) -> bool {
    matches!(
        decision,
        Decision::Not { reason, .. } if matches!(
            reason.detail,
            Some(
                ReasonDetail::SeenSinceLastAction
                    | ReasonDetail::ConsoleError
                    | ReasonDetail::UncaughtException
                    | ReasonDetail::UnhandledRejection
                    | ReasonDetail::EventsLost
            )
        )
    )
}

pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
