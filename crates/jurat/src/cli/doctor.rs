//! `jurat doctor`: what is here, whether a run can start with it, and what to do about what is missing.
//!
//! Each check looks at one thing and gives a [`Finding`]; none changes anything that outlives it.

mod browser;
mod confinement;
mod places;

use jurat_core::untrusted::escape;
use serde::Serialize;

use super::args::Doctor;
use super::exit::Exit;
use super::printer::{Look, Printer};
use super::settings;

/// How a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// As it should be.
    Good,
    /// A run can start, and something about it may surprise.
    Warn,
    /// No run can start.
    Bad,
    /// Only to be known.
    Info,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    name: &'static str,
    state: State,
    found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    todo: Option<String>,
}

impl Finding {
    fn new(name: &'static str, state: State, found: impl Into<String>) -> Self {
        Self {
            name,
            state,
            found: found.into(),
            todo: None,
        }
    }

    fn todo(self, todo: impl Into<String>) -> Self {
        Self {
            todo: Some(todo.into()),
            ..self
        }
    }
}

pub(super) fn run(args: &Doctor, printer: Printer) -> Exit {
    let settings = match settings::of(&args.running) {
        Ok(settings) => settings,
        Err(error) => {
            printer.error(&error, None);
            return Exit::Environment;
        }
    };
    let mut findings = vec![Finding::new(
        "jurat",
        State::Info,
        concat!("version ", env!("CARGO_PKG_VERSION")),
    )];
    findings.extend(browser::candidates(&settings));
    findings.push(browser::start(&settings));
    findings.push(confinement::sandbox(&settings));
    findings.push(confinement::level(&settings, &confinement::probe(&settings)));
    findings.push(confinement::bubblewrap(&settings));
    findings.push(places::shared_memory());
    findings.push(places::temporary());
    findings.push(places::evidence(&settings.evidence_root));
    let ready = findings.iter().all(|f| f.state != State::Bad);
    if args.json {
        let all = serde_json::json!({ "schema": "jurat.doctor/1", "ready": ready, "findings": findings });
        printer.data(&all.to_string());
    } else {
        show(&findings, ready, printer);
    }
    if ready { Exit::Pass } else { Exit::Environment }
}

fn show(findings: &[Finding], ready: bool, printer: Printer) {
    let width = findings.iter().map(|f| f.name.len()).max().unwrap_or(0);
    for finding in findings {
        let (mark, look) = match finding.state {
            State::Good => ("✓", Look::Good),
            State::Warn => ("!", Look::Unsure),
            State::Bad => ("✗", Look::Bad),
            State::Info => ("·", Look::Dim),
        };
        printer.data(&format!(
            "{} {:width$}  {}",
            printer.paint_data(look, mark),
            finding.name,
            escape(&finding.found, 400)
        ));
        if let Some(todo) = &finding.todo {
            let arrow = printer.paint_data(Look::Strong, "→");
            printer.data(&format!("  {:width$}  {arrow} {}", "", escape(todo, 400)));
        }
    }
    printer.data("");
    printer.data(&if ready {
        printer.paint_data(Look::Good, "A verify can run here.")
    } else {
        printer.paint_data(Look::Bad, "No verify can run here until what is marked ✗ is mended.")
    });
}
