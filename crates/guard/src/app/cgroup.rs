//! A control group for the app: its memory and its processes bounded and counted, in version 1 or 2, where we may make one.
//!
//! A group's own name says whose it is (pid and birth), like a scratch directory's, so that the groups of a killed run are
//! swept by the next one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use jurat_core::observation::AppUse;

use crate::supervise::birth;

const ROOT: &str = "/sys/fs/cgroup";
const PREFIX: &str = "jurat-app";

/// Bounds of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppLimits {
    /// Memory of all its processes, in bytes; its /tmp counts.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u64,
    /// Bytes that it may write to its private copy.
    pub disk: u64,
}

impl Default for AppLimits {
    fn default() -> Self {
        Self {
            memory: 2 << 30,
            processes: 1024,
            disk: 2 << 30,
        }
    }
}

/// The folders of one group, a controller each in version 1, one for both in version 2. Removed when dropped.
#[derive(Debug)]
pub(super) struct Group {
    memory: PathBuf,
    pids: PathBuf,
    v2: bool,
}

impl Group {
    /// Makes a group with these bounds.
    ///
    /// # Errors
    /// Why there is none here.
    pub(super) fn make(limits: AppLimits) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let pid = std::process::id();
        let begun = i32::try_from(pid).ok().and_then(birth).unwrap_or(0);
        let name = format!("{PREFIX}-{pid}-{begun}-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let of = |controller: &str| {
            own.lines()
                .find_map(|line| {
                    line.split_once(':')?
                        .1
                        .split_once(':')
                        .filter(|(names, _)| names.split(',').any(|name| name == controller))
                })
                .map(|(names, path)| (names.to_owned(), path.to_owned()))
        };
        let group = if let (Some((memory, at)), Some((pids, pids_at))) = (of("memory"), of("pids")) {
            Self {
                memory: make_in(&PathBuf::from(ROOT).join(memory), &at, &name)?,
                pids: make_in(&PathBuf::from(ROOT).join(pids), &pids_at, &name)?,
                v2: false,
            }
        } else {
            let (_, at) = of("").ok_or(io::ErrorKind::NotFound)?;
            let folder = make_in(Path::new(ROOT), &at, &name)?;
            Self {
                memory: folder.clone(),
                pids: folder,
                v2: true,
            }
        };
        // From here on a failure removes what was made.
        group.bound(limits)?;
        Ok(group)
    }

    fn bound(&self, limits: AppLimits) -> io::Result<()> {
        let memory = limits.memory.to_string();
        if self.v2 {
            fs::write(self.memory.join("memory.max"), &memory)?;
            // Without swap accounting there is nothing to bound.
            let _ = fs::write(self.memory.join("memory.swap.max"), "0");
        } else {
            fs::write(self.memory.join("memory.limit_in_bytes"), &memory)?;
            let _ = fs::write(self.memory.join("memory.memsw.limit_in_bytes"), &memory);
        }
        fs::write(self.pids.join("pids.max"), limits.processes.to_string())
    }

    /// Moves a process in; what it forks from then on is in too.
    pub(super) fn take(&self, pid: i32) -> io::Result<()> {
        fs::write(self.memory.join("cgroup.procs"), pid.to_string())?;
        fs::write(self.pids.join("cgroup.procs"), pid.to_string())
    }

    /// What was used so far.
    pub(super) fn used(&self) -> AppUse {
        let number = |folder: &Path, name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
        let event = |folder: &Path, file: &str, key: &str| {
            let text = fs::read_to_string(folder.join(file)).ok()?;
            text.lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse::<u64>().ok())
        };
        let (peak, kills) = if self.v2 {
            ("memory.peak", "memory.events")
        } else {
            ("memory.max_usage_in_bytes", "memory.oom_control")
        };
        AppUse {
            memory_peak: number(&self.memory, peak),
            processes_peak: number(&self.pids, "pids.peak"),
            oom_kills: event(&self.memory, kills, "oom_kill"),
            forks_refused: event(&self.pids, "pids.events", "max"),
        }
    }

    /// What it is, for evidence.
    pub(super) fn version(&self) -> &'static str {
        if self.v2 { "version 2" } else { "version 1" }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // One that is not empty yet is swept by the next run.
        for folder in [&self.memory, &self.pids] {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Makes a group below our own, or beside it where our own may have none (version 2: a group with processes has no children
/// with controllers).
fn make_in(root: &Path, own: &str, name: &str) -> io::Result<PathBuf> {
    let own = root.join(own.trim_start_matches('/'));
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for base in [
        Some(own.as_path()),
        own.parent().filter(|parent| parent.starts_with(root)),
    ] {
        let Some(base) = base else { continue };
        sweep(base);
        let folder = base.join(name);
        match fs::create_dir(&folder) {
            Ok(()) if folder.join("memory.max").exists() || folder.join("pids.max").exists() => return Ok(folder),
            Ok(()) if folder.join("memory.limit_in_bytes").exists() => return Ok(folder),
            Ok(()) => {
                let _ = fs::remove_dir(&folder);
                last = io::Error::new(io::ErrorKind::Unsupported, "its controllers are not delegated to us");
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Removes the empty groups of runs that are gone.
fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| {
            let mut parts = name.strip_prefix(PREFIX)?.strip_prefix('-')?.split('-');
            Some((parts.next()?.parse::<i32>().ok()?, parts.next()?.parse::<u64>().ok()?))
        });
        if owner.is_some_and(|(pid, begun)| birth(pid) != Some(begun)) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}
