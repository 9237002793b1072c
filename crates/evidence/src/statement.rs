//! The statement: an in-toto Statement v1 about the manifest, in a DSSE envelope.
//!
//! Subject: the manifest's digest, and with it every file. Predicate: what the run concluded. A signature would be over
//! DSSE's pre-authentication encoding of exactly the payload bytes; this version writes the envelope with none. A signature
//! says who vouches for which bytes, not that the verdict is right: that is for `recheck`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jurat_core::canon::{CanonError, Digest, to_canonical};
use jurat_core::outcome::Answer;
use serde::{Deserialize, Serialize};

use crate::manifest::bare_hex;
use crate::name::{MANIFEST, RunId};

/// What the run concluded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predicate {
    /// The contract's identity.
    pub contract_ref: Digest,
    /// Digest of `plan.json`.
    pub plan_digest: Digest,
    /// The run.
    pub run_id: RunId,
    /// The verdict.
    pub verdict: Answer,
}

/// An in-toto Statement v1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The type.
    #[serde(rename = "_type")]
    kind: StatementType,
    /// The manifest alone.
    subject: Vec<Subject>,
    /// The predicate's type.
    #[serde(rename = "predicateType")]
    predicate_type: PredicateType,
    /// What the run concluded.
    pub predicate: Predicate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum StatementType {
    #[serde(rename = "https://in-toto.io/Statement/v1")]
    V1,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum PredicateType {
    #[serde(rename = "urn:jurat:predicate:browser-verification:v1")]
    BrowserVerificationV1,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    name: String,
    digest: DigestSet,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DigestSet {
    #[serde(with = "bare_hex")]
    sha256: Digest,
}

impl Statement {
    pub(crate) fn new(manifest: Digest, predicate: Predicate) -> Self {
        Self {
            kind: StatementType::V1,
            subject: vec![Subject {
                name: MANIFEST.to_owned(),
                digest: DigestSet { sha256: manifest },
            }],
            predicate_type: PredicateType::BrowserVerificationV1,
            predicate,
        }
    }

    /// Whether its one subject is this manifest.
    pub(crate) fn is_about(&self, manifest: &Digest) -> bool {
        matches!(self.subject.as_slice(), [one] if one.name == MANIFEST && one.digest.sha256 == *manifest)
    }
}

/// A DSSE envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Envelope {
    /// The statement's bytes in standard base64.
    payload: String,
    #[serde(rename = "payloadType")]
    payload_type: PayloadType,
    signatures: Vec<Signature>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum PayloadType {
    #[serde(rename = "application/vnd.in-toto+json")]
    InToto,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signature {
    keyid: String,
    sig: String,
}

impl Envelope {
    /// The unsigned envelope of a statement.
    pub(crate) fn unsigned(statement: &Statement) -> Result<Self, CanonError> {
        let payload = STANDARD.encode(to_canonical(statement)?);
        Ok(Self {
            payload,
            payload_type: PayloadType::InToto,
            signatures: Vec::new(),
        })
    }

    /// The payload's bytes, where they are base64.
    pub(crate) fn payload(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.payload).ok()
    }

    /// Whether it holds signatures, which this version cannot check.
    pub(crate) fn is_signed(&self) -> bool {
        !self.signatures.is_empty()
    }
}
