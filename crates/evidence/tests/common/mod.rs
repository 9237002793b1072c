//! A small sample bundle, and a disk that stops at a chosen operation.
//!
//! The disk counts syncs but does not wait for the medium: no test takes the power away, and a thousand bundles are written.
#![allow(clippy::unwrap_used, clippy::expect_used, dead_code, unreachable_pub, missing_docs)]

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jurat_core::canon::Digest;
use jurat_core::outcome::Answer;
use jurat_evidence::{Class, Contents, Disk, FileName, Kind, RealDisk, Root, RunId, SealedBundle, WriteError, Writer};

pub fn run_id(n: u8) -> RunId {
    RunId::new(Duration::from_secs(1_796_053_500 + u64::from(n)), [0, 0, 0, n])
}

pub fn name(text: &str) -> FileName {
    FileName::parse(text).unwrap()
}

pub const CONTRACT: &[u8] = br#"{"jurat":"contract/1","name":"sample"}"#;

/// Writes the sample under this id.
pub fn write_sample(root: &Root, id: &RunId) -> Result<SealedBundle, WriteError> {
    let mut writer = Writer::begin(root, id)?;
    writer.add(&name("contract.json"), Kind::Contract, Class::Control, CONTRACT)?;
    writer.add(&name("plan.json"), Kind::Plan, Class::Control, br#"{"plan":1}"#)?;
    let picture = writer.add_blob(Kind::Screenshot, Class::Observed, b"not really a picture")?;
    writer.add_blob(Kind::Screenshot, Class::Observed, b"not really a picture")?;
    writer.add_cut_blob(Kind::Body, Class::Observed, b"the beginning", 1000)?;
    writer.add(
        &name("observations.jsonl"),
        Kind::Observations,
        Class::Observed,
        b"{\"seq\":1}\n{\"seq\":2}\n",
    )?;
    writer.add(&name("events.jsonl"), Kind::Events, Class::Observed, b"{\"seq\":3}\n")?;
    writer.add(
        &name("verdict.json"),
        Kind::Verdict,
        Class::Control,
        br#"{"verdict":"pass"}"#,
    )?;
    writer.seal(Digest::of(CONTRACT), Answer::Pass, |draft| {
        assert!(draft.blob(&picture).is_some());
        format!("<!doctype html>{}", draft.statement_text().len()).into_bytes()
    })
}

/// A sample in a root of its own.
pub fn sample() -> (tempfile::TempDir, Root, SealedBundle) {
    let temp = tempfile::tempdir().unwrap();
    let root = Root::open(&temp.path().join("evidence")).unwrap();
    let sealed = write_sample(&root, &run_id(1)).unwrap();
    (temp, root, sealed)
}

/// What happens at the chosen operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It fails with this error; a write has written half. What follows works again.
    Once(io::ErrorKind),
    /// A write has written half, and nothing after it works: the process is gone, as far as the disk can tell.
    Stop,
    /// The process is killed in earnest.
    Kill,
}

/// A disk that counts its operations and stops at one of them.
#[derive(Debug)]
pub struct FaultyDisk {
    pub count: AtomicUsize,
    pub at: usize,
    pub fault: Fault,
}

impl FaultyDisk {
    pub fn new(at: usize, fault: Fault) -> Arc<Self> {
        Arc::new(Self {
            count: AtomicUsize::new(0),
            at,
            fault,
        })
    }

    fn act<T>(&self, half: impl FnOnce(), whole: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let now = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        match self.fault {
            Fault::Once(kind) if now == self.at => {
                half();
                Err(kind.into())
            }
            Fault::Stop if now >= self.at => {
                if now == self.at {
                    half();
                }
                Err(io::Error::other("stopped"))
            }
            Fault::Kill if now == self.at => {
                half();
                let me = rustix::process::getpid();
                rustix::process::kill_process(me, rustix::process::Signal::KILL).unwrap();
                unreachable!("killed");
            }
            _ => whole(),
        }
    }
}

impl Disk for FaultyDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.act(|| (), || RealDisk.create_dir(path))
    }

    fn create_file(&self, path: &Path) -> io::Result<File> {
        self.act(|| (), || RealDisk.create_file(path))
    }

    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        let half = || RealDisk.write(file, &bytes[..bytes.len() / 2], offset).unwrap();
        self.act(half, || RealDisk.write(file, bytes, offset))
    }

    fn set_len(&self, file: &File, len: u64) -> io::Result<()> {
        self.act(|| (), || RealDisk.set_len(file, len))
    }

    fn sync_file(&self, file: &File) -> io::Result<()> {
        self.act(|| (), || file.metadata().map(drop))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.act(|| (), || RealDisk.rename(from, to))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.act(|| (), || path.metadata().map(drop))
    }

    fn remove_tree(&self, path: &Path) -> io::Result<()> {
        self.act(|| (), || RealDisk.remove_tree(path))
    }
}
