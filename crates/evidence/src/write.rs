//! Writing a bundle.
//!
//! A writer makes `runs/<run-id>.partial` and adds files to it, each written beside its name, synced, then given its name.
//! [`Writer::seal`] writes manifest, statement, report and, last, the seal; then the directory gets its final name. So whenever the
//! machine stops, under the final name there is a complete bundle or nothing. A writer that is dropped without a seal removes
//! what it wrote; one that is killed leaves it to [`Root::sweep`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use jurat_core::canon::{CanonError, Digest, to_canonical};
use jurat_core::outcome::Answer;

use crate::bundle::Contents;
use crate::limits::Limits;
use crate::manifest::{Class, Entry, Kind, Manifest, ManifestVersion, blob_path};
use crate::name::{BLOBS, FileName, MANIFEST, REPORT, RunId, SEAL, STATEMENT};
use crate::root::{Root, RootError, claim};
use crate::seal::{Seal, Sealed};
use crate::statement::{Envelope, Predicate, Statement};

/// Why a bundle was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The root could not be locked.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The system refused: a full disk, a broken one.
    #[error("could not {what} {path}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Relative to the bundle.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// A run of this name is there already.
    #[error("there is a run {0} already")]
    Exists(RunId),
    /// A file was added twice.
    #[error("{0} was added twice")]
    Twice(String),
    /// Beyond the bounds of a bundle.
    #[error("{path} does not fit into the bundle: {what}")]
    TooLarge {
        /// Relative to the bundle.
        path: String,
        /// Which bound.
        what: &'static str,
    },
    /// A file that every bundle holds was not added.
    #[error("{0} was not added before the seal")]
    Incomplete(&'static str),
    /// A part of the seal has no canonical form.
    #[error(transparent)]
    Canon(#[from] CanonError),
}

/// A finished bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedBundle {
    /// Its run.
    pub run_id: RunId,
    /// Its absolute path.
    pub path: PathBuf,
    /// Digest of its manifest, for the ledger.
    pub manifest: Digest,
}

/// A bundle in the making.
#[derive(Debug)]
pub struct Writer {
    root: Root,
    run_id: RunId,
    partial: PathBuf,
    entries: BTreeMap<(String, Kind, Class), Entry>,
    paths: usize,
    total: u64,
    limits: Limits,
    finished: bool,
    /// Says that the writer lives, until it is dropped.
    _claim: File,
}

impl Writer {
    /// Makes the directory of a run, under the name that says it is not finished.
    ///
    /// Errors: a run of that name, finished or not; a system that refuses.
    pub fn begin(root: &Root, run_id: &RunId) -> Result<Self, WriteError> {
        let partial = root.partial(run_id);
        // A sweep between the directory and the claim would take it for a dead one.
        let _held = root.lock()?;
        if root.run(run_id).symlink_metadata().is_ok() || partial.symlink_metadata().is_ok() {
            return Err(WriteError::Exists(run_id.clone()));
        }
        let failed = |what| {
            move |source| WriteError::Io {
                what,
                path: ".".to_owned(),
                source,
            }
        };
        root.disk().create_dir(&partial).map_err(failed("make"))?;
        let claimed = claim(&partial)
            .and_then(|claimed| claimed.ok_or_else(|| io::Error::from(io::ErrorKind::WouldBlock)))
            .map_err(failed("claim"))?;
        Ok(Self {
            root: root.clone(),
            run_id: run_id.clone(),
            partial,
            entries: BTreeMap::new(),
            paths: 0,
            total: 0,
            limits: Limits::DEFAULT,
            finished: false,
            _claim: claimed,
        })
    }

    /// The run.
    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// Adds a file at the top of the bundle.
    ///
    /// Errors: one that was added before, one beyond the bounds, a system that refuses.
    pub fn add(&mut self, name: &FileName, kind: Kind, class: Class, bytes: &[u8]) -> Result<Digest, WriteError> {
        let path = name.as_str();
        if self.has(path) {
            return Err(WriteError::Twice(path.to_owned()));
        }
        let entry = self.entry(path.to_owned(), kind, class, bytes, None)?;
        self.put(path, bytes)?;
        let digest = entry.sha256.clone();
        self.note(entry, true);
        Ok(digest)
    }

