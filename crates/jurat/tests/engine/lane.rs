//! Levels of confinement in whole runs: what holds, what is said when something is missing, and what an attempt to leave costs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use jurat::engine::{Progress, RunReport};
use jurat_core::confinement::Level;
use jurat_core::outcome::Answer;
use jurat_core::result::ViolationEntry;
use jurat_guard::lane::Withheld;
use serde_json::{Value, json};

use super::kit::{alone, contract, deaf, lines, run, serve, settings};

const PAGE: &str = "<!doctype html><title>Notes</title><link rel=icon href=data:,><h1>Notes</h1><p>here</p>";
const REST: &str = "steps:\n  - navigate: /\n  - expect: { visible: { text: here } }";

/// Both browsers, where they are: a window of the full one brings more traffic of its own.
fn browsers() -> Vec<Option<PathBuf>> {
    let full = Path::new("/usr/lib/chromium/chromium");
    let mut all = vec![None];
    all.extend(full.is_file().then(|| Some(full.to_owned())));
    all
}

/// The events of one kind.
fn events(report: &RunReport, kind: &str) -> Vec<Value> {
    lines(&report.bundle.join("events.jsonl"))
        .into_iter()
        .map(|line| line["what"].clone())
        .filter(|what| what["event"] == kind)
        .collect()
}

fn layer(report: &RunReport, name: &str) -> Value {
    let record = events(report, "confinement").remove(0);
    let layers = record["layers"].as_array().unwrap();
    layers
        .iter()
        .find(|l| l["name"] == name)
        .cloned()
        .unwrap_or(json!(null))
}

/// What the kernel says of a browser's processes: `--type=` (empty for the first), seccomp mode, effective capabilities.
fn looked_at(profile: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let field = |name: &str| {
            let row = status.lines().find_map(|row| row.strip_prefix(name));
            row.unwrap_or_default().trim().to_owned()
        };
        let program = line.split(' ').next().unwrap_or_default();
        if program.contains("chrom") && !program.contains("crashpad") && line.contains(profile) {
            let kind = line.split("--type=").nth(1).and_then(|rest| rest.split(' ').next());
            found.push((kind.unwrap_or_default().to_owned(), field("Seccomp:"), field("CapEff:")));
        }
    }
    found
}

#[test]
fn a_plain_page_passes_in_a_lane_and_tries_nothing() {
    let _alone = alone();
    let desk = tempfile::tempdir().unwrap();
    let site = serve(&[("/", PAGE)]);
    for browser in browsers() {
        for level in [Level::Lane, Level::Netns] {
            let mut settings = settings(&desk.path().join("evidence"));
            settings.level = Some(level);
            settings.browser = browser.clone().or(settings.browser);
            let report = run(&contract("plain", &site.origin(), REST), &settings, deaf());
            let told = format!("{level} {browser:?} {:?}", report.verdict.violations);
            assert_eq!(report.verdict.verdict, Answer::Pass, "{told}");
            assert_eq!(report.verdict.confinement.level, Some(level));
            assert_eq!(report.verdict.processes_left, 0);
            for kind in ["escape_attempt", "gap"] {
                assert_eq!(events(&report, kind), Vec::<Value>::new(), "{told}");
            }
            assert_eq!(layer(&report, "tripwire")["state"], "enforced");
            assert_eq!(layer(&report, "any_address_local")["state"], "enforced");
            let record = &events(&report, "confinement")[0];
            assert_eq!(record["lane_argv"].is_array(), level == Level::Lane);
            assert!(record["namespaces"]["net"].is_u64(), "{record}");
        }
    }
}

#[test]
fn renderers_are_sandboxed_and_the_browser_has_no_capability() {
    let _alone = alone();
    let desk = tempfile::tempdir().unwrap();
    let site = serve(&[("/", PAGE)]);
    for browser in browsers() {
        let mut settings = settings(&desk.path().join("evidence"));
        settings.level = Some(Level::Lane);
        settings.browser = browser.or(settings.browser);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let book = Arc::clone(&seen);
        let listener = Arc::new(move |progress: Progress| {
            if matches!(progress, Progress::CriterionEnded { .. }) {
                book.lock().unwrap().extend(looked_at("/home/jurat/profile"));
            }
        });
        run(&contract("plain", &site.origin(), REST), &settings, listener);
        let mut seen = seen.lock().unwrap().clone();
        seen.sort();
        seen.dedup();
        let of = |kind: &str| seen.iter().filter(|(k, ..)| k == kind).collect::<Vec<_>>();
        assert!(
            !of("").is_empty() && of("").iter().all(|(_, _, caps)| caps == "0000000000000000"),
            "{seen:?}"
        );
        let renderers = seen.iter().filter(|(k, ..)| k == "renderer").collect::<Vec<_>>();
        assert!(renderers.iter().all(|(_, seccomp, _)| seccomp == "2"), "{seen:?}");
    }
}

