//! A scene: the criteria of one contract in one viewport, one after the other, in one fresh context.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jurat_browser::context::{Context, Settle, Tab};
use jurat_browser::page::{self, ReadError};
use jurat_core::canon::Digest;
use jurat_core::contract::{Action, Contract, Locator, PageChoice, Screenshot, Step};
use jurat_core::observation::{Edge, Fact, Happening, NotObserved, Observation, Rect, ScreenshotFact, Unseen};
use jurat_core::outcome::{Answer, Outcome};
use jurat_core::plan::{Plan, PlannedCriterion, Source};
use jurat_core::untrusted::Untrusted;
use jurat_core::verdict::{expected_of, is_bar, outcome_of};
use jurat_guard::app::Death;

use super::app::died;
use super::cancel::Cancel;
use super::looking::Manner;
use super::progress::{Listener, Progress};
use super::recorder::Recorder;

/// How long a screenshot may take.
const SCREENSHOT: Duration = Duration::from_secs(3);

/// What a scene is played with.
pub(super) struct Scene<'a> {
    pub(super) contract: &'a Contract,
    pub(super) plan: &'a Plan,
    pub(super) viewport: &'a str,
    pub(super) context: &'a Context,
    pub(super) recorder: &'a mut Recorder,
    pub(super) pictures: &'a mut Vec<Vec<u8>>,
    /// The criterion being looked at.
    pub(super) criterion: String,
    /// Watches what is painted, for the negatives ahead.
    pub(super) watch: Option<page::Watch>,
    /// The negative locators being watched, in the watch's order.
    pub(super) armed: Vec<Locator>,
    /// The end of the whole run.
    pub(super) wall: Instant,
    pub(super) cancel: &'a Cancel,
    /// The contract's folder, for files to upload.
    pub(super) folder: &'a Path,
    /// Makes files readable for the browser, and says where they are then.
    pub(super) stage_files: &'a (dyn Fn(&[PathBuf]) -> std::io::Result<Vec<PathBuf>> + Send + Sync),
    /// The app that jurat started for this viewport.
    pub(super) app: Option<&'a Death>,
    pub(super) guard_alive: &'a (dyn Fn() -> bool + Send + Sync),
    pub(super) listener: &'a Listener,
    pub(super) run: usize,
    pub(super) debug: bool,
}

/// A picture that is still to be taken: what it shows and when it was asked for.
pub(super) struct Still {
    criterion: String,
    after_action: u32,
    outline: Option<Rect>,
}

impl Still {
    /// The picture as an observation of `viewport`, which has its own time only when it is kept.
    pub(super) fn observation(self, viewport: &str, at_us: u64, png: &[u8]) -> Option<Observation> {
        let (width, height) = png_size(png)?;
        let fact = ScreenshotFact {
            blob: Digest::of(png),
            bytes: png.len() as u64,
            width,
            height,
            outline: self.outline,
        };
        Some(Observation {
            seq: 0,
            at_us,
            viewport: viewport.to_owned(),
            criterion: self.criterion,
            after_action: self.after_action,
            fact: Fact::Screenshot(fact),
        })
    }
}

/// Takes the picture of a tab, if one can be had.
pub(super) async fn photograph(tab: &Tab) -> Option<Vec<u8>> {
    page::screenshot(tab, Instant::now() + SCREENSHOT).await.ok()
}

