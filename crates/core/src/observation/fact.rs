//! Facts that belong to one criterion.

use serde::{Deserialize, Serialize};

use super::app::HttpFact;
use super::element::{Probe, Rect};
use crate::aria::Node;
use crate::canon::Digest;
use crate::untrusted::Untrusted;

/// One thing that jurat saw for one criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// Its place in the run; `o` and this number is its name in cites.
    pub seq: u64,
    /// Microseconds since the start of the run, monotonic.
    pub at_us: u64,
    /// The viewport, by name.
    pub viewport: String,
    /// The criterion, by id.
    pub criterion: String,
    /// How many actions had been begun in this viewport when it was made.
    pub after_action: u32,
    /// What was seen.
    pub fact: Fact,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fact {
    /// A look for a locator.
    Probe(Probe),
    /// How an action went.
    Action(ActionFact),
    /// The page's address and title.
    Page(PageFact),
    /// Matches of a negative locator that were painted since the last action.
    Painted(Painted),
    /// That something was looked at again over a settle window.
    Held(Held),
    /// That the page came to rest.
    Settled(Settled),
    /// An accessibility tree.
    Aria(AriaFact),
    /// A picture.
    Screenshot(ScreenshotFact),
    /// How far the event log reached when a criterion that reads it was looked at.
    Log(LogMark),
    /// A plain HTTP answer.
    Http(HttpFact),
    /// That something that was needed could not be seen.
    NotObserved(NotObserved),
}

/// How an action went.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionFact {
    /// Which action of the viewport, from 1.
    pub action: u32,
    /// Whether input was sent, or the navigation begun.
    pub dispatched: bool,
    /// Whether the browser acknowledged all of it.
    pub acknowledged: bool,
    /// Why nothing was sent, when that does not follow from the probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<Obstacle>,
    /// Where the pointer event arrived, as seen during the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<Received>,
    /// The element's value before and after, for `fill`, `type`, `select`, `check`, `upload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Untrusted>,
    /// See `before`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Untrusted>,
    /// What was put in, for `fill`, `select` (the option values), `check` (`true`, `false`), `upload` (the file names).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<Untrusted>,
    /// The document that a navigation brought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<DocumentFact>,
    /// Dialogs that opened during the action, by `seq` of their event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dialogs: Vec<DialogFact>,
}

/// Why an action could not be sent, when its probe does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// It takes no text (`fill`, `type`).
    NotEditable,
    /// It is no `select` element.
    NotASelect,
    /// The select has no such option, or the option is disabled.
    NoSuchOption,
    /// It is no checkbox, radio or switch.
    NotCheckable,
    /// It is no file input, and no file chooser opened.
    NoFileChooser,
    /// There is no other tab.
    NoPopup,
    /// There is nothing to go back to.
    NoHistory,
    /// The value does not fit the control (a date input given a text).
    BadValue,
    /// A file to upload is not there.
    NoFile,
    /// A dialog blocks the page.
    DialogOpen,
}

/// Where a pointer event arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Received {
    /// In the element, or inside it.
    pub own: bool,
    /// What received it instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<Untrusted>,
}

/// A document that a navigation brought, or why it brought none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentFact {
    /// What was asked for.
    pub requested: Untrusted,
    /// Where it ended.
    pub url: Untrusted,
    /// Status of the document; missing when none came, or when it came from no server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How many redirects led there.
    pub redirects: u32,
    /// Chromium's error, such as `net::ERR_TOO_MANY_REDIRECTS`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Untrusted>,
    /// The `load` event fired.
    pub loaded: bool,
    /// The guard could not reach the target.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unreachable: bool,
}

/// A dialog and how it was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DialogFact {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    pub kind: String,
    /// What it said.
    pub message: Untrusted,
    /// Whether it was accepted.
    pub accepted: bool,
    /// Whether the contract said how to answer it.
    pub expected: bool,
}

/// The page's address and title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageFact {
    /// The main frame's URL, from the browser (`Target.TargetInfo` or `Page.getNavigationHistory`), not from script.
    pub url: Untrusted,
    /// The title.
    pub title: Untrusted,
}

/// How many matches of a negative locator a person could see, over the time since the last action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Painted {
    /// The action it counts from.
    pub since_action: u32,
    /// Matches that could be seen when the action was sent (after a navigation: when the document had loaded).
    pub before: u32,
    /// Changes of the count, at most 64, in order.
    pub samples: Vec<PaintedSample>,
    /// Frames looked at.
    pub frames: u32,
    /// Longest time between two looks, in microseconds.
    pub longest_gap_us: u64,
    /// Samples beyond the bound.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u32,
    /// Set when the watcher was lost (a frame that could not be watched, a document that went away unread).
    #[serde(default, skip_serializing_if = "is_false")]
    pub lost: bool,
}

/// A change of the count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaintedSample {
    /// Microseconds since the action.
    pub at_us: u64,
    /// Matches that style, geometry and hit test show.
    pub seen: u32,
    /// Matches that only a pixel proof could decide.
    pub unsure: u32,
    /// Text of the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Untrusted>,
}

/// That a negative was looked at again and again, and held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Held {
    /// How long, in microseconds.
    pub window_us: u64,
    /// How many looks.
    pub looks: u32,
}

/// That the page came to rest, or did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settled {
    /// Requests of the page that were still unanswered at the end.
    pub in_flight: u32,
    /// How long nothing had changed, in microseconds.
    pub quiet_us: u64,
    /// How long was waited, in microseconds.
    pub waited_us: u64,
}

/// An accessibility tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AriaFact {
    /// The nodes below the root.
    pub nodes: Vec<Node>,
    /// Whether nodes were cut for size.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cut: bool,
}

/// A picture of the viewport.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScreenshotFact {
    /// Digest of the PNG, its name among the blobs.
    pub blob: Digest,
    /// Bytes.
    pub bytes: u64,
    /// Device pixels.
    pub width: u32,
    /// Device pixels.
    pub height: u32,
    /// What the criterion is about, to be outlined by a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outline: Option<Rect>,
}

/// How far the event log reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogMark {
    /// Events before this `seq` had been recorded.
    pub events: u64,
    /// `seq` of the event of the action that it counts from; 0 for the whole viewport.
    pub since: u64,
}

/// That something that was needed could not be seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotObserved {
    /// What was asked for.
    pub what: String,
    /// Why it was not seen.
    pub why: Unseen,
    /// More, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Untrusted>,
}

/// Why something was not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unseen {
    /// The page did not answer our reads.
    PageUnresponsive,
    /// Its renderer died.
    RendererCrashed,
    /// The browser died or its pipe was lost.
    BrowserGone,
    /// The time of the whole run was over.
    BudgetExhausted,
    /// The tab was closed.
    PageClosed,
    /// The run was cancelled.
    Cancelled,
    /// The guard died.
    GuardGone,
    /// Evidence was lost on the way.
    EvidenceLost,
    /// The app that jurat started could not be started at all.
    AppNotStarted,
    /// It was not ready in time.
    AppNotReady,
    /// It ended before it was ready.
    AppExitedBeforeReady,
    /// It ended during the run.
    AppExited,
    /// It was ended because it needed more memory than its bound.
    AppOutOfMemory,
    /// It was ended because it had more processes than its bound.
    AppTooManyProcesses,
    /// It was ended because it wrote more to the disk than its bound.
    AppDiskFull,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}
