//! The `jurat` command: a thin user of the engine.
//!
//! Raw arguments become typed settings here, once; every way to end goes through `Exit`.

mod args;
mod demo;
mod doctor;
mod exit;
mod init;
mod live;
mod printer;
mod recheck;
mod report;
mod schema;
mod settings;
mod site;
mod verify;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

pub use args::Cli;
use args::Command;
use exit::Exit;
use printer::Printer;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            let exit = match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Pass,
                _ => Exit::Refused,
            };
            return ExitCode::from(exit.code());
        }
    };
    let printer = Printer::new(cli.color);
    log_to_stderr(cli.verbose);
    let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(cli.command, printer)));
    let exit = worked.unwrap_or_else(|_| {
        printer.error(
            "jurat itself failed; this is a bug of ours",
            Some("please report it with what stands above"),
        );
        Exit::Bug
    });
    ExitCode::from(exit.code())
}

fn run(command: Command, printer: Printer) -> Exit {
    match command {
        Command::Verify(args) => verify::run(&args, printer),
        Command::Demo(args) => demo::run(&args, printer),
        Command::Recheck(args) => recheck::run(&args, printer),
        Command::Report(args) => report::run(&args, printer),
        Command::Init(args) => init::run(&args, printer),
        Command::Doctor(args) => doctor::run(&args, printer),
        Command::Schema(args) => schema::run(&args, printer),
    }
}

/// Structured logs, only when they were asked for, never on stdout.
fn log_to_stderr(verbose: u8) {
    use tracing_subscriber::EnvFilter;
    let filter = match (std::env::var("RUST_LOG"), verbose) {
        (Ok(filter), 0) if !filter.is_empty() => EnvFilter::try_new(filter).unwrap_or_default(),
        (_, 0) => return,
        (_, 1) => EnvFilter::new("info,jurat=debug"),
        _ => EnvFilter::new("debug,jurat=trace"),
    };
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .try_init();
}
