//! From arguments to settings: the one edge where environment and home directory are read.

use std::path::PathBuf;

use super::args::Running;
use crate::engine::Settings;

/// The settings that every command that runs a browser shares.
///
/// # Errors
/// There is no home directory to put evidence in, in words for people.
pub(super) fn of(running: &Running) -> Result<Settings, String> {
    let mut settings = Settings::new(evidence_root(running)?);
    settings.browser.clone_from(&running.browser);
    settings.accept_confinement = running.accept_confinement;
    settings.sole_owner = true;
    Ok(settings)
}

fn evidence_root(running: &Running) -> Result<PathBuf, String> {
    let root = match &running.evidence_root {
        Some(root) => root.clone(),
        None => std::env::home_dir()
            .filter(|home| home.is_absolute())
            .ok_or("there is no home directory for the evidence; give --evidence-root DIR")?
            .join(".jurat/evidence"),
    };
    std::path::absolute(&root).map_err(|e| format!("{}: {e}", root.display()))
}
