//! Sealing an edited bundle anew, for tests alone.
//!
//! It shows what a seal is not: whoever can write all files can make all digests agree. The verdict must then follow the
//! edited facts, which is for `recheck` to show.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use jurat_core::canon::{CanonError, Digest, to_canonical};

use crate::audit::{AuditError, Problem};
use crate::json;
use crate::limits::Limits;
use crate::manifest::{Manifest, ManifestVersion, blob_path};
use crate::name::{FileName, MANIFEST, REPORT, SEAL, STATEMENT};
use crate::seal::{Seal, Sealed};
use crate::statement::{Envelope, Predicate, Statement};

/// Why a bundle was not sealed anew.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResealError {
    /// What is there is too broken to begin from.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// It could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It has no canonical form.
    #[error(transparent)]
    Canon(#[from] CanonError),
}

/// Recomputes every digest of a bundle whose files were edited in place; a blob that was edited gets its new name. Files that were
/// removed leave the manifest. `edit` may change what the statement says; the plan's digest is set already.
///
/// Errors: a manifest or statement that does not parse; a directory that cannot be written.
pub fn reseal(path: &Path, edit: impl FnOnce(&mut Predicate)) -> Result<(), ResealError> {
    let files = crate::read::directory(path, Limits::DEFAULT)?;
    let get = |name: &'static str| files.get(name).ok_or_else(|| AuditError::one(name, Problem::Missing));
    let wrong = |name: &'static str| move |problem| AuditError::one(name, problem);
    let mut manifest: Manifest = json::read(get(MANIFEST)?, Some(ManifestVersion::TEXT)).map_err(wrong(MANIFEST))?;
    let envelope: Envelope = json::read(get(STATEMENT)?, None).map_err(wrong(STATEMENT))?;
    let payload = envelope.payload().unwrap_or_default();
    let statement: Statement = json::read(&payload, None).map_err(wrong(STATEMENT))?;
    let mut predicate = statement.predicate;

    let mut renamed = BTreeMap::new();
    manifest.entries.retain(|entry| files.contains_key(&entry.path));
    for entry in &mut manifest.entries {
        let Some(bytes) = files.get(&entry.path) else { continue };
        let digest = Digest::of(bytes);
        if FileName::parse(&entry.path).is_err() && digest != entry.sha256 {
            renamed.insert(entry.path.clone(), blob_path(&digest));
            entry.path = blob_path(&digest);
        }
        if entry.path == FileName::PLAN {
            predicate.plan_digest = digest.clone();
        }
        entry.bytes = bytes.len() as u64;
        entry.sha256 = digest;
    }
    manifest.entries.sort();
    for (from, to) in renamed {
        std::fs::rename(path.join(from), path.join(to))?;
    }
    edit(&mut predicate);

    let run_id = manifest.run_id.clone();
    let manifest_bytes = to_canonical(&manifest)?;
    let statement = Statement::new(Digest::of(&manifest_bytes), predicate);
    let statement_bytes = to_canonical(&Envelope::unsigned(&statement)?)?;
    let seal = Seal::new(
        run_id,
        Sealed::of(&manifest_bytes),
        Sealed::of(&statement_bytes),
        Sealed::of(get(REPORT)?),
    )?;
    std::fs::write(path.join(MANIFEST), &manifest_bytes)?;
    std::fs::write(path.join(STATEMENT), &statement_bytes)?;
    std::fs::write(path.join(SEAL), to_canonical(&seal)?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::{Bundle, Class, Kind, Root, RunId, Writer};
    use jurat_core::outcome::Answer;

    #[test]
    fn a_resealed_edit_is_sound_again() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::open(&temp.path().join("e")).unwrap();
        let mut writer = Writer::begin(&root, &RunId::new(std::time::Duration::ZERO, [0; 4])).unwrap();
        for name in FileName::REQUIRED {
            writer
                .add(
                    &FileName::parse(name).unwrap(),
                    Kind::Other,
                    Class::Control,
                    name.as_bytes(),
                )
                .unwrap();
        }
        let blob = writer.add_blob(Kind::Body, Class::Observed, b"a body").unwrap();
        let sealed = writer.seal(Digest::of(b""), Answer::Pass, |_| Vec::new()).unwrap();

        std::fs::write(sealed.path.join("observations.jsonl"), b"{}").unwrap();
        std::fs::write(sealed.path.join("plan.json"), b"another plan").unwrap();
        std::fs::write(sealed.path.join(blob_path(&blob)), b"another body").unwrap();
        assert_eq!(Bundle::open(&sealed.path).unwrap_err().findings().len(), 3);
        reseal(&sealed.path, |predicate| predicate.verdict = Answer::Fail).unwrap();
        let bundle = Bundle::open(&sealed.path).unwrap();
        assert_eq!(bundle.observations(), b"{}");
        assert_eq!(bundle.blob(&Digest::of(b"another body")).unwrap(), b"another body");
        assert_eq!(bundle.predicate().verdict, Answer::Fail);
        assert_ne!(*bundle.manifest_digest(), sealed.manifest);

        // A statement about another plan is found although all digests agree.
        reseal(&sealed.path, |predicate| predicate.plan_digest = Digest::of(b"")).unwrap();
        let error = Bundle::open(&sealed.path).unwrap_err();
        assert_eq!(
            error.to_string(),
            "statement.dsse.json contradicts plan.json: it names the digest of another plan"
        );
    }
}
