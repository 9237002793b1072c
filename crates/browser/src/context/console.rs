//! What pages say: console calls, exceptions, the browser's own entries.

use jurat_core::observation::{ConsoleFact, ExceptionFact, Happening};
use jurat_core::untrusted::Untrusted;
use serde::Deserialize;

use super::outlet::{Class, class_of};
use super::state::State;
use super::world::thrown;
use crate::cdp::Message;
use crate::cdp::protocol::log;
use crate::cdp::protocol::runtime::{ConsoleApiCalled, ExceptionThrown, RemoteObject, StackTrace};

/// Bytes of text kept of one entry.
const MAX_TEXT: usize = 2048;

/// The level alone: a flood is classed without being read as a whole.
#[derive(Deserialize)]
struct Level {
    r#type: String,
}

impl State {
    pub(super) fn console(&mut self, event: &Message) {
        let Ok(level) = serde_json::from_str::<Level>(event.params.get()) else {
            return self.fault(event);
        };
        let class = class_of(&ConsoleFact {
            level: level.r#type,
            text: Untrusted::default(),
            url: None,
            line: None,
        });
        if !self.outlet.admits(class) {
            return;
        }
        let Some(Ok(called)) = event.decode::<ConsoleApiCalled>() else {
            return self.fault(event);
        };
        let (url, line) = place(called.stack_trace.as_ref());
        let fact = ConsoleFact {
            level: short(&called.r#type),
            text: said(&called.args),
            url,
            line,
        };
        self.outlet.send(event.at, Happening::Console(fact));
    }

    pub(super) fn exception(&mut self, event: &Message) {
        if !self.outlet.admits(Class::Errors) {
            return;
        }
        let Some(Ok(thrown_event)) = event.decode::<ExceptionThrown>() else {
            return self.fault(event);
        };
        let details = thrown_event.exception_details;
        let (text, _) = Untrusted::bounded(&thrown(&details), MAX_TEXT);
        let url = details.url.as_deref().map(bounded_url);
        let line = u32::try_from(details.line_number.saturating_add(1)).ok();
        let rejection = details.text.contains("(in promise)");
        self.outlet.send(
            event.at,
            Happening::Exception(ExceptionFact {
                text,
                rejection,
                url,
                line,
            }),
        );
    }

    pub(super) fn log_entry(&mut self, event: &Message) {
        if !self.outlet.admits(Class::Log) {
            return;
        }
        let Some(Ok(added)) = event.decode::<log::EntryAdded>() else {
            return self.fault(event);
        };
        let (text, _) = Untrusted::bounded(&added.entry.text, MAX_TEXT);
        let url = added
            .entry
            .url
            .as_deref()
            .filter(|url| !url.is_empty())
            .map(bounded_url);
        let line = added
            .entry
            .line_number
            .and_then(|line| u32::try_from(line.saturating_add(1)).ok());
        self.outlet.send(
            event.at,
            Happening::Console(ConsoleFact {
                level: "network".to_owned(),
                text,
                url,
                line,
            }),
        );
    }

    /// An event in another shape than expected: its evidence is lost.
    pub(super) fn fault(&mut self, event: &Message) {
        let detail = Untrusted::new(format!("{}: another shape than expected", event.method));
        self.outlet
            .emit(Class::Faults, event.at, Happening::ProtocolFault { detail });
    }
}

fn short(text: &str) -> String {
    Untrusted::bounded(text, 32).0.raw().to_owned()
}

pub(super) fn bounded_url(url: &str) -> Untrusted {
    Untrusted::bounded(url, MAX_TEXT).0
}

fn place(trace: Option<&StackTrace>) -> (Option<Untrusted>, Option<u32>) {
    let frame = trace.and_then(|trace| trace.call_frames.first());
    let url = frame
        .filter(|frame| !frame.url.is_empty())
        .map(|frame| bounded_url(&frame.url));
    let line = frame.and_then(|frame| u32::try_from(frame.line_number.saturating_add(1)).ok());
    (url, line)
}

/// The arguments as a console would show them, in one line.
fn said(args: &[RemoteObject]) -> Untrusted {
    let mut text = String::new();
    for arg in args {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&shown(arg));
        if text.len() > MAX_TEXT {
            break;
        }
    }
    Untrusted::bounded(&text, MAX_TEXT).0
}

fn shown(arg: &RemoteObject) -> String {
    if let Some(value) = &arg.value {
        return serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned());
    }
    let described = arg.unserializable_value.as_ref().or(arg.description.as_ref());
    described.cloned().unwrap_or_else(|| arg.r#type.clone())
}