impl Scene<'_> {
    /// Plays all criteria. After a step that did not pass, the rest is not touched. Gives the picture that is wanted of the end, which
    /// needs nothing but the tab.
    pub(super) async fn play(&mut self) -> Option<Still> {
        let plan = self.plan;
        let mut settled = None;
        let mut held: Vec<(usize, &PlannedCriterion)> = Vec::new();
        for (index, planned) in plan.criteria.iter().enumerate() {
            self.criterion.clone_from(&planned.id);
            (self.listener)(Progress::CriterionBegun {
                run: self.run,
                id: planned.id.clone(),
                viewport: self.viewport.into(),
                expected: expected_of(self.contract, planned),
            });
            self.recorder.here(Happening::Criterion {
                criterion: planned.id.clone(),
                edge: Edge::Begin,
            });
            if matches!(planned.source, Source::End(_)) && settled.is_none() {
                settled = self.settle().await;
            }
            self.look_at(index, planned, settled.clone()).await;
            let outcome = self.outcome(planned);
            let stops = matches!(&outcome, Outcome::Not { reason, .. } if !is_bar(reason));
            if self.wants_picture(&outcome) {
                self.picture().await;
            }
            self.recorder.here(Happening::Criterion {
                criterion: planned.id.clone(),
                edge: Edge::End,
            });
            (self.listener)(Progress::CriterionEnded {
                run: self.run,
                id: planned.id.clone(),
                viewport: self.viewport.into(),
                outcome: outcome.answer(),
            });
            if stops && self.debug {
                (self.listener)(Progress::Held {
                    run: self.run,
                    id: planned.id.clone(),
                });
                self.cancel.cancelled().await;
            }
            let at_end = matches!(planned.source, Source::End(_));
            if stops && !at_end {
                return None;
            }
            if at_end && outcome.answer() == Answer::Pass {
                held.push((index, planned));
            }
        }
        self.together(&held, settled.as_ref()).await;
        (self.contract.capture.screenshot == Screenshot::Always).then(|| self.still())
    }

    /// What holds at the end must hold together: looking at one may have taken time, so all but the last that held are looked at again.
    async fn together(
        &mut self,
        held: &[(usize, &PlannedCriterion)],
        settled: Option<&jurat_core::observation::Settled>,
    ) {
        let Some((_, again)) = held.split_last() else {
            return;
        };
        for (index, planned) in again {
            self.criterion.clone_from(&planned.id);
            self.look_at(*index, planned, settled.cloned()).await;
            let outcome = self.outcome(planned);
            if outcome.answer() == Answer::Pass {
                continue;
            }
            if self.wants_picture(&outcome) {
                self.picture().await;
            }
            (self.listener)(Progress::CriterionEnded {
                run: self.run,
                id: planned.id.clone(),
                viewport: self.viewport.into(),
                outcome: outcome.answer(),
            });
        }
    }

    /// Looks at one criterion; whatever ends it early is recorded as not observed.
    async fn look_at(
        &mut self,
        index: usize,
        planned: &PlannedCriterion,
        settled: Option<jurat_core::observation::Settled>,
    ) {
        let cancel = self.cancel.clone();
        let seen = tokio::select! {
            biased;
            () = cancel.cancelled() => Err((Unseen::Cancelled, None)),
            by = died(self.app) => Err((by, None)),
            done = self.criterion(index, planned, settled) => done.map_err(|error| (error.unseen(), Some(error.to_string()))),
        };
        let now = Instant::now();
        let missing = match seen {
            Err(missing) if now < self.wall || missing.0 == Unseen::Cancelled => Some(missing),
            Err((_, detail)) => Some((Unseen::BudgetExhausted, detail)),
            Ok(()) if !(self.guard_alive)() => Some((Unseen::GuardGone, None)),
            Ok(()) if now >= self.wall && self.outcome(planned).answer() != Answer::Pass => {
                Some((Unseen::BudgetExhausted, None))
            }
            Ok(()) => None,
        };
        if let Some((why, detail)) = missing {
            let detail = detail.map(|d| Untrusted::bounded(&d, 1024).0);
            let fact = Fact::NotObserved(NotObserved {
                what: planned.kind.clone(),
                why,
                detail,
            });
            let observation = self.recorder.observe(&planned.id, fact);
            self.recorder.keep(vec![observation]);
        }
    }

    async fn criterion(
        &mut self,
        index: usize,
        planned: &PlannedCriterion,
        settled: Option<jurat_core::observation::Settled>,
    ) -> Result<(), ReadError> {
        let deadline = (Instant::now() + Duration::from_millis(self.plan.step_ms)).min(self.wall);
        let contract = self.contract;
        match planned.source {
            // Plain HTTP criteria are no viewport's.
            Source::Http(_) => Ok(()),
            Source::Open => self.open(index, deadline).await,
            Source::Step(i) => match contract.steps.get(i as usize) {
                None => Ok(()),
                Some(step) => match &step.action {
                    Action::Wait(wanted) | Action::Expect(wanted) => {
                        let strict = matches!(step.action, Action::Expect(_));
                        let Some(tab) = self.tab(step.page, deadline).await else {
                            self.no_tab(false);
                            return Ok(());
                        };
                        self.look_until(
                            &tab,
                            wanted,
                            Manner {
                                strict,
                                end: false,
                                deadline,
                            },
                            None,
                        )
                        .await
                    }
                    _ => self.act(index, step, deadline).await,
                },
            },
            Source::End(i) => match contract.expect.get(i as usize) {
                None => Ok(()),
                Some(end) => {
                    let tab = self.context.main().clone();
                    let manner = Manner {
                        strict: true,
                        end: true,
                        deadline,
                    };
                    self.look_until(&tab, &end.expectation, manner, settled).await
                }
            },
        }
    }

    /// Waits until requests are answered and nothing changes any more.
    async fn settle(&mut self) -> Option<jurat_core::observation::Settled> {
        let deadline = (Instant::now() + Duration::from_millis(self.plan.step_ms)).min(self.wall);
        let quiet = Duration::from_millis(self.plan.quiet_ms);
        let options = Settle {
            quiet,
            ..Settle::default()
        };
        let cancel = self.cancel.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            settled = self.context.main().settle(options, deadline) => settled.ok(),
        }
    }

    /// The tab that a step acts in, waited for.
    pub(super) async fn tab(&self, choice: PageChoice, deadline: Instant) -> Option<Tab> {
        match choice {
            PageChoice::Main => Some(self.context.main().clone()),
            PageChoice::Popup => loop {
                if let Some(tab) = self.context.newest_popup()
                    && tab.ready(deadline).await.is_ok()
                {
                    return Some(tab);
                }
                if Instant::now() >= deadline {
                    return None;
                }
                self.pause(Duration::from_millis(20), deadline).await;
            },
        }
    }

    /// What became of a criterion, as far as is known now.
    fn outcome(&mut self, planned: &PlannedCriterion) -> Outcome {
        let (contract, plan, viewport) = (self.contract, self.plan, self.viewport);
        let record = self.recorder.record();
        let observed: Vec<_> = record
            .observations
            .iter()
            .filter(|o| o.viewport == viewport && o.criterion == planned.id)
            .collect();
        outcome_of(contract, plan, record, viewport, planned, &observed)
    }

    fn wants_picture(&self, outcome: &Outcome) -> bool {
        self.contract.capture.screenshot != Screenshot::Never && outcome.answer() != Answer::Pass
    }

    /// Keeps a picture of the tab, if one can be had.
    async fn picture(&mut self) {
        let Some(png) = photograph(self.context.main()).await else {
            return;
        };
        let at = self.recorder.now();
        if let Some(observation) = self.still().observation(self.viewport, at, &png) {
            self.recorder.keep(vec![observation]);
            self.pictures.push(png);
        }
    }

    fn still(&mut self) -> Still {
        Still {
            criterion: self.criterion.clone(),
            after_action: self.recorder.actions(),
            outline: self.outline(),
        }
    }

    /// Where the criterion's element was seen last.
    fn outline(&mut self) -> Option<Rect> {
        let (criterion, viewport) = (self.criterion.clone(), self.viewport);
        let record = self.recorder.record();
        record
            .observations
            .iter()
            .rev()
            .filter(|o| o.viewport == viewport && o.criterion == criterion)
            .find_map(|o| match &o.fact {
                Fact::Probe(probe) => probe
                    .elements
                    .first()
                    .and_then(|e| e.layout.shown.or(e.layout.boxes.first().copied())),
                _ => None,
            })
    }

    /// The negative locators that are looked at after the action at `index` and before the next one.
    pub(super) fn negatives_after(&self, index: usize) -> Vec<Locator> {
        let mut locators: Vec<Locator> = Vec::new();
        for planned in self.plan.criteria.iter().skip(index + 1) {
            let expectation = match planned.source {
                Source::Open | Source::Http(_) => None,
                Source::Step(i) => match self.contract.steps.get(i as usize).map(|s: &Step| &s.action) {
                    Some(Action::Wait(_)) => continue,
                    Some(Action::Expect(e)) => Some(e),
                    _ => break,
                },
                Source::End(i) => self.contract.expect.get(i as usize).map(|e| &e.expectation),
            };
            if let Some(locator) = expectation.and_then(|e| e.negative_locator())
                && !locators.contains(locator)
            {
                locators.push(locator.clone());
            }
        }
        locators
    }
}

/// Width and height of a PNG, from its header (PNG specification, 11.2.1 IHDR).
fn png_size(png: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| Some(u32::from_be_bytes(png.get(at..at + 4)?.try_into().ok()?));
    (png.get(12..16)? == b"IHDR").then_some(())?;
    Some((number(16)?, number(20)?))
}
