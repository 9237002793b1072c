//! What is wrong with a bundle.

use std::fmt;

use jurat_core::canon::Digest;

/// Why a directory is no sound bundle: at least one finding, in order of importance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditError {
    findings: Vec<Finding>,
}

impl AuditError {
    pub(crate) fn one(file: impl Into<String>, problem: Problem) -> Self {
        Self {
            findings: vec![Finding {
                file: file.into(),
                problem,
            }],
        }
    }

    /// Of findings, at least one.
    pub(crate) fn of(findings: Vec<Finding>) -> Self {
        Self { findings }
    }

    /// All findings; never empty.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, finding) in self.findings.iter().take(5).enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{finding}")?;
        }
        if self.findings.len() > 5 {
            write!(f, "; and {} more", self.findings.len() - 5)?;
        }
        Ok(())
    }
}

impl std::error::Error for AuditError {}

/// One file and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Relative to the bundle; `.` for the directory itself. Escaped for a terminal.
    pub file: String,
    /// What is wrong.
    pub problem: Problem,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.file, self.problem)
    }
}

/// What is wrong with one file. Displays as the rest of a sentence that begins with the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It is sealed, or required, and not there.
    #[error("is missing")]
    Missing,
    /// It is sealed, and lies there under another name.
    #[error("was renamed to {to}")]
    Renamed {
        /// The name that it has now.
        to: String,
    },
    /// It is there, and no manifest names it.
    #[error("was added: nothing that was sealed names it")]
    Added,
    /// Its length is not the sealed one.
    #[error("{} {found} bytes long and was sealed with {sealed}", if found < sealed { "was truncated: it is" } else { "has grown: it is" })]
    Length {
        /// As sealed.
        sealed: u64,
        /// As found.
        found: u64,
    },
    /// Its bytes are not the sealed ones.
    #[error("was altered: its digest is {found} and was sealed as {sealed}")]
    Altered {
        /// As sealed.
        sealed: Digest,
        /// As found.
        found: Digest,
    },
    /// It holds the bytes of another sealed file.
    #[error("holds the bytes of {of}")]
    Swapped {
        /// The other file.
        of: String,
    },
    /// Its own digest over itself is wrong.
    #[error("was altered: it does not agree with its own digest")]
    SelfDigest,
    /// It is JSON, but not in its canonical form.
    #[error("is not in canonical form (RFC 8785)")]
    NotCanonical,
    /// A version that this build does not know.
    #[error("is of version {found:?}; this jurat reads {known:?}")]
    UnknownVersion {
        /// The one that is known.
        known: &'static str,
        /// The one that was found.
        found: String,
    },
    /// A field that its version does not have.
    #[error("has an {0}")]
    UnknownField(String),
    /// It cannot be read as what it must be.
    #[error("is malformed: {0}")]
    Malformed(String),
    /// It contradicts another file.
    #[error("contradicts {with}: {what}")]
    Contradiction {
        /// The other file.
        with: &'static str,
        /// In what.
        what: &'static str,
    },
    /// A symbolic link, device, pipe or socket, or a directory where a file must be.
    #[error("is no regular file")]
    NotRegular,
    /// Beyond the bounds of a bundle.
    #[error("is beyond the bounds of a bundle: {0}")]
    TooLarge(&'static str),
    /// It was never sealed.
    #[error("is no finished bundle: its writer did not come to the end")]
    Unfinished,
    /// It holds signatures.
    #[error("holds signatures, which this jurat cannot check")]
    Signed,
    /// The system would not read it.
    #[error("could not be read: {0}")]
    Io(String),
}
