//! Starting a process.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};

use command_fds::{CommandFdExt, FdMapping};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{PidfdFlags, WaitId, WaitIdOptions, getpid, pidfd_open, set_child_subreaper, waitid};
use tokio::signal::unix::{SignalKind, signal};

use super::capture::Tail;
use super::fork;
use super::kill::{Ended, Init, Tree};
use super::tree;
use crate::lane::enter::Namespaces;

/// Environment variable that a tree is recognised by after it was re-parented.
pub(super) const MARK: &str = "JURAT_TREE=";

/// A user and group to become. Only root can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

impl User {
    /// `nobody` on most systems.
    pub const NOBODY: Self = Self { uid: 65534, gid: 65534 };
}

/// What to start.
#[derive(Debug)]
pub struct Spawn {
    /// An absolute path; no `PATH` is searched.
    pub program: PathBuf,
    /// Arguments after the program.
    pub args: Vec<OsString>,
    /// The whole environment, but for one variable that marks the tree.
    pub env: Vec<(OsString, OsString)>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Become this user first.
    pub user: Option<User>,
    /// Open a pipe each way on the child's descriptors 3 (it reads) and 4 (it writes): the DevTools pipe.
    pub pipes: bool,
    /// Further descriptors, each with its number in the child.
    pub fds: Vec<(OwnedFd, i32)>,
    /// `PR_SET_NO_NEW_PRIVS`: set-user-id programs, Chromium's old sandbox helper among them, stay powerless.
    pub no_new_privs: bool,
}

/// The supervisor's ends of the two pipes.
#[derive(Debug)]
pub struct Pipes {
    /// What is written here the child reads on 3.
    pub to_browser: OwnedFd,
    /// What the child writes on 4 is read here.
    pub from_browser: OwnedFd,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
}

/// Why a process could not be started.
#[derive(Debug, thiserror::Error)]
#[error("failed to start {}", program.display())]
pub struct SpawnError {
    program: PathBuf,
    #[source]
    source: io::Error,
}

impl SpawnError {
    /// The system's own error.
    pub fn io(&self) -> &io::Error {
        &self.source
    }
}

/// Whose the children of this process are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// All are the supervisor's: an orphan that comes to this process is part of the run. For the `jurat` binary.
    Process,
    /// Only what carries the mark is. For a program that has other children.
    Marked,
}

/// Pids of running first processes.
#[derive(Debug, Clone, Default)]
pub(super) struct Registry(Arc<Mutex<BTreeSet<i32>>>);

impl Registry {
    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts processes and knows which are running.
#[derive(Debug, Clone)]
pub struct Supervisor {
    ownership: Ownership,
    registry: Registry,
}

/// One registry for the process: two supervisors must not take each other's children for orphans.
static REGISTRY: OnceLock<Registry> = OnceLock::new();

impl Supervisor {
    /// Makes this process the one that orphans of its children come to (`PR_SET_CHILD_SUBREAPER`).
    ///
    /// # Errors
    /// When the system does not offer that.
    pub fn new(ownership: Ownership) -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        Ok(Self {
            ownership,
            registry: REGISTRY.get_or_init(Registry::default).clone(),
        })
    }

    /// Starts a process. Needs a tokio runtime, which reads what it writes.
    ///
    /// # Errors
    /// When the program cannot be run as asked.
    pub async fn spawn(&self, spawn: Spawn) -> Result<Supervised, SpawnError> {
        self.launch(spawn, None, false).await
    }

    /// The same, in these namespaces.
    pub(crate) async fn spawn_in(
        &self,
        spawn: Spawn,
        namespaces: Option<Arc<Namespaces>>,
    ) -> Result<Supervised, SpawnError> {
        self.launch(spawn, namespaces, false).await
    }

    /// The same, under a keeper: a program that makes a pid namespace and could lose its parent before that dies with it. The
    /// first process is the keeper then.
    pub(crate) async fn spawn_kept(&self, spawn: Spawn) -> Result<Supervised, SpawnError> {
        self.launch(spawn, None, true).await
    }

    async fn launch(
        &self,
        spawn: Spawn,
        namespaces: Option<Arc<Namespaces>>,
        kept: bool,
    ) -> Result<Supervised, SpawnError> {
        let program = spawn.program.clone();
        self.start(spawn, namespaces, kept)
            .await
            .map_err(|source| SpawnError { program, source })
    }

