//! The ledger: one line for each run, chained by digests, never removed.
//!
//! Each line is canonical JSON and holds the digest of the line before it, so that a changed, moved or removed line breaks
//! the chain at the next. Appending holds the root's lock and is synced before it returns. A machine that stops in the
//! middle leaves a last line without its end; the next append writes over it and says how many bytes it dropped
//! ([`Line::repaired`]). Lines cut off the end leave no trace in the file itself: the bundles are there to compare with.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use jurat_core::canon::{CanonError, Digest, to_canonical};
use jurat_core::outcome::Answer;
use serde::{Deserialize, Serialize};

use crate::json;
use crate::manifest::bare_hex;
use crate::name::RunId;
use crate::root::{Root, RootError};

/// No line is longer, in bytes.
const MAX_LINE: usize = 16 << 10;

/// The version of a line; the only one is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum LineVersion {
    #[serde(rename = "jurat.ledger/1")]
    V1,
}

const LINE_V1: &str = "jurat.ledger/1";

/// What is appended for one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The run.
    pub run_id: RunId,
    /// The contract's identity.
    pub contract_ref: Digest,
    /// The verdict.
    pub verdict: Answer,
    /// Digest of the bundle's manifest.
    pub manifest: Digest,
    /// Wall clock, RFC 3339 in UTC.
    pub at: String,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    schema: LineVersion,
    /// Its number, from 1.
    pub seq: u64,
    /// The run.
    pub run_id: RunId,
    /// The contract's identity.
    pub contract_ref: Digest,
    /// The verdict.
    pub verdict: Answer,
    /// Digest of the bundle's manifest; written as 64 hexadecimal digits alone.
    #[serde(with = "bare_hex")]
    pub manifest_sha256: Digest,
    /// Wall clock, RFC 3339 in UTC.
    pub at: String,
    /// Digest of the line before it, without its line feed; null in the first.
    pub prev: Option<Digest>,
    /// Bytes of a torn line that were dropped here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired: Option<u64>,
}

/// That a torn line was found and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair {
    /// How long it was.
    pub bytes: u64,
}

/// Why the ledger was not read or not appended to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The root could not be locked.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The system refused.
    #[error("{}: could not {what}: {source}", path.display())]
    Io {
        /// The ledger.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// The chain is broken. Keep the file, and begin a new one beside it.
    #[error("ledger.jsonl: line {line} {what}")]
    Broken {
        /// Which, from 1; 0 for the last one, whose number is not known.
        line: u64,
        /// In what way.
        what: String,
    },
    /// A line has no canonical form.
    #[error(transparent)]
    Canon(#[from] CanonError),
}

/// The ledger of an evidence root.
#[derive(Debug, Clone)]
pub struct Ledger {
    root: Root,
    path: PathBuf,
}

impl Ledger {
    /// The ledger of a root; it need not be there yet.
    pub fn of(root: &Root) -> Self {
        Self {
            root: root.clone(),
            path: root.path().join("ledger.jsonl"),
        }
    }

    /// Appends one line and returns it.
    ///
    /// Errors: a last line that does not parse; a system that refuses. When it is the sync that fails, the line may be there.
    pub fn append(&self, entry: Entry) -> Result<Line, LedgerError> {
        let _held = self.root.lock()?;
        let disk = self.root.disk();
        let new = !self.path.exists();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(&self.path)
            .map_err(self.io("open it"))?;
        let tail = self.tail(&file)?;
        let (seq, prev) = match &tail.last {
            None => (1, None),
            Some(bytes) => {
                let last: Line = json::read(bytes, Some(LINE_V1)).map_err(|problem| LedgerError::Broken {
                    line: 0,
                    what: format!("at the end {problem}"),
                })?;
                (last.seq + 1, Some(Digest::of(bytes)))
            }
        };
        let line = Line {
            schema: LineVersion::V1,
            seq,
            run_id: entry.run_id,
            contract_ref: entry.contract_ref,
            verdict: entry.verdict,
            manifest_sha256: entry.manifest,
            at: entry.at,
            prev,
            repaired: (tail.torn > 0).then_some(tail.torn),
        };
        let mut bytes = to_canonical(&line)?;
        bytes.push(b'\n');
        let length = bytes.len() as u64;
        disk.write(&file, &bytes, tail.end).map_err(self.io("write to it"))?;
        if tail.torn > length {
            disk.set_len(&file, tail.end + length)
                .map_err(self.io("cut what was torn off"))?;
        }
        disk.sync_file(&file).map_err(self.io("sync it"))?;
        if new {
            disk.sync_dir(self.root.path()).map_err(self.io("sync its name"))?;
        }
        Ok(line)
    }

    /// Reads all lines and checks the chain. A torn last line is no error: it never became one.
    ///
    /// Errors: the first line that is wrong, and in what; a file that cannot be read.
    pub fn verify(&self) -> Result<(Vec<Line>, Option<Repair>), LedgerError> {
        let _held = self.root.lock()?;
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), None)),
            Err(error) => return Err(self.io("read it")(error)),
        };
        let mut rest = bytes.as_slice();
        let mut lines: Vec<Line> = Vec::new();
        let mut prev = None;
        while let Some(end) = rest.iter().position(|b| *b == b'\n') {
            let number = lines.len() as u64 + 1;
            let broken = |what: String| LedgerError::Broken { line: number, what };
            let line: Line = json::read(&rest[..end], Some(LINE_V1)).map_err(|problem| broken(problem.to_string()))?;
            if line.prev != prev {
                return Err(broken("does not follow from the line before it".to_owned()));
            }
            if line.seq != number {
                return Err(broken(format!("says that it is number {}", line.seq)));
            }
            prev = Some(Digest::of(&rest[..end]));
            lines.push(line);
            rest = &rest[end + 1..];
        }
        let torn = (!rest.is_empty()).then_some(Repair {
            bytes: rest.len() as u64,
        });
        Ok((lines, torn))
    }

    fn io(&self, what: &'static str) -> impl FnOnce(io::Error) -> LedgerError {
        let path = self.path.clone();
        move |source| LedgerError::Io { path, what, source }
    }

    /// The last whole line and what is torn after it, from the end of the file alone.
    fn tail(&self, file: &File) -> Result<Tail, LedgerError> {
        let length = file.metadata().map_err(self.io("look at it"))?.len();
        let start = length.saturating_sub(2 * MAX_LINE as u64);
        let mut bytes = vec![0; usize::try_from(length - start).unwrap_or(0)];
        file.read_exact_at(&mut bytes, start).map_err(self.io("read it"))?;
        let Some(end) = bytes.iter().rposition(|b| *b == b'\n') else {
            if start > 0 {
                return Err(LedgerError::Broken {
                    line: 0,
                    what: "at the end is longer than any line".to_owned(),
                });
            }
            return Ok(Tail {
                last: None,
                end: 0,
                torn: length,
            });
        };
        let begin = bytes[..end]
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |before| before + 1);
        let end_at = start + end as u64 + 1;
        Ok(Tail {
            last: Some(bytes[begin..end].to_vec()),
            end: end_at,
            torn: length - end_at,
        })
    }
}

struct Tail {
    /// The last whole line, without its line feed.
    last: Option<Vec<u8>>,
    /// Where the next line begins.
    end: u64,
    /// Bytes after that.
    torn: u64,
}
