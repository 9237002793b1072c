//! Console, dialogs, navigations and what else happened.

use jurat_core::observation::{Event, Happening};

use crate::Bounds;
use crate::read::Run;
use crate::text::{moment, shown, wire, words};

/// What happened in the page, whoever caused it.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) sections: Vec<Section>,
    /// Errors and uncaught exceptions.
    pub(crate) errors: usize,
}

/// Events of one kind.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) none: &'static str,
    pub(crate) entries: Vec<Entry>,
    pub(crate) count: usize,
    pub(crate) cut: usize,
    pub(crate) open: bool,
}

/// One event.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) at: String,
    pub(crate) viewport: String,
    pub(crate) label: String,
    pub(crate) text: String,
    pub(crate) from: String,
    pub(crate) bad: bool,
}

impl Log {
    pub(crate) fn new(run: &Run, bounds: Bounds) -> Self {
        let pick = |section: fn(&Event, usize) -> Option<Entry>| -> Vec<Entry> {
            run.events
                .iter()
                .filter_map(|event| section(event, bounds.text))
                .collect()
        };
        let (console, dialogs, places, other) = (pick(console), pick(dialog), pick(navigation), pick(other));
        let errors = console.iter().filter(|entry| entry.bad).count();
        let sections = [
            (
                "Console and exceptions",
                "The page wrote nothing to the console.",
                console,
                errors > 0,
            ),
            ("Dialogs", "No dialog opened.", dialogs, false),
            ("Navigations", "The page went nowhere.", places, false),
            ("Anything else", "Nothing else happened.", other, false),
        ];
        let sections = sections.into_iter().map(|(title, none, mut entries, open)| {
            let count = entries.len();
            let open = open || entries.iter().any(|entry| entry.bad);
            entries.truncate(bounds.rows);
            Section {
                title,
                none,
                cut: count - entries.len(),
                count,
                entries,
                open,
            }
        });
        Self {
            sections: sections.collect(),
            errors,
        }
    }
}

fn entry(event: &Event, label: impl Into<String>, text: String, from: String, bad: bool) -> Entry {
    let viewport = event
        .viewport
        .as_ref()
        .map(|viewport| shown(viewport, 60))
        .unwrap_or_default();
    Entry {
        at: moment(event.at_us),
        viewport,
        label: label.into(),
        text,
        from,
        bad,
    }
}

fn place(url: Option<&jurat_core::untrusted::Untrusted>, line: Option<u32>) -> String {
    let Some(url) = url else { return String::new() };
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{line}", shown(url.raw(), 200))
}

fn console(event: &Event, text: usize) -> Option<Entry> {
    match &event.what {
        Happening::Console(call) => {
            let bad = matches!(call.level.as_str(), "error" | "assert");
            let from = place(call.url.as_ref(), call.line);
            Some(entry(
                event,
                shown(&call.level, 20),
                shown(call.text.raw(), text),
                from,
                bad,
            ))
        }
        Happening::Exception(thrown) => {
            let label = if thrown.rejection {
                "unhandled rejection"
            } else {
                "uncaught exception"
            };
            let from = place(thrown.url.as_ref(), thrown.line);
            Some(entry(event, label, shown(thrown.text.raw(), text), from, true))
        }
        _ => None,
    }
}

fn dialog(event: &Event, text: usize) -> Option<Entry> {
    let Happening::Dialog(dialog) = &event.what else {
        return None;
    };
    let answer = match (&dialog.answer, dialog.accepted) {
        (Some(answer), _) => format!("answered “{}”", shown(answer, 200)),
        (None, true) => "accepted".to_owned(),
        (None, false) => "dismissed".to_owned(),
    };
    Some(entry(
        event,
        shown(&dialog.kind, 20),
        shown(dialog.message.raw(), text),
        answer,
        false,
    ))
}

fn navigation(event: &Event, text: usize) -> Option<Entry> {
    let Happening::Navigation(to) = &event.what else {
        return None;
    };
    let mut words_of = vec![words(&wire(&to.owner))];
    if !to.main {
        words_of.push("in a frame".to_owned());
    }
    if to.same_document {
        words_of.push("same document".to_owned());
    }
    if to.error_page {
        words_of.push("error page".to_owned());
    }
    Some(entry(
        event,
        "went to",
        shown(to.url.raw(), text.min(500)),
        words_of.join(", "),
        to.error_page,
    ))
}

fn other(event: &Event, text: usize) -> Option<Entry> {
    let (label, told, bad) = match &event.what {
        Happening::TargetGone { crashed: true, .. } => ("crashed", "A page or worker process died.".to_owned(), true),
        Happening::Download { url } => ("download denied", shown(url.raw(), text.min(500)), false),
        Happening::Gap { at, count } => ("events lost", format!("{count} at {}", shown(at, 40)), true),
        Happening::ProtocolFault { detail } => ("protocol fault", shown(detail.raw(), text), true),
        Happening::Leftovers { processes } if *processes > 0 => ("left over", format!("{processes} processes"), true),
        Happening::EscapeAttempt(escape) => (
            "escape attempt",
            format!(
                "{} {} port {}{}, {} times",
                escape.protocol.as_str(),
                shown(&escape.address, 60),
                escape.port,
                escape
                    .name
                    .as_ref()
                    .map_or_else(String::new, |name| format!(" ({})", shown(name.raw(), 300))),
                escape.count
            ),
            true,
        ),
        Happening::Canaries { hits } if !hits.is_empty() => ("canary hit", format!("{} hits", hits.len()), true),
        Happening::AppStarted(app) => ("app started", shown(&app.command.join(" "), 300), false),
        Happening::AppReady(ready) => ("app ready", format!("after {} ms", ready.after_ms), false),
        Happening::AppEnded(app) => (
            "app ended",
            match &app.log {
                Some(log) => format!(
                    "by {}; it wrote: {}",
                    words(&wire(&app.by)),
                    shown(log.tail.raw(), text)
                ),
                None => format!("by {}", words(&wire(&app.by))),
            },
            !matches!(app.by, jurat_core::observation::EndedBy::Jurat),
        ),
        Happening::Target(target) if target.kind != "page" => (
            "attached",
            format!("{} {}", words(&shown(&target.kind, 40)), shown(target.url.raw(), 300)),
            false,
        ),
        _ => return None,
    };
    Some(entry(event, label, told, String::new(), bad))
}
