//! What a run is told beside its contracts: typed, resolved once at the edge.

use std::path::PathBuf;

use jurat_core::confinement::Level;
use jurat_guard::lane;

/// Settings of a run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The browser's program; found when it is not given.
    pub browser: Option<PathBuf>,
    /// Where bundles go.
    pub evidence_root: PathBuf,
    /// Replaces every contract's `target.url`.
    pub url: Option<String>,
    /// The weakest confinement at which a pass counts.
    pub accept_confinement: Level,
    /// Exactly this confinement is tried; the strongest that can be had when it is not given.
    pub level: Option<Level>,
    /// How lanes are made.
    pub lane: lane::Settings,
    /// Runs at the same time, at least 1.
    pub jobs: usize,
    /// Runs of each contract, at least 1.
    pub repeat: u32,
    /// Show the browser's window.
    pub headed: bool,
    /// Keep the browser open at the first criterion that does not pass, until the run is cancelled.
    pub debug: bool,
    /// Every child of this process belongs to the run, also one that cleared its environment: true in the `jurat` command, which has no others.
    pub sole_owner: bool,
    /// Contracts whose target is not on loopback are allowed.
    pub allow_remote_target: bool,
}

impl Settings {
    /// Settings with every default, for bundles below `evidence_root`.
    pub fn new(evidence_root: impl Into<PathBuf>) -> Self {
        Self {
            browser: None,
            evidence_root: evidence_root.into(),
            url: None,
            accept_confinement: Level::DEFAULT_ACCEPTED,
            level: None,
            lane: lane::Settings::default(),
            jobs: 1,
            repeat: 1,
            headed: false,
            debug: false,
            sole_owner: false,
            allow_remote_target: false,
        }
    }
}
