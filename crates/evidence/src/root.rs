//! The evidence root: where bundles and the ledger live.
//!
//! Invariants: the directory belongs to people who may write it alone (0700 when jurat makes it), is no symbolic link, and
//! everybody else cannot write it. `runs/<run-id>` is a finished bundle; `runs/<run-id>.partial` is one in the making, and its
//! writer holds a lock on the directory itself for as long as it lives, which the system drops with the process. A partial
//! directory that nobody holds is swept.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{Disk, RealDisk};
use crate::name::RunId;

/// What a bundle in the making is called, after its run.
pub(crate) const PARTIAL: &str = ".partial";

/// An evidence root that was opened and found safe.
#[derive(Debug, Clone)]
pub struct Root {
    path: PathBuf,
    disk: Arc<dyn Disk>,
}

/// Why a directory is no evidence root. The operator can mend all of these.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// It is a symbolic link or no directory.
    #[error("{} is no directory of its own (a link or a file); name another evidence root", path.display())]
    NotADirectory {
        /// Which.
        path: PathBuf,
    },
    /// Everybody may write it.
    #[error("{} can be written by everybody; run: chmod o-w {}", path.display(), path.display())]
    WorldWritable {
        /// Which.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{}: {what}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
}

impl RootError {
    fn io(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, what, source }
    }
}

/// What a sweep did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Runs whose writers had died; what they left is gone.
    pub removed: Vec<RunId>,
    /// Runs that are being written at this moment.
    pub live: Vec<RunId>,
}

impl Root {
    /// Opens an evidence root, and makes it (0700, with its parents) where it is not there.
    ///
    /// Errors: a link or file in its place, a directory that everybody may write, a system that refuses.
    pub fn open(path: &Path) -> Result<Self, RootError> {
        Self::with_disk(path, Arc::new(RealDisk))
    }

    /// As [`Root::open`], with another way to write. For tests that make the disk fail.
    pub fn with_disk(path: &Path, disk: Arc<dyn Disk>) -> Result<Self, RootError> {
        let path = std::path::absolute(path).map_err(RootError::io(path, "could not make it absolute"))?;
        make_safe(&path)?;
        let runs = path.join("runs");
        make_safe(&runs)?;
        Ok(Self { path, disk })
    }

    /// Its absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a finished bundle lies, or would.
    pub fn run(&self, id: &RunId) -> PathBuf {
        self.runs().join(id.as_str())
    }

    /// All finished runs, oldest first.
    ///
    /// Errors: a directory that cannot be listed.
    pub fn list(&self) -> Result<Vec<RunId>, RootError> {
        Ok(self
            .names()?
            .iter()
            .filter_map(|name| RunId::parse(name).ok())
            .collect())
    }

    /// Removes what dead writers left. Never touches one that lives, in this process or another, nor anything that is not
    /// called like a run.
    ///
    /// Errors: a directory that cannot be listed, locked or removed.
    pub fn sweep(&self) -> Result<Swept, RootError> {
        let _held = self.lock()?;
        let mut swept = Swept::default();
        for name in self.names()? {
            let Some(id) = name.strip_suffix(PARTIAL).and_then(|id| RunId::parse(id).ok()) else {
                continue;
            };
            let path = self.partial(&id);
            match claim(&path) {
                Ok(Some(_claimed)) => {
                    self.disk
                        .remove_tree(&path)
                        .map_err(RootError::io(&path, "could not remove it"))?;
                    swept.removed.push(id);
                }
                Ok(None) => swept.live.push(id),
                // It was finished or removed by its writer in between.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(RootError::io(&path, "could not look whether it is in use")(error)),
            }
        }
        Ok(swept)
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.path.join("runs")
    }

    pub(crate) fn partial(&self, id: &RunId) -> PathBuf {
        self.runs().join(format!("{id}{PARTIAL}"))
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// The root's lock: held for short while a run gets its directory, a sweep looks, or the ledger grows.
    pub(crate) fn lock(&self) -> Result<File, RootError> {
        let path = self.path.join(".lock");
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(no_follow())
            .open(&path)
            .map_err(RootError::io(&path, "could not open it"))?;
        file.lock().map_err(RootError::io(&path, "could not lock it"))?;
        Ok(file)
    }

    fn names(&self) -> Result<Vec<String>, RootError> {
        let runs = self.runs();
        let failed = |error| RootError::io(&runs, "could not list it")(error);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&runs).map_err(failed)? {
            names.extend(entry.map_err(failed)?.file_name().into_string().ok());
        }
        names.sort();
        Ok(names)
    }
}

/// Locks a directory for as long as the result lives; `None` when somebody else holds it.
pub(crate) fn claim(path: &Path) -> io::Result<Option<File>> {
    let directory = OpenOptions::new().read(true).custom_flags(no_follow()).open(path)?;
    match directory.try_lock() {
        Ok(()) => Ok(Some(directory)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn no_follow() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits().cast_signed()
}

/// Makes a directory where there is none, and looks whether it can be trusted.
fn make_safe(path: &Path) -> Result<(), RootError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    // A link that leads nowhere makes this fail; the look below then says what it is.
    let seen = std::fs::symlink_metadata(path);
    match (made, seen) {
        (_, Ok(meta)) if !meta.is_dir() => Err(RootError::NotADirectory { path: path.to_owned() }),
        (_, Ok(meta)) if meta.mode() & 0o002 != 0 => Err(RootError::WorldWritable { path: path.to_owned() }),
        (Err(error), _) => Err(RootError::io(path, "could not make it")(error)),
        (Ok(()), Err(error)) => Err(RootError::io(path, "could not look at it")(error)),
        (Ok(()), Ok(_)) => Ok(()),
    }
}
