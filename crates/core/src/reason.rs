//! Why a criterion did not pass: a closed list.
//!
//! A reason is a class, which says whose trouble it is, and often a detail, which says what was seen. `jurat schema reasons` prints both
//! with their sentences; reports take their words from here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Defines a closed enum with its wire name and a sentence for people.
macro_rules! closed {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $wire:literal, $sentence:literal;)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $(#[doc = $sentence] #[serde(rename = $wire)] $variant,)*
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $wire,)* }
            }

            /// One sentence for people.
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

closed! {
    /// The class of a reason: whose trouble it is.
    ReasonClass {
        ExpectationNotMet = "expectation_not_met", "The page answered, and what was expected did not hold.";
        ActionNotPossible = "action_not_possible", "A person could not have done this action.";
        NavigationFailed = "navigation_failed", "The app answered a navigation with an error or without end.";
        AppExited = "app_exited", "The app that jurat started ended during the run.";
        TargetUnreachable = "target_unreachable", "Nothing answered at the target's address.";
        PageUnresponsive = "page_unresponsive", "The page did not answer jurat's reads.";
        BrowserCrashed = "browser_crashed", "The browser, or the page's process in it, died.";
        BudgetExhausted = "budget_exhausted", "The time of the whole run was over.";
        BoundaryViolation = "boundary_violation", "Something went, or tried to go, off the target's origin.";
        EvidenceMissing = "evidence_missing", "Something that is needed to decide was not seen.";
        ConfinementInsufficient = "confinement_insufficient", "The browser was confined less than was demanded.";
        CanaryHit = "canary_hit", "Something reached a port that nothing may reach.";
        GuardFailed = "guard_failed", "The guard died during the run.";
        LeftoverProcesses = "leftover_processes", "Processes of the run were still alive after it.";
        NotReached = "not_reached", "An earlier step did not pass.";
        Cancelled = "cancelled", "The run was cancelled.";
    }
}

impl ReasonClass {
    /// Whether it speaks against the app (`fail`) or against knowing (`inconclusive`).
    pub fn is_fail(self) -> bool {
        matches!(
            self,
            Self::ExpectationNotMet | Self::ActionNotPossible | Self::NavigationFailed | Self::AppExited
        )
    }

    /// What to do about it, in one sentence.
    pub fn advice(self) -> &'static str {
        match self {
            Self::ExpectationNotMet | Self::ActionNotPossible => {
                "Look at the screenshot and at what was seen; fix the app, or the contract if it asks for the wrong thing."
            }
            Self::NavigationFailed => "Open the address by hand and look at the server's log.",
            Self::AppExited => "Look at the app's log.",
            Self::TargetUnreachable => "Start the app first, and check the port in target.url.",
            Self::PageUnresponsive => {
                "Look for an endless loop, an endless dialog or a very large document in the page."
            }
            Self::BrowserCrashed => "Run it again; if it comes back, look at memory and /dev/shm with `jurat doctor`.",
            Self::BudgetExhausted => "Raise budget.wall, or split the contract.",
            Self::BoundaryViolation => {
                "Serve it from the target's origin, name the origin under target.allow, or a known third party under target.refuse."
            }
            Self::EvidenceMissing => {
                "Look at the detail: the page may be moving too much to be read, or a request never ends."
            }
            Self::ConfinementInsufficient => {
                "Run where a stronger confinement works (`jurat doctor`), or accept this one with --accept-confinement."
            }
            Self::CanaryHit => {
                "Something outside the guard was reached: do not trust this page, and look for another program that scans ports."
            }
            Self::GuardFailed => "Run it again; this is a fault of jurat's surroundings or of jurat.",
            Self::LeftoverProcesses => {
                "Look for what is still running; this is a fault of jurat or of its surroundings."
            }
            Self::NotReached => "Fix the earlier step first.",
            Self::Cancelled => "Run it again.",
        }
    }
}

