//! The verdict: a pure function of contract, plan and record.
//!
//! [`judge`] is all there is. The session calls it when a run ends, `jurat recheck` calls it with what stands on disk, and
//! both get the same bytes.

use serde::{Deserialize, Serialize};

use crate::boundary::{self, Violation, ViolationKind};
use crate::canon::Digest;
use crate::confinement::Level;
use crate::contract::{Action, Contract};
use crate::evaluate::{Decision, Facts, Setting, action, app, expectation, http, matching};
use crate::observation::{Event, Happening, NotObserved, Observation, Record, Unseen};
use crate::outcome::{Answer, Basis, Outcome, Pass};
use crate::plan::{Plan, PlannedCriterion, Source};
use crate::reason::{Reason, ReasonClass, ReasonDetail};
use crate::untrusted::Untrusted;

/// The version of the verdict's shape.
pub const VERDICT_SCHEMA: &str = "jurat.verdict/1";

/// The verdict of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Always [`VERDICT_SCHEMA`].
    pub schema: String,
    /// Of the contract.
    pub contract_ref: Digest,
    /// The fold of all criteria.
    pub verdict: Answer,
    /// The classes of all criteria that did not pass, sorted, each once.
    pub reasons: Vec<String>,
    /// The confinement that held.
    pub confinement: Confined,
    /// Every criterion in every viewport, in order.
    pub criteria: Vec<CriterionResult>,
    /// What went off the origins that the contract names.
    pub violations: Vec<Violation>,
    /// Hits on the canaries.
    pub canary_hits: u32,
    /// Processes left after the run.
    pub processes_left: u32,
}

/// The confinement that held, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confined {
    /// The level; missing when no browser was started.
    pub level: Option<Level>,
    /// `on` or `off`: Chromium's own sandbox.
    pub sandbox: String,
}

/// One criterion in one viewport.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CriterionResult {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// The viewport.
    pub viewport: String,
    /// What became of it.
    pub outcome: Answer,
    /// What it rests on.
    pub basis: String,
    /// Class and detail, when it did not pass.
    pub reasons: Vec<String>,
    /// Observations, `o` and their `seq`.
    pub cites: Vec<String>,
    /// What was expected, for people.
    pub expected: String,
    /// What was seen instead, for people.
    #[serde(default, skip_serializing_if = "Untrusted::is_empty")]
    pub seen: Untrusted,
}

/// The viewport of what belongs to none.
pub const NO_VIEWPORT: &str = "";

/// Derives the verdict.
pub fn judge(contract: &Contract, plan: &Plan, record: &Record) -> Verdict {
    let violations = boundary::violations(plan, &record.events);
    let confinement = confinement_of(&record.events);
    let canary_hits = canary_hits(&record.events);
    let processes_left = processes_left(&record.events);
    let run = Bars {
        plan,
        record,
        violations: &violations,
        level: confinement.level,
        canary_hits,
        processes_left,
    };
    let (mut criteria, held) = http_results(contract, plan, record, &run);
    for viewport in &plan.viewports {
        criteria.extend(viewport_results(contract, plan, record, &viewport.name, !held, &run));
    }
    let mut reasons: Vec<String> = criteria.iter().filter_map(|c| c.reasons.first().cloned()).collect();
    reasons.sort();
    reasons.dedup();
    Verdict {
        schema: VERDICT_SCHEMA.into(),
        contract_ref: plan.contract_ref.clone(),
        verdict: Answer::fold(criteria.iter().map(|c| c.outcome)),
        reasons,
        confinement,
        criteria,
        violations,
        canary_hits: canary_hits.unwrap_or(0),
        processes_left: processes_left.unwrap_or(0),
    }
}

/// The plain HTTP criteria, which belong to no viewport, and whether all held, bars apart: else no browser criterion is reached.
fn http_results(contract: &Contract, plan: &Plan, record: &Record, bars: &Bars<'_>) -> (Vec<CriterionResult>, bool) {
    let mut held = true;
    let mut results = Vec::new();
    // They are looked at with the app of the first viewport.
    let gone = plan.viewports.first().and_then(|v| app::gone(&record.events, &v.name));
    for criterion in &plan.http {
        let observed = observed_of(record, NO_VIEWPORT, criterion);
        let mut outcome = outcome_of(contract, plan, record, NO_VIEWPORT, criterion, &observed);
        if outcome.answer() == Answer::Inconclusive
            && let Some(gone) = &gone
        {
            outcome = gone_outcome(gone.clone(), &observed);
        }
        held &= outcome.answer() == Answer::Pass;
        if outcome.answer() == Answer::Pass
            && let Some(bar) = bars.of(NO_VIEWPORT, observed.last().map_or(u64::MAX, |o| o.seq))
        {
            outcome = bar;
        }
        outcome = app_bar(outcome, record, NO_VIEWPORT);
        results.push(result(
            criterion,
            NO_VIEWPORT,
            outcome,
            expected_of(contract, criterion),
        ));
    }
    (results, held)
}

