//! The app under test, when jurat starts it: in a lane of its own, reached by the guard alone, gone when its viewport is done.
//!
//! The lane has user, pid, ipc, uts, mount and (unless the contract says otherwise) network namespaces of its own, the host's
//! files read-only without credentials (`view`), bounded memory and processes (`cgroup`). Invariants: nothing of jurat
//! runs inside; the app's port exists nowhere on the host; what it forked is gone when [`App::end`] returns, and that is
//! counted; where no lane can be had the layers say so.

mod cgroup;
mod dial;
mod http;
mod launch;
mod listener;
mod log;
mod tree;
mod view;
mod watch;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jurat_core::confinement::Layer;
use jurat_core::contract::{Network, ReadyWhen};
use jurat_core::observation::{AppEnded, EndedBy, ListenerSocket};
use jurat_core::untrusted::Untrusted;
use tokio::time::{sleep, timeout};

use crate::scratch::Scratch;
use crate::supervise::Supervised;

pub use cgroup::AppLimits;
pub use dial::{Dialler, Route, loopback_addresses};
pub use http::get;
pub use launch::{StartError, find_program};
pub use listener::listeners;
pub use tree::{source, work_tree};

use log::Log;
use watch::Watch;

/// How often readiness is asked for.
const POLL: Duration = Duration::from_millis(50);
/// How long one such question may take.
const ASK: Duration = Duration::from_secs(10);
/// How long the last words of an app may take to come in after its end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What to start.
#[derive(Debug, Clone)]
pub struct AppSpec {
    /// The program: an absolute path ([`find_program`]).
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// What it gets beside `PATH`, `HOME`, `TMPDIR` and `LANG`.
    pub env: Vec<(OsString, OsString)>,
    /// Where it runs; absolute and without links.
    pub folder: PathBuf,
    /// Whether it gets a private copy of that folder.
    pub writable: bool,
    /// What it can reach.
    pub network: Network,
    /// Where it may listen, in the order in which they are tried; all have the same port.
    pub addresses: Vec<SocketAddr>,
    /// The text of a line that says that it is ready, if that is how it is told.
    pub wanted: Option<String>,
    /// Its bounds.
    pub limits: AppLimits,
    /// The home whose hidden folders it must not see; jurat's own.
    pub home: Option<PathBuf>,
    /// Whether to try a lane at all. Without one the app is only supervised.
    pub lane: bool,
}

/// A running app. Dropping it kills all that it forked.
#[derive(Debug)]
pub struct App {
    supervised: Supervised,
    dialler: Dialler,
    log: Log,
    watch: Watch,
    group: Option<std::sync::Arc<cgroup::Group>>,
    layers: Vec<Layer>,
    /// A process in its network namespace; none where that is the host's.
    inside: Option<i32>,
    scratch: Scratch,
    begun: Instant,
    ready: bool,
}

/// Why an app did not become ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotReady {
    /// It is gone: by whom.
    Gone(EndedBy),
    /// It was not ready in time; what was seen instead.
    Late(String),
}

/// How an app ended, and what it wrote.
#[derive(Debug)]
pub struct Ended {
    /// The fact for evidence.
    pub fact: AppEnded,
    /// Its log: the blob that the fact names.
    pub log: Option<Vec<u8>>,
}

/// Tells when an app is gone. Clones tell the same.
#[derive(Debug, Clone)]
pub struct Death(tokio::sync::watch::Receiver<Option<watch::Gone>>);

impl Death {
    /// Waits until the app is gone without having been asked to; forever if it is ended by [`App::end`].
    pub async fn wait(&self) -> EndedBy {
        let mut told = self.0.clone();
        loop {
            if let Some(gone) = *told.borrow_and_update() {
                return gone.by;
            }
            if told.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Whether it is gone now.
    pub fn now(&self) -> Option<EndedBy> {
        self.0.borrow().map(|gone| gone.by)
    }
}

impl App {
    /// What confines it.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// How it is reached.
    pub fn dialler(&self) -> Dialler {
        self.dialler.clone()
    }

    /// Tells when it is gone.
    pub fn death(&self) -> Death {
        Death(self.watch.gone())
    }

    /// A process in its network namespace; none where that is the host's.
    pub fn inside(&self) -> Option<i32> {
        self.inside
    }

    /// Who listens at its port now, seen from inside; see [`listeners`].
    pub fn listeners(&self, holders: bool) -> Option<Vec<ListenerSocket>> {
        let port = self.dialler.addresses().first()?.port();
        listeners(self.inside, port, holders)
    }

    /// The last of what it wrote.
    pub fn tail(&self) -> Untrusted {
        self.log.tail()
    }

    /// Waits until it is ready. `authority` is the target's host and port.
    ///
    /// # Errors
    /// It is gone, or was not ready before the deadline.
    pub async fn ready(&mut self, when: &ReadyWhen, authority: &str, deadline: Instant) -> Result<Duration, NotReady> {
        let death = self.death();
        let waited = tokio::select! {
            biased;
            by = death.wait() => Err(NotReady::Gone(by)),
            waited = self.wait(when, authority, deadline) => waited,
        };
        waited?;
        self.ready = true;
        Ok(self.begun.elapsed())
    }

    async fn wait(&self, when: &ReadyWhen, authority: &str, deadline: Instant) -> Result<(), NotReady> {
        match when {
            ReadyWhen::Log { log } => match tokio::time::timeout_at(deadline.into(), self.log.found()).await {
                Ok(()) => Ok(()),
                Err(_) => Err(NotReady::Late(format!("no line of its log holds {log:?}"))),
            },
            ReadyWhen::Http { path, status } => loop {
                let until = deadline.min(Instant::now() + ASK);
                let fact = get(&self.dialler, authority, path, until).await;
                if fact.status == Some(*status) {
                    return Ok(());
                }
                if Instant::now() + POLL >= deadline {
                    let seen = match fact.status {
                        Some(other) => format!("{path} was answered with {other}, not {status}"),
                        None => format!("{path}: {}", fact.error.raw()),
                    };
                    return Err(NotReady::Late(seen));
                }
                sleep(POLL).await;
            },
        }
    }

    /// Ends it and all that it forked, counts what is left, and takes its last words.
    pub async fn end(mut self) -> Ended {
        let gone = self.watch.stop(self.supervised.pidfd(), self.group.as_deref()).await;
        let used = self.group.as_ref().map(|group| group.used()).unwrap_or_default();
        let ended = self.supervised.end().await;
        // All writers are gone: the pipe ends, unless something else was given it.
        let _ = timeout(LAST_WORDS, self.log.ended()).await;
        let kept = self.log.take();
        let scratch = self.scratch;
        // What stays is swept by the next run.
        let _ = tokio::task::spawn_blocking(move || scratch.remove()).await;
        let (log, told) = kept.map_or((None, None), |(bytes, told)| (Some(bytes), Some(told)));
        let fact = AppEnded {
            by: gone.map_or(EndedBy::Jurat, |gone| gone.by),
            code: gone.and_then(|gone| gone.exit.code),
            signal: gone.and_then(|gone| gone.exit.signal),
            was_ready: self.ready,
            used,
            log: told,
            processes_left: u32::try_from(ended.processes_left).unwrap_or(u32::MAX),
        };
        Ended { fact, log }
    }
}
