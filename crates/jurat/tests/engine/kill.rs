//! The binary killed at many moments: what it leaves is whole or nobody's.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use jurat::engine;

use super::kit::{alone, contract, jurat, serve};
use super::processes::{Process, descendants, left};

/// How long the browser may outlive the command.
const LIMIT: Duration = Duration::from_secs(2);

const PAGE: &str = "<!doctype html><title>Notes</title><link rel=icon href=data:,><h1>Notes</h1>
<label>Name <input></label> <button onclick=\"document.querySelector('p').textContent = 'Saved'\">Save</button><p role=status></p>";

const REST: &str = "viewports: [{ name: wide, width: 900, height: 600 }, { name: small, width: 390, height: 600 }]
steps:
  - navigate: /
  - fill: { label: Name, value: Ada }
  - click: { role: button, name: Save }
  - expect: { visible: { text: Saved } }
expect:
  - { title_equals: Notes }
capture: { screenshot: always }";

/// Lines of a whole run on stderr: that the browser is ready, then five criteria in each of two viewports.
const LINES: usize = 11;

/// When the command is killed.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// As soon as it was started.
    Start,
    /// When it has a directory for the browser.
    Scratch,
    /// When it has written so many lines.
    Line(usize),
    /// When the bundle is being written.
    Partial,
    /// When the bundle has its name.
    Final,
}

const MOMENTS: &[Moment] = &[
    Moment::Start,
    Moment::Scratch,
    Moment::Line(1),
    Moment::Line(2),
    Moment::Line(3),
    Moment::Line(4),
    Moment::Line(5),
    Moment::Line(6),
    Moment::Line(7),
    Moment::Line(8),
    Moment::Line(10),
    Moment::Line(LINES),
    Moment::Partial,
    Moment::Final,
];

/// Where the killed runs happen.
struct Desk {
    contract: PathBuf,
    evidence: PathBuf,
    temp: PathBuf,
}

impl Desk {
    fn spawn(&self, more: &[&str]) -> Child {
        let (contract, evidence) = (self.contract.to_str().unwrap(), self.evidence.to_str().unwrap());
        let args = ["verify", contract, "--evidence-root", evidence];
        jurat(&[&args, more].concat())
            .env("TMPDIR", &self.temp)
            .spawn()
            .unwrap()
    }

    /// Names in `runs`, of bundles and of what is to become one.
    fn runs(&self) -> (Vec<String>, Vec<String>) {
        names(&self.evidence.join("runs"))
            .into_iter()
            .partition(|name| !name.ends_with(".partial"))
    }

    /// What a run made for its browser.
    fn scratch(&self) -> Vec<String> {
        names(&self.temp)
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn a_kill_leaves_whole_bundles_and_no_process() {
    let _alone = alone();
    let folder = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir()
        .unwrap();
    let site = serve(&[("/", PAGE)]);
    let desk = Desk {
        contract: folder.path().join("contract.yaml"),
        evidence: folder.path().join("evidence"),
        temp: folder.path().join("temp"),
    };
    fs::create_dir(&desk.temp).unwrap();
    fs::set_permissions(&desk.temp, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&desk.contract, contract("killed", &site.origin(), REST)).unwrap();

    for moment in MOMENTS {
        // Some moments are short; the command may be over before they are seen.
        let alive = (0..5).any(|_| killed(&desk, *moment));
        assert!(alive, "{moment:?} was never met");
        let (bundles, _) = desk.runs();
        for name in bundles {
            let rechecked = engine::recheck(&desk.evidence.join("runs").join(&name));
            assert!(rechecked.is_ok(), "{moment:?} left half of {name}: {rechecked:?}");
        }
    }

    // The next run takes away what is left, and is as good as any.
    let output = desk.spawn(&["--json"]).wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(desk.runs().1, [] as [&str; 0], "bundles that will never be one");
    assert_eq!(desk.scratch(), [] as [&str; 0], "directories of browsers that are gone");
}

/// Starts the command and kills it then; what it had started must be gone soon after. False if it was over by itself.
fn killed(desk: &Desk, moment: Moment) -> bool {
    let before = desk.runs();
    let mut child = desk.spawn(&[]);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut told = Vec::new();
    let started = match moment {
        Moment::Start => Vec::new(),
        Moment::Line(count) => {
            while told.len() < count {
                let mut line = String::new();
                assert_ne!(
                    stderr.read_line(&mut line).unwrap(),
                    0,
                    "{moment:?}: it ended after {told:#?}"
                );
                told.push(line);
            }
            if count < LINES {
                assert_eq!(
                    desk.runs().1,
                    [] as [&str; 0],
                    "{moment:?}: what a dead run left was not swept"
                );
                assert_eq!(
                    desk.scratch().len(),
                    1,
                    "{moment:?}: what a dead browser left was not swept"
                );
            }
            let started = descendants(child.id());
            assert!(
                !started.is_empty() || count == LINES,
                "{moment:?}: no browser, after {told:#?}"
            );
            started
        }
        Moment::Scratch => until(&mut child, || !desk.scratch().is_empty()),
        Moment::Partial => until(&mut child, || desk.runs().1.iter().any(|name| !before.1.contains(name))),
        Moment::Final => until(&mut child, || desk.runs().0.len() > before.0.len()),
    };
    let early = child.try_wait().unwrap();
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(early.is_some() || status.signal() == Some(9), "{moment:?}: {status}");
    let left = left(&started, &desk.temp, LIMIT);
    assert!(
        left.is_empty(),
        "{moment:?}: still there after {LIMIT:?}: {left:?}, after {told:#?}"
    );
    early.is_none()
}

/// Looks without pause until something is so, or the command has ended; gives what it had started by then.
fn until(child: &mut Child, is: impl Fn() -> bool) -> Vec<Process> {
    while !is() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    descendants(child.id())
}
