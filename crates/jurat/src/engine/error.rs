//! Why nothing, or no whole result, came of a run.

/// Why nothing, or no whole result, came of a run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The input was refused; nothing was run.
    #[error("{message}")]
    Refused {
        /// Why.
        message: String,
    },
    /// The surroundings do not allow it; nothing was run.
    #[error("{message}")]
    Environment {
        /// Why.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// It was run, and its evidence could not be kept: there is no verdict.
    #[error("the evidence could not be kept, so there is no verdict: {message}")]
    Evidence {
        /// Why.
        message: String,
    },
}

impl EngineError {
    pub(super) fn refused(message: String) -> Self {
        Self::Refused { message }
    }

    pub(super) fn environment(message: String, hint: Option<String>) -> Self {
        Self::Environment { message, hint }
    }

    pub(super) fn evidence(message: String) -> Self {
        Self::Evidence { message }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Environment { hint, .. } => hint.clone(),
            Self::Evidence { .. } => Some("look at the free space and the rights of the evidence directory".into()),
            Self::Refused { .. } => None,
        }
    }
}
