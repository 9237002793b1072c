//! `jurat init`: a first contract for a page, from its own accessibility tree and forms.
//!
//! The page is opened, its first form is tried once, and what it then did becomes a draft. The draft is run by the engine
//! like any contract, and what did not hold is taken out of it, until it holds. Nothing is written that was not seen.

mod draft;
mod sample;
mod survey;
mod trial;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use jurat_core::confinement::Level;
use jurat_core::contract::{Contract, Format, Millis, ParseOptions, parse, target_url};
use jurat_core::outcome::Answer;
use jurat_core::reason::{ReasonClass, ReasonDetail};
use jurat_core::untrusted::escape;
use jurat_core::verdict::{CriterionResult, Verdict};
use jurat_guard::scratch::Scratch;

use super::args::Init;
use super::exit::Exit;
use super::printer::{Look, Printer};
use super::settings;
use super::verify::{Talk, verify};
use crate::engine::{self, EngineError, Job, Settings};
use draft::Draft;

/// How often the draft is run at most; each run takes something out.
const MOST_RUNS: usize = 16;
/// How long one criterion of the draft may take when it is tried.
const STEP: Millis = Millis(3_000);

pub(super) fn run(args: &Init, printer: Printer) -> Exit {
    let options = ParseOptions {
        allow_remote_target: args.allow_remote_target,
    };
    let url = match target_url(&args.url, &options) {
        Ok(url) => url,
        Err(error) => {
            printer.error(&format!("{}: {error}", escape(&args.url, 200)), Some(&error.hint));
            return Exit::Refused;
        }
    };
    if let Some(path) = args.output.as_deref().filter(|path| path.exists()) {
        printer.error(
            &format!("{} is there already", path.display()),
            Some("name another file, or take it away first"),
        );
        return Exit::Refused;
    }
    let written = settings::of(&args.running)
        .map_err(|error| {
            printer.error(&error, None);
            Exit::Environment
        })
        .and_then(|settings| draft_of(&url, settings, args, printer))
        .and_then(|text| write(args.output.as_deref(), &text, printer));
    match written {
        Ok(()) => Exit::Pass,
        Err(exit) => exit,
    }
}

/// Explores the page and proves what it did.
fn draft_of(url: &url::Url, mut settings: Settings, args: &Init, printer: Printer) -> Result<String, Exit> {
    let base = std::env::temp_dir();
    let scratch = Scratch::create(&base, None).map_err(|error| {
        printer.error(
            &format!("no directory can be made in {}: {error}", base.display()),
            None,
        );
        Exit::Environment
    })?;
    settings.evidence_root = scratch.path().join("evidence");
    settings.allow_remote_target = args.allow_remote_target;
    let runtime = engine::runtime().map_err(|error| {
        printer.error(&format!("the runtime does not start: {error}"), None);
        Exit::Environment
    })?;
    let explored = runtime.block_on(async {
        tokio::select! {
            explored = trial::explore(url, &settings, printer) => explored.map_err(|error| refused(&error, printer)),
            _ = tokio::signal::ctrl_c() => Err(Exit::Inconclusive),
        }
    });
    drop(runtime);
    let mut draft = explored?;
    let level = prove(&mut draft, &settings, printer)?;
    let accept = (!level.satisfies(Level::DEFAULT_ACCEPTED)).then_some(level);
    Ok(draft.text(&header(url, args.output.as_deref(), accept)))
}

fn refused(error: &trial::TrialError, printer: Printer) -> Exit {
    match error {
        trial::TrialError::Engine(error) => {
            printer.error(&error.to_string(), error.hint().as_deref());
            match error {
                EngineError::Refused { .. } => Exit::Refused,
                EngineError::Environment { .. } => Exit::Environment,
                EngineError::Evidence { .. } => Exit::Inconclusive,
            }
        }
        trial::TrialError::Page(message) => {
            printer.error(
                &escape(message, 400),
                Some("start the app first, and check the address"),
            );
            Exit::Inconclusive
        }
    }
}

