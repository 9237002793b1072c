//! Ending a tree of processes, at once and completely.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, pidfd_open, pidfd_send_signal, waitid};

use super::spawn::{Exit, MARK, Ownership, Registry};
use super::tree::{self, Process, View};

/// How long killing may take. The kernel needs tens of milliseconds.
const LIMIT: Duration = Duration::from_secs(5);
/// How long the maker of a lane may take to end after its lane.
const OWN_END: Duration = Duration::from_secs(1);
/// How often the tree is walked in a round to find what was forked meanwhile.
const WALKS: usize = 8;
/// Rounds of killing before what is left is stopped first.
const KILL_ROUNDS: usize = 4;

/// How a tree ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// How the first process ended, if it was seen.
    pub exit: Option<Exit>,
    /// Processes that were killed, the first one included.
    pub killed: usize,
    /// Processes of the tree that are still alive: measured after the last kill, 0 unless the kernel refuses.
    pub processes_left: usize,
    /// How long it took.
    pub took: Duration,
}

/// The tree that grew from one process that we started.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) root: Process,
    pub(super) pidfd: OwnedFd,
    pub(super) mark: String,
    pub(super) ownership: Ownership,
    pub(super) registry: Registry,
    /// The init of its pid namespace, where it has one.
    pub(super) init: OnceLock<Init>,
}

/// The first process of a pid namespace.
#[derive(Debug)]
pub(crate) struct Init {
    /// Its pidfd.
    pub(crate) pidfd: Arc<OwnedFd>,
    /// The inode number of its pid namespace.
    pub(crate) namespace: u64,
}

impl Tree {
    /// Members that are alive. The registry is locked so that no child of ours is between fork and registration.
    pub(super) fn alive(&self, view: impl FnOnce() -> View) -> Vec<Process> {
        let registry = self.registry.lock();
        let view = view();
        let mut roots: Vec<Process> = self.root.again().into_iter().collect();
        for orphan in view.children(getpid().as_raw_pid()) {
            if !orphan.zombie && !registry.contains(&orphan.pid) && self.owns(orphan, registry.len()) {
                roots.push(orphan);
            }
        }
        if let (Some(init), View::Whole(table)) = (self.init.get(), &view) {
            // Whoever their parent is.
            roots.extend(
                table
                    .iter()
                    .filter(|p| tree::pid_namespace(p.pid) == Some(init.namespace)),
            );
        }
        let mut members = view.descendants(&roots);
        members.retain(|member| !member.zombie);
        members
    }

    /// Members that left the first process's tree and came to us: what it started and let go of.
    pub(super) fn strays(&self, view: impl FnOnce() -> View) -> Vec<Process> {
        let registry = self.registry.lock();
        let view = view();
        let mut orphans = view.children(getpid().as_raw_pid());
        orphans.retain(|o| !o.zombie && !registry.contains(&o.pid) && self.owns(*o, registry.len()));
        let mut members = view.descendants(&orphans);
        members.retain(|member| !member.zombie);
        members
    }

    /// Whether a child of ours that we did not start is an orphan of this tree.
    fn owns(&self, orphan: Process, running: usize) -> bool {
        match tree::marked(orphan.pid, &self.mark) {
            Some(true) => true,
            // Without a mark it may be anybody's child, unless this process has no other.
            Some(false) | None => {
                self.ownership == Ownership::Process && running <= 1 && !tree::marked_at_all(orphan.pid, MARK)
            }
        }
    }

    /// Kills every member and reaps what is ours to reap. Blocks, at most a few seconds.
    pub(super) fn kill(&self) -> Ended {
        let begun = Instant::now();
        let mut known: BTreeMap<(i32, u64), OwnedFd> = BTreeMap::new();
        let mut left;
        let mut round = 0;
        if let Some(init) = self.init.get() {
            // The kernel kills all others in the namespace before this one is gone, and none of them can fork out of it.
            let _ = pidfd_send_signal(&*init.pidfd, Signal::KILL);
            wait(&[&*init.pidfd], begun + LIMIT);
            // Then the one who made the lane ends by itself and has reaped what there was.
            wait(&[&self.pidfd], begun + OWN_END);
        }
        loop {
            // Killed as they are found, and what was forked meanwhile by the next walk. Only a tree that forks faster than that is stopped
            // first: were we killed in between, what is stopped would stay for ever.
            let signal = if round < KILL_ROUNDS {
                Signal::KILL
            } else {
                Signal::STOP
            };
            for _ in 0..WALKS {
                let before = known.len();
                for member in self.alive(View::quick) {
                    Self::signal(member, signal, &mut known);
                }
                if known.len() == before {
                    break;
                }
            }
            for pidfd in known.values() {
                // Gone already is as good.
                let _ = pidfd_send_signal(pidfd, Signal::KILL);
            }
            let fds: Vec<&OwnedFd> = known.values().collect();
            let gone = wait(&fds, begun + LIMIT);
            self.reap(&known);
            left = self.alive(View::whole).len();
            round += 1;
            if left == 0 || !gone || begun.elapsed() > LIMIT {
                break;
            }
        }
        let exit = self.exit();
        self.registry.lock().remove(&self.root.pid);
        Ended {
            exit,
            killed: known.len(),
            processes_left: left,
            took: begun.elapsed(),
        }
    }

    /// Opens a member that is not known yet and sends it a signal.
    fn signal(member: Process, signal: Signal, known: &mut BTreeMap<(i32, u64), OwnedFd>) {
        if known.contains_key(&(member.pid, member.start)) {
            return;
        }
        let Some(pid) = member.id() else { return };
        let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else {
            return;
        };
        // Only now is the descriptor known to be of the process that was in the table.
        if member.again().is_some() {
            let _ = pidfd_send_signal(&pidfd, signal);
            known.insert((member.pid, member.start), pidfd);
        }
    }

    /// Takes the exit status of members that are our children, so that no zombie stays.
    fn reap(&self, known: &BTreeMap<(i32, u64), OwnedFd>) {
        let registry = self.registry.lock();
        for ((pid, _), pidfd) in known {
            if *pid != self.root.pid && !registry.contains(pid) {
                // Not a child of ours: somebody else's to reap.
                let _ = waitid(
                    WaitId::PidFd(std::os::fd::AsFd::as_fd(pidfd)),
                    WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
                );
            }
        }
        if self.ownership == Ownership::Process {
            let orphans = View::quick().children(getpid().as_raw_pid());
            for zombie in orphans.into_iter().filter(|p| p.zombie && !registry.contains(&p.pid)) {
                if let Some(pid) = zombie.id() {
                    let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
                }
            }
        }
    }

    /// Reaps the first process if it has ended.
    fn exit(&self) -> Option<Exit> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let status = waitid(WaitId::PidFd(std::os::fd::AsFd::as_fd(&self.pidfd)), options)
            .ok()
            .flatten()?;
        Some(Exit {
            code: status.exit_status(),
            signal: status.terminating_signal(),
        })
    }
}

/// Waits until each process is gone; false if the deadline came first.
fn wait(pidfds: &[&OwnedFd], deadline: Instant) -> bool {
    for pidfd in pidfds {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&timeout)) {
                Ok(0) => return false,
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
    true
}
