//! Watches an app: its end, seen at once (SIGCHLD, then its pidfd), and the bounds that the kernel does not keep for us.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jurat_core::observation::EndedBy;
use rustix::process::{WaitId, WaitIdOptions, pidfd_send_signal, waitid};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::cgroup::{AppLimits, Group};
use super::tree::bytes_in;
use crate::supervise::Exit;

/// How often what has no event is looked at.
const EVERY: Duration = Duration::from_millis(250);

/// That an app is gone, unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gone {
    pub(super) by: EndedBy,
    pub(super) exit: Exit,
}

/// What is watched beside the process.
#[derive(Debug)]
pub(super) struct Bounds {
    pub(super) limits: AppLimits,
    pub(super) group: Option<Arc<Group>>,
    /// Inode of the lane's pid namespace, to count its members where no group does.
    pub(super) namespace: Option<u64>,
    /// The private copy, if there is one.
    pub(super) copy: Option<PathBuf>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Watch {
    told: watch::Receiver<Option<Gone>>,
    task: JoinHandle<()>,
}

impl Watch {
    /// Watches the first process of an app.
    pub(super) fn begin(pidfd: OwnedFd, bounds: Bounds) -> std::io::Result<Self> {
        // Listening before looking: a death in between is not missed.
        let deaths = signal(SignalKind::child())?;
        let (tell, told) = watch::channel(None);
        let task = tokio::spawn(async move {
            let (by, exit) = until(&pidfd, deaths, &bounds).await;
            tell.send_replace(Some(Gone { by, exit }));
        });
        Ok(Self { told, task })
    }

    pub(super) fn gone(&self) -> watch::Receiver<Option<Gone>> {
        self.told.clone()
    }

    /// Stops watching; what happens from here on was asked for. `pidfd` is looked at once more.
    pub(super) async fn stop(&mut self, pidfd: &OwnedFd, group: Option<&Group>) -> Option<Gone> {
        self.task.abort();
        let _ = (&mut self.task).await;
        let told = *self.told.borrow();
        told.or_else(|| {
            Some(Gone {
                exit: exit(pidfd)?,
                by: by_whom(group),
            })
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn until(pidfd: &OwnedFd, mut deaths: Signal, bounds: &Bounds) -> (EndedBy, Exit) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let free_at_first = free(bounds);
    let mut killed = None;
    loop {
        if let Some(exit) = exit(pidfd) {
            return (killed.unwrap_or_else(|| by_whom(bounds.group.as_deref())), exit);
        }
        tokio::select! {
            biased;
            _ = deaths.recv() => {}
            _ = ticks.tick() => {
                if killed.is_none() && let Some(by) = beyond(bounds, free_at_first).await {
                    // Its lane dies with it.
                    let _ = pidfd_send_signal(pidfd, rustix::process::Signal::KILL);
                    killed = Some(by);
                }
            }
        }
    }
}

/// Whose doing the end was: where the kernel had killed for want of memory or refused a process, it is not the app's alone.
fn by_whom(group: Option<&Group>) -> EndedBy {
    let used = group.map(Group::used).unwrap_or_default();
    if used.oom_kills.is_some_and(|kills| kills > 0) {
        EndedBy::Memory
    } else if used.forks_refused.is_some_and(|refused| refused > 0) {
        EndedBy::Processes
    } else {
        EndedBy::Itself
    }
}

async fn beyond(bounds: &Bounds, free_at_first: Option<u64>) -> Option<EndedBy> {
    if let Some(copy) = &bounds.copy
        // Counting is dear: only when the disk has lost about so much.
        && let (Some(first), Some(now)) = (free_at_first, free(bounds))
        && first.saturating_sub(now) > bounds.limits.disk / 2
    {
        let copy = copy.clone();
        let bytes = tokio::task::spawn_blocking(move || bytes_in(&copy)).await.unwrap_or(0);
        if bytes > bounds.limits.disk {
            return Some(EndedBy::Disk);
        }
    }
    let namespace = bounds.namespace.filter(|_| bounds.group.is_none())?;
    let members = tokio::task::spawn_blocking(move || members(namespace))
        .await
        .unwrap_or(0);
    (members > bounds.limits.processes).then_some(EndedBy::Processes)
}

/// Free bytes where the private copy lies.
fn free(bounds: &Bounds) -> Option<u64> {
    let found = rustix::fs::statvfs(bounds.copy.as_ref()?).ok()?;
    Some(found.f_bavail * found.f_frsize)
}

/// Processes in a pid namespace.
fn members(namespace: u64) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let inside = all.filter(|entry| {
        let found = std::fs::metadata(entry.path().join("ns/pid"));
        found.is_ok_and(|found| found.ino() == namespace)
    });
    inside.count() as u64
}

/// How it ended, if it has; it stays a zombie.
fn exit(pidfd: &OwnedFd) -> Option<Exit> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::PidFd(pidfd.as_fd()), options) {
        Ok(status) => status.map(|status| Exit {
            code: status.exit_status(),
            signal: status.terminating_signal(),
        }),
        // Reaped by somebody else.
        Err(rustix::io::Errno::CHILD) => Some(Exit {
            code: None,
            signal: None,
        }),
        Err(_) => None,
    }
}
