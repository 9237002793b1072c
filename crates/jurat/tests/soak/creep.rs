//! Many runs in one process: nothing that a run takes stays taken.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use jurat_core::outcome::Answer;

use crate::kit::{contract, deaf, run, serve, settings};
use crate::{PAGE, REST, times};

/// What could creep.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Taken {
    /// What each open descriptor but sockets is, without its number: a pipe, a path.
    descriptors: Vec<String>,
    sockets: usize,
    threads: usize,
    children: usize,
    scratch: usize,
    /// Mounts, and with them namespaces that somebody keeps by name.
    mounts: usize,
    cgroups: usize,
}

fn entries(of: impl AsRef<Path>) -> usize {
    fs::read_dir(of).map_or(0, Iterator::count)
}

fn descriptors() -> Vec<String> {
    let links = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let mut all: Vec<String> = links
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .map(|to| to.to_string_lossy().split(":[").next().unwrap_or_default().to_owned())
        .collect();
    all.sort();
    all
}

/// Names below a directory that this process made: they hold its number.
fn ours(of: &Path) -> usize {
    let number = format!("-{}-", std::process::id());
    let named = |entry: &fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("jurat") && name.contains(&number)
    };
    fs::read_dir(of).map_or(0, |all| all.flatten().filter(named).count())
}

impl Taken {
    fn now(temp: &Path) -> Self {
        let children = fs::read_dir("/proc/self/task")
            .unwrap()
            .flatten()
            .map(|task| {
                let list = fs::read_to_string(task.path().join("children")).unwrap_or_default();
                list.split_whitespace().count()
            })
            .sum();
        let all = descriptors();
        let groups = [
            "/sys/fs/cgroup",
            "/sys/fs/cgroup/memory",
            "/sys/fs/cgroup/pids",
            "/sys/fs/cgroup/unified",
        ];
        Self {
            descriptors: all.iter().filter(|one| *one != "socket").cloned().collect(),
            sockets: all.iter().filter(|one| *one == "socket").count(),
            threads: entries("/proc/self/task"),
            children,
            scratch: ours(temp),
            mounts: fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count(),
            cgroups: groups.iter().map(|group| ours(Path::new(group))).sum(),
        }
    }
}

/// `JURAT_SOAK_RUNS`, 500 in the long form.
#[test]
fn nothing_creeps() {
    let desk = tempfile::tempdir().unwrap();
    let site = serve(&[("/", PAGE)]);
    let text = contract("again", &site.origin(), REST);
    let settings = settings(desk.path());
    let temp = std::env::temp_dir();
    let runs = times("JURAT_SOAK_RUNS", 10);
    // The first runs fill caches and pools: threads of the runtime, connections of the site.
    let warm = 4;
    let mut before = None;
    for n in 0..runs + warm {
        if n == warm {
            before = Some(Taken::now(&temp));
        }
        let report = run(&text, &settings, deaf());
        assert_eq!(report.verdict.verdict, Answer::Pass, "run {n}: {:#?}", report.verdict);
    }
    let before = before.unwrap();
    // Idle threads of a pool come and go, and the site's ends of connections close a moment later than ours. What leaks never comes back.
    let deadline = Instant::now() + Duration::from_secs(5);
    let after = loop {
        let now = Taken::now(&temp);
        let same = Taken {
            threads: before.threads,
            sockets: before.sockets,
            ..now.clone()
        } == before;
        let few = now.sockets <= before.sockets + 4 && now.threads <= before.threads + 4;
        if same && few || Instant::now() > deadline {
            assert!(same && few, "{runs} runs: {before:?}, then {now:?}");
            break now;
        }
        std::thread::yield_now();
    };
    println!("{runs} runs: {before:?}, then {after:?}");
}
