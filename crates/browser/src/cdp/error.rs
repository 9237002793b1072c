//! Why a call has no answer. Every variant names the method that was called.

use super::frame::{FrameFault, ProtocolError};

/// The failure of one call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No answer by the deadline.
    #[error("{method}: no answer by its deadline")]
    Deadline {
        /// The method called.
        method: &'static str,
    },
    /// The renderer behind the session crashed.
    #[error("{method}: the target crashed")]
    TargetCrashed {
        /// The method called.
        method: &'static str,
    },
    /// The session ended: its target closed or was detached.
    #[error("{method}: the session was detached")]
    SessionDetached {
        /// The method called.
        method: &'static str,
    },
    /// The pipe to the browser closed.
    #[error("{method}: the connection to the browser was lost")]
    ConnectionLost {
        /// The method called.
        method: &'static str,
    },
    /// The browser refused the call. The message may quote the page: it is untrusted text.
    #[error("{method}: refused: {source}")]
    Refused {
        /// The method called.
        method: &'static str,
        /// What the browser answered.
        source: ProtocolError,
    },
    /// The answer was longer than the connection reads, and was dropped.
    #[error("{method}: the answer of {bytes} bytes is too long")]
    TooLarge {
        /// The method called.
        method: &'static str,
        /// The length of the answer.
        bytes: u64,
    },
    /// The answer was no DevTools message.
    #[error("{method}: {source}")]
    Malformed {
        /// The method called.
        method: &'static str,
        /// What was wrong with it.
        source: FrameFault,
    },
    /// The answer did not have the expected type.
    #[error("{method}: the answer has another shape than expected: {source}")]
    Decode {
        /// The method called.
        method: &'static str,
        /// What was missing or different.
        source: serde_json::Error,
    },
    /// The command could not be written as JSON.
    #[error("{method}: the command cannot be encoded: {source}")]
    Encode {
        /// The method called.
        method: &'static str,
        /// Why not.
        source: serde_json::Error,
    },
    /// Too many calls or bytes wait already: the browser does not read or does not answer.
    #[error("{method}: too much is waiting for the browser")]
    Backlog {
        /// The method called.
        method: &'static str,
    },
}

/// The kind of a [`CallError`], for decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallErrorKind {
    /// See [`CallError::Deadline`].
    Deadline,
    /// See [`CallError::TargetCrashed`].
    TargetCrashed,
    /// See [`CallError::SessionDetached`].
    SessionDetached,
    /// See [`CallError::ConnectionLost`].
    ConnectionLost,
    /// See [`CallError::Refused`].
    Refused,
    /// See [`CallError::TooLarge`].
    TooLarge,
    /// See [`CallError::Malformed`].
    Malformed,
    /// See [`CallError::Decode`].
    Decode,
    /// See [`CallError::Encode`].
    Encode,
    /// See [`CallError::Backlog`].
    Backlog,
}

impl CallError {
    /// Which kind of failure this is.
    pub fn kind(&self) -> CallErrorKind {
        match self {
            Self::Deadline { .. } => CallErrorKind::Deadline,
            Self::TargetCrashed { .. } => CallErrorKind::TargetCrashed,
            Self::SessionDetached { .. } => CallErrorKind::SessionDetached,
            Self::ConnectionLost { .. } => CallErrorKind::ConnectionLost,
            Self::Refused { .. } => CallErrorKind::Refused,
            Self::TooLarge { .. } => CallErrorKind::TooLarge,
            Self::Malformed { .. } => CallErrorKind::Malformed,
            Self::Decode { .. } => CallErrorKind::Decode,
            Self::Encode { .. } => CallErrorKind::Encode,
            Self::Backlog { .. } => CallErrorKind::Backlog,
        }
    }

    /// The method that was called.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Deadline { method }
            | Self::TargetCrashed { method }
            | Self::SessionDetached { method }
            | Self::ConnectionLost { method }
            | Self::Refused { method, .. }
            | Self::TooLarge { method, .. }
            | Self::Malformed { method, .. }
            | Self::Decode { method, .. }
            | Self::Encode { method, .. }
            | Self::Backlog { method } => method,
        }
    }

    /// Whether the browser refused because the document or world that the call spoke to is gone: the page navigated
    /// meanwhile, and the call may be made again in the new document. Chromium has no code for this, only words.
    pub fn context_gone(&self) -> bool {
        const WORDS: [&str; 6] = [
            "Cannot find context with specified id",
            "Inspected target navigated or closed",
            "Execution context was destroyed",
            "uniqueContextId not found",
            "No frame for given id found",
            "Frame with the given id was not found",
        ];
        matches!(self, Self::Refused { source, .. } if WORDS.iter().any(|words| source.message.contains(words)))
    }
}

/// Why a call failed, before its method is known.
#[derive(Debug)]
pub(super) enum Failure {
    Crashed,
    Detached,
    Lost,
    Backlog,
    Refused(ProtocolError),
    TooLarge(u64),
    Malformed(FrameFault),
}

impl Failure {
    /// JSON-RPC code of Chromium for a session id that it does not know (any more).
    const SESSION_NOT_FOUND: i64 = -32001;

    pub(super) fn of(self, method: &'static str) -> CallError {
        match self {
            Self::Crashed => CallError::TargetCrashed { method },
            Self::Detached => CallError::SessionDetached { method },
            Self::Lost => CallError::ConnectionLost { method },
            Self::Backlog => CallError::Backlog { method },
            Self::Refused(source) if source.code == Self::SESSION_NOT_FOUND => CallError::SessionDetached { method },
            Self::Refused(source) => CallError::Refused { method, source },
            Self::TooLarge(bytes) => CallError::TooLarge { method, bytes },
            Self::Malformed(source) => CallError::Malformed { method, source },
        }
    }
}
