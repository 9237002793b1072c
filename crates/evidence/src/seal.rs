//! The seal: digests of manifest, statement and report. Written last; without it there is no bundle.
//!
//! It carries a digest of itself, so that damage to the seal is told apart from damage to what it seals. That is no
//! protection against somebody who means it: see [`crate::statement`] for what a signature is over.

use jurat_core::canon::{CanonError, Digest, to_canonical};
use serde::{Deserialize, Serialize};

use crate::manifest::bare_hex;
use crate::name::RunId;

/// The version of a seal; the only one is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SealVersion {
    /// `jurat.seal/1`.
    #[serde(rename = "jurat.seal/1")]
    V1,
}

impl SealVersion {
    pub(crate) const TEXT: &str = "jurat.seal/1";
}

/// One sealed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sealed {
    /// Its length.
    pub bytes: u64,
    /// Its digest; written as 64 hexadecimal digits alone.
    #[serde(with = "bare_hex")]
    pub sha256: Digest,
}

impl Sealed {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.len() as u64,
            sha256: Digest::of(bytes),
        }
    }
}

/// The seal of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// The version.
    pub schema: SealVersion,
    /// The run.
    pub run_id: RunId,
    /// `manifest.json`.
    pub manifest: Sealed,
    /// `statement.dsse.json`.
    pub statement: Sealed,
    /// `report.html`.
    pub report: Sealed,
    /// Digest of the canonical form of all of the above.
    #[serde(with = "bare_hex")]
    pub seal: Digest,
}

/// What the seal's own digest is over.
#[derive(Serialize)]
struct Body<'a> {
    schema: SealVersion,
    run_id: &'a RunId,
    manifest: &'a Sealed,
    statement: &'a Sealed,
    report: &'a Sealed,
}

impl Seal {
    pub(crate) fn new(run_id: RunId, manifest: Sealed, statement: Sealed, report: Sealed) -> Result<Self, CanonError> {
        let body = Body {
            schema: SealVersion::V1,
            run_id: &run_id,
            manifest: &manifest,
            statement: &statement,
            report: &report,
        };
        let seal = Digest::of(&to_canonical(&body)?);
        Ok(Self {
            schema: SealVersion::V1,
            run_id,
            manifest,
            statement,
            report,
            seal,
        })
    }

    /// Whether its own digest is the right one.
    pub(crate) fn holds(&self) -> bool {
        Self::new(
            self.run_id.clone(),
            self.manifest.clone(),
            self.statement.clone(),
            self.report.clone(),
        )
        .is_ok_and(|fresh| fresh.seal == self.seal)
    }
}