/// Whether all plain HTTP criteria of a plan hold by what was recorded: only then is the page opened.
pub fn http_held(contract: &Contract, plan: &Plan, record: &Record) -> bool {
    plan.http.iter().all(|criterion| {
        let observed = observed_of(record, NO_VIEWPORT, criterion);
        outcome_of(contract, plan, record, NO_VIEWPORT, criterion, &observed).answer() == Answer::Pass
    })
}

fn observed_of<'a>(record: &'a Record, viewport: &str, criterion: &PlannedCriterion) -> Vec<&'a Observation> {
    let all = record.observations.iter();
    all.filter(|o| o.viewport == viewport && o.criterion == criterion.id)
        .collect()
}

/// What bars a pass for the app's sake: the session did not know of it and went on.
fn app_bar(outcome: Outcome, record: &Record, viewport: &str) -> Outcome {
    match (outcome, app::bar(&record.events, viewport)) {
        (Outcome::Pass(_), Some((reason, seen))) => Outcome::Not {
            reason,
            cites: Vec::new(),
            seen: Untrusted::new(seen),
        },
        (outcome, _) => outcome,
    }
}

fn gone_outcome((reason, seen): (Reason, Untrusted), observed: &[&Observation]) -> Outcome {
    Outcome::Not {
        reason,
        cites: observed.iter().map(|o| o.seq).collect(),
        seen,
    }
}

fn viewport_results(
    contract: &Contract,
    plan: &Plan,
    record: &Record,
    viewport: &str,
    mut stopped: bool,
    bars: &Bars<'_>,
) -> Vec<CriterionResult> {
    let gone = app::gone(&record.events, viewport);
    let last = record.observations.iter().rev().find(|o| o.viewport == viewport);
    let last = last.map_or(0, |o| o.seq);
    let mut results = Vec::new();
    for criterion in &plan.criteria {
        let observed = observed_of(record, viewport, criterion);
        let (mut outcome, expected) = if stopped {
            (
                Outcome::not(Reason::bare(ReasonClass::NotReached)),
                expected_of(contract, criterion),
            )
        } else {
            (
                outcome_of(contract, plan, record, viewport, criterion, &observed),
                expected_of(contract, criterion),
            )
        };
        // The app was gone when the last criterion was concluded, or right after: whatever was seen there is not the app's answer.
        if let Some(gone) = &gone
            && observed.last().is_some_and(|o| o.seq >= last)
            && (outcome.answer() != Answer::Fail || !gone.0.class.is_fail())
        {
            outcome = gone_outcome(gone.clone(), &observed);
        }
        if outcome.answer() == Answer::Pass
            && let Some(bar) = bars.of(viewport, observed.last().map_or(u64::MAX, |o| o.seq))
        {
            outcome = bar;
        }
        if matches!(criterion.source, Source::Open | Source::Step(_)) && outcome_stops(&outcome) {
            stopped = true;
        }
        outcome = app_bar(outcome, record, viewport);
        results.push(result(criterion, viewport, outcome, expected));
    }
    results
}

/// Whether a step's outcome ends the steps. What only bars a pass does not: the session went on.
fn outcome_stops(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Pass(_) => false,
        Outcome::Not { reason, .. } => !is_bar(reason),
    }
}

/// Whether a reason only bars a pass: the session goes on, and the steps after it count.
pub fn is_bar(reason: &Reason) -> bool {
    matches!(
        (reason.class, reason.detail),
        (
            ReasonClass::ConfinementInsufficient | ReasonClass::CanaryHit | ReasonClass::LeftoverProcesses,
            _
        ) | (
            ReasonClass::BoundaryViolation,
            Some(ReasonDetail::BlockedRequest | ReasonDetail::UnattributedRequest | ReasonDetail::EscapeAttempt)
        ) | (ReasonClass::EvidenceMissing, Some(ReasonDetail::EventsLost))
    )
}

