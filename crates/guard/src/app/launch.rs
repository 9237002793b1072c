//! Starting an app: private folders, the lane, its bounds, then the first instruction of the app, in this order.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jurat_core::confinement::{Layer, LayerState};
use jurat_core::contract::Network;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, geteuid, pidfd_open, prlimit};
use tokio::time::timeout;

use super::cgroup::{AppLimits, Group};
use super::dial::Dialler;
use super::listener::listeners;
use super::log::Log;
use super::tree::{copy, work_tree};
use super::view::{View, refuse};
use super::watch::{Bounds, Watch};
use super::{App, AppSpec};
use crate::lane::bwrap::{self, BLOCK_FD, HOME, INFO_FD};
use crate::lane::child_pid;
use crate::lane::enter::Namespaces;
use crate::scratch::Scratch;
use crate::supervise::{Init, Spawn, Supervised, Supervisor, parent_of};

/// How long bubblewrap may take to lay a lane out.
const BUILD: Duration = Duration::from_secs(10);
/// Most bytes of one file that an app writes.
const FILE_SIZE: u64 = 1 << 30;
/// Most descriptors of one process of an app.
const DESCRIPTORS: u64 = 65_536;

/// Why an app could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The folder cannot be an app's.
    #[error("{0}")]
    Folder(String),
    /// Its private copy could not be made.
    #[error("no private copy of {} can be made: {source}; leave writable out, or start it in a smaller folder", folder.display())]
    Copy {
        /// Of what.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something listens at its port already, and the app shares the host's network.
    #[error("port {0} is taken by another process: end it, or leave start out to verify it as it is")]
    PortTaken(u16),
    /// The system refused something.
    #[error("{what}: {source}")]
    System {
        /// What.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

fn system(what: &'static str) -> impl Fn(io::Error) -> StartError {
    move |source| StartError::System { what, source }
}

/// Finds a program: a path as it is, from `folder`; a name in `path` (the value of `PATH`).
pub fn find_program(name: &str, path: &OsStr, folder: &Path) -> Option<PathBuf> {
    let runs = |path: &PathBuf| fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return Some(folder.join(name)).filter(runs);
    }
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(runs)
}

impl App {
    /// Starts an app in a lane of its own; where none can be had, under supervision alone, which its layers say. Private
    /// folders are made under `base`.
    ///
    /// # Errors
    /// What does not allow it, and what to do.
    pub async fn start(supervisor: &Supervisor, spec: &AppSpec, base: &Path) -> Result<Self, StartError> {
        if let Some(why) = refuse(&spec.folder, spec.home.as_deref()) {
            return Err(StartError::Folder(why));
        }
        let scratch = Scratch::create(base, None).map_err(system("no private folder can be made"))?;
        let private = if spec.writable {
            let (from, to, most) = (spec.folder.clone(), scratch.path().join("copy"), spec.limits.disk);
            let made = tokio::task::spawn_blocking({
                let to = to.clone();
                move || copy(&from, &to, most)
            });
            let failed = |source| StartError::Copy {
                folder: spec.folder.clone(),
                source,
            };
            made.await.map_err(|e| failed(io::Error::other(e)))?.map_err(failed)?;
            Some(to)
        } else {
            None
        };
        let ground = Ground {
            supervisor,
            spec,
            private: private.as_deref(),
        };
        let started = match bwrap::find(None).map_err(io::Error::other) {
            _ if !spec.lane => Err("not asked for".to_owned()),
            Ok(bwrap) => ground.in_lane(&bwrap).await,
            Err(why) => Err(why.to_string()),
        };
        let started = match started {
            Ok(started) => started,
            Err(why) => ground.supervised_only(&scratch, &why).await?,
        };
        let Started {
            supervised,
            dialler,
            log,
            group,
            layers,
            inside,
            namespace,
        } = started;
        let pidfd = supervised
            .pidfd()
            .try_clone()
            .map_err(system("no descriptor is left"))?;
        let watch = Watch::begin(
            pidfd,
            Bounds {
                limits: spec.limits,
                group: group.clone(),
                namespace,
                copy: private,
            },
        );
        Ok(Self {
            watch: watch.map_err(system("the app cannot be watched"))?,
            supervised,
            dialler,
            log,
            group,
            layers,
            inside,
            scratch,
            begun: Instant::now(),
            ready: false,
        })
    }
}

struct Ground<'a> {
    supervisor: &'a Supervisor,
    spec: &'a AppSpec,
    private: Option<&'a Path>,
}

struct Started {
    supervised: Supervised,
    dialler: Dialler,
    log: Log,
    group: Option<Arc<Group>>,
    layers: Vec<Layer>,
    inside: Option<i32>,
    namespace: Option<u64>,
}

