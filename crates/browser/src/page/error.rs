//! Why a page could not be read.

use jurat_core::observation::Unseen;

use crate::context::ActError;

/// Why a page could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The locator's selector or regular expression is none. The contract's fault, not the page's.
    #[error("the locator cannot be used: {what}")]
    BadLocator {
        /// What the browser says against it.
        what: String,
    },
    /// The page did not answer, crashed or went away.
    #[error(transparent)]
    Page(#[from] ActError),
}

impl ReadError {
    /// The reason that a fact is missing for.
    pub fn unseen(&self) -> Unseen {
        match self {
            Self::BadLocator { .. } => Unseen::PageUnresponsive,
            Self::Page(error) => error.unseen(),
        }
    }

    /// Whether the document went away meanwhile, and the same may be tried again in the one that is there now.
    pub fn retryable(&self) -> bool {
        matches!(self, Self::Page(error) if error.retryable())
    }
}

impl From<crate::cdp::CallError> for ReadError {
    fn from(error: crate::cdp::CallError) -> Self {
        Self::Page(error.into())
    }
}
