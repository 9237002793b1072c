//! Level `lane`: bubblewrap.
//!
//! Order: bwrap builds the lane and waits; a child enters its namespaces and hands the guard's listeners and the tripwire's
//! socket back; only then is bwrap told to run the program. Invariant: nothing runs in the lane before all of that is there.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jurat_core::confinement::Level;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, geteuid, pidfd_open};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::timeout;

use super::bwrap::{self, Argv};
use super::enter::{Namespaces, Place, enter};
use super::running::{Network, Parts};
use super::{GUARD_PORT, Ground, Lane, Order, Settings, Way, asks, no_directory, refusal, sandbox_inside};
use crate::scratch::Scratch;
use crate::supervise::{Init, Spawn, Supervised, Supervisor, User, parent_of};

/// How long bwrap may take; it needs some ten milliseconds.
const BUILD: Duration = Duration::from_secs(10);
/// How long its last words may take when it has failed.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Where the files to upload are, inside.
const FILES: &str = "/files";

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// The lane is built and nothing runs in it.
    Built,
    /// The program runs.
    Running,
}

pub(super) fn prepare(order: Order, settings: &Settings) -> Result<Ground, String> {
    if settings.withheld.user_namespaces {
        return Err("user namespaces are withheld".to_owned());
    }
    let bwrap = bwrap::find(settings.bwrap.as_deref())?;
    // As root inside a user namespace one would still own root's files: the lane is another user's where it can be.
    let user = (geteuid().is_root() && open_to_all(&order.program)).then_some(User::NOBODY);
    let scratch = Scratch::create(&order.temporary, user).map_err(|e| no_directory(&order, &e))?;
    scratch.dir("files").map_err(|e| no_directory(&order, &e))?;
    Ok(Ground {
        level: Level::Lane,
        settings: settings.clone(),
        scratch,
        sandbox: sandbox_inside(user),
        home: bwrap::HOME.into(),
        files: FILES.into(),
        guard_port: GUARD_PORT,
        shm: Some(bwrap::SHM_BYTES),
        way: Way::Sealed { bwrap },
        order,
    })
}

/// Whether any user can run a program: its folders can be passed and it can be read.
fn open_to_all(program: &Path) -> bool {
    let mode = |path: &Path| fs::metadata(path).map_or(0, |found| found.permissions().mode());
    program.is_absolute()
        && mode(program) & 0o005 == 0o005
        && program.ancestors().skip(1).all(|folder| mode(folder) & 0o001 == 0o001)
}

pub(super) async fn start(
    ground: Ground,
    supervisor: &Supervisor,
    args: Vec<OsString>,
    until: Until,
) -> Result<Lane, String> {
    let Way::Sealed { bwrap } = &ground.way else {
        return Err("not made ready for bubblewrap".to_owned());
    };
    let mut argv = Argv::new("jurat");
    argv.system()
        .program(&ground.order.program)
        .ro_bind(&ground.scratch.path().join("files"), Path::new(FILES));
    let argv = argv.finish(&ground.order.program, &args);
    let system = |e: std::io::Error| format!("no pipe can be made: {e}");
    let (info, told) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| system(e.into()))?;
    let (wait, go) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| system(e.into()))?;
    let spawn = Spawn {
        program: bwrap.clone(),
        args: argv.clone(),
        env: Vec::new(),
        cwd: PathBuf::from("/"),
        user: ground.sandbox.user,
        pipes: true,
        fds: vec![(told, bwrap::INFO_FD), (wait, bwrap::BLOCK_FD)],
        no_new_privs: true,
    };
    let supervised = supervisor
        .spawn_kept(spawn)
        .await
        .map_err(|e| format!("{e}: {}", e.io()))?;
    let network = match build(&ground, &supervised, info).await {
        Ok(network) => network,
        Err(why) => {
            let last = last_words(&supervised).await;
            supervised.end().await;
            return Err(last.unwrap_or(why));
        }
    };
    if until == Until::Running {
        std::fs::File::from(go)
            .write_all(b"1")
            .map_err(|e| format!("bubblewrap is gone: {e}"))?;
    }
    let lane_argv = std::iter::once(bwrap.as_os_str())
        .chain(argv.iter().map(OsString::as_os_str))
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    Parts {
        ground,
        supervised,
        network,
        lane_argv,
    }
    .assemble()
}

