//! The app under test: how it was started, where it listened, how it ended.

use serde::{Deserialize, Serialize};

use crate::canon::Digest;
use crate::confinement::Layer;
use crate::untrusted::Untrusted;

/// jurat started the app for one viewport.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppStarted {
    /// Program and arguments, as in the contract.
    pub command: Vec<String>,
    /// The program that was found in `PATH`.
    pub program: String,
    /// Names of the variables that it got; values are not kept.
    pub env: Vec<String>,
    /// Whether it got a private copy of its folder to write to.
    pub writable: bool,
    /// `none` (a loopback device of its own) or `host`.
    pub network: String,
    /// What confines it.
    pub layers: Vec<Layer>,
}

/// The app counts as started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppReady {
    /// Milliseconds after its start.
    pub after_ms: u64,
}

/// How the app ended: by itself, or because its viewport was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppEnded {
    /// Who ended it.
    pub by: EndedBy,
    /// Its exit code, when it exited by itself. A lane gives 128 and the number for a signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that ended it, when one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether it had been ready.
    pub was_ready: bool,
    /// What it used.
    pub used: AppUse,
    /// Its log, a blob; missing when it wrote nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<AppLog>,
    /// Processes that it forked and that were still alive after it was ended.
    pub processes_left: u32,
}

/// Who ended the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// jurat, when it was no longer needed.
    Jurat,
    /// The app itself.
    Itself,
    /// The kernel or jurat, because it needed more memory than its bound.
    Memory,
    /// jurat, because it had more processes than its bound.
    Processes,
    /// jurat, because it wrote more to the disk than its bound.
    Disk,
}

/// What the app used, where the system tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppUse {
    /// Most memory at one time, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_peak: Option<u64>,
    /// Most processes and threads at one time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes_peak: Option<u64>,
    /// How many of its processes the kernel killed for want of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oom_kills: Option<u64>,
    /// How often it was refused a further process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forks_refused: Option<u64>,
}

/// What the app wrote to its standard output and error: its own words, kept as a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppLog {
    /// Digest of what was kept, its name among the blobs.
    pub blob: Digest,
    /// Bytes that were kept: the head and the tail.
    pub bytes: u64,
    /// Bytes that it wrote in all.
    pub total: u64,
    /// The last lines, at most 2048 bytes.
    pub tail: Untrusted,
}

/// Who listens at the target's address, by proc_pid_net(5) and proc_pid_fd(5) as seen from inside its network namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListenerFact {
    /// When it was looked at: `begin` or `end` of the viewport.
    pub edge: super::Edge,
    /// The listening sockets at the target's port, in order of their inodes.
    pub sockets: Vec<ListenerSocket>,
}

/// One listening socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListenerSocket {
    /// Where it is bound.
    pub address: String,
    /// Its inode: it names the socket for good.
    pub inode: u64,
    /// A process that holds it, where that can be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

/// What the app is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceFact {
    /// The commit of the git work tree that the folder lies in, when it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Digest of the folder's tree: sorted paths, sizes and SHA-256 of each file, but for `node_modules`, `.git` and `target`.
    pub tree: Digest,
    /// Files in it.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// More files or bytes than are looked at; the digest is of the first.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cut: bool,
}

/// How a plain HTTP request was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpFact {
    /// Path and query that were asked for.
    pub path: String,
    /// The status, when an answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why no answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<HttpFailure>,
    /// The system's words about that.
    #[serde(default, skip_serializing_if = "Untrusted::is_empty")]
    pub error: Untrusted,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<Untrusted>,
    /// Where it redirects to; that is not followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Untrusted>,
    /// Bytes of the body that were read; the rest was left.
    pub body_bytes: u64,
    /// Digest of these bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Digest>,
    /// Whether that was all of it.
    pub whole: bool,
    /// Microseconds until the head of the answer.
    pub took_us: u64,
}

/// Why no answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpFailure {
    /// Nothing listens there.
    Refused,
    /// No head came in time.
    NoAnswer,
    /// The connection was closed without one, or what came is no HTTP.
    Broken,
}

fn is_false(value: &bool) -> bool {
    !value
}
