//! `jurat verify`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jurat_core::contract::{self, Contract, Format, ParseOptions, target_url};
use jurat_core::outcome::Answer;
use jurat_core::reason::ReasonClass;
use jurat_core::result::{RunEntry, RunNames, RunResult};
use jurat_core::untrusted::escape;
use jurat_core::verdict::{CriterionResult, Verdict};

use super::args::Verify;
use super::exit::Exit;
use super::live::Live;
use super::printer::{Look, Printer};
use super::report::write;
use super::settings;
use crate::engine::{self, Cancel, EngineError, Job, RunReport, Settings};

pub(super) fn run(args: &Verify, printer: Printer) -> Exit {
    let mut settings = match settings::of(&args.running) {
        Ok(settings) => settings,
        Err(error) => {
            printer.error(&error, None);
            return Exit::Environment;
        }
    };
    settings.jobs = usize::from(args.jobs);
    settings.repeat = u32::from(args.repeat);
    settings.headed = args.headed;
    settings.debug = args.debug;
    settings.allow_remote_target = args.allow_remote_target;
    settings.url = match args
        .url
        .as_deref()
        .map(|url| {
            target_url(
                url,
                &ParseOptions {
                    allow_remote_target: args.allow_remote_target,
                },
            )
            .map(String::from)
        })
        .transpose()
    {
        Ok(url) => url,
        Err(error) => {
            printer.error(&format!("--url: {error}"), None);
            return Exit::Refused;
        }
    };
    let reports = match report_kinds(&args.report) {
        Ok(reports) => reports,
        Err(error) => {
            printer.error(&error, Some("write --report html=FILE or --report json=FILE"));
            return Exit::Refused;
        }
    };
    let Some(jobs) = load_all(&args.contracts, &settings, printer) else {
        return Exit::Refused;
    };
    let reports_of = match verify(
        jobs,
        &settings,
        printer,
        if args.json { Talk::Quiet } else { Talk::Verdicts },
    ) {
        Ok(reports) => reports,
        Err(exit) => return exit,
    };
    let result = result_of(&reports_of);
    for (kind, path) in &reports {
        let written = report_text(kind, &reports_of, &result).and_then(|text| write(path, &text));
        if let Err(error) = written {
            printer.error(&error, None);
        }
    }
    if args.json {
        printer.data(&serde_json::to_string(&result).unwrap_or_default());
    }
    Exit::from(Answer::fold(reports_of.iter().map(|r| r.verdict.verdict)))
}

fn report_kinds(wanted: &[String]) -> Result<Vec<(String, PathBuf)>, String> {
    let split = |text: &String| match text.split_once('=') {
        Some((kind @ ("html" | "json"), path)) if !path.is_empty() => Ok((kind.to_owned(), PathBuf::from(path))),
        _ => Err(format!("--report {text:?} names no report")),
    };
    wanted.iter().map(split).collect()
}

fn report_text(kind: &str, reports: &[RunReport], result: &RunResult) -> Result<String, String> {
    match (kind, reports) {
        ("json", _) => serde_json::to_string_pretty(result).map_err(|e| e.to_string()),
        (_, [one]) => engine::report(&one.bundle, "html").map_err(|e| e.to_string()),
        _ => Err("--report html=FILE is the report of one run; each bundle has its own report.html".into()),
    }
}

/// Reads all contracts; when one is refused, none is run.
pub(super) fn load_all(paths: &[PathBuf], settings: &Settings, printer: Printer) -> Option<Vec<Job>> {
    let mut jobs = Vec::new();
    let mut refused = false;
    for path in paths {
        match load(path, settings) {
            Ok(contract) => jobs.push(Job {
                contract,
                name: path.display().to_string(),
                folder: path.parent().map(Path::to_path_buf).unwrap_or_default(),
                url: None,
            }),
            Err(message) => {
                refused = true;
                printer.say(&message);
            }
        }
    }
    if refused {
        let what = if paths.len() == 1 {
            "the contract was refused"
        } else {
            "a contract was refused"
        };
        printer.error(&format!("{what}; nothing was run"), None);
        return None;
    }
    Some(jobs)
}

fn load(path: &Path, settings: &Settings) -> Result<Contract, String> {
    let name = escape(&path.display().to_string(), 200);
    let bytes = std::fs::read(path).map_err(|e| format!("{name}: {e}"))?;
    let text = String::from_utf8(bytes)
        .map_err(|e| format!("{name}: not UTF-8 text, at byte {}", e.utf8_error().valid_up_to()))?;
    let format = Format::of(&path.display().to_string(), &text);
    let options = ParseOptions {
        allow_remote_target: settings.allow_remote_target,
    };
    contract::parse(&text, format, &options).map_err(|errors| errors.render(&name, &text).to_string())
}

/// How much is said on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Talk {
    /// Only errors.
    Quiet,
    /// Progress.
    Progress,
    /// Progress, and each verdict at the end.
    Verdicts,
}

