//! How far a run can be confined here, and what of that counts.

use std::path::PathBuf;

use jurat_browser::find::{Machine, search};
use jurat_core::confinement::Sandbox;
use jurat_guard::lane;
use jurat_guard::supervise::{SandboxPlan, User};

use super::{Finding, State};
use crate::engine::Settings;

/// Whether Chromium's own sandbox can be on.
pub(super) fn sandbox(settings: &Settings) -> Finding {
    const NAME: &str = "sandbox";
    let browser = search(&Machine, settings.browser.as_deref()).chosen().ok();
    let helper = browser.and_then(|b| b.path.parent().map(|folder| folder.join("chrome-sandbox")));
    let plan = SandboxPlan::probe(User::NOBODY, helper.as_deref());
    let why = plan.reasons.join("; ");
    if plan.sandbox == Sandbox::On {
        return Finding::new(NAME, State::Good, format!("on: {why}"));
    }
    // The start of the browser is what is refused then, and says so.
    Finding::new(NAME, State::Warn, format!("off: {why}")).todo(
        "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile for the browser), or accept \
         the risk with --accept-confinement guard_only",
    )
}

/// The confinement that there will be, against the one that is accepted.
pub(super) fn level(settings: &Settings) -> Finding {
    const NAME: &str = "confinement";
    let (probe, accepted) = (lane::probe(), settings.accept_confinement);
    let why: Vec<String> = probe
        .levels
        .iter()
        .filter_map(|l| l.unavailable.as_ref().map(|why| format!("{} is {why}", l.level)))
        .collect();
    let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) };
    if probe.level.satisfies(accepted) {
        return Finding::new(NAME, State::Good, format!("{}, and {accepted} is accepted{why}", probe.level));
    }
    Finding::new(NAME, State::Warn, format!("{}, but {accepted} is demanded: every pass becomes inconclusive{why}", probe.level)).todo(
        format!("accept it in so many words: --accept-confinement {level} or JURAT_ACCEPT_CONFINEMENT={level}", level = probe.level),
    )
}

/// Bubblewrap, which lanes will need.
pub(super) fn bubblewrap() -> Finding {
    const NAME: &str = "bubblewrap";
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found: Option<PathBuf> = std::env::split_paths(&path).map(|folder| folder.join("bwrap")).find(|p| p.is_file());
    match found {
        Some(path) => Finding::new(NAME, State::Info, format!("{}; this version does not use it yet", path.display())),
        None => Finding::new(NAME, State::Info, "not found; this version does not need it"),
    }
}
