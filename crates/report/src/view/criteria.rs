//! The criteria of each viewport on its time line.

use jurat_core::observation::{Edge, Fact, Happening, Observation};
use jurat_core::reason::ReasonClass;
use jurat_core::verdict::CriterionResult;

use super::facts::{Seen, seen};
use super::picture::{Gallery, Picture};
use super::problems::{Problem, Reason, observed, sides};
use super::{Tone, facts};
use crate::Bounds;
use crate::compare::Piece;
use crate::read::Run;
use crate::text::{duration, moment, shown};

/// One viewport.
#[derive(Debug)]
pub(crate) struct Viewport {
    pub(crate) name: String,
    /// Such as `390 × 844, mobile`.
    pub(crate) size: String,
    pub(crate) took: String,
    pub(crate) passed: usize,
    pub(crate) criteria: Vec<Criterion>,
    /// Criteria that are not shown.
    pub(crate) cut: usize,
}

/// One criterion.
#[derive(Debug)]
pub(crate) struct Criterion {
    pub(crate) anchor: String,
    pub(crate) tone: Tone,
    /// It went wrong in a way of its own, so it is shown unfolded.
    pub(crate) open: bool,
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) what: String,
    pub(crate) at: String,
    pub(crate) took: String,
    /// Where it lies on the viewport's time line, in thousandths of it.
    pub(crate) bar_at: u64,
    pub(crate) bar_length: u64,
    pub(crate) expected: Vec<Piece>,
    pub(crate) seen: Vec<Piece>,
    pub(crate) reason: Option<Reason>,
    pub(crate) pictures: Vec<Picture>,
    /// Its picture stands at the top.
    pub(crate) picture_above: bool,
    pub(crate) facts: Vec<Seen>,
    pub(crate) facts_cut: usize,
    pub(crate) cites: String,
}

/// How a criterion went, for the eye.
pub(crate) fn tone(criterion: &CriterionResult) -> Tone {
    if criterion
        .reasons
        .first()
        .is_some_and(|reason| reason == ReasonClass::NotReached.as_str())
    {
        Tone::Skipped
    } else {
        Tone::of(criterion.outcome)
    }
}

/// The fragment by which a criterion is found, from its place in the verdict.
pub(crate) fn anchor(i: usize) -> String {
    format!("criterion-{}", i + 1)
}

/// All viewports, in the plan's order.
pub(crate) fn viewports(run: &Run, gallery: &mut Gallery<'_>, bounds: Bounds, problems: &[Problem]) -> Vec<Viewport> {
    let Some(verdict) = &run.verdict else { return Vec::new() };
    let mut names: Vec<&str> = Vec::new();
    for criterion in &verdict.criteria {
        if !names.contains(&criterion.viewport.as_str()) {
            names.push(&criterion.viewport);
        }
    }
    let most = bounds.rows / names.len().max(1);
    let mut with_facts = bounds.facts;
    names
        .into_iter()
        .map(|name| {
            let mine: Vec<(usize, &CriterionResult)> = verdict
                .criteria
                .iter()
                .enumerate()
                .filter(|(_, c)| c.viewport == name)
                .collect();
            let spans: Vec<Option<Span>> = mine.iter().map(|(_, criterion)| Span::of(run, criterion)).collect();
            let whole = Span {
                from: spans.iter().flatten().map(|span| span.from).min().unwrap_or(0),
                to: spans.iter().flatten().map(|span| span.to).max().unwrap_or(0),
            };
            let criteria = mine.iter().zip(&spans).take(most).map(|((i, criterion), span)| {
                let shows_facts = with_facts > 0;
                with_facts = with_facts.saturating_sub(1);
                one(
                    run,
                    gallery,
                    bounds,
                    problems,
                    *i,
                    criterion,
                    span.as_ref(),
                    &whole,
                    shows_facts,
                )
            });
            Viewport {
                name: shown(name, 60),
                size: size(run, name),
                took: duration(whole.length()),
                passed: mine
                    .iter()
                    .filter(|(_, criterion)| tone(criterion) == Tone::Pass)
                    .count(),
                criteria: criteria.collect(),
                cut: mine.len().saturating_sub(most),
            }
        })
        .collect()
}

