//! `jurat doctor`.
use super::args::Doctor;
use super::exit::Exit;
use super::printer::Printer;

pub(super) fn run(_args: &Doctor, printer: Printer) -> Exit {
    printer.say("not yet");
    Exit::Bug
}
