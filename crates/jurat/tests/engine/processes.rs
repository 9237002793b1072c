//! Processes as the kernel shows them: whose children they are, and whether they are gone.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// One process: its number is used again, number and birth are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pid: i32,
    born: u64,
}

/// All processes that live: each with its parent.
fn table() -> HashMap<i32, (Process, i32)> {
    let mut all = HashMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        all.extend(look(pid).map(|found| (pid, found)));
    }
    all
}

/// A process and its parent, if it lives: a zombie does not.
fn look(pid: i32) -> Option<(Process, i32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything, also spaces and brackets.
    let rest: Vec<&str> = text.get(text.rfind(')')? + 2..)?.split(' ').collect();
    let alive = !matches!(*rest.first()?, "Z" | "X");
    let found = (
        Process {
            pid,
            born: rest.get(19)?.parse().ok()?,
        },
        rest.get(1)?.parse().ok()?,
    );
    alive.then_some(found)
}

/// Everything below a process, without it.
pub(crate) fn descendants(of: u32) -> Vec<Process> {
    let table = table();
    let mut found = vec![i32::try_from(of).unwrap()];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(table.iter().filter(|(_, (_, p))| *p == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.iter().skip(1).map(|pid| table[pid].0).collect()
}

/// Everything whose environment names a directory that only one test knows.
fn marked(directory: &Path) -> Vec<Process> {
    let wanted = directory.to_str().unwrap().as_bytes();
    let named = |pid: i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(wanted.len()).any(|window| window == wanted)
    };
    table()
        .into_values()
        .map(|(process, _)| process)
        .filter(|process| named(process.pid))
        .collect()
}

/// Waits until these, and all that know this directory, are gone; gives those that are not.
pub(crate) fn left(of: &[Process], directory: &Path, within: Duration) -> Vec<Process> {
    let deadline = Instant::now() + within;
    let mut waiting = of.to_vec();
    loop {
        for process in &waiting {
            gone(*process, deadline);
        }
        let mut left: Vec<Process> = of
            .iter()
            .copied()
            .filter(|p| look(p.pid).is_some_and(|(found, _)| found == *p))
            .collect();
        left.extend(marked(directory));
        if left.is_empty() || Instant::now() >= deadline {
            return left;
        }
        waiting = left;
    }
}

/// Waits until a process is gone, or until the deadline.
fn gone(process: Process, deadline: Instant) {
    let Some(pidfd) = Pid::from_raw(process.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        return;
    };
    if look(process.pid).is_none_or(|(found, _)| found != process) {
        return;
    }
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap(),
        tv_nsec: i64::from(left.subsec_nanos()),
    };
    let _ = poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&timeout));
}