/// Waits for the lane and makes its sockets.
async fn build(ground: &Ground, supervised: &Supervised, info: OwnedFd) -> Result<Network, String> {
    let init = match timeout(BUILD, child_pid(info)).await {
        Ok(Some(pid)) => pid,
        Ok(None) => return Err("bubblewrap told no pid".to_owned()),
        Err(_) => return Err("bubblewrap did not answer in time".to_owned()),
    };
    let gone = |e: std::io::Error| format!("the lane is gone: {e}");
    let pid = Pid::from_raw(init).ok_or("bubblewrap told no pid")?;
    let pidfd = Arc::new(pidfd_open(pid, PidfdFlags::empty()).map_err(|e| gone(e.into()))?);
    // Only now is the descriptor known to be of bwrap's own child.
    if parent_of(init).and_then(parent_of) != Some(supervised.pid()) {
        return Err("the lane is gone".to_owned());
    }
    let namespaces = Namespaces::of(init).map_err(|e| refusal::namespaces("look into the lane", &e))?;
    let inode = fs::metadata(format!("/proc/{init}/ns/pid")).map_err(gone)?.ino();
    supervised.set_init(Init {
        pidfd: Arc::clone(&pidfd),
        namespace: inode,
    });
    let ids = super::record::namespace_ids(init);
    let place = Place::Existing {
        namespaces: Arc::new(namespaces),
        builder: Some(pidfd),
    };
    let withheld = ground.settings.withheld;
    let entered = enter(place, !withheld.routes, asks(&ground.order, &ground.settings))
        .await
        .map_err(|e| refusal::namespaces(e.stage, &e.source))?;
    Network::of(entered, &ground.order, Some(init), ids)
}

/// The pid of the lane's init, seen from here (`child-pid` of bwrap's JSON).
pub(crate) async fn child_pid(info: OwnedFd) -> Option<i32> {
    let mut pipe = Receiver::from_owned_fd(info).ok()?;
    let mut text = Vec::new();
    let mut chunk = [0; 512];
    while !text.contains(&b'}') && text.len() < 4096 {
        match pipe.read(&mut chunk).await {
            Ok(read @ 1..) => text.extend_from_slice(chunk.get(..read)?),
            _ => return None,
        }
    }
    let text = String::from_utf8(text).ok()?;
    let (_, rest) = text.split_once("\"child-pid\"")?;
    let digits = rest.trim_start_matches([':', ' ']);
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    digits.get(..end)?.parse().ok()
}

/// What bwrap said, if it has ended or does so soon.
async fn last_words(supervised: &Supervised) -> Option<String> {
    timeout(LAST_WORDS, supervised.exited()).await.ok()?.ok()?;
    let deadline = tokio::time::Instant::now() + LAST_WORDS;
    // Its pipe is read by another task, which has not had its turn when the process ended just now.
    while supervised.stderr().0.is_empty() && tokio::time::Instant::now() < deadline {
        tokio::task::yield_now().await;
    }
    Some(bwrap::explain(&supervised.stderr().0))
}

/// A socket's descriptor as a listener.
pub(super) fn listener(socket: OwnedFd) -> std::net::TcpListener {
    debug_assert!(rustix::io::fcntl_getfd(socket.as_fd()).is_ok());
    std::net::TcpListener::from(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_in_a_private_folder_are_not_for_all() {
        assert!(open_to_all(Path::new("/bin/sh")));
        assert!(!open_to_all(Path::new("/nonexistent/sh")));
        assert!(!open_to_all(Path::new("sh")));
        assert!(!open_to_all(Path::new("/proc/1/environ")));
    }

    #[tokio::test]
    async fn the_pid_in_bwraps_words() {
        for (text, pid) in [
            ("{\n    \"child-pid\": 123,\n    \"ipc-namespace\": 4\n}\n", Some(123)),
            ("{\"child-pid\":7}", Some(7)),
            ("{\"other\":7}", None),
            ("{\"child-pid\": 1", None),
            ("", None),
        ] {
            let made = pipe_with(PipeFlags::CLOEXEC);
            let Ok((read, write)) = made else { continue };
            let mut write = std::fs::File::from(write);
            assert!(write.write_all(text.as_bytes()).is_ok());
            drop(write);
            assert_eq!(child_pid(read).await, pid, "{text}");
        }
    }
}