impl Ground<'_> {
    fn env(&self, home: &Path, tmp: &Path) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        let mut env: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), path),
            ("HOME".into(), home.into()),
            ("TMPDIR".into(), tmp.into()),
            ("LANG".into(), "C.UTF-8".into()),
        ];
        for (name, value) in &self.spec.env {
            env.retain(|(known, _)| known != name);
            env.push((name.clone(), value.clone()));
        }
        env
    }

    /// The text says why there is no lane here.
    async fn in_lane(&self, bwrap: &Path) -> Result<Started, String> {
        let spec = self.spec;
        let told = |e: io::Error| e.to_string();
        let view = View {
            home: spec.home.clone(),
            folder: &spec.folder,
            copy: self.private,
            around: work_tree(&spec.folder).filter(|tree| refuse(tree, spec.home.as_deref()).is_none()),
            network: spec.network,
        };
        let (info, info_out) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| told(e.into()))?;
        let (wait, go) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| told(e.into()))?;
        let mut fds = vec![(info_out, INFO_FD), (wait, BLOCK_FD)];
        let log = self.log(&mut fds).map_err(told)?;
        let supervised = self
            .supervisor
            .spawn_kept(Spawn {
                program: bwrap.to_owned(),
                args: view.argv(&spec.program, &spec.args),
                env: self.env(Path::new(HOME), Path::new("/tmp")),
                cwd: PathBuf::from("/"),
                user: None,
                pipes: false,
                fds,
                no_new_privs: true,
            })
            .await
            .map_err(|e| format!("{e}: {}", e.io()))?;
        match self.fit_out(&supervised, info).await {
            Ok(fitted) => {
                fs::File::from(go).write_all(b"1").map_err(told)?;
                Ok(fitted.started(supervised, log, spec))
            }
            Err(why) => {
                let mut log = log;
                supervised.end().await;
                let _ = timeout(Duration::from_secs(1), log.ended()).await;
                let said = log.tail();
                Err(if said.raw().trim().is_empty() {
                    why
                } else {
                    bwrap::explain(said.raw())
                })
            }
        }
    }

    /// What is done to a lane before its app runs.
    async fn fit_out(&self, supervised: &Supervised, info: OwnedFd) -> Result<Fitted, String> {
        let told = |e: io::Error| e.to_string();
        let init = match timeout(BUILD, child_pid(info)).await {
            Ok(Some(pid)) => pid,
            Ok(None) => return Err("bubblewrap told no pid".to_owned()),
            Err(_) => return Err("bubblewrap did not answer in time".to_owned()),
        };
        let pid = Pid::from_raw(init).ok_or("bubblewrap told no pid")?;
        let pidfd = Arc::new(pidfd_open(pid, PidfdFlags::empty()).map_err(|e| told(e.into()))?);
        // Only now is the descriptor known to be of bwrap's own child; between it and us stands the keeper.
        if parent_of(init).and_then(parent_of) != Some(supervised.pid()) {
            return Err("the lane is gone".to_owned());
        }
        let namespaces = Namespaces::of(init).map_err(told)?;
        let inode = |name: &str| fs::metadata(format!("/proc/{init}/ns/{name}")).map(|found| found.ino());
        let namespace = inode("pid").map_err(told)?;
        supervised.set_init(Init {
            pidfd: Arc::clone(&pidfd),
            namespace,
        });
        let apart = fs::metadata("/proc/self/ns/net").map_err(told)?.ino() != inode("net").map_err(told)?;
        if apart != (self.spec.network == Network::None) {
            return Err("the lane has not the network that it should have".to_owned());
        }
        limit(Some(pid))?;
        let group = group(self.spec.limits, &[init]);
        let dialler = if apart {
            let dialler = Dialler::lane(self.spec.addresses.clone(), namespaces, pidfd);
            dialler.stock_up().await.map_err(told)?;
            dialler
        } else {
            self.free_port().map_err(|e| e.to_string())?;
            Dialler::host(self.spec.addresses.clone())
        };
        Ok(Fitted {
            dialler,
            group,
            inside: apart.then_some(init),
            namespace,
        })
    }

    /// The app with no lane around it.
    async fn supervised_only(&self, scratch: &Scratch, why: &str) -> Result<Started, StartError> {
        let spec = self.spec;
        self.free_port()?;
        let home = scratch.dir("home").map_err(system("no private folder can be made"))?;
        let tmp = scratch.dir("tmp").map_err(system("no private folder can be made"))?;
        let mut fds = Vec::new();
        let log = self.log(&mut fds).map_err(system("no pipe can be made"))?;
        let spawn = Spawn {
            program: spec.program.clone(),
            args: spec.args.clone(),
            env: self.env(&home, &tmp),
            cwd: self.private.map_or_else(|| spec.folder.clone(), Path::to_owned),
            user: None,
            pipes: false,
            fds,
            no_new_privs: true,
        };
        let supervised = self.supervisor.spawn(spawn).await.map_err(|e| StartError::System {
            what: "the app cannot be run",
            source: io::Error::new(e.io().kind(), format!("{e}: {}", e.io())),
        })?;
        let group = group(spec.limits, &[supervised.pid()]);
        let layers = vec![
            Layer::new("app_lane", LayerState::Absent, why),
            Layer::new("app_network", LayerState::Absent, "the host's network"),
            Layer::new(
                "app_files",
                LayerState::Absent,
                "the host's files, as the user who started jurat",
            ),
            resources(group.as_ref(), spec.limits),
        ];
        Ok(Started {
            dialler: Dialler::host(spec.addresses.clone()),
            group: group.ok(),
            supervised,
            log,
            layers,
            inside: None,
            namespace: None,
        })
    }

    /// Standard output and error, as one.
    fn log(&self, fds: &mut Vec<(OwnedFd, i32)>) -> io::Result<Log> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        fds.push((write.try_clone()?, 1));
        fds.push((write, 2));
        Log::read(read, self.spec.wanted.clone())
    }

    /// On the host's network another process could answer in the app's place.
    fn free_port(&self) -> Result<(), StartError> {
        let port = self.spec.addresses.first().map_or(0, std::net::SocketAddr::port);
        match listeners(None, port, false) {
            Some(found) if !found.is_empty() => Err(StartError::PortTaken(port)),
            _ => Ok(()),
        }
    }
}

