//! `jurat report`.

use std::path::Path;

use super::args::Report;
use super::exit::Exit;
use super::printer::Printer;
use crate::engine;

pub(super) fn run(args: &Report, printer: Printer) -> Exit {
    let text = match engine::report(&args.bundle, &args.kind) {
        Ok(text) => text,
        Err(error) => {
            printer.error(&error.to_string(), None);
            return Exit::Refused;
        }
    };
    match &args.output {
        None => printer.data(&text),
        Some(path) => {
            if let Err(error) = write(path, &text) {
                printer.error(&error, None);
                return Exit::Environment;
            }
            printer.say(&format!("wrote {}", path.display()));
        }
    }
    Exit::Pass
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
