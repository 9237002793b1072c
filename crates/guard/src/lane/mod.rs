//! Lanes: the confined place that the browser runs in, at one of three levels.
//!
//! [`Level::Lane`]: namespaces of its own for everything, made by bubblewrap; the guard's listeners and the tripwire are made in
//! there before the browser runs. [`Level::Netns`]: a network namespace with the same listeners and tripwire, and the host's files.
//! [`Level::GuardOnly`]: the guard alone. [`prepare`] says what there will be inside, so that a command line can be made;
//! [`Ground::start`] starts the program. Starting is the probe: a level that cannot be had says why, and what to do.
//!
//! Invariants: no level is recorded that does not hold; every layer is told with what became of it; what is withheld or missing
//! only ever lowers the level.

pub(crate) mod bwrap;
mod child;
pub(crate) mod enter;
mod filter;
mod host;
mod netns;
mod record;
mod refusal;
mod running;
mod sealed;
mod tripwire;

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use jurat_core::confinement::{Level, Sandbox};

use crate::scratch::Scratch;
use crate::supervise::{SandboxPlan, Supervisor};

use enter::Ask;

pub use host::shm_bytes;
pub use record::NOT_ENFORCED;
pub use running::Lane;
pub(crate) use sealed::child_pid;
pub use tripwire::{Attempt, Tripwire};

/// The port of the guard's global listener inside a lane. The namespace is the lane's own, so that it is always free, and the
/// browser's command line is known before the lane is there.
pub const GUARD_PORT: u16 = 18_888;

/// What a machine is to be taken not to have. It only ever lowers the level, and the record says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Withheld {
    /// User namespaces.
    pub user_namespaces: bool,
    /// The packet socket.
    pub packets: bool,
    /// The routes by which every address is a local one.
    pub routes: bool,
}

/// How lanes are made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// bubblewrap's program; searched for when it is not given.
    pub bwrap: Option<PathBuf>,
    /// What is withheld.
    pub withheld: Withheld,
}

/// What is to run there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The program.
    pub program: PathBuf,
    /// How many listeners the guard needs.
    pub listeners: usize,
    /// Where directories can be made.
    pub temporary: PathBuf,
    /// More of the environment, for a window on the user's display; not in a lane, which has none.
    pub display: Vec<(OsString, OsString)>,
}

/// A level that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{level} cannot be had: {why}")]
pub struct Unavailable {
    /// Which.
    pub level: Level,
    /// Why, and what to do about it.
    pub why: String,
}

/// Everything that is ready before the program runs.
#[derive(Debug)]
pub struct Ground {
    level: Level,
    order: Order,
    settings: Settings,
    scratch: Scratch,
    sandbox: SandboxPlan,
    home: PathBuf,
    files: PathBuf,
    guard_port: u16,
    shm: Option<u64>,
    way: Way,
}

/// How the program gets there.
#[derive(Debug)]
enum Way {
    Sealed { bwrap: PathBuf },
    Netns(enter::Entered),
    Host(Vec<std::net::TcpListener>),
}

/// Makes ready what one level needs.
///
/// # Errors
/// The level cannot be had here.
pub async fn prepare(level: Level, order: Order, settings: &Settings) -> Result<Ground, Unavailable> {
    let made = match level {
        Level::Lane => sealed::prepare(order, settings),
        Level::Netns => netns::prepare(order, settings).await,
        Level::GuardOnly => host::prepare(order, settings),
    };
    made.map_err(|why| Unavailable { level, why })
}

impl Ground {
    /// The level that is tried.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The program's private home, as the program sees it.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The port of the guard's global listener, on 127.0.0.1 as the program sees it.
    pub fn guard_port(&self) -> u16 {
        self.guard_port
    }

    /// The size of the program's /dev/shm in bytes, as far as it is known.
    pub fn shm_bytes(&self) -> Option<u64> {
        self.shm
    }

    /// Whether Chromium's own sandbox can be on, and why.
    pub fn sandbox(&self) -> &SandboxPlan {
        &self.sandbox
    }

