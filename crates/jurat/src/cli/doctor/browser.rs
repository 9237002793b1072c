//! Which browser there is, and whether it starts.

use jurat_browser::find::{Candidate, Kind, Machine, Refusal, Source, search};

use super::{Finding, State};
use crate::engine::{self, Settings};

/// What to install where there is no browser.
const INSTALL: &str = "install a package that is no snap (Debian: chromium or chromium-headless-shell; Ubuntu, whose chromium is a snap: \
     google-chrome), or let Playwright or Puppeteer fetch chrome-headless-shell into their caches, or name one with --browser";

/// Every browser that was looked at, and which is taken.
pub(super) fn candidates(settings: &Settings) -> Vec<Finding> {
    let found = search(&Machine, settings.browser.as_deref());
    let chosen = found.chosen().ok();
    // One file under two names (/bin is often /usr/bin) is told once.
    let mut seen = Vec::new();
    let mut findings = Vec::new();
    for candidate in &found.candidates {
        let real = std::fs::canonicalize(&candidate.path).unwrap_or_else(|_| candidate.path.clone());
        if !seen.contains(&real) {
            findings.push(one(
                candidate,
                chosen.as_ref().is_some_and(|b| b.path == candidate.path),
            ));
            seen.push(real);
        }
    }
    if chosen.is_none() {
        let snap = found.candidates.iter().any(|c| c.found == Err(Refusal::Snap));
        let what = if snap {
            "only a snap, which does not pass the DevTools pipe on"
        } else {
            "none that can be used"
        };
        findings.push(Finding::new("browser", State::Bad, what).todo(INSTALL));
    }
    findings
}

fn one(candidate: &Candidate, taken: bool) -> Finding {
    let from = match candidate.source {
        Source::Argument => "named by --browser or JURAT_BROWSER",
        Source::Environment => "named by JURAT_BROWSER",
        Source::Installed => "installed",
        Source::Playwright => "in Playwright's cache",
        Source::Puppeteer => "in Puppeteer's cache",
        Source::AgentBrowser => "in agent-browser's cache",
    };
    let path = candidate.path.display();
    match candidate.found {
        Ok(kind) => {
            let kind = match kind {
                Kind::HeadlessShell => "headless shell",
                Kind::Full => "full browser",
            };
            let (state, use_of) = if taken {
                (State::Good, "taken")
            } else {
                (State::Info, "not needed")
            };
            Finding::new("browser", state, format!("{path} ({kind}, {from}): {use_of}"))
        }
        Err(refusal) => Finding::new("browser", State::Info, format!("{path} ({from}): not taken, {refusal}")),
    }
}

/// Starts the browser that a run would take.
pub(super) fn start(settings: &Settings) -> Finding {
    const NAME: &str = "starts";
    let runtime = match engine::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return Finding::new(NAME, State::Bad, format!("the runtime does not start: {error}")),
    };
    match runtime.block_on(engine::try_browser(settings)) {
        Ok(tried) => Finding::new(
            NAME,
            State::Good,
            format!(
                "{}, after {} ms, Chromium's sandbox {}",
                tried.browser.product.escaped(80),
                tried.took.as_millis(),
                tried.confinement.sandbox.as_str(),
            ),
        ),
        Err(error) => {
            let todo = error.hint().filter(|hint| !hint.contains("jurat doctor"));
            let todo = todo.unwrap_or_else(|| {
                "start that program by hand and see what it says; a container often lacks its libraries".into()
            });
            Finding::new(NAME, State::Bad, error.to_string()).todo(todo)
        }
    }
}