/// Runs the jobs with live progress.
pub(super) fn verify(
    jobs: Vec<Job>,
    settings: &Settings,
    printer: Printer,
    talk: Talk,
) -> Result<Vec<RunReport>, Exit> {
    let runtime = engine::runtime().map_err(|error| {
        printer.error(&format!("the runtime does not start: {error}"), None);
        Exit::Environment
    })?;
    let live = Arc::new(Live::new(
        printer,
        jobs.len() * settings.repeat as usize,
        talk != Talk::Quiet,
    ));
    let listener = {
        let live = Arc::clone(&live);
        Arc::new(move |progress| live.tell(progress))
    };
    let cancel = Cancel::new();
    let outcome = runtime.block_on(async {
        let signals = tokio::spawn(on_signal(cancel.clone(), printer));
        let outcome = engine::run(jobs, settings, listener, cancel).await;
        signals.abort();
        outcome
    });
    live.finish();
    runtime.shutdown_timeout(Duration::from_millis(200));
    match outcome {
        Ok(reports) => {
            for report in &reports {
                if talk == Talk::Verdicts {
                    say_verdict(printer, &report.contract, &report.verdict, &report.bundle);
                }
            }
            Ok(reports)
        }
        Err(error) => {
            printer.error(&error.to_string(), error.hint().as_deref());
            Err(match error {
                EngineError::Refused { .. } => Exit::Refused,
                EngineError::Environment { .. } => Exit::Environment,
                EngineError::Evidence { .. } => Exit::Inconclusive,
            })
        }
    }
}

async fn on_signal(cancel: Cancel, printer: Printer) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    ) else {
        return;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    printer.say("stopping: what was seen is sealed as inconclusive");
    cancel.cancel();
}

/// The result object of some runs.
pub(super) fn result_of(reports: &[RunReport]) -> RunResult {
    let entries = reports
        .iter()
        .map(|r| {
            let names = RunNames {
                contract: r.contract.clone(),
                run_id: r.run_id.clone(),
                bundle: r.bundle.display().to_string(),
            };
            RunEntry::new(names, &r.verdict)
        })
        .collect();
    RunResult::new(entries, reports.iter().map(|r| r.verdict.verdict))
}

/// How an answer looks.
pub(super) fn look_of(answer: Answer) -> Look {
    match answer {
        Answer::Pass => Look::Good,
        Answer::Fail => Look::Bad,
        Answer::Inconclusive => Look::Unsure,
    }
}

/// A verdict for people: what failed, what was expected, what was seen, where, and what to do.
pub(super) fn say_verdict(printer: Printer, contract: &str, verdict: &Verdict, bundle: &Path) {
    let (answer, look) = (verdict.verdict, look_of(verdict.verdict));
    let count = |wanted| verdict.criteria.iter().filter(|c| c.outcome == wanted).count();
    printer.say("");
    printer.say(&format!(
        "{}  {}  {}",
        printer.paint(look, &answer.as_str().to_uppercase()),
        printer.paint(Look::Strong, &escape(contract, 200)),
        printer.paint(
            Look::Dim,
            &format!(
                "{} passed, {} failed, {} inconclusive",
                count(Answer::Pass),
                count(Answer::Fail),
                count(Answer::Inconclusive)
            ),
        ),
    ));
    let mut told = 0;
    for criterion in verdict.criteria.iter().filter(|c| c.outcome != Answer::Pass) {
        if criterion.reasons.first().map(String::as_str) == Some(ReasonClass::NotReached.as_str()) {
            continue;
        }
        told += 1;
        if told > 8 {
            printer.say("  … more in the report");
            break;
        }
        say_criterion(printer, criterion, bundle);
    }
    let unreached = verdict
        .criteria
        .iter()
        .filter(|c| c.reasons.first().is_some_and(|r| r == "not_reached"))
        .count();
    if unreached > 0 {
        printer.say(&printer.paint(Look::Dim, &format!("  {unreached} more were not reached")));
    }
    for violation in verdict.violations.iter().take(8) {
        printer.say(&format!(
            "  {} {}",
            printer.paint(Look::Unsure, "off the origin:"),
            violation.url.escaped(160)
        ));
    }
    if let Some(class) = advice(verdict) {
        printer.say(&format!(
            "  {} {}",
            printer.paint(Look::Strong, "what to do:"),
            class.advice()
        ));
    }
    let level = verdict
        .confinement
        .level
        .map_or("none", jurat_core::confinement::Level::as_str);
    let sandbox = &verdict.confinement.sandbox;
    printer.say(&printer.paint(Look::Dim, &format!("  confinement {level}, sandbox {sandbox}")));
    printer.say(&format!("  report {}", bundle.join("report.html").display()));
}

fn advice(verdict: &Verdict) -> Option<ReasonClass> {
    let first = verdict
        .criteria
        .iter()
        .filter(|c| c.outcome != Answer::Pass)
        .find_map(|c| c.reasons.first())?;
    ReasonClass::ALL.iter().copied().find(|c| c.as_str() == first)
}

fn say_criterion(printer: Printer, criterion: &CriterionResult, bundle: &Path) {
    let mark = if criterion.outcome == Answer::Fail { "✗" } else { "?" };
    printer.say(&format!(
        "  {} {} {}  {}",
        printer.paint(look_of(criterion.outcome), mark),
        criterion.id,
        printer.paint(Look::Dim, &format!("({}, {})", criterion.kind, criterion.viewport)),
        printer.paint(look_of(criterion.outcome), &criterion.reasons.join(", ")),
    ));
    printer.say(&format!("      expected  {}", escape(&criterion.expected, 300)));
    if !criterion.seen.is_empty() {
        printer.say(&format!("      seen      {}", criterion.seen.escaped(300)));
    }
    if let Some(picture) = engine::screenshot_of(bundle, criterion) {
        printer.say(&printer.paint(Look::Dim, &format!("      picture   {}", picture.display())));
    }
}