closed! {
    /// The detail of a reason: what was seen.
    ReasonDetail {
        NotFound = "not_found", "Nothing matches the locator.";
        Ambiguous = "ambiguous", "More than one element matches the locator.";
        NotRendered = "not_rendered", "It is in the document but not laid out.";
        HiddenByVisibility = "hidden_by_visibility", "Its visibility is hidden.";
        HiddenByOpacity = "hidden_by_opacity", "It is transparent.";
        HiddenBySize = "hidden_by_size", "It has no size.";
        HiddenByColour = "hidden_by_colour", "Its text has the colour of what is behind it.";
        HiddenByClip = "hidden_by_clip", "It is clipped away.";
        OffScreen = "off_screen", "It lies where no scrolling reaches.";
        Covered = "covered", "Something else is painted over it.";
        NotPainted = "not_painted", "Taking it away changes no pixel: it cannot be seen.";
        VisibilityUndecided = "visibility_undecided", "Whether a person could see it could not be decided.";
        StillVisible = "still_visible", "It can be seen.";
        StillPresent = "still_present", "It is in the document.";
        SeenSinceLastAction = "seen_since_last_action", "It could be seen for a while since the last action.";
        NotEnabled = "not_enabled", "It is disabled.";
        NotStable = "not_stable", "It keeps moving.";
        HitOtherElement = "hit_other_element", "Something else would receive, or received, the event.";
        NotEditable = "not_editable", "It takes no text.";
        NotASelect = "not_a_select", "It is no select element.";
        NoSuchOption = "no_such_option", "It has no such option, or the option is disabled.";
        NotCheckable = "not_checkable", "It is no checkbox, radio or switch.";
        NotChecked = "not_checked", "It is not checked.";
        NoFileChooser = "no_file_chooser", "It takes no files, and opened no file chooser.";
        NoFile = "no_file", "The file to upload is not there.";
        NoPopup = "no_popup", "There is no other tab.";
        NoHistory = "no_history", "There is nothing to go back to.";
        BadValue = "bad_value", "The control cannot take this value.";
        ValueNotTaken = "value_not_taken", "The control did not take the value.";
        DialogOpen = "dialog_open", "A dialog blocks the page.";
        NoDialog = "no_dialog", "No dialog opened.";
        DialogDiffers = "dialog_differs", "The dialog says something else.";
        TextDiffers = "text_differs", "Its text is another.";
        ValueDiffers = "value_differs", "Its value is another.";
        AttributeDiffers = "attribute_differs", "The attribute is missing or has another value.";
        CountDiffers = "count_differs", "There are more or fewer.";
        UrlDiffers = "url_differs", "The page is at another address.";
        TitleDiffers = "title_differs", "The title is another.";
        TreeDiffers = "tree_differs", "The accessibility tree is another.";
        RequestCountDiffers = "request_count_differs", "More or fewer such requests left the browser.";
        RequestFromCache = "request_from_cache", "The request was answered by the cache or a service worker and never left the browser.";
        RequestStatusDiffers = "request_status_differs", "The request was answered with another status.";
        ConsoleError = "console_error", "The page called console.error.";
        UncaughtException = "uncaught_exception", "An exception was not caught.";
        UnhandledRejection = "unhandled_rejection", "A promise rejection was not handled.";
        HttpStatus = "http_status", "The document's status is 400 or above.";
        RedirectLoop = "redirect_loop", "Redirects do not end.";
        NoDocument = "no_document", "The navigation brought no document.";
        EmptyResponse = "empty_response", "The connection was closed without an answer.";
        ConnectionRefused = "connection_refused", "Nothing listens there.";
        NoAnswer = "no_answer", "No answer came in time.";
        OriginViolation = "origin_violation", "The page left the target's origin.";
        BlockedRequest = "blocked_request", "A request off the target's origin was refused.";
        UnattributedRequest = "unattributed_request", "A refused request has no owner.";
        AppNotStarted = "app_not_started", "The app could not be started.";
        AppNotReady = "app_not_ready", "The app was not ready in time.";
        ExitedBeforeReady = "exited_before_ready", "The app ended before it was ready.";
        OutOfMemory = "out_of_memory", "The app needed more memory than its bound.";
        TooManyProcesses = "too_many_processes", "The app started more processes than its bound.";
        DiskFull = "disk_full", "The app wrote more to the disk than its bound.";
        ListenerChanged = "listener_changed", "What listens at the target's address at the end is not what listened there at the start.";
        EscapeAttempt = "escape_attempt", "Something in the lane tried to go past the guard.";
        EventsLost = "events_lost", "Events were lost on the way.";
        FrameUnread = "frame_unread", "A frame could not be read.";
        NotSettled = "not_settled", "Requests were still unanswered when the time was over.";
        PageClosed = "page_closed", "The tab was closed.";
        NoObservation = "no_observation", "Nothing was recorded for it.";
        StaleObservation = "stale_observation", "What was recorded is older than the last action.";
    }
}

/// Which reasons an outcome has: one class, and details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// Whose trouble it is.
    pub class: ReasonClass,
    /// What was seen.
    pub detail: Option<ReasonDetail>,
}

impl Reason {
    /// A class with a detail.
    pub fn new(class: ReasonClass, detail: ReasonDetail) -> Self {
        Self {
            class,
            detail: Some(detail),
        }
    }

    /// A class alone.
    pub fn bare(class: ReasonClass) -> Self {
        Self { class, detail: None }
    }

    /// As on the wire: `[class, detail]`.
    pub fn to_wire(&self) -> Vec<&'static str> {
        let mut all = vec![self.class.as_str()];
        all.extend(self.detail.map(ReasonDetail::as_str));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_names_are_unique_over_classes_and_details() {
        let mut names: Vec<_> = ReasonClass::ALL.iter().map(|c| c.as_str()).collect();
        names.extend(ReasonDetail::ALL.iter().map(|d| d.as_str()));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn four_classes_speak_against_the_app() {
        assert_eq!(ReasonClass::ALL.iter().filter(|c| c.is_fail()).count(), 4);
        assert!(!ReasonClass::BoundaryViolation.is_fail());
    }
}
