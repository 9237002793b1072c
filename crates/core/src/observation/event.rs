//! The event log: what happened, whoever caused it.

use serde::{Deserialize, Serialize};

use super::app::{AppEnded, AppReady, AppStarted, ListenerFact, SourceFact};
use super::guard::{CanaryHit, EscapeAttempt, GuardRecord};
use crate::confinement::ConfinementRecord;
use crate::untrusted::Untrusted;

/// One entry of the event log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Its place in the run; observations and events share one count.
    pub seq: u64,
    /// Microseconds since the start of the run, monotonic.
    pub at_us: u64,
    /// The viewport whose context it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub viewport: Option<String>,
    /// What happened.
    pub what: Happening,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Happening {
    /// The run began.
    Begun(Begun),
    /// The browser that answered.
    Browser(BrowserFact),
    /// The confinement that holds.
    Confinement(ConfinementRecord),
    /// An action began; its number counts within the viewport.
    Action(ActionMark),
    /// A request at the guard.
    Guard(GuardRecord),
    /// Something in the lane tried to go past the guard; a violation.
    EscapeAttempt(EscapeAttempt),
    /// A request as the browser tells it.
    Request(RequestFact),
    /// How such a request ended.
    RequestEnd(RequestEnd),
    /// A console call.
    Console(ConsoleFact),
    /// An uncaught exception or unhandled rejection.
    Exception(ExceptionFact),
    /// A dialog.
    Dialog(DialogEvent),
    /// A frame got a new document or address.
    Navigation(NavigationFact),
    /// A tab, frame process or worker came.
    Target(TargetFact),
    /// One went.
    TargetGone {
        /// `Target.TargetID`.
        target: String,
        /// Whether it crashed.
        crashed: bool,
    },
    /// A download was denied.
    Download {
        /// From where.
        url: Untrusted,
    },
    /// Events were lost; bars a pass.
    Gap {
        /// Where: `devtools`, `guard`, `log`, `tripwire`.
        at: String,
        /// How many.
        count: u64,
    },
    /// Something the protocol peer said that could not be read.
    ProtocolFault {
        /// What.
        detail: Untrusted,
    },
    /// The canaries at the end of the run.
    Canaries {
        /// Hits; any bars a pass.
        hits: Vec<CanaryHit>,
    },
    /// What was left after the run.
    Leftovers {
        /// Processes of ours that still live.
        processes: u32,
    },
    /// What the app is made of.
    Source(SourceFact),
    /// jurat started the app.
    AppStarted(AppStarted),
    /// The app counts as started.
    AppReady(AppReady),
    /// Who listens at the target's address.
    Listener(ListenerFact),
    /// How the app that jurat started ended.
    AppEnded(AppEnded),
    /// A viewport's work began or ended; for the time line.
    Criterion {
        /// Which.
        criterion: String,
        /// `begin` or `end`.
        edge: Edge,
    },
}

/// Which end of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edge {
    /// Its start.
    Begin,
    /// Its end.
    End,
}

/// The run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begun {
    /// Version of jurat.
    pub jurat: String,
    /// Wall clock, RFC 3339 in UTC with milliseconds.
    pub at: String,
    /// Operating system and architecture.
    pub platform: String,
    /// Socket address that the target was dialled at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_address: Option<String>,
}

/// The browser that answered (`Browser.getVersion`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrowserFact {
    /// Product and version.
    pub product: Untrusted,
    /// Revision.
    pub revision: Untrusted,
    /// User agent.
    pub user_agent: Untrusted,
    /// The program.
    pub program: String,
    /// `headless-shell` or `chromium`.
    pub kind: String,
    /// Its whole argv.
    pub argv: Vec<String>,
}

/// An action began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionMark {
    /// Which of the viewport, from 1.
    pub action: u32,
    /// For which criterion.
    pub criterion: String,
}

/// Who made a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The tab's main frame.
    Page,
    /// A frame in it.
    Frame,
    /// A dedicated or shared worker.
    Worker,
    /// A service worker.
    ServiceWorker,
    /// Another tab that the page opened.
    Popup,
    /// The browser itself.
    Browser,
    /// Nobody that could be found.
    Nobody,
}

/// A request as the browser tells it (`Network.requestWillBeSent`, `webSocketCreated`, `webTransportCreated`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestFact {
    /// `Network.RequestId`; with a suffix `#N` for the N-th redirect.
    pub id: String,
    /// Whose session told it.
    pub owner: Owner,
    /// Method; `WEBSOCKET` and `WEBTRANSPORT` for those.
    pub method: String,
    /// Absolute URL, at most 2048 bytes.
    pub url: Untrusted,
    /// `Network.ResourceType`.
    pub kind: String,
    /// The main frame's document.
    pub document: bool,
    /// The browser sent it without the page's asking (a preflight, a prefetch).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initiator: Option<String>,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestEnd {
    /// See [`RequestFact::id`].
    pub id: String,
    /// Status, when a response came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What answered it.
    pub answered_by: AnsweredBy,
    /// Chromium's error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Untrusted>,
    /// MIME type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<Untrusted>,
}

/// What answered a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    /// The network, through the guard.
    Network,
    /// The browser's cache.
    Cache,
    /// A service worker.
    ServiceWorker,
    /// Nothing: it failed.
    Nothing,
}

/// A console call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsoleFact {
    /// `Runtime.consoleAPICalled` type (`error`, `warning`, `log`, …), or `network` for the browser's own entries (`Log.entryAdded`).
    pub level: String,
    /// Its text, at most 2048 bytes.
    pub text: Untrusted,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Untrusted>,
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// An uncaught exception or unhandled rejection (`Runtime.exceptionThrown`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExceptionFact {
    /// Its text, at most 2048 bytes.
    pub text: Untrusted,
    /// An unhandled promise rejection.
    pub rejection: bool,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Untrusted>,
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// A dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DialogEvent {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    pub kind: String,
    /// What it said, at most 2048 bytes.
    pub message: Untrusted,
    /// How it was answered.
    pub accepted: bool,
    /// The text given to a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// A frame got a new document or address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NavigationFact {
    /// `Page.FrameId`.
    pub frame: String,
    /// Whether it is the main frame of a tab.
    pub main: bool,
    /// Whose tab.
    pub owner: Owner,
    /// Where it is now.
    pub url: Untrusted,
    /// Within the same document (`pushState`, a fragment).
    pub same_document: bool,
    /// Chromium shows an error page instead of it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub error_page: bool,
}

/// A tab, frame process or worker came (`Target.attachedToTarget`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetFact {
    /// `Target.TargetID`.
    pub target: String,
    /// `Target.TargetInfo.type`: `page`, `iframe` (an out-of-process frame), `worker`, `shared_worker`, `service_worker`, `worklet`, …
    pub kind: String,
    /// Whose its requests are.
    pub owner: Owner,
    /// Its URL.
    pub url: Untrusted,
}

fn is_false(value: &bool) -> bool {
    !value
}
