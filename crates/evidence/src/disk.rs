//! The file operations that writing evidence consists of.
//!
//! All of them go through [`Disk`], one call for each point where the machine may stop, so that a test can stop at every
//! one. Reading does not change anything and needs no shim.

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Each operation that changes the disk. Paths are absolute and below the evidence root.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Makes a directory that must not exist, for its owner alone.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Makes a file that must not exist, for its owner alone.
    fn create_file(&self, path: &Path) -> io::Result<File>;
    /// Writes all bytes at an offset.
    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Cuts or extends a file.
    fn set_len(&self, file: &File, len: u64) -> io::Result<()>;
    /// Returns when the file's bytes are on the medium.
    fn sync_file(&self, file: &File) -> io::Result<()>;
    /// Renames a file or directory within the root.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Returns when the directory's names are on the medium.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory and what is in it; follows no links.
    fn remove_tree(&self, path: &Path) -> io::Result<()>;
}

/// The real thing.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(path)
    }

    fn create_file(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
    }

    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        file.write_all_at(bytes, offset)
    }

    fn set_len(&self, file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }

    fn sync_file(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn remove_tree(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir_all(path)
    }
}
