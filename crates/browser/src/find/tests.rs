//! The search on machines that are made up.

#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use std::collections::BTreeMap;

#[derive(Default)]
struct Fake {
    env: BTreeMap<&'static str, &'static str>,
    files: BTreeMap<&'static str, Entry>,
}

impl View for Fake {
    fn env(&self, name: &str) -> Option<OsString> {
        self.env.get(name).map(OsString::from)
    }

    fn look(&self, path: &Path) -> Entry {
        self.files.get(path.to_str().unwrap()).copied().unwrap_or(Entry::Absent)
    }

    fn list(&self, folder: &Path) -> Vec<String> {
        let below = self
            .files
            .keys()
            .filter_map(|file| Path::new(file).strip_prefix(folder).ok());
        let mut names: Vec<_> = below
            .filter_map(|rest| Some(rest.iter().next()?.to_str()?.to_owned()))
            .collect();
        names.dedup();
        names
    }
}

fn machine(env: &[(&'static str, &'static str)], files: &[(&'static str, Entry)]) -> Fake {
    Fake {
        env: env.iter().copied().collect(),
        files: files.iter().copied().collect(),
    }
}

const SCRIPT: Entry = Entry::Script { snap: false };
const DEBIAN: [(&str, Entry); 4] = [
    ("/usr/bin/chromium", SCRIPT),
    ("/usr/bin/chromium-headless-shell", SCRIPT),
    ("/usr/lib/chromium/chromium", Entry::Program),
    ("/usr/lib/chromium/chromium-headless-shell", Entry::Program),
];

fn chosen(view: &Fake, named: Option<&str>) -> (String, Kind, Source) {
    let browser = search(view, named.map(Path::new)).chosen().unwrap();
    (browser.path.to_str().unwrap().to_owned(), browser.kind, browser.source)
}

#[test]
fn the_headless_shell_itself_comes_before_the_script_around_it() {
    let view = machine(&[("PATH", "/usr/bin")], &DEBIAN);
    let shell = "/usr/lib/chromium/chromium-headless-shell".to_owned();
    assert_eq!(
        chosen(&view, None),
        (shell.clone(), Kind::HeadlessShell, Source::Installed)
    );
    assert_eq!(
        chosen(&view, Some("chromium-headless-shell")),
        (shell, Kind::HeadlessShell, Source::Argument)
    );
    let full = "/usr/lib/chromium/chromium".to_owned();
    assert_eq!(
        chosen(&view, Some("/usr/bin/chromium")),
        (full, Kind::Full, Source::Argument)
    );
    assert_eq!(search(&view, None).candidates[1].found, Err(Refusal::Script));
}

#[test]
fn what_is_named_is_taken_or_refused_and_never_replaced() {
    let mut files = DEBIAN.to_vec();
    files.extend([
        ("/my/wrapper", SCRIPT),
        ("/my/notes", Entry::NotExecutable),
        ("/my/browser", Entry::Program),
    ]);
    let view = machine(&[("PATH", "/usr/bin"), ("JURAT_BROWSER", "/my/browser")], &files);
    assert_eq!(chosen(&view, None).2, Source::Environment);
    assert_eq!(chosen(&view, Some("/my/wrapper")).0, "/my/wrapper");
    for (named, refusal) in [("/my/notes", Refusal::NotExecutable), ("/my/nothing", Refusal::Absent)] {
        let missing = search(&view, Some(Path::new(named))).chosen().unwrap_err();
        assert_eq!(missing.first.unwrap().found, Err(refusal));
    }
}

#[test]
fn a_snap_is_named_and_passed_over() {
    let files = [
        ("/usr/bin/chromium-browser", Entry::Script { snap: true }),
        ("/snap/bin/chromium", Entry::Program),
        ("/opt/google/chrome/chrome", Entry::Program),
    ];
    let view = machine(&[("PATH", "/usr/bin:/snap/bin")], &files);
    assert_eq!(chosen(&view, None).0, "/opt/google/chrome/chrome");
    let refused: Vec<_> = search(&view, None)
        .candidates
        .into_iter()
        .filter_map(|c| c.found.err())
        .collect();
    assert_eq!(refused, [Refusal::Snap, Refusal::Snap]);
}

#[test]
fn caches_come_last_and_newest_first() {
    let files = [
        ("/h/.agent-browser/browsers/chrome-148.0.1/chrome", Entry::Program),
        (
            "/h/.cache/puppeteer/chrome/linux-131.0.1/chrome-linux64/chrome",
            Entry::Program,
        ),
        (
            "/h/.cache/ms-playwright/chromium-1000/chrome-linux/chrome",
            Entry::Program,
        ),
        (
            "/h/.cache/ms-playwright/chromium_headless_shell-999/chrome-linux/headless_shell",
            Entry::Program,
        ),
        (
            "/h/.cache/ms-playwright/chromium_headless_shell-1200/chrome-headless-shell-linux64/chrome-headless-shell",
            Entry::Program,
        ),
    ];
    let view = machine(&[("HOME", "/h")], &files);
    let found: Vec<_> = search(&view, None)
        .candidates
        .iter()
        .map(|c| (c.source, c.found.unwrap()))
        .collect();
    let expected = [
        (Source::Playwright, Kind::HeadlessShell),
        (Source::Playwright, Kind::HeadlessShell),
        (Source::Playwright, Kind::Full),
        (Source::Puppeteer, Kind::Full),
        (Source::AgentBrowser, Kind::Full),
    ];
    assert_eq!(found, expected);
    assert!(chosen(&view, None).0.contains("-1200/"));
}

#[test]
fn nothing_found_says_what_to_do() {
    let missing = search(&Fake::default(), None).chosen().unwrap_err();
    assert!(missing.to_string().contains("JURAT_BROWSER"));
}
