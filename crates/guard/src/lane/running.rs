//! A lane in which a program runs.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use jurat_core::confinement::{ConfinementRecord, Level};
use tokio::task::JoinHandle;

use super::enter::Entered;
use super::{Ground, Order, Tripwire, record, sealed};
use crate::scratch::Scratch;
use crate::supervise::{Pipes, SandboxPlan, Supervised};

/// The sockets of a lane.
#[derive(Debug)]
pub(super) struct Network {
    listeners: Vec<std::net::TcpListener>,
    tripwire: Option<Result<Tripwire, String>>,
    routes: Option<[Result<(), String>; 2]>,
    init: Option<i32>,
    ids: BTreeMap<String, u64>,
}

impl Network {
    /// Those that a child made in a namespace of its own.
    pub(super) fn of(
        entered: Entered,
        order: &Order,
        init: Option<i32>,
        ids: BTreeMap<String, u64>,
    ) -> Result<Self, String> {
        let mut sockets = entered.sockets.into_iter();
        let listeners = sockets
            .by_ref()
            .take(order.listeners)
            .map(|made| made.map(sealed::listener))
            .collect::<io::Result<Vec<_>>>()
            .map_err(|e| format!("the guard cannot listen in the lane: {e}"))?;
        let ports = listeners
            .iter()
            .filter_map(|listener| Some(listener.local_addr().ok()?.port()))
            .collect();
        let tripwire = match sockets.next() {
            Some(made) => made
                .and_then(|socket| Tripwire::new(socket, ports))
                .map_err(|e| format!("packet socket refused: {e}; a container needs CAP_NET_RAW in its bounding set")),
            None => Err("packet socket withheld".to_owned()),
        };
        Ok(Self {
            listeners,
            tripwire: Some(tripwire),
            routes: entered
                .routes
                .map(|both| both.map(|one| one.map_err(|e| e.to_string()))),
            init,
            ids,
        })
    }

    /// Those of the host.
    pub(super) fn host(listeners: Vec<std::net::TcpListener>) -> Self {
        Self {
            listeners,
            tripwire: None,
            routes: None,
            init: None,
            ids: BTreeMap::new(),
        }
    }
}

/// What a lane is put together from.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) ground: Ground,
    pub(super) supervised: Supervised,
    pub(super) network: Network,
    pub(super) lane_argv: Vec<String>,
}

impl Parts {
    pub(super) fn assemble(self) -> Result<Lane, String> {
        let Self {
            ground,
            mut supervised,
            network,
            lane_argv,
        } = self;
        let pipes = supervised.take_pipes().ok_or("the program has no DevTools pipe")?;
        Ok(Lane {
            built: ground.level,
            sandbox: ground.sandbox,
            files: ground.files,
            staged: AtomicU32::new(0),
            pipes: Mutex::new(Some(pipes)),
            listeners: Mutex::new(network.listeners),
            tripwire: network.tripwire,
            routes: network.routes,
            init: network.init,
            ids: network.ids,
            bwrap_argv: lane_argv,
            supervised: Mutex::new(Some(supervised)),
            scratch: Mutex::new(Some(ground.scratch)),
            removing: Mutex::default(),
        })
    }
}

/// A place in which a program runs, and all that belongs to it. Dropping it kills the program and removes its directory.
#[derive(Debug)]
pub struct Lane {
    built: Level,
    pub(super) sandbox: SandboxPlan,
    files: PathBuf,
    staged: AtomicU32,
    pipes: Mutex<Option<Pipes>>,
    listeners: Mutex<Vec<std::net::TcpListener>>,
    pub(super) tripwire: Option<Result<Tripwire, String>>,
    pub(super) routes: Option<[Result<(), String>; 2]>,
    pub(super) init: Option<i32>,
    pub(super) ids: BTreeMap<String, u64>,
    pub(super) bwrap_argv: Vec<String>,
    supervised: Mutex<Option<Supervised>>,
    scratch: Mutex<Option<Scratch>>,
    /// The removal of the directory, once the program has ended.
    removing: Mutex<Option<JoinHandle<()>>>,
}

impl Lane {
    /// The level that holds: a lane without its tripwire counts as `netns`.
    pub fn level(&self) -> Level {
        match (self.built, self.shortfall()) {
            (Level::Lane, Some(_)) => Level::Netns,
            (built, _) => built,
        }
    }

    /// Why this is less than it was built as.
    pub fn shortfall(&self) -> Option<&str> {
        match (self.built, &self.tripwire) {
            (Level::Lane, Some(Err(why))) => Some(why),
            _ => None,
        }
    }

    /// The level as which it was built.
    pub(super) fn built(&self) -> Level {
        self.built
    }

    /// The record for evidence. `argv` is the browser's; `missing` are the stronger levels that were not had, each with why.
    pub fn record(&self, argv: Vec<String>, missing: &[super::Unavailable]) -> ConfinementRecord {
        record::of(self, argv, missing)
    }

    /// The DevTools pipe, once.
    pub fn take_pipes(&self) -> Option<Pipes> {
        self.pipes.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The guard's listeners, once: the global one, then one for each context.
    pub fn take_listeners(&self) -> Vec<std::net::TcpListener> {
        std::mem::take(&mut *self.listeners.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What watches for attempts to leave; none where there is none.
    pub fn tripwire(&self) -> Option<&Tripwire> {
        self.tripwire.as_ref()?.as_ref().ok()
    }

    /// The last of what the program wrote to its standard error, as untrusted text.
    pub fn stderr(&self) -> String {
        let supervised = self.supervised.lock().unwrap_or_else(PoisonError::into_inner);
        supervised.as_ref().map_or_else(String::new, |s| s.stderr().0)
    }

    /// The pid of the first process, as long as it was not ended: the program's, or bubblewrap's.
    pub fn pid(&self) -> Option<i32> {
        let supervised = self.supervised.lock().unwrap_or_else(PoisonError::into_inner);
        supervised.as_ref().map(Supervised::pid)
    }

    /// Copies files to where the program can read them; gives their paths as the program sees them.
    ///
    /// # Errors
    /// A file that is not there, or a full disk.
    pub fn stage_files(&self, files: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
        let scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(scratch) = scratch.as_ref() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let number = self.staged.fetch_add(1, Ordering::SeqCst).to_string();
        let folder = scratch.dir(&Path::new("files").join(&number).to_string_lossy())?;
        let copy = |file: &PathBuf| {
            let name = file.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            std::fs::write(folder.join(name), std::fs::read(file)?)?;
            Ok(self.files.join(&number).join(name))
        };
        files.iter().map(copy).collect()
    }

    /// Processes that came out of the program's tree while it still runs.
    pub fn strays(&self) -> usize {
        let supervised = self.supervised.lock().unwrap_or_else(PoisonError::into_inner);
        supervised.as_ref().map_or(0, Supervised::strays)
    }

    /// Kills the program and what it forked; gives the number of processes that are left.
    pub async fn end(&self) -> usize {
        let supervised = self.supervised.lock().unwrap_or_else(PoisonError::into_inner).take();
        let left = match supervised {
            Some(supervised) => supervised.end().await.processes_left,
            None => 0,
        };
        if let Some(scratch) = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let removal = tokio::task::spawn_blocking(move || {
                // What stays is swept by the next run.
                let _ = scratch.remove();
            });
            *self.removing.lock().unwrap_or_else(PoisonError::into_inner) = Some(removal);
        }
        left
    }

    /// Ends it, and waits until its directory is gone.
    pub async fn close(&self) {
        self.end().await;
        let removing = self.removing.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(removing) = removing {
            let _ = removing.await;
        }
    }
}
