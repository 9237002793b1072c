//! What went wrong: every criterion that failed or could not be decided, with its reason, advice and picture.

use jurat_core::observation::{Fact, Observation};
use jurat_core::reason::{ReasonClass, ReasonDetail};
use jurat_core::verdict::CriterionResult;
use serde_json::Value;

use super::Tone;
use super::criteria::{anchor, tone};
use super::picture::{Gallery, Picture};
use crate::Bounds;
use crate::compare::{Piece, compare};
use crate::read::Run;
use crate::text::shown;

/// At most so many are shown at the top; the others stand on their time line.
const MOST: usize = 12;

/// One thing that went wrong.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) tone: Tone,
    pub(crate) title: String,
    /// The title is what was expected; else it is what bars a pass.
    pub(crate) is_expectation: bool,
    /// The criteria that it is about; several for what bars all of them.
    pub(crate) places: Vec<Place>,
    /// More of them that are not listed.
    pub(crate) places_cut: usize,
    pub(crate) expected: Vec<Piece>,
    pub(crate) seen: Vec<Piece>,
    pub(crate) reason: Reason,
    pub(crate) picture: Option<Picture>,
}

/// A criterion, to jump to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) anchor: String,
    pub(crate) viewport: String,
    pub(crate) id: String,
}

/// A reason in words.
#[derive(Debug, Default)]
pub(crate) struct Reason {
    /// Names on the wire.
    pub(crate) codes: Vec<String>,
    pub(crate) sentence: String,
    pub(crate) advice: &'static str,
}

impl Reason {
    pub(crate) fn of(wire: &[String]) -> Self {
        let class = ReasonClass::ALL
            .iter()
            .find(|class| wire.first().is_some_and(|name| name == class.as_str()));
        let detail = ReasonDetail::ALL
            .iter()
            .find(|detail| wire.get(1).is_some_and(|name| name == detail.as_str()));
        let sentences: Vec<&str> = detail
            .map(|detail| detail.sentence())
            .into_iter()
            .chain(class.map(|class| class.sentence()))
            .collect();
        Self {
            codes: wire.iter().map(|name| shown(name, 80)).collect(),
            sentence: sentences.join(" "),
            advice: class.map_or("", |class| class.advice()),
        }
    }
}

/// The problems, the worst first, and how many were left out.
pub(crate) fn problems(run: &Run, gallery: &mut Gallery<'_>, bounds: Bounds) -> (Vec<Problem>, usize) {
    let criteria = run
        .verdict
        .as_ref()
        .map(|verdict| verdict.criteria.as_slice())
        .unwrap_or_default();
    let mut wrong: Vec<(usize, &CriterionResult)> = criteria
        .iter()
        .enumerate()
        .filter(|(_, c)| matches!(tone(c), Tone::Fail | Tone::Inconclusive))
        .collect();
    wrong.sort_by_key(|(_, criterion)| std::cmp::Reverse(criterion.outcome));
    let mut problems: Vec<Problem> = Vec::new();
    let mut bars: Vec<(&[String], &str, usize)> = Vec::new();
    let mut cut = 0;
    for (i, criterion) in wrong {
        let place = Place {
            anchor: anchor(i),
            viewport: shown(&criterion.viewport, 60),
            id: shown(&criterion.id, 80),
        };
        let known = bars
            .iter()
            .find(|(reasons, seen, _)| *reasons == criterion.reasons && *seen == criterion.seen.raw());
        if let Some((_, _, at)) = known {
            if let Some(problem) = problems.get_mut(*at) {
                if problem.places.len() < MOST {
                    problem.places.push(place);
                } else {
                    problem.places_cut += 1;
                }
            }
            continue;
        }
        if problems.len() == MOST {
            cut += 1;
            continue;
        }
        let bar = is_bar(criterion);
        if bar {
            bars.push((&criterion.reasons, criterion.seen.raw(), problems.len()));
        }
        problems.push(problem(run, gallery, bounds, criterion, place, bar));
    }
    (problems, cut)
}

/// Whether it bars many criteria at once and says nothing of its own about this one.
fn is_bar(criterion: &CriterionResult) -> bool {
    let bars = [
        ReasonClass::ConfinementInsufficient,
        ReasonClass::CanaryHit,
        ReasonClass::GuardFailed,
        ReasonClass::LeftoverProcesses,
        ReasonClass::BoundaryViolation,
        ReasonClass::Cancelled,
    ];
    let lost = criterion
        .reasons
        .get(1)
        .is_some_and(|detail| detail == ReasonDetail::EventsLost.as_str());
    lost || criterion
        .reasons
        .first()
        .is_some_and(|name| bars.iter().any(|class| class.as_str() == name))
}