    /// Starts the program with these arguments.
    ///
    /// # Errors
    /// The level cannot be had here after all, or the program cannot be run.
    pub async fn start(self, supervisor: &Supervisor, args: Vec<OsString>) -> Result<Lane, Unavailable> {
        let level = self.level;
        let started = match level {
            Level::Lane => sealed::start(self, supervisor, args, sealed::Until::Running).await,
            Level::Netns | Level::GuardOnly => host::start(self, supervisor, args).await,
        };
        started.map_err(|why| Unavailable { level, why })
    }
}

/// Whether one level can be had here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelProbe {
    /// The level.
    pub level: Level,
    /// None if it can be had; else why not, and what to do.
    pub unavailable: Option<String>,
}

/// What the machine offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The strongest level that can be had.
    pub level: Level,
    /// Every level, strongest first.
    pub levels: Vec<LevelProbe>,
}

/// Tries every level up to where the program would run, and takes it down again.
pub async fn probe(order: &Order, settings: &Settings, supervisor: &Supervisor) -> Probe {
    let mut levels = Vec::new();
    for level in [Level::Lane, Level::Netns, Level::GuardOnly] {
        let tried = match prepare(level, order.clone(), settings).await {
            Ok(ground) if level == Level::Lane => {
                match sealed::start(ground, supervisor, Vec::new(), sealed::Until::Built).await {
                    Ok(lane) => {
                        let without = lane.shortfall().map(str::to_owned);
                        lane.end().await;
                        without.map_or(Ok(()), Err)
                    }
                    Err(why) => Err(why),
                }
            }
            Ok(_) => Ok(()),
            Err(unavailable) => Err(unavailable.why),
        };
        levels.push(LevelProbe {
            level,
            unavailable: tried.err(),
        });
    }
    Probe {
        level: levels
            .iter()
            .find(|probe| probe.unavailable.is_none())
            .map_or(Level::GuardOnly, |probe| probe.level),
        levels,
    }
}

/// Where bubblewrap is.
///
/// # Errors
/// It is not there; the text says what to do.
pub fn find_bwrap(settings: &Settings) -> Result<PathBuf, String> {
    bwrap::find(settings.bwrap.as_deref())
}

/// The sockets that a network namespace of our own gets: the guard's listeners, the global one first and on its port, then the
/// tripwire's.
fn asks(order: &Order, settings: &Settings) -> Vec<Ask> {
    let at = |port| Ask::Listen(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let mut asks: Vec<Ask> = (0..order.listeners)
        .map(|number| at(if number == 0 { GUARD_PORT } else { 0 }))
        .collect();
    if !settings.withheld.packets {
        asks.push(Ask::Packets);
    }
    asks
}

/// Why a directory could not be made.
fn no_directory(order: &Order, error: &std::io::Error) -> String {
    format!(
        "no directory can be made in {}: {error}; set TMPDIR to a directory that can be written to",
        order.temporary.display()
    )
}

/// The plan of a browser whose own sandbox is on because the lane gives it what it needs.
fn sandbox_inside(user: Option<crate::supervise::User>) -> SandboxPlan {
    SandboxPlan {
        sandbox: Sandbox::On,
        user,
        no_new_privs: true,
        reasons: vec!["inside the lane, as uid 1000".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_global_listener_is_where_the_command_line_says() {
        let order = Order {
            program: "/p".into(),
            listeners: 3,
            temporary: "/tmp".into(),
            display: Vec::new(),
        };
        let all = asks(&order, &Settings::default());
        let at = |port| Ask::Listen(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        assert_eq!(all, [at(GUARD_PORT), at(0), at(0), Ask::Packets]);
        let withheld = Withheld {
            packets: true,
            ..Withheld::default()
        };
        let without = asks(
            &order,
            &Settings {
                withheld,
                ..Settings::default()
            },
        );
        assert_eq!(without, all[..3]);
    }
}
