//! The top of the report: the verdict, what it means, and what was judged.

use jurat_core::observation::{Begun, BrowserFact, Happening};
use jurat_core::outcome::Answer;
use jurat_core::reason::ReasonClass;
use jurat_evidence::Contents;

use super::{Pair, Tone};
use crate::read::Run;
use crate::text::{count, duration, shown};

/// The top of the report.
#[derive(Debug)]
pub(crate) struct Banner {
    pub(crate) tone: Tone,
    pub(crate) word: &'static str,
    pub(crate) sentence: String,
    pub(crate) name: String,
    pub(crate) target: String,
    pub(crate) run_id: String,
    /// RFC 3339, for machines.
    pub(crate) at: String,
    /// The same for people.
    pub(crate) when: String,
    pub(crate) pairs: Vec<Pair>,
    pub(crate) tally: Vec<Tally>,
    /// Why a reader should look twice at how the browser was confined.
    pub(crate) caveat: String,
}

/// How many criteria went in one way.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) tone: Tone,
    pub(crate) count: usize,
}

impl Banner {
    pub(crate) fn new(run: &Run, contents: &dyn Contents) -> Self {
        let answer = run
            .verdict
            .as_ref()
            .map_or(Answer::Inconclusive, |verdict| verdict.verdict);
        let begun = run.events.iter().find_map(|event| match &event.what {
            Happening::Begun(begun) => Some(begun),
            _ => None,
        });
        let browser = run.events.iter().find_map(|event| match &event.what {
            Happening::Browser(browser) => Some(browser),
            _ => None,
        });
        let tally = tally(run);
        let at = begun.map(|begun| shown(&begun.at, 40)).unwrap_or_default();
        Self {
            tone: Tone::of(answer),
            word: match answer {
                Answer::Pass => "Pass",
                Answer::Fail => "Fail",
                Answer::Inconclusive => "Inconclusive",
            },
            sentence: sentence(run, answer, &tally),
            name: shown(run.name(), 300),
            target: run.plan.as_ref().map(|plan| shown(&plan.url, 300)).unwrap_or_default(),
            run_id: contents.manifest().run_id.to_string(),
            when: for_people(&at),
            at,
            pairs: pairs(run, begun, browser),
            tally,
            caveat: caveat(run),
        }
    }
}

fn tally(run: &Run) -> Vec<Tally> {
    let criteria = run
        .verdict
        .as_ref()
        .map(|verdict| verdict.criteria.as_slice())
        .unwrap_or_default();
    let tones: Vec<Tone> = criteria.iter().map(super::criteria::tone).collect();
    [Tone::Pass, Tone::Fail, Tone::Inconclusive, Tone::Skipped]
        .into_iter()
        .map(|tone| Tally {
            tone,
            count: tones.iter().filter(|t| **t == tone).count(),
        })
        .filter(|tally| tally.count > 0)
        .collect()
}

fn sentence(run: &Run, answer: Answer, tally: &[Tally]) -> String {
    let Some(verdict) = &run.verdict else {
        return "There is no verdict that can be read, so this counts for nothing.".to_owned();
    };
    let of = |tone| {
        tally
            .iter()
            .find(|tally| tally.tone == tone)
            .map_or(0, |tally| tally.count)
    };
    let all = verdict.criteria.len();
    let viewports = run.plan.as_ref().map_or(0, |plan| plan.viewports.len());
    let places = if viewports > 1 {
        format!(" over {viewports} viewports")
    } else {
        String::new()
    };
    match answer {
        Answer::Pass => format!(
            "{} held{places}. Each rests on something that was seen in the browser after the last action it depends on.",
            if all == 1 {
                "The one criterion".to_owned()
            } else {
                format!("All {all} criteria")
            }
        ),
        Answer::Fail => format!(
            "{} of {all} did not hold{places}: the page does not do what the contract asks for.",
            count(of(Tone::Fail), "criterion", "criteria")
        ),
        Answer::Inconclusive if all == 0 => "Nothing was checked, so this is no pass.".to_owned(),
        Answer::Inconclusive => format!(
            "{} of {all} could not be decided{places}. Nothing was proven against the page, and nothing less than proof is a pass.",
            count(of(Tone::Inconclusive) + of(Tone::Skipped), "criterion", "criteria")
        ),
    }
}

fn pairs(run: &Run, begun: Option<&Begun>, browser: Option<&BrowserFact>) -> Vec<Pair> {
    let mut pairs = Vec::new();
    if let Some(last) = run.events.iter().map(|event| event.at_us).max() {
        pairs.push(Pair::plain("Took", duration(last)));
    }
    if let Some(browser) = browser {
        pairs.push(Pair::plain(
            "Browser",
            shown(browser.product.raw(), 80).replacen('/', " ", 1),
        ));
    }
    if let Some(verdict) = &run.verdict {
        let level = verdict.confinement.level.map_or("none", |level| level.as_str());
        let sandbox = shown(&verdict.confinement.sandbox, 20);
        pairs.push(Pair::plain("Confinement", format!("{level}, sandbox {sandbox}")));
    }
    if let Some(begun) = begun {
        pairs.push(Pair::plain(
            "Checked by",
            format!("jurat {} on {}", shown(&begun.jurat, 40), shown(&begun.platform, 60)),
        ));
    }
    if let Some(plan) = &run.plan {
        pairs.push(Pair::mono("Contract", plan.contract_ref.as_str()));
    }
    pairs
}

fn caveat(run: &Run) -> String {
    let Some((verdict, plan)) = run.verdict.as_ref().zip(run.plan.as_ref()) else {
        return String::new();
    };
    let insufficient = ReasonClass::ConfinementInsufficient.as_str();
    let Some(level) = verdict.confinement.level else {
        return String::new();
    };
    let not_enforced = super::evidence::not_enforced(run);
    if not_enforced.is_empty() || verdict.reasons.iter().any(|reason| reason == insufficient) {
        return String::new();
    }
    let accepted = if plan.accept_confinement == level {
        ", which this run accepted in so many words"
    } else {
        ""
    };
    format!(
        "Confined at level {level}{accepted}. Not stopped at this level: {}.",
        not_enforced.join(", ")
    )
}

/// `2026-11-30T15:45:00.123Z` as `2026-11-30, 15:45:00 UTC`.
fn for_people(at: &str) -> String {
    match at.split_once('T') {
        Some((date, time)) if time.is_char_boundary(8) && time.len() > 8 => format!("{date}, {} UTC", &time[..8]),
        _ => at.to_owned(),
    }
}
