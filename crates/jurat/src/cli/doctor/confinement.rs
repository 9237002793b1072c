//! How far a run can be confined here, and what of that counts.

use std::path::PathBuf;

use jurat_browser::find::{Machine, search};
use jurat_core::confinement::Sandbox;
use jurat_guard::lane;
use jurat_guard::supervise::{Ownership, SandboxPlan, Supervisor, User};

use super::{Finding, State};
use crate::engine::{self, Settings};

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

/// What this machine offers, by trying it.
pub(super) fn probe(settings: &Settings) -> Result<lane::Probe, String> {
    let runtime = engine::runtime().map_err(|e| format!("the runtime does not start: {e}"))?;
    let browser = search(&Machine, settings.browser.as_deref()).chosen().ok();
    let order = lane::Order {
        // Nothing runs in the lane that is built for this.
        program: browser.map_or_else(|| PathBuf::from("/usr/bin/env"), |b| b.path),
        listeners: 1,
        temporary: std::env::temp_dir(),
        display: Vec::new(),
    };
    let supervisor =
        Supervisor::new(Ownership::Process).map_err(|e| format!("orphans cannot be followed here: {e}"))?;
    Ok(runtime.block_on(lane::probe(&order, &settings.lane, &supervisor)))
}

/// The confinement that there will be, against the one that is accepted.
pub(super) fn level(settings: &Settings, probe: &Result<lane::Probe, String>) -> Finding {
    const NAME: &str = "confinement";
    let probe = match probe {
        Ok(probe) => probe,
        Err(error) => return Finding::new(NAME, State::Bad, error.clone()),
    };
    let accepted = settings.accept_confinement;
    let why = unavailable(probe);
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

/// Bubblewrap, which lanes are made with.
pub(super) fn bubblewrap(settings: &Settings) -> Finding {
    const NAME: &str = "bubblewrap";
    match lane::find_bwrap(&settings.lane) {
        Ok(path) => Finding::new(NAME, State::Good, path.display().to_string()),
        Err(why) => Finding::new(
            NAME,
            State::Warn,
            "not found; without it the browser sees the host's files",
        )
        .todo(why),
    }
}