    async fn start(&self, spawn: Spawn, namespaces: Option<Arc<Namespaces>>, kept: bool) -> io::Result<Supervised> {
        let mark = format!("{MARK}{:016x}", RandomState::new().build_hasher().finish());
        let mut command = Command::new(&spawn.program);
        command
            .args(&spawn.args)
            .env_clear()
            .envs(spawn.env)
            .current_dir(&spawn.cwd);
        if let Some((name, value)) = mark.split_once('=') {
            command.env(name, value);
        }
        if let (Some(user), None) = (spawn.user, &namespaces) {
            command.uid(user.uid).gid(user.gid);
        }
        let (out, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let (err, stderr) = pipe_with(PipeFlags::CLOEXEC)?;
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        let namespaces = namespaces.map(|namespaces| (namespaces, spawn.user));
        fork::prepare(&mut command, getpid(), spawn.no_new_privs, namespaces, kept);
        let mut mappings: Vec<FdMapping> = spawn
            .fds
            .into_iter()
            .map(|(parent_fd, child_fd)| FdMapping { parent_fd, child_fd })
            .collect();
        let pipes = if spawn.pipes {
            let (child_reads, to_browser) = pipe_with(PipeFlags::CLOEXEC)?;
            let (from_browser, child_writes) = pipe_with(PipeFlags::CLOEXEC)?;
            mappings.push(FdMapping {
                parent_fd: child_reads,
                child_fd: 3,
            });
            mappings.push(FdMapping {
                parent_fd: child_writes,
                child_fd: 4,
            });
            Some(Pipes {
                to_browser,
                from_browser,
            })
        } else {
            None
        };
        command
            .fd_mappings(mappings)
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;

        let registry = self.registry.clone();
        let (root, pidfd) = on_forking_thread(move || {
            let mut running = registry.lock();
            let child = command.spawn()?;
            let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
            let pid = pid.ok_or(io::ErrorKind::InvalidData)?;
            running.insert(pid.as_raw_pid());
            // Not reaped yet: the pid is certainly this child's.
            let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
            let root = tree::read(pid.as_raw_pid()).ok_or(io::ErrorKind::NotFound)?;
            Ok((root, pidfd))
        })
        .await?;
        let tree = Tree {
            root,
            pidfd,
            mark,
            ownership: self.ownership,
            registry: self.registry.clone(),
            init: OnceLock::new(),
        };
        Ok(Supervised {
            tree: Arc::new(tree),
            pipes,
            stdout: Tail::read(out)?,
            stderr: Tail::read(err)?,
            ended: false,
        })
    }
}

/// Runs `job` where processes are forked, with the registry held: a child that it forks and reaps is never taken for an orphan.
///
/// # Errors
/// Those of the job, and when there is no thread.
pub(crate) async fn forking<T: Send + 'static>(job: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let registry = REGISTRY.get_or_init(Registry::default).clone();
    on_forking_thread(move || {
        let _held = registry.lock();
        job()
    })
    .await
}

type Job = Box<dyn FnOnce() + Send>;

/// Runs `job` on a thread that lives as long as this process: the death signal of a child follows the thread that forked it.
async fn on_forking_thread<T: Send + 'static>(job: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    static THREAD: OnceLock<mpsc::Sender<Job>> = OnceLock::new();
    let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
    let jobs = THREAD.get_or_init(|| {
        let (jobs, queue) = mpsc::channel::<Job>();
        // Without the thread the queue is dropped and every job fails with an error.
        let _ = std::thread::Builder::new()
            .name("jurat-fork".to_owned())
            .spawn(move || {
                for job in queue {
                    job();
                }
            });
        jobs
    });
    let (done, result) = tokio::sync::oneshot::channel();
    jobs.send(Box::new(move || {
        let _ = done.send(job());
    }))
    .map_err(|_| gone())?;
    result.await.map_err(|_| gone())?
}

/// A running process and everything it forks. Dropping it kills all of that.
#[derive(Debug)]
pub struct Supervised {
    tree: Arc<Tree>,
    pipes: Option<Pipes>,
    stdout: Tail,
    stderr: Tail,
    ended: bool,
}

impl Supervised {
    /// The pid of the first process.
    pub fn pid(&self) -> i32 {
        self.tree.root.pid
    }

    /// Its pidfd.
    pub fn pidfd(&self) -> &OwnedFd {
        &self.tree.pidfd
    }

    /// Says who the init of the tree's pid namespace is: its death is the death of all in it (pid_namespaces(7)).
    pub(crate) fn set_init(&self, init: Init) {
        // Told once, by who started it.
        let _ = self.tree.init.set(init);
    }

    /// The ends of its pipes, once.
    pub fn take_pipes(&mut self) -> Option<Pipes> {
        self.pipes.take()
    }

    /// The last of what it wrote to its standard output, as untrusted text, and the number of bytes in all.
    pub fn stdout(&self) -> (String, u64) {
        self.stdout.text()
    }

    /// The same for its standard error.
    pub fn stderr(&self) -> (String, u64) {
        self.stderr.text()
    }

    /// Processes of the tree that are alive now.
    pub fn alive(&self) -> usize {
        self.tree.alive(tree::View::whole).len()
    }

    /// Processes that were started in the tree and let go of, and still live, while the first process runs on.
    pub fn strays(&self) -> usize {
        self.tree.strays(super::tree::View::quick).len()
    }

    /// Waits until the first process has ended. It stays a zombie, and its pid its own, until [`Supervised::end`].
    ///
    /// # Errors
    /// When the system cannot say.
    pub async fn exited(&self) -> io::Result<Exit> {
        // Listening before looking: a death in between is not missed.
        let mut deaths = signal(SignalKind::child())?;
        loop {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            if let Some(status) = waitid(WaitId::PidFd(self.tree.pidfd.as_fd()), options)? {
                return Ok(Exit {
                    code: status.exit_status(),
                    signal: status.terminating_signal(),
                });
            }
            deaths.recv().await;
        }
    }

    /// Kills the tree at once, with SIGKILL and without asking, and counts what is left.
    pub async fn end(mut self) -> Ended {
        self.ended = true;
        let tree = Arc::clone(&self.tree);
        let nothing_known = Ended {
            exit: None,
            killed: 0,
            processes_left: usize::MAX,
            took: std::time::Duration::ZERO,
        };
        tokio::task::spawn_blocking(move || tree.kill())
            .await
            .unwrap_or(nothing_known)
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        if !self.ended {
            self.tree.kill();
        }
    }
}
