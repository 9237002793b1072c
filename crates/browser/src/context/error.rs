//! Why something could not be done or seen.

use jurat_core::observation::Unseen;

use crate::cdp::{CallError, CallErrorKind};

/// Why a call on a tab has no result. None of these is the app's failure by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ActError {
    /// The page did not answer by the deadline, or opens dialogs without end.
    #[error("{what}: the page did not answer in time")]
    Unresponsive {
        /// What was called.
        what: &'static str,
    },
    /// The renderer died.
    #[error("{what}: the renderer crashed")]
    Crashed {
        /// What was called.
        what: &'static str,
    },
    /// The tab was closed.
    #[error("{what}: the tab is closed")]
    Closed {
        /// What was called.
        what: &'static str,
    },
    /// The browser died or its pipe was lost.
    #[error("{what}: the browser is gone")]
    BrowserGone {
        /// What was called.
        what: &'static str,
    },
    /// The document, frame or element that was spoken to is gone: the page moved on meanwhile. Look again.
    #[error("{what}: the document or element is gone")]
    Gone {
        /// What was called.
        what: &'static str,
    },
    /// The answer was too long, or no answer at all.
    #[error("{what}: the answer was lost: {detail}")]
    Lost {
        /// What was called.
        what: &'static str,
        /// Why.
        detail: String,
    },
    /// The browser refused the call. The message may quote the page: untrusted text.
    #[error("{what}: refused: {message}")]
    Refused {
        /// What was called.
        what: &'static str,
        /// What the browser said.
        message: String,
    },
    /// Our own script threw in the isolated world. The message may quote the page: untrusted text.
    #[error("{what}: the script failed: {message}")]
    Script {
        /// What was called.
        what: &'static str,
        /// What it threw.
        message: String,
    },
}

impl ActError {
    /// Whether the same may be tried again in the document that is there now.
    pub fn retryable(&self) -> bool {
        matches!(self, Self::Gone { .. })
    }

    /// The reason that a fact is missing for.
    pub fn unseen(&self) -> Unseen {
        match self {
            Self::Unresponsive { .. } | Self::Gone { .. } | Self::Refused { .. } | Self::Script { .. } => {
                Unseen::PageUnresponsive
            }
            Self::Crashed { .. } => Unseen::RendererCrashed,
            Self::Closed { .. } => Unseen::PageClosed,
            Self::BrowserGone { .. } => Unseen::BrowserGone,
            Self::Lost { .. } => Unseen::EvidenceLost,
        }
    }
}

impl From<CallError> for ActError {
    fn from(error: CallError) -> Self {
        let what = error.method();
        if error.context_gone() {
            return Self::Gone { what };
        }
        match error.kind() {
            CallErrorKind::Deadline => Self::Unresponsive { what },
            CallErrorKind::TargetCrashed => Self::Crashed { what },
            CallErrorKind::SessionDetached => Self::Closed { what },
            CallErrorKind::ConnectionLost => Self::BrowserGone { what },
            CallErrorKind::Refused => Self::Refused {
                what,
                message: error.to_string(),
            },
            _ => Self::Lost {
                what,
                detail: error.to_string(),
            },
        }
    }
}