/// What became of one criterion, the bars of the whole run apart.
pub fn outcome_of(
    contract: &Contract,
    plan: &Plan,
    record: &Record,
    viewport: &str,
    criterion: &PlannedCriterion,
    observed: &[&Observation],
) -> Outcome {
    let facts = Facts::of(observed.iter().copied());
    let cites = || observed.iter().map(|o| o.seq).collect::<Vec<_>>();
    if let Some((_, unseen)) = facts.unseen {
        return Outcome::Not {
            reason: reason_of(unseen),
            cites: cites(),
            seen: unseen.detail.clone().unwrap_or_default(),
        };
    }
    let left = observed
        .last()
        .and_then(|o| boundary::left_origin(plan, &record.events, viewport, o.seq));
    let decision = match criterion.source {
        Source::Http(i) => match contract.target.http.get(i as usize) {
            Some(wanted) => http::decide(wanted, facts.http.map(|(_, fact)| fact)),
            None => Decision::missing(
                ReasonDetail::NoObservation,
                "the plan names an HTTP criterion that the contract has not",
            ),
        },
        Source::Open => action::opened(&facts),
        Source::Step(i) => match contract.steps.get(i as usize) {
            Some(step) => match &step.action {
                Action::Wait(e) | Action::Expect(e) => {
                    let strict = matches!(step.action, Action::Expect(_));
                    let setting = Setting {
                        plan,
                        viewport,
                        events: &record.events,
                        strict,
                    };
                    action::obstructed(&facts).unwrap_or_else(|| expectation::decide(e, &facts, setting))
                }
                _ => action::decide(step, &facts),
            },
            None => Decision::missing(
                ReasonDetail::NoObservation,
                "the plan names a step that the contract has not",
            ),
        },
        Source::End(i) => match (contract.expect.get(i as usize), facts.settled) {
            (None, _) => Decision::missing(
                ReasonDetail::NoObservation,
                "the plan names an expectation that the contract has not",
            ),
            (Some(_), None) => Decision::missing(ReasonDetail::NoObservation, "whether the page settled was not seen"),
            (Some(e), Some((_, settled))) => {
                let setting = Setting {
                    plan,
                    viewport,
                    events: &record.events,
                    strict: true,
                };
                match expectation::decide(&e.expectation, &facts, setting) {
                    Decision::Met if settled.in_flight > 0 => Decision::missing(
                        ReasonDetail::NotSettled,
                        format!("{} requests were still unanswered", settled.in_flight),
                    ),
                    decision => decision,
                }
            }
        },
    };
    if let Some(url) = left {
        let reason = Reason::new(ReasonClass::BoundaryViolation, ReasonDetail::OriginViolation);
        return Outcome::Not {
            reason,
            cites: cites(),
            seen: Untrusted::new(format!("the page is at {}", url.raw())),
        };
    }
    match decision {
        Decision::Met => match Pass::proven(observed, criterion.after_action) {
            Ok(pass) => Outcome::Pass(pass),
            Err(reason) => Outcome::Not {
                reason,
                cites: cites(),
                seen: Untrusted::default(),
            },
        },
        Decision::Not { reason, seen } => {
            let seen = with_dialog(seen, viewport, record, observed);
            Outcome::Not {
                reason,
                cites: cites(),
                seen,
            }
        }
        Decision::NeedsProof(_) => Outcome::Not {
            reason: Reason::new(ReasonClass::EvidenceMissing, ReasonDetail::VisibilityUndecided),
            cites: cites(),
            seen: Untrusted::new("no pixel proof was taken"),
        },
    }
}

/// Names a dialog that stood in the way since the last action: dismissed dialogs often are why.
fn with_dialog(seen: Untrusted, viewport: &str, record: &Record, observed: &[&Observation]) -> Untrusted {
    let until = observed.last().map_or(0, |o| o.seq);
    let before = record
        .events
        .iter()
        .rev()
        .filter(|e| e.seq < until && e.viewport.as_deref() == Some(viewport));
    let dialog = before
        .take_while(|e| !matches!(&e.what, Happening::Action(a) if observed.iter().all(|o| o.after_action > a.action)))
        .find_map(|e| match &e.what {
            Happening::Dialog(d) if d.kind != "beforeunload" => Some(d),
            _ => None,
        });
    match dialog {
        Some(d) => {
            let how = if d.accepted { "accepted" } else { "dismissed" };
            let message = matching::short(d.message.raw());
            Untrusted::new(format!("{}; the {} {message:?} was {how} before", seen.raw(), d.kind))
        }
        None => seen,
    }
}