/// Runs the draft until everything in it holds; gives the level that it ran at.
fn prove(draft: &mut Draft, settings: &Settings, printer: Printer) -> Result<Level, Exit> {
    for _ in 0..MOST_RUNS {
        let contract = parse_draft(draft, settings, printer)?;
        let job = Job {
            contract,
            name: "draft".into(),
            folder: PathBuf::new(),
            url: None,
        };
        let reports = verify(vec![job], settings, printer, Talk::Quiet)?;
        let Some(verdict) = reports.first().map(|r| &r.verdict) else {
            return Err(Exit::Bug);
        };
        if verdict.reasons.iter().any(|r| r == ReasonClass::Cancelled.as_str()) {
            return Err(Exit::Inconclusive);
        }
        let refused_more = draft.refuse(verdict.violations.iter().map(|v| v.url.raw()));
        let not_held: Vec<&CriterionResult> = verdict.criteria.iter().filter(|c| !held(c)).collect();
        let Some(first) = not_held.first() else {
            if refused_more {
                continue;
            }
            say_result(draft, verdict, printer);
            return Ok(verdict.confinement.level.unwrap_or(Level::GuardOnly));
        };
        let why = first.reasons.join(", ");
        if !draft.weaken(
            not_held
                .iter()
                .map(|c| (c.id.as_str(), has(c, ReasonDetail::Ambiguous))),
        ) {
            printer.error(
                &format!("{} does not hold: {why}; seen: {}", first.id, first.seen.escaped(200)),
                None,
            );
            return Err(Exit::Inconclusive);
        }
        printer.say(&printer.paint(
            Look::Dim,
            &format!(
                "did not hold a second time, and is left out or weakened: {} ({why})",
                escape(&first.expected, 100)
            ),
        ));
    }
    printer.error(
        "the page does something else each time; no contract holds on it twice",
        None,
    );
    Err(Exit::Inconclusive)
}

fn parse_draft(draft: &Draft, settings: &Settings, printer: Printer) -> Result<Contract, Exit> {
    let text = draft.text("");
    let options = ParseOptions {
        allow_remote_target: settings.allow_remote_target,
    };
    let mut contract = parse(&text, Format::Yaml, &options).map_err(|errors| {
        printer.error(
            &format!("the draft is no contract:\n{}", errors.render("draft.yaml", &text)),
            None,
        );
        Exit::Bug
    })?;
    contract.budget.step = STEP;
    Ok(contract)
}

/// Whether it held, whatever bars a pass of the whole run.
fn held(criterion: &CriterionResult) -> bool {
    const BARS: [ReasonClass; 4] = [
        ReasonClass::ConfinementInsufficient,
        ReasonClass::CanaryHit,
        ReasonClass::LeftoverProcesses,
        ReasonClass::BoundaryViolation,
    ];
    let barred = criterion
        .reasons
        .first()
        .is_some_and(|r| BARS.iter().any(|bar| bar.as_str() == r));
    criterion.outcome == Answer::Pass || (barred && !has(criterion, ReasonDetail::OriginViolation))
}

fn has(criterion: &CriterionResult, detail: ReasonDetail) -> bool {
    criterion.reasons.iter().any(|r| r == detail.as_str())
}

fn say_result(draft: &Draft, verdict: &Verdict, printer: Printer) {
    printer.say(&format!(
        "{} {} criteria, all of which hold",
        printer.paint(Look::Good, "✓"),
        verdict.criteria.len()
    ));
    for origin in draft.refused() {
        printer.say(&format!(
            "  {} the page asks {} for something: it stands under target.refuse; move it to target.allow if the page needs it",
            printer.paint(Look::Unsure, "look:"),
            escape(origin, 120),
        ));
    }
    for violation in verdict.violations.iter().take(4) {
        printer.say(&format!(
            "  {} the page goes off its origin, which keeps the contract inconclusive: {}",
            printer.paint(Look::Unsure, "look:"),
            violation.url.escaped(160),
        ));
    }
}

fn header(url: &url::Url, output: Option<&Path>, accept: Option<Level>) -> String {
    let file = output.map_or_else(
        || "contract.yaml".to_owned(),
        |path| escape(&path.display().to_string(), 200),
    );
    let accept = accept
        .map(|level| format!(" --accept-confinement {level}"))
        .unwrap_or_default();
    format!(
        "# A first contract for {url}, written by `jurat init` from what the page did.\n\
         # All of it held. Make it yours: say what must hold, not only what happened to.\n\
         #\n\
         #     jurat verify {file}{accept}\n\n"
    )
}

fn write(output: Option<&Path>, text: &str, printer: Printer) -> Result<(), Exit> {
    let Some(path) = output else {
        printer.data(text.trim_end());
        return Ok(());
    };
    let written = std::fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Ok(()) => {
            printer.say(&format!("wrote {}", path.display()));
            Ok(())
        }
        Err(error) => {
            printer.error(&format!("{}: {error}", path.display()), None);
            Err(Exit::Environment)
        }
    }
}