#[test]
fn each_missing_piece_gives_the_next_level_and_says_why() {
    let _alone = alone();
    let desk = tempfile::tempdir().unwrap();
    let site = serve(&[("/", PAGE)]);
    let with = |bwrap: Option<&str>, withheld: Withheld| {
        let mut settings = settings(&desk.path().join("evidence"));
        settings.lane.bwrap = bwrap.map(PathBuf::from);
        settings.lane.withheld = withheld;
        run(&contract("plain", &site.origin(), REST), &settings, deaf())
    };
    let report = with(Some("/nonexistent/bwrap"), Withheld::default());
    assert_eq!(report.verdict.verdict, Answer::Pass);
    assert_eq!(report.verdict.confinement.level, Some(Level::Netns));
    let why = layer(&report, "lane");
    assert_eq!(why["state"], "absent");
    assert!(
        why["detail"].as_str().unwrap().contains("apt-get install bubblewrap"),
        "{why}"
    );

    let packets = Withheld {
        packets: true,
        ..Withheld::default()
    };
    let report = with(None, packets);
    assert_eq!(report.verdict.confinement.level, Some(Level::Netns));
    assert_eq!(report.verdict.verdict, Answer::Pass);
    assert_eq!(layer(&report, "tripwire")["state"], "failed");

    let none = Withheld {
        user_namespaces: true,
        ..Withheld::default()
    };
    let report = with(None, none);
    assert_eq!(report.verdict.confinement.level, Some(Level::GuardOnly));
    assert_eq!(report.verdict.verdict, Answer::Inconclusive);
    assert_eq!(report.verdict.reasons, ["confinement_insufficient"]);
    for name in ["lane", "netns"] {
        assert!(
            layer(&report, name)["detail"].as_str().unwrap().contains("withheld"),
            "{name}"
        );
    }
}

/// A browser that is started by a script beside which something runs. Only at netns: a lane has no shell.
fn browser_beside(folder: &Path, other: &str) -> Option<PathBuf> {
    let real = Path::new("/usr/lib/chromium/chromium-headless-shell");
    // Not a name that is known to be a script around the real one: that would be taken instead.
    let script = folder.join("headless-shell-beside");
    let text = format!("#!/bin/bash\n{other}\nexec {} \"$@\"\n", real.display());
    fs::write(&script, text).unwrap();
    for path in [folder, &script] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    real.is_file().then_some(script)
}

#[test]
fn an_attempt_to_leave_bars_the_pass_and_is_named() {
    let _alone = alone();
    let desk = tempfile::tempdir().unwrap();
    let site = serve(&[("/", PAGE)]);
    let dials = "/usr/bin/python3 -c '
import os, socket, time
os.closerange(3, 9)
while True:
    for to in ((\"8.8.8.8\", 443), (\"127.0.0.1\", 9)):
        socket.socket().connect_ex(to)
    time.sleep(0.02)' 2>/dev/null &";
    for (other, verdict) in [(":", Answer::Pass), (dials, Answer::Inconclusive)] {
        let folder = tempfile::tempdir().unwrap();
        let Some(browser) = browser_beside(folder.path(), other) else {
            return;
        };
        let mut settings = settings(&desk.path().join("evidence"));
        settings.level = Some(Level::Netns);
        settings.browser = Some(browser);
        let report = run(&contract("plain", &site.origin(), REST), &settings, deaf());
        let told = format!("{other}: {:?} {:?}", events(&report, "gap"), report.verdict.criteria);
        assert_eq!(report.verdict.verdict, verdict, "{told}");
        let mut shown: Vec<_> = report.verdict.violations.iter().map(ViolationEntry::from).collect();
        shown.sort_by(|a, b| b.url.cmp(&a.url));
        let told: Vec<_> = shown
            .iter()
            .map(|v| (v.kind.as_str(), v.url.as_str(), v.owner.as_str()))
            .collect();
        if verdict == Answer::Pass {
            assert_eq!(told, []);
        } else {
            let kind = "escape_attempt";
            assert_eq!(
                told,
                [
                    (kind, "tcp://8.8.8.8:443", "nobody"),
                    (kind, "tcp://127.0.0.1:9", "nobody")
                ]
            );
            assert_eq!(report.verdict.reasons, ["boundary_violation"]);
            assert!(
                report
                    .verdict
                    .criteria
                    .iter()
                    .all(|c| c.outcome == Answer::Inconclusive)
            );
        }
        assert_eq!(report.verdict.processes_left, 0);
    }
}