/// The reason behind something that was not seen.
pub fn reason_of(unseen: &NotObserved) -> Reason {
    match unseen.why {
        Unseen::PageUnresponsive => Reason::bare(ReasonClass::PageUnresponsive),
        Unseen::RendererCrashed | Unseen::BrowserGone => Reason::bare(ReasonClass::BrowserCrashed),
        Unseen::BudgetExhausted => Reason::bare(ReasonClass::BudgetExhausted),
        Unseen::PageClosed => Reason::new(ReasonClass::EvidenceMissing, ReasonDetail::PageClosed),
        Unseen::Cancelled => Reason::bare(ReasonClass::Cancelled),
        Unseen::GuardGone => Reason::bare(ReasonClass::GuardFailed),
        Unseen::EvidenceLost => Reason::new(ReasonClass::EvidenceMissing, ReasonDetail::EventsLost),
        Unseen::AppNotStarted => Reason::new(ReasonClass::TargetUnreachable, ReasonDetail::AppNotStarted),
        Unseen::AppNotReady => Reason::new(ReasonClass::TargetUnreachable, ReasonDetail::AppNotReady),
        Unseen::AppExitedBeforeReady => Reason::new(ReasonClass::AppExited, ReasonDetail::ExitedBeforeReady),
        Unseen::AppExited => Reason::bare(ReasonClass::AppExited),
        Unseen::AppOutOfMemory => Reason::new(ReasonClass::TargetUnreachable, ReasonDetail::OutOfMemory),
        Unseen::AppTooManyProcesses => Reason::new(ReasonClass::TargetUnreachable, ReasonDetail::TooManyProcesses),
        Unseen::AppDiskFull => Reason::new(ReasonClass::TargetUnreachable, ReasonDetail::DiskFull),
    }
}

/// What was expected, for people.
pub fn expected_of(contract: &Contract, criterion: &PlannedCriterion) -> String {
    match criterion.source {
        Source::Http(i) => contract.target.http.get(i as usize).map_or_else(String::new, |http| {
            format!("GET {} is answered with {}", http.path, http.status)
        }),
        Source::Open => "open the page".into(),
        Source::Step(i) => contract
            .steps
            .get(i as usize)
            .map_or_else(String::new, |step| match &step.action {
                Action::Wait(e) | Action::Expect(e) => e.to_string(),
                Action::Navigate(path) => format!("navigate to {path}"),
                Action::Reload(_) => "reload the page".into(),
                Action::Back(_) => "go back".into(),
                Action::Press(p) => match &p.locator {
                    Some(l) => format!("press {} in {l}", p.key),
                    None => format!("press {}", p.key),
                },
                Action::Fill(v) => format!("fill {} with {:?}", v.locator, v.value),
                Action::Type(v) => format!("type {:?} into {}", v.value, v.locator),
                Action::Drag(d) => format!("drag {} to {}", d.locator, d.to),
                Action::Select(s) => {
                    let options = s.option.iter().chain(&s.options).cloned().collect::<Vec<_>>();
                    format!("select {} in {}", options.join(", "), s.locator)
                }
                Action::Upload(u) => format!("upload {} to {}", u.files.join(", "), u.locator),
                action => {
                    let what = action.locator().map(ToString::to_string).unwrap_or_default();
                    format!("{} {what}", action.name())
                }
            }),
        Source::End(i) => contract
            .expect
            .get(i as usize)
            .map_or_else(String::new, |e| e.expectation.to_string()),
    }
}

fn result(criterion: &PlannedCriterion, viewport: &str, outcome: Outcome, expected: String) -> CriterionResult {
    let answer = outcome.answer();
    let (basis, reasons, cites, seen) = match outcome {
        Outcome::Pass(pass) => (pass.basis(), Vec::new(), pass.cites().to_vec(), Untrusted::default()),
        Outcome::Not { reason, cites, seen } => (
            Basis::Proven,
            reason.to_wire().into_iter().map(String::from).collect(),
            cites,
            seen,
        ),
    };
    CriterionResult {
        id: criterion.id.clone(),
        kind: criterion.kind.clone(),
        viewport: viewport.into(),
        outcome: answer,
        basis: basis.as_str().into(),
        reasons,
        cites: cites.into_iter().map(|seq| format!("o{seq}")).collect(),
        expected,
        seen,
    }
}

