//! Development tasks, each a typed verb: `cargo xtask arrows`, `cargo xtask schemas [--check]`.
//!
//! Owns nothing that ships. A task prints what it found on stderr and ends with 0, or with 1 and every finding at once.

mod arrows;
mod metadata;
mod schemas;

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "xtask", about = "Development tasks of the jurat workspace")]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Compare the crate table in arrows.toml with what the crates really depend on.
    Arrows,
    /// Write the published JSON Schemas (schemas/KIND.json) from the jurat binary.
    Schemas {
        /// Write nothing; fail when a committed schema differs from what the binary prints.
        #[arg(long)]
        check: bool,
    },
}

#[derive(Debug, thiserror::Error)]
enum TaskError {
    #[error(transparent)]
    Metadata(#[from] metadata::MetadataError),
    #[error(transparent)]
    Arrows(#[from] arrows::ArrowsError),
    #[error(transparent)]
    Schemas(#[from] schemas::SchemasError),
}

fn main() -> ExitCode {
    match run(&Args::parse().task) {
        Ok(line) => {
            say(&line);
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&format!("xtask: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> Result<String, TaskError> {
    let root = workspace_root();
    match task {
        Task::Arrows => Ok(arrows::run(root, &metadata::load(root)?)?),
        Task::Schemas { check: true } => Ok(schemas::check(root)?),
        Task::Schemas { check: false } => Ok(schemas::write(root)?),
    }
}

/// The folder above this crate.
fn workspace_root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

#[expect(clippy::print_stderr, reason = "the one place where a task speaks to a person")]
fn say(line: &str) {
    eprintln!("{line}");
}
