//! Reading a directory that is not trusted into memory.
//!
//! Every component is opened relative to its directory and never through a link; only regular files are read; names that
//! no bundle has, further directories and everything beyond the bounds are refused. What is read here has not been
//! compared with any digest yet.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};

use crate::audit::{AuditError, Problem};
use crate::bundle::shown;
use crate::limits::Limits;
use crate::name::BLOBS;
use crate::root::PARTIAL;

/// Reads a bundle's directory whole.
pub(crate) fn directory(path: &Path, limits: Limits) -> Result<BTreeMap<String, Vec<u8>>, AuditError> {
    if path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.ends_with(PARTIAL))
    {
        return Err(AuditError::one(".", Problem::Unfinished));
    }
    // The bundle's own path is the caller's word: a link there is followed.
    let root = openat(
        CWD,
        path,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(|error| AuditError::one(".", io_problem(error)))?;
    let mut reader = Reader {
        files: BTreeMap::new(),
        total: 0,
        limits,
    };
    let blobs = BLOBS.split_once('/').unwrap_or_default();
    reader.level(&root, "", Some(blobs.0), |reader, blobs_fd| {
        reader.level(blobs_fd, blobs.0, Some(blobs.1), |reader, sha256_fd| {
            reader.level(sha256_fd, BLOBS, None, |_, _| Ok(()))
        })
    })?;
    Ok(reader.files)
}

struct Reader {
    files: BTreeMap<String, Vec<u8>>,
    total: u64,
    limits: Limits,
}

impl Reader {
    /// Reads all files of one directory; hands the one directory that may be in it to `inner`.
    fn level(
        &mut self,
        directory: &OwnedFd,
        prefix: &str,
        child: Option<&str>,
        inner: impl FnOnce(&mut Self, &OwnedFd) -> Result<(), AuditError>,
    ) -> Result<(), AuditError> {
        let here = if prefix.is_empty() { "." } else { prefix };
        let mut found_child = None;
        for entry in Dir::read_from(directory).map_err(|e| AuditError::one(here, io_problem(e)))? {
            let entry = entry.map_err(|e| AuditError::one(here, io_problem(e)))?;
            let name = entry.file_name().to_string_lossy();
            if name == "." || name == ".." {
                continue;
            }
            let path = if prefix.is_empty() {
                name.to_string()
            } else {
                format!("{prefix}/{name}")
            };
            let wrong = |problem| AuditError::one(shown(&path), problem);
            let stat =
                statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).map_err(|e| wrong(io_problem(e)))?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => {
                    let bytes = self.file(directory, entry.file_name()).map_err(wrong)?;
                    self.files.insert(path, bytes);
                }
                FileType::Directory if child == Some(&*name) => {
                    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let opened = openat(directory, entry.file_name(), flags, Mode::empty());
                    found_child = Some(opened.map_err(|e| wrong(io_problem(e)))?);
                }
                FileType::Directory => return Err(wrong(Problem::Added)),
                _ => return Err(wrong(Problem::NotRegular)),
            }
        }
        match found_child {
            Some(child) => inner(self, &child),
            None => Ok(()),
        }
    }

    fn file(&mut self, directory: impl AsFd, name: &std::ffi::CStr) -> Result<Vec<u8>, Problem> {
        if self.files.len() >= self.limits.files {
            return Err(Problem::TooLarge("too many files"));
        }
        // A name that was exchanged for a link, pipe or device since the look is not followed and does not block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(openat(directory, name, flags, Mode::empty()).map_err(io_problem)?);
        let meta = file.metadata().map_err(|e| Problem::Io(e.to_string()))?;
        if !meta.is_file() {
            return Err(Problem::NotRegular);
        }
        let most = self.limits.file.min(self.limits.total - self.total);
        if meta.len() > most {
            return Err(Problem::TooLarge("too many bytes"));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
        (&mut file)
            .take(most + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| Problem::Io(e.to_string()))?;
        if bytes.len() as u64 > most {
            return Err(Problem::TooLarge("too many bytes"));
        }
        self.total += bytes.len() as u64;
        Ok(bytes)
    }
}

fn io_problem(error: rustix::io::Errno) -> Problem {
    match error {
        rustix::io::Errno::LOOP => Problem::NotRegular,
        rustix::io::Errno::NOENT => Problem::Missing,
        other => Problem::Io(io::Error::from(other).to_string()),
    }
}
