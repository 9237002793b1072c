//! The only way to stdout and stderr.
//!
//! stdout is data, stderr is for people. Text from a page is escaped before it gets here ([`jurat_core::untrusted::escape`]). A broken pipe is not an error.

use std::io::{IsTerminal, Write};

use super::args::When;

/// Where output goes, and how it may look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Printer {
    colour: bool,
    /// Colours on stdout.
    colour_data: bool,
    terminal: bool,
}

/// Looks of a piece of text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Look {
    /// A pass.
    Good,
    /// A fail.
    Bad,
    /// Inconclusive.
    Unsure,
    /// Less important.
    Dim,
    /// More important.
    Strong,
}

impl Printer {
    /// A printer for this process.
    pub(super) fn new(when: When) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let colour = |terminal: bool| match when {
            When::Always => true,
            When::Never => false,
            When::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        };
        Self {
            colour: colour(terminal),
            colour_data: colour(std::io::stdout().is_terminal()),
            terminal,
        }
    }

    /// Whether stderr is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// One line of data on stdout.
    #[expect(clippy::unused_self, reason = "there is no other way to stdout")]
    pub(super) fn data(&self, line: &str) {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }

    /// One line for people on stderr.
    #[expect(clippy::unused_self, reason = "there is no other way to stderr")]
    pub(super) fn say(&self, line: &str) {
        let mut err = std::io::stderr().lock();
        let _ = writeln!(err, "{line}");
    }

    /// An error, and what to do about it.
    pub(super) fn error(&self, message: &str, hint: Option<&str>) {
        self.say(&format!("{} {message}", self.paint(Look::Bad, "error:")));
        if let Some(hint) = hint {
            self.say(&format!("{} {hint}", self.paint(Look::Strong, "hint:")));
        }
    }

    /// Text with a look, where colours may be used.
    pub(super) fn paint(&self, look: Look, text: &str) -> String {
        painted(self.colour, look, text)
    }

    /// As [`Printer::paint`], for data that people read.
    pub(super) fn paint_data(&self, look: Look, text: &str) -> String {
        painted(self.colour_data, look, text)
    }
}

fn painted(colour: bool, look: Look, text: &str) -> String {
    if !colour {
        return text.to_owned();
    }
    let code = match look {
        Look::Good => "32",
        Look::Bad => "31",
        Look::Unsure => "33",
        Look::Dim => "2",
        Look::Strong => "1",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}
