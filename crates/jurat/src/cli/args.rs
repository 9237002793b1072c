//! The command line, as clap parses it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use jurat_core::confinement::Level;

/// Proves in a real browser, confined to exactly the origin under test, that a web UI does what its contract says.
#[derive(Debug, Parser)]
#[command(name = "jurat", version, propagate_version = true, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Log more on stderr (-v, -vv); RUST_LOG is honoured too.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// When to colour: auto, always, never. NO_COLOR is honoured.
    #[arg(long, global = true, value_enum, default_value_t = When::Auto)]
    pub color: When,
}

const EXIT_CODES: &str =
    "Exit codes: 0 pass, 1 fail, 2 inconclusive, 3 refused or wrong input, 4 no browser that starts, 70 a bug.";

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Open the page, do what the contract says, and give a verdict that anyone can check again.
    Verify(Verify),
    /// Verify the bundled notes app and its broken twins, and say where the reports are.
    Demo(Demo),
    /// Derive the verdict of a bundle again, from disk alone.
    Recheck(Recheck),
    /// Render the report of a bundle again, from the bundle alone.
    Report(Report),
    /// Write a first contract for a page, from its own accessibility tree and forms.
    Init(Init),
    /// Say what is here: browser, sandbox, directories, confinement, each with what to do.
    Doctor(Doctor),
    /// Print a JSON Schema, or the closed list of reasons.
    Schema(Schema),
}

/// What every command that runs a browser takes.
#[derive(Debug, Args)]
pub struct Running {
    /// The browser's program [default: found; see `jurat doctor`].
    #[arg(long, value_name = "PATH", env = "JURAT_BROWSER")]
    pub browser: Option<PathBuf>,
    /// Where bundles go [default: ~/.jurat/evidence].
    #[arg(long, value_name = "DIR", env = "JURAT_EVIDENCE_ROOT")]
    pub evidence_root: Option<PathBuf>,
    /// The weakest confinement at which a pass counts: lane, netns or guard_only.
    #[arg(long, value_name = "LEVEL", env = "JURAT_ACCEPT_CONFINEMENT", default_value_t = Level::DEFAULT_ACCEPTED)]
    pub accept_confinement: Level,
}

/// `jurat verify`.
#[derive(Debug, Args)]
pub struct Verify {
    /// Contracts, YAML or JSON.
    #[arg(required = true, value_name = "CONTRACT")]
    pub contracts: Vec<PathBuf>,
    /// Use this URL instead of the contracts' target.url.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    #[command(flatten)]
    pub running: Running,
    /// Print one jurat.result/1 object on stdout.
    #[arg(long)]
    pub json: bool,
    /// How many run at the same time.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: u16,
    /// Run each contract this many times.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub repeat: u16,
    /// Count a pass only when it is proven by typed facts; in this version every pass is.
    #[arg(long, value_name = "BASIS", value_parser = ["proven"])]
    pub require: Option<String>,
    /// Count a judged pass without typed support; this version has no judge, so nothing changes.
    #[arg(long, value_name = "BASIS", value_parser = ["judged"], conflicts_with = "require")]
    pub accept: Option<String>,
    /// Allow a target that is not on loopback.
    #[arg(long)]
    pub allow_remote_target: bool,
    /// Show the browser's window.
    #[arg(long)]
    pub headed: bool,
    /// Stop at the first criterion that does not pass, with the browser open.
    #[arg(long)]
    pub debug: bool,
    /// Write a report: html=FILE or json=FILE; repeatable.
    #[arg(long, value_name = "KIND=FILE")]
    pub report: Vec<String>,
}

/// `jurat demo`.
#[derive(Debug, Args)]
pub struct Demo {
    #[command(flatten)]
    pub running: Running,
    /// Print one jurat.result/1 object on stdout.
    #[arg(long)]
    pub json: bool,
    /// How many run at the same time.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: u16,
}

/// `jurat recheck`.
#[derive(Debug, Args)]
pub struct Recheck {
    /// A bundle's directory.
    #[arg(value_name = "BUNDLE")]
    pub bundle: PathBuf,
    /// The app's folder: say whether it is the one that was verified. Only for an app that jurat started.
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
    /// Print one jurat.result/1 object on stdout.
    #[arg(long)]
    pub json: bool,
}

/// `jurat report`.
#[derive(Debug, Args)]
pub struct Report {
    /// A bundle's directory.
    #[arg(value_name = "BUNDLE")]
    pub bundle: PathBuf,
    /// Where to write it [default: stdout].
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// html or json.
    #[arg(long, value_name = "KIND", default_value = "html", value_parser = ["html", "json"])]
    pub kind: String,
}

/// `jurat init`.
#[derive(Debug, Args)]
pub struct Init {
    /// The page.
    #[arg(value_name = "URL")]
    pub url: String,
    /// Where to write it [default: stdout].
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub running: Running,
    /// Allow a target that is not on loopback.
    #[arg(long)]
    pub allow_remote_target: bool,
}

/// `jurat doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    #[command(flatten)]
    pub running: Running,
    /// Print the findings as JSON on stdout.
    #[arg(long)]
    pub json: bool,
}

/// `jurat schema`.
#[derive(Debug, Args)]
pub struct Schema {
    /// Which.
    #[arg(value_enum)]
    pub kind: SchemaKind,
}

/// What `jurat schema` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaKind {
    /// The contract, version 1.
    Contract,
    /// `jurat.result/1`.
    Result,
    /// The closed list of reasons, with what they mean.
    Reasons,
}
