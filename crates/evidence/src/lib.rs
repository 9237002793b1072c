//! Sealed evidence: the bundle of one run, and the ledger of all runs.
//!
//! A bundle is a directory of files, a manifest that names each of them with its digest, a statement about the manifest, a
//! report for people, and a seal over those three. [`Writer`] can only add; [`Writer::seal`] fixes all digests and gives the
//! directory its name, so that a bundle is complete or absent whatever happens in between. [`Bundle::open`] believes
//! nothing: it reads the whole directory and refuses it unless every byte is accounted for. [`Ledger`] chains one line for each
//! run.
//!
//! Invariants: what was hashed is what was written, and what was checked is what is handed out, because both are the same
//! bytes in memory; no path is followed that a bundle names itself; canonical JSON ([`jurat_core::canon`]) for everything
//! that has a digest. All calls block: an asynchronous caller runs them on a thread of their own.

mod audit;
mod bundle;
mod disk;
mod json;
mod ledger;
mod limits;
mod manifest;
mod name;
mod read;
#[cfg(any(test, feature = "testing"))]
mod reseal;
mod root;
mod seal;
mod statement;
mod write;

pub use audit::{AuditError, Finding, Problem};
pub use bundle::{Bundle, Contents};
pub use disk::{Disk, RealDisk};
pub use ledger::{Entry as LedgerEntry, Ledger, LedgerError, Line as LedgerLine, Repair};
pub use limits::Limits;
pub use manifest::{Class, Entry, Kind, Manifest, ManifestVersion};
pub use name::{FileName, NameError, RunId, RunIdError};
#[cfg(any(test, feature = "testing"))]
pub use reseal::{ResealError, reseal};
pub use root::{Root, RootError, Swept};
pub use seal::{Seal, SealVersion, Sealed as SealedFile};
pub use statement::{Predicate, Statement};
pub use write::{Draft, SealedBundle, WriteError, Writer};