fn problem(
    run: &Run,
    gallery: &mut Gallery<'_>,
    bounds: Bounds,
    criterion: &CriterionResult,
    place: Place,
    bar: bool,
) -> Problem {
    let observed: Vec<&Observation> = observed(run, criterion).collect();
    let picture = observed.iter().rev().find_map(|observation| match &observation.fact {
        Fact::Screenshot(fact) => Some(fact),
        _ => None,
    });
    let mut reason = Reason::of(&criterion.reasons);
    let (expected, seen) = if bar {
        (Vec::new(), whole(criterion.seen.raw(), bounds))
    } else {
        sides(run, criterion, &observed, bounds)
    };
    let title = if bar {
        std::mem::take(&mut reason.sentence)
    } else {
        shown(&criterion.expected, bounds.text.min(300))
    };
    let alt = format!("The page in viewport {} when {} was judged", place.viewport, place.id);
    Problem {
        tone: tone(criterion),
        title,
        is_expectation: !bar,
        places: vec![place],
        places_cut: 0,
        expected,
        seen,
        reason,
        picture: picture.map(|fact| gallery.picture(fact, &criterion.viewport, alt)),
    }
}

/// What was recorded for a criterion.
pub(crate) fn observed<'a>(run: &'a Run, criterion: &'a CriterionResult) -> impl Iterator<Item = &'a Observation> {
    run.observations
        .iter()
        .filter(|o| o.viewport == criterion.viewport && o.criterion == criterion.id)
}

fn whole(text: &str, bounds: Bounds) -> Vec<Piece> {
    if text.is_empty() {
        Vec::new()
    } else {
        vec![Piece {
            text: shown(text, bounds.text),
            differs: false,
        }]
    }
}

/// Expected and seen. Where both are one value, the values alone with what differs marked; else what was seen, because the
/// expectation stands in the title already.
pub(crate) fn sides(
    run: &Run,
    criterion: &CriterionResult,
    observed: &[&Observation],
    bounds: Bounds,
) -> (Vec<Piece>, Vec<Piece>) {
    let differs = [
        ReasonDetail::TextDiffers,
        ReasonDetail::ValueDiffers,
        ReasonDetail::TitleDiffers,
    ];
    let is_value = criterion
        .reasons
        .get(1)
        .is_some_and(|name| differs.iter().any(|detail| detail.as_str() == name));
    match expected_value(run, criterion).zip(seen_value(&criterion.kind, observed)) {
        Some((expected, seen)) if is_value && expected != seen => {
            compare(&shown(expected, bounds.text), &shown(seen, bounds.text))
        }
        _ => (Vec::new(), whole(criterion.seen.raw(), bounds)),
    }
}

/// The one value that an expectation asks for.
fn expected_value<'a>(run: &'a Run, criterion: &CriterionResult) -> Option<&'a str> {
    use jurat_core::plan::Source;
    let planned = run
        .plan
        .as_ref()?
        .criteria
        .iter()
        .find(|planned| planned.id == criterion.id)?;
    let entry = match planned.source {
        Source::Http(i) => run.contract.get("target")?.get("http")?.get(i as usize)?,
        Source::Open => return None,
        Source::Step(i) => {
            let step = run.contract.get("steps")?.get(i as usize)?;
            step.get("expect").or_else(|| step.get("wait"))?
        }
        Source::End(i) => run.contract.get("expect")?.get(i as usize)?,
    };
    match simple_kind(&criterion.kind) {
        kind @ ("text_equals" | "value_equals") => entry.get(kind)?.get("value").and_then(Value::as_str),
        "title_equals" => entry.get("title_equals").and_then(Value::as_str),
        _ => None,
    }
}

/// The one value that was seen for it.
fn seen_value<'a>(kind: &str, observed: &[&'a Observation]) -> Option<&'a str> {
    observed
        .iter()
        .rev()
        .find_map(|observation| match (&observation.fact, simple_kind(kind)) {
            (Fact::Probe(probe), "text_equals") if probe.matches == 1 => Some(probe.elements.first()?.text.raw()),
            (Fact::Probe(probe), "value_equals") if probe.matches == 1 => {
                Some(probe.elements.first()?.value.as_ref()?.raw())
            }
            (Fact::Page(page), "title_equals") => Some(page.title.raw()),
            _ => None,
        })
}

fn simple_kind(kind: &str) -> &str {
    kind.rsplit('.').next().unwrap_or(kind)
}