/// What bars a pass, whatever the criteria say.
struct Bars<'a> {
    plan: &'a Plan,
    record: &'a Record,
    violations: &'a [Violation],
    level: Option<Level>,
    canary_hits: Option<u32>,
    processes_left: Option<u32>,
}

impl Bars<'_> {
    /// What bars the pass of a criterion that was concluded at `seq`.
    ///
    /// A violation bars the criteria of its viewport that were concluded after it; one that came after all of them bars the last ones,
    /// so that no run with a violation passes. An escape attempt is read at the end of the run, and bars all of it.
    fn of(&self, viewport: &str, seq: u64) -> Option<Outcome> {
        let not = |class, detail: Option<ReasonDetail>, seen: String| {
            Some(Outcome::Not {
                reason: Reason { class, detail },
                cites: Vec::new(),
                seen: Untrusted::new(seen),
            })
        };
        match self.canary_hits {
            Some(0) => {}
            Some(hits) => return not(ReasonClass::CanaryHit, None, format!("{hits} hits on canaries")),
            None => {
                return not(
                    ReasonClass::EvidenceMissing,
                    Some(ReasonDetail::NoObservation),
                    "the canaries were not read".into(),
                );
            }
        }
        let last = self
            .record
            .observations
            .iter()
            .rev()
            .find(|o| o.viewport == viewport)
            .map_or(0, |o| o.seq);
        let barring = self.violations.iter().find(|v| {
            let here = v.viewport.as_deref().is_none_or(|v| v == viewport);
            here && (v.kind == ViolationKind::EscapeAttempt || v.seq <= seq || seq >= last)
        });
        if let Some(violation) = barring {
            let detail = match violation.kind {
                ViolationKind::BlockedRequest => ReasonDetail::BlockedRequest,
                ViolationKind::UnattributedRequest => ReasonDetail::UnattributedRequest,
                ViolationKind::OriginViolation => ReasonDetail::OriginViolation,
                ViolationKind::EscapeAttempt => ReasonDetail::EscapeAttempt,
            };
            return not(
                ReasonClass::BoundaryViolation,
                Some(detail),
                format!("{} was refused", violation.url.raw()),
            );
        }
        if self
            .record
            .events
            .iter()
            .any(|e| matches!(e.what, Happening::Gap { .. } | Happening::ProtocolFault { .. }))
        {
            return not(
                ReasonClass::EvidenceMissing,
                Some(ReasonDetail::EventsLost),
                "events were lost".into(),
            );
        }
        if !self
            .level
            .is_some_and(|level| level.satisfies(self.plan.accept_confinement))
        {
            let level = self.level.map_or("none", Level::as_str);
            let seen = format!("{level}, where {} is demanded", self.plan.accept_confinement);
            return not(ReasonClass::ConfinementInsufficient, None, seen);
        }
        match self.processes_left {
            Some(0) => None,
            Some(left) => not(ReasonClass::LeftoverProcesses, None, format!("{left} processes")),
            None => not(
                ReasonClass::EvidenceMissing,
                Some(ReasonDetail::NoObservation),
                "what was left was not counted".into(),
            ),
        }
    }
}

fn confinement_of(events: &[Event]) -> Confined {
    events
        .iter()
        .find_map(|e| match &e.what {
            Happening::Confinement(c) => Some(Confined {
                level: Some(c.level),
                sandbox: c.sandbox.as_str().into(),
            }),
            _ => None,
        })
        .unwrap_or(Confined {
            level: None,
            sandbox: "off".into(),
        })
}

/// Canary hits, when the canaries were read at the end.
fn canary_hits(events: &[Event]) -> Option<u32> {
    events.iter().find_map(|e| match &e.what {
        Happening::Canaries { hits } => Some(u32::try_from(hits.len()).unwrap_or(u32::MAX)),
        _ => None,
    })
}

/// Processes left after the run, when they were counted.
fn processes_left(events: &[Event]) -> Option<u32> {
    events.iter().find_map(|e| match &e.what {
        Happening::Leftovers { processes } => Some(*processes),
        _ => None,
    })
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
