//! `jurat init`.
use super::args::Init;
use super::exit::Exit;
use super::printer::Printer;

pub(super) fn run(_args: Init, printer: Printer) -> Exit {
    printer.say("not yet");
    Exit::Bug
}