struct Fitted {
    dialler: Dialler,
    group: Result<Arc<Group>, String>,
    inside: Option<i32>,
    namespace: u64,
}

impl Fitted {
    fn started(self, supervised: Supervised, log: Log, spec: &AppSpec) -> Started {
        let network = match spec.network {
            Network::None => Layer::new("app_network", LayerState::Enforced, "a loopback device of its own"),
            Network::Host => Layer::new(
                "app_network",
                LayerState::Absent,
                "the host's network, as the contract states",
            ),
        };
        let files = if spec.writable {
            "read-only but for a private copy of its folder; without credentials"
        } else {
            "read-only; without credentials"
        };
        let layers = vec![
            Layer::new(
                "app_lane",
                LayerState::Enforced,
                "bubblewrap: user, pid, ipc, uts and mount namespaces of its own",
            ),
            network,
            Layer::new("app_files", LayerState::Enforced, files),
            resources(self.group.as_ref(), spec.limits),
        ];
        Started {
            supervised,
            dialler: self.dialler,
            log,
            group: self.group.ok(),
            layers,
            inside: self.inside,
            namespace: Some(self.namespace),
        }
    }
}

fn group(limits: AppLimits, members: &[i32]) -> Result<Arc<Group>, String> {
    let group = Group::make(limits).map_err(|e| format!("no control group can be made: {e}"))?;
    for pid in members {
        group
            .take(*pid)
            .map_err(|e| format!("the app cannot be put into a control group: {e}"))?;
    }
    Ok(Arc::new(group))
}

fn resources(group: Result<&Arc<Group>, &String>, limits: AppLimits) -> Layer {
    match group {
        Ok(group) => Layer::new(
            "app_resources",
            LayerState::Enforced,
            format!(
                "control group {}: {} bytes of memory, {} processes",
                group.version(),
                limits.memory,
                limits.processes
            ),
        ),
        Err(why) => Layer::new("app_resources", LayerState::Absent, why.clone()),
    }
}

/// Bounds each process of the app (getrlimit(2)); inherited by all that it forks.
fn limit(pid: Option<Pid>) -> Result<(), String> {
    let mut limits = vec![
        (Resource::Core, 0),
        (Resource::Fsize, FILE_SIZE),
        (Resource::Nofile, DESCRIPTORS),
    ];
    if !geteuid().is_root() {
        // The kernel counts root's processes and never refuses it one.
        limits.push((Resource::Nproc, AppLimits::default().processes));
    }
    for (resource, most) in limits {
        let has = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let most = Some(most.min(has));
        let wanted = Rlimit {
            current: most,
            maximum: most,
        };
        prlimit(pid, resource, wanted).map_err(|e| format!("the app cannot be bounded: {e}"))?;
    }
    Ok(())
}