    /// Adds bytes under their digest. The same bytes are stored once, and named once for each kind and class.
    ///
    /// Errors: bytes beyond the bounds, a system that refuses.
    pub fn add_blob(&mut self, kind: Kind, class: Class, bytes: &[u8]) -> Result<Digest, WriteError> {
        self.blob(kind, class, bytes, None)
    }

    /// Adds the beginning of something that was too long, and says how long the whole was, in bytes.
    ///
    /// Errors: as [`Writer::add_blob`].
    pub fn add_cut_blob(&mut self, kind: Kind, class: Class, bytes: &[u8], whole: u64) -> Result<Digest, WriteError> {
        self.blob(
            kind,
            class,
            bytes,
            Some(whole).filter(|whole| *whole > bytes.len() as u64),
        )
    }

    /// Seals the bundle and gives it its name. `report` renders the report from what will be sealed.
    ///
    /// Errors: a file that every bundle holds and that was not added, a report beyond the bounds, a system that refuses. There is no
    /// bundle then, with one exception: when the very last sync fails, the bundle is there and may not survive a loss of power.
    pub fn seal<F>(mut self, contract_ref: Digest, verdict: Answer, report: F) -> Result<SealedBundle, WriteError>
    where
        F: FnOnce(&Draft<'_>) -> Vec<u8>,
    {
        if let Some(lacking) = FileName::REQUIRED.into_iter().find(|name| !self.has(name)) {
            return Err(WriteError::Incomplete(lacking));
        }
        let plan_digest = self
            .entries
            .values()
            .find(|entry| entry.path == FileName::PLAN)
            .map(|entry| entry.sha256.clone())
            .ok_or(WriteError::Incomplete(FileName::PLAN))?;
        let manifest = Manifest {
            schema: ManifestVersion::V1,
            run_id: self.run_id.clone(),
            entries: std::mem::take(&mut self.entries).into_values().collect(),
        };
        let manifest_bytes = to_canonical(&manifest)?;
        let manifest_sealed = Sealed::of(&manifest_bytes);
        let predicate = Predicate {
            contract_ref,
            plan_digest,
            run_id: self.run_id.clone(),
            verdict,
        };
        let statement = Statement::new(manifest_sealed.sha256.clone(), predicate);
        let statement_bytes = to_canonical(&Envelope::unsigned(&statement)?)?;
        let report_bytes = report(&Draft {
            partial: &self.partial,
            manifest: &manifest,
            manifest_text: &String::from_utf8_lossy(&manifest_bytes),
            statement_text: &String::from_utf8_lossy(&statement_bytes),
        });
        let seal = Seal::new(
            self.run_id.clone(),
            manifest_sealed,
            Sealed::of(&statement_bytes),
            Sealed::of(&report_bytes),
        )?;
        let seal_bytes = to_canonical(&seal)?;
        for (name, bytes) in [
            (MANIFEST, &manifest_bytes),
            (STATEMENT, &statement_bytes),
            (REPORT, &report_bytes),
            (SEAL, &seal_bytes),
        ] {
            self.fits(name, bytes)?;
            self.put(name, bytes)?;
            self.paths += 1;
            self.total += bytes.len() as u64;
        }
        let path = self.root.run(&self.run_id);
        let failed = |what| {
            move |source| WriteError::Io {
                what,
                path: ".".to_owned(),
                source,
            }
        };
        self.root
            .disk()
            .rename(&self.partial, &path)
            .map_err(failed("give its final name to"))?;
        self.finished = true;
        self.root
            .disk()
            .sync_dir(&self.root.runs())
            .map_err(failed("sync the directory of"))?;
        Ok(SealedBundle {
            run_id: self.run_id.clone(),
            path,
            manifest: seal.manifest.sha256,
        })
    }

    fn blob(&mut self, kind: Kind, class: Class, bytes: &[u8], cut_from: Option<u64>) -> Result<Digest, WriteError> {
        let digest = Digest::of(bytes);
        let path = blob_path(&digest);
        let stored = self.has(&path);
        if !stored {
            self.fits(&path, bytes)?;
            if !self.entries.keys().any(|(path, ..)| path.starts_with(BLOBS)) {
                self.make_blob_directories()?;
            }
            self.put(&path, bytes)?;
        }
        let entry = Entry {
            path,
            kind,
            class,
            bytes: bytes.len() as u64,
            sha256: digest.clone(),
            cut_from,
        };
        self.note(entry, !stored);
        Ok(digest)
    }

    fn make_blob_directories(&self) -> Result<(), WriteError> {
        let (outer, _) = BLOBS.split_once('/').unwrap_or_default();
        for (name, parent) in [(outer, self.partial.clone()), (BLOBS, self.partial.join(outer))] {
            let path = self.partial.join(name);
            // A first blob that failed may have left the directory.
            if !path.is_dir() {
                self.try_disk("make", name, |disk| disk.create_dir(&path))?;
            }
            self.try_disk("sync", name, |disk| disk.sync_dir(&parent))?;
        }
        Ok(())
    }

    fn entry(
        &self,
        path: String,
        kind: Kind,
        class: Class,
        bytes: &[u8],
        cut_from: Option<u64>,
    ) -> Result<Entry, WriteError> {
        self.fits(&path, bytes)?;
        Ok(Entry {
            path,
            kind,
            class,
            bytes: bytes.len() as u64,
            sha256: Digest::of(bytes),
            cut_from,
        })
    }

    fn note(&mut self, entry: Entry, new: bool) {
        if new {
            self.paths += 1;
            self.total += entry.bytes;
        }
        self.entries
            .insert((entry.path.clone(), entry.kind, entry.class), entry);
    }

    fn has(&self, path: &str) -> bool {
        self.entries.keys().any(|(known, ..)| known == path)
    }

    fn fits(&self, path: &str, bytes: &[u8]) -> Result<(), WriteError> {
        let length = bytes.len() as u64;
        let what = if length > self.limits.file {
            "one file is too long"
        } else if self.total + length > self.limits.total {
            "all files together are too long"
        } else if self.paths >= self.limits.files {
            "there are too many files"
        } else {
            return Ok(());
        };
        Err(WriteError::TooLarge {
            path: path.to_owned(),
            what,
        })
    }

    /// One file: beside its name, synced, named, and the name synced.
    fn put(&self, path: &str, bytes: &[u8]) -> Result<(), WriteError> {
        let to = self.partial.join(path);
        let directory = to.parent().unwrap_or(&self.partial);
        let beside = directory.join(".tmp");
        let file = self.try_disk("make", path, |disk| disk.create_file(&beside))?;
        let written = self
            .try_disk("write", path, |disk| disk.write(&file, bytes, 0))
            .and_then(|()| self.try_disk("sync", path, |disk| disk.sync_file(&file)))
            .and_then(|()| self.try_disk("name", path, |disk| disk.rename(&beside, &to)))
            .and_then(|()| self.try_disk("sync the name of", path, |disk| disk.sync_dir(directory)));
        if written.is_err() {
            // So that the caller may go on with another file. What cannot be removed is found by the next one.
            let _ = std::fs::remove_file(&beside);
        }
        written
    }

    fn try_disk<T>(
        &self,
        what: &'static str,
        path: &str,
        act: impl FnOnce(&dyn crate::disk::Disk) -> io::Result<T>,
    ) -> Result<T, WriteError> {
        act(self.root.disk()).map_err(|source| WriteError::Io {
            what,
            path: path.to_owned(),
            source,
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.finished {
            // What cannot be removed now is swept by a later run.
            let _ = self.root.disk().remove_tree(&self.partial);
        }
    }
}

/// A bundle that is about to be sealed, as the report sees it.
#[derive(Debug)]
pub struct Draft<'a> {
    partial: &'a Path,
    manifest: &'a Manifest,
    manifest_text: &'a str,
    statement_text: &'a str,
}

impl Contents for Draft<'_> {
    fn manifest(&self) -> &Manifest {
        self.manifest
    }

    fn manifest_text(&self) -> &str {
        self.manifest_text
    }

    fn statement_text(&self) -> &str {
        self.statement_text
    }

    fn file(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let entry = self.manifest.entry(name)?;
        let bytes = std::fs::read(self.partial.join(name)).ok()?;
        (Digest::of(&bytes) == entry.sha256).then_some(Cow::Owned(bytes))
    }
}
