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
    let why = unavailable(&probe);
    if probe.level.satisfies(accepted) {
        return Finding::new(
            NAME,
            State::Good,
            format!("{}, and {accepted} is accepted{why}", probe.level),
        );
    }
    Finding::new(
        NAME,
        State::Warn,
        format!(
            "{}, but {accepted} is demanded: every pass becomes inconclusive{why}",
            probe.level
        ),
    )
    .todo(format!(
        "accept it in so many words: --accept-confinement {level} or JURAT_ACCEPT_CONFINEMENT={level}",
        level = probe.level
    ))
}

/// Why stronger levels cannot be had, those with the same reason together.
fn unavailable(probe: &lane::Probe) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for level in &probe.levels {
        let Some(why) = level.unavailable.as_deref() else {
            continue;
        };
        match reasons.iter_mut().find(|(other, _)| *other == why) {
            Some((_, levels)) => levels.push(level.level.as_str()),
            None => reasons.push((why, vec![level.level.as_str()])),
        }
    }
    let told: Vec<String> = reasons
        .iter()
        .map(|(why, levels)| format!("{}: {why}", levels.join(", ")))
        .collect();
    if told.is_empty() {
        String::new()
    } else {
        format!(" ({})", told.join("; "))
    }
}

/// Bubblewrap, which lanes will need.
pub(super) fn bubblewrap() -> Finding {
    const NAME: &str = "bubblewrap";
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found: Option<PathBuf> = std::env::split_paths(&path)
        .map(|folder| folder.join("bwrap"))
        .find(|p| p.is_file());
    match found {
        Some(path) => Finding::new(
            NAME,
            State::Info,
            format!("{}; this version does not use it yet", path.display()),
        ),
        None => Finding::new(NAME, State::Info, "not found; this version does not need it"),
    }
}
