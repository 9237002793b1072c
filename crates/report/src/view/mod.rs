//! What the template shows, ready for it: every text here has been through [`crate::text::shown`].

mod banner;
mod criteria;
mod evidence;
mod facts;
mod log;
mod network;
mod picture;
mod problems;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jurat_core::canon::sha256_hex;
use jurat_core::outcome::Answer;
use jurat_evidence::Contents;

use crate::Bounds;
use crate::read::Run;
use crate::text::shown;

/// The style sheet. The page's policy allows exactly these bytes.
const STYLE: &str = include_str!("../../templates/report.css");

/// A label and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    label: String,
    value: String,
    /// Whether it is a name or number that is compared letter by letter.
    mono: bool,
}

impl Pair {
    fn plain(label: &str, value: impl Into<String>) -> Self {
        Self {
            label: label.to_owned(),
            value: value.into(),
            mono: false,
        }
    }

    fn mono(label: &str, value: impl Into<String>) -> Self {
        Self {
            label: label.to_owned(),
            value: value.into(),
            mono: true,
        }
    }
}

/// How something went, as a class of the style sheet and a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Pass,
    Fail,
    Inconclusive,
    Skipped,
}

impl Tone {
    fn of(answer: Answer) -> Self {
        match answer {
            Answer::Pass => Self::Pass,
            Answer::Fail => Self::Fail,
            Answer::Inconclusive => Self::Inconclusive,
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::Skipped => "skipped",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Pass => "passed",
            Self::Fail => "failed",
            Self::Inconclusive => "inconclusive",
            Self::Skipped => "not reached",
        }
    }
}

/// The whole report.
#[derive(Debug, Template)]
#[template(path = "report.html")]
pub(crate) struct Page {
    policy: String,
    style: &'static str,
    faults: Vec<String>,
    banner: banner::Banner,
    problems: Vec<problems::Problem>,
    problems_cut: usize,
    viewports: Vec<criteria::Viewport>,
    network: network::Network,
    log: log::Log,
    evidence: evidence::Evidence,
}

impl Page {
    /// Puts the page together.
    pub(crate) fn new(run: &Run, contents: &dyn Contents, bounds: Bounds) -> Self {
        let mut gallery = picture::Gallery::new(run, contents, bounds.pictures);
        let (problems, problems_cut) = problems::problems(run, &mut gallery, bounds);
        let viewports = criteria::viewports(run, &mut gallery, bounds, &problems);
        Self {
            policy: policy(),
            style: STYLE,
            faults: run.faults.iter().map(|fault| shown(fault, 300)).collect(),
            banner: banner::Banner::new(run, contents),
            problems,
            problems_cut,
            viewports,
            network: network::Network::new(run, bounds),
            log: log::Log::new(run, bounds),
            evidence: evidence::Evidence::new(run, contents, bounds),
        }
    }
}

/// A content security policy that allows the page's own style and pictures, and nothing else.
fn policy() -> String {
    let hex = sha256_hex(STYLE.as_bytes());
    let digest: Vec<u8> = (0..hex.len())
        .step_by(2)
        .filter_map(|i| u8::from_str_radix(hex.get(i..i + 2)?, 16).ok())
        .collect();
    let style = STANDARD.encode(digest);
    format!("default-src 'none'; style-src 'sha256-{style}'; img-src data:; base-uri 'none'; form-action 'none'")
}

/// A few lines for a bundle of which no page of bounded length can be made.
pub(crate) fn bare(run: &Run) -> String {
    #[derive(Template)]
    #[template(
        source = "<!doctype html><meta charset=\"utf-8\"><title>{{ verdict }}: {{ name }}</title><h1>{{ verdict }}</h1><p>{{ name }}</p><p>This run is too large for a report. Everything is in the bundle: verdict.json, observations.jsonl, events.jsonl.</p>",
        ext = "html"
    )]
    struct Bare {
        verdict: &'static str,
        name: String,
    }
    let verdict = run
        .verdict
        .as_ref()
        .map_or("no verdict", |verdict| verdict.verdict.as_str());
    Bare {
        verdict,
        name: shown(run.name(), 200),
    }
    .render()
    .unwrap_or_else(|_| format!("<!doctype html><p>{verdict}</p>"))
}