/// From when to when a criterion was worked on, in microseconds of the run.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: u64,
    to: u64,
}

impl Span {
    /// By its edges in the log, else by what was recorded for it.
    fn of(run: &Run, criterion: &CriterionResult) -> Option<Self> {
        let edge = |wanted: Edge| {
            run.events.iter().find_map(|event| match &event.what {
                Happening::Criterion { criterion: id, edge }
                    if *edge == wanted
                        && *id == criterion.id
                        && event.viewport.as_deref() == Some(&*criterion.viewport) =>
                {
                    Some(event.at_us)
                }
                _ => None,
            })
        };
        let times = || observed(run, criterion).map(|observation| observation.at_us);
        let from = edge(Edge::Begin).or_else(|| times().min())?;
        let to = edge(Edge::End).or_else(|| times().max())?;
        Some(Self { from, to: to.max(from) })
    }

    fn length(&self) -> u64 {
        self.to - self.from
    }
}

fn size(run: &Run, name: &str) -> String {
    let planned = run
        .plan
        .as_ref()
        .and_then(|plan| plan.viewports.iter().find(|viewport| viewport.name == name));
    planned.map_or_else(String::new, |viewport| {
        let mobile = if viewport.mobile { ", mobile" } else { "" };
        let scale = if viewport.scale > 1 {
            format!(", {} device pixels each", viewport.scale)
        } else {
            String::new()
        };
        format!("{} × {}{mobile}{scale}", viewport.width, viewport.height)
    })
}

#[expect(
    clippy::too_many_arguments,
    reason = "one caller, and a struct for it would say nothing more"
)]
fn one(
    run: &Run,
    gallery: &mut Gallery<'_>,
    bounds: Bounds,
    problems: &[Problem],
    i: usize,
    criterion: &CriterionResult,
    span: Option<&Span>,
    whole: &Span,
    shows_facts: bool,
) -> Criterion {
    let observed: Vec<&Observation> = observed(run, criterion).collect();
    let anchor = anchor(i);
    let problem = problems
        .iter()
        .find(|problem| problem.places.first().is_some_and(|place| place.anchor == anchor));
    let above = problem.is_some_and(|problem| problem.picture.is_some());
    let mut pictures = Vec::new();
    if !above && shows_facts {
        for observation in &observed {
            if let Fact::Screenshot(fact) = &observation.fact {
                let alt = format!("The page in viewport {} at {}", criterion.viewport, criterion.id);
                pictures.push(gallery.picture(fact, &criterion.viewport, shown(&alt, 200)));
            }
        }
    }
    let (facts, facts_cut) = if shows_facts {
        seen(&observed, bounds)
    } else {
        (Vec::new(), observed.len())
    };
    let tone = tone(criterion);
    let failed = matches!(tone, Tone::Fail | Tone::Inconclusive);
    let (expected, seen) = if failed {
        sides(run, criterion, &observed, bounds)
    } else {
        (Vec::new(), Vec::new())
    };
    Criterion {
        anchor,
        tone,
        open: problem.is_some(),
        id: shown(&criterion.id, 80),
        kind: shown(&criterion.kind, 60),
        what: shown(&criterion.expected, bounds.text.min(400)),
        at: span.map(|span| moment(span.from)).unwrap_or_default(),
        took: span.map(|span| duration(span.length())).unwrap_or_default(),
        bar_at: span.map_or(0, |span| thousandths(span.from - whole.from, whole.length())),
        bar_length: span.map_or(0, |span| thousandths(span.length(), whole.length()).max(6)),
        expected,
        seen,
        reason: (tone != Tone::Pass).then(|| Reason::of(&criterion.reasons)),
        pictures,
        picture_above: above,
        facts,
        facts_cut,
        cites: facts::cites(&criterion.cites),
    }
}

fn thousandths(part: u64, whole: u64) -> u64 {
    (part * 1000).checked_div(whole).unwrap_or(0).min(1000)
}
