//! The engine: from contracts to sealed bundles, and back.
//!
//! ```no_run
//! use jurat::engine::{self, Cancel, Format, Job, ParseOptions, Settings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = std::fs::read_to_string("notes.yaml")?;
//! let contract = engine::parse(&text, Format::Yaml, &ParseOptions::default())?;
//! let settings = Settings::new("evidence");
//! let job = Job { contract, name: "notes.yaml".into(), folder: ".".into(), url: None };
//! let listener = std::sync::Arc::new(|progress| eprintln!("{progress:?}"));
//! let reports = engine::runtime()?.block_on(engine::run(vec![job], &settings, listener, Cancel::new()))?;
//! for report in reports {
//!     println!("{} {}", report.verdict.verdict, report.bundle.display());
//!     assert_eq!(engine::recheck(&report.bundle)?.verdict, report.verdict);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The line: [`plan`] resolves, [`run()`] is the only thing that touches the world, [`recheck()`] derives the verdict again
//! from disk alone. Progress goes to a listener; verdicts never depend on it.

mod acting;
mod app;
mod bundle;
mod cancel;
mod error;
mod explore;
mod launch;
mod looking;
mod plugs;
mod progress;
mod recheck;
mod recorder;
mod run;
mod scene;
mod settings;

pub use cancel::Cancel;
pub use error::EngineError;
pub use explore::{Explorer, Made, Shown, Tried, try_browser};
pub use jurat_core::contract::{Format, ParseOptions, parse};
pub use progress::{Listener, Progress};
pub use recheck::{RecheckError, Rechecked, ReportError, derive, recheck, recheck_source, report, screenshot_of};
pub use run::{Job, RunReport, run};
pub use settings::Settings;

pub(crate) use launch::shm_bytes;

use jurat_core::contract::Contract;
use jurat_core::plan::{Plan, PlanError, PlanOptions};

/// Resolves a contract into its plan.
///
/// # Errors
/// A URL in the settings that has no origin.
pub fn plan(contract: &Contract, settings: &Settings) -> Result<Plan, PlanError> {
    let options = PlanOptions {
        url: settings.url.clone(),
        accept_confinement: settings.accept_confinement,
    };
    Plan::new(contract, &options)
}

/// A runtime that is enough for [`run()`]: timers and sockets on the calling thread, so that small messages wake no other. It runs only
/// while something is waited for.
///
/// # Errors
/// The system gives no event queue.
pub fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
