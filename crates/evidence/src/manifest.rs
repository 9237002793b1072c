//! The manifest: every file of a bundle with its digest, length, kind and class.
//!
//! Invariants: entries are in strictly ascending order of path, kind and class; a path is a [`FileName`] or
//! `blobs/sha256/` and the digest's digits; the four files of the seal are never in it.

use jurat_core::canon::Digest;
use serde::{Deserialize, Serialize};

use crate::name::{BLOBS, FileName, RunId};

/// The version of a manifest; the only one is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ManifestVersion {
    /// `jurat.manifest/1`.
    #[serde(rename = "jurat.manifest/1")]
    V1,
}

impl ManifestVersion {
    pub(crate) const TEXT: &str = "jurat.manifest/1";
}

/// Whose word a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// What jurat itself saw.
    Observed,
    /// What a judge model answered.
    Opinion,
    /// What an agent or an adapter said.
    Claim,
    /// What jurat was told to do, and what it concluded.
    Control,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The canonical contract.
    Contract,
    /// The resolved plan.
    Plan,
    /// Facts of criteria, one canonical object a line.
    Observations,
    /// The event log, one canonical object a line.
    Events,
    /// Outcomes and verdict.
    Verdict,
    /// A PNG of a viewport.
    Screenshot,
    /// An accessibility tree.
    Tree,
    /// The body of a request or an answer.
    Body,
    /// Anything else, opaque.
    Other,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Relative to the bundle, `/` between components.
    pub path: String,
    /// What it holds.
    pub kind: Kind,
    /// Whose word it is.
    pub class: Class,
    /// Its length.
    pub bytes: u64,
    /// Its digest; written as 64 hexadecimal digits alone.
    #[serde(with = "bare_hex")]
    pub sha256: Digest,
    /// Length of the whole, when only its beginning was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_from: Option<u64>,
}

impl Entry {
    /// Whether its path is one that a writer makes, and for a blob the one of its digest.
    pub(crate) fn path_is_sound(&self) -> bool {
        FileName::parse(&self.path).is_ok() || self.path == blob_path(&self.sha256)
    }

    /// Path, kind and class: what an entry is unique by.
    pub(crate) fn key(&self) -> (&str, Kind, Class) {
        (&self.path, self.kind, self.class)
    }
}

/// Where a blob lies.
pub(crate) fn blob_path(digest: &Digest) -> String {
    format!("{BLOBS}/{}", digest.hex())
}

/// Every file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version.
    pub schema: ManifestVersion,
    /// The run.
    pub run_id: RunId,
    /// The files.
    pub entries: Vec<Entry>,
}

impl Manifest {
    /// The entry of a path; the first one where several classes share a blob.
    pub fn entry(&self, path: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.path == path)
    }
}

/// A digest as 64 hexadecimal digits, where the key already says `sha256`.
pub(crate) mod bare_hex {
    use jurat_core::canon::Digest;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(crate) fn serialize<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(digest.hex())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        Digest::parse(&format!("sha256:{text}"))
            .map_err(|_| de::Error::custom("expected 64 lower-case hexadecimal digits"))
    }
}
