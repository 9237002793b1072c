//! The process table: who descends from whom.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::process::Pid;

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    /// Clock ticks after boot (proc_pid_stat(5), field 22): with the pid it names a process for good.
    pub(super) start: u64,
    pub(super) zombie: bool,
}

impl Process {
    pub(super) fn id(self) -> Option<Pid> {
        Pid::from_raw(self.pid)
    }

    /// This process as it is now; none if it is gone or the pid is another's.
    pub(super) fn again(self) -> Option<Self> {
        read(self.pid).filter(|now| now.start == self.start)
    }
}

/// One process, if it exists.
pub(super) fn read(pid: i32) -> Option<Process> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The parent of a process; none if there is no such process.
pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    read(pid).map(|process| process.parent)
}

/// When a process was started, in clock ticks after boot; none if there is no such process.
pub(crate) fn birth(pid: i32) -> Option<u64> {
    read(pid).map(|process| process.start)
}

/// All processes that can be seen.
pub(super) fn table() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(read)
        .collect()
}

/// A line of `/proc/<pid>/stat`. The name in parentheses is the process's own choice and may hold anything.
fn parse(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(" (")?;
    let (_, fields) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    Some(Process {
        pid: pid.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X" | "x"),
    })
}

/// The children of a process, zombies included; none where the kernel does not list them (`CONFIG_PROC_CHILDREN`).
fn children(pid: i32) -> Option<Vec<i32>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let mut found = Vec::new();
    for thread in threads.flatten() {
        // A thread that has just ended has given its children to another one.
        match fs::read_to_string(thread.path().join("children")) {
            Ok(list) => found.extend(list.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok())),
            Err(error) if error.kind() == io::ErrorKind::NotFound && thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(found)
}

/// A view of the processes that matter: this process's children, and everything below some of them.
#[derive(Debug)]
pub(super) enum View {
    /// Reads the kernel's lists of children: few files, but a list read while a process changes can miss one.
    Quick,
    /// Reads the whole table.
    Whole(Vec<Process>),
}

impl View {
    /// The quick view where the kernel offers it.
    pub(super) fn quick() -> Self {
        let own = rustix::process::getpid().as_raw_pid();
        if children(own).is_some() {
            Self::Quick
        } else {
            Self::whole()
        }
    }

    /// The view that misses nothing that was there all the time.
    pub(super) fn whole() -> Self {
        Self::Whole(table())
    }

    /// The children of `pid`.
    pub(super) fn children(&self, pid: i32) -> Vec<Process> {
        match self {
            Self::Quick => children(pid).unwrap_or_default().into_iter().filter_map(read).collect(),
            Self::Whole(table) => table.iter().filter(|process| process.parent == pid).copied().collect(),
        }
    }

    /// `roots` and everything that descends from them.
    pub(super) fn descendants(&self, roots: &[Process]) -> Vec<Process> {
        let mut seen: BTreeSet<i32> = BTreeSet::new();
        let mut members: Vec<Process> = roots.iter().filter(|root| seen.insert(root.pid)).copied().collect();
        let mut next = 0;
        while let Some(member) = members.get(next).copied() {
            members.extend(
                self.children(member.pid)
                    .into_iter()
                    .filter(|child| seen.insert(child.pid)),
            );
            next += 1;
        }
        members
    }
}

/// The pid namespace that a process is in, by its inode number; none if that cannot be seen.
pub(crate) fn pid_namespace(pid: i32) -> Option<u64> {
    fs::metadata(format!("/proc/{pid}/ns/pid"))
        .ok()
        .map(|found| found.ino())
}

/// Whether a process carries `mark` in its environment; none if that cannot be read.
pub(super) fn marked(pid: i32, mark: &str) -> Option<bool> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    Some(environment.split(|b| *b == 0).any(|entry| entry == mark.as_bytes()))
}

/// Whether a process carries any mark of ours.
pub(super) fn marked_at_all(pid: i32, prefix: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
        environment
            .split(|b| *b == 0)
            .any(|entry| entry.starts_with(prefix.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn stat_lines_with_hostile_names() {
        let line = |name: &str, state: &str| format!("7 ({name}) {state} 3 {} 99 0", ["0"; 17].join(" "));
        for name in ["sh", "a b", ") S 1 (", "x) Z 1 1"] {
            let process = parse(&line(name, "S")).unwrap();
            assert_eq!(
                process,
                Process {
                    pid: 7,
                    parent: 3,
                    start: 99,
                    zombie: false
                },
                "{name}"
            );
        }
        assert!(parse(&line("sh", "Z")).unwrap().zombie);
        assert_eq!(parse("7 (sh) S 3"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn descent() {
        let process = |pid, parent| Process {
            pid,
            parent,
            start: 0,
            zombie: false,
        };
        // Out of order on purpose: pids wrap around.
        let table = [
            process(9, 20),
            process(20, 5),
            process(5, 1),
            process(6, 1),
            process(1, 0),
        ];
        let find = |pid: i32| table.iter().copied().find(|p| p.pid == pid);
        let view = View::Whole(table.to_vec());
        let pids = |roots: &[i32]| {
            let roots: Vec<_> = roots.iter().filter_map(|pid| find(*pid)).collect();
            view.descendants(&roots).iter().map(|p| p.pid).collect::<Vec<_>>()
        };
        assert_eq!(pids(&[5]), [5, 20, 9]);
        assert_eq!(pids(&[5, 20]), [5, 20, 9], "nothing twice");
        assert_eq!(pids(&[6]), [6]);
        assert_eq!(pids(&[]), Vec::<i32>::new());
    }

    #[test]
    fn both_views_see_a_child() {
        let mut child = std::process::Command::new("/bin/sleep").arg("86391").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let own = read(rustix::process::getpid().as_raw_pid()).unwrap();
        for view in [View::quick(), View::whole()] {
            assert!(view.descendants(&[own]).iter().any(|p| p.pid == pid), "{view:?}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn this_process_is_in_the_table() {
        let own = rustix::process::getpid().as_raw_pid();
        let process = table().into_iter().find(|p| p.pid == own).unwrap();
        assert_eq!(process.again(), Some(process));
        assert_eq!(
            Process {
                start: process.start + 1,
                ..process
            }
            .again(),
            None
        );
    }
}
