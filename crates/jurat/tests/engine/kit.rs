//! What these tests share: sites, contracts, one browser at a time, bundles to edit.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use jurat::engine::{self, Cancel, Format, Job, Listener, ParseOptions, RunReport, Settings};
use jurat_testkit::site::{Content, Route, Site, SiteSpec};
use serde_json::Value;
use tokio::runtime::Runtime;

/// One test at a time: the engine takes every child of this process that nobody owns for one of its browser.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The runtime that sites and runs live in.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    // Not the engine's own: sites must be served while nobody waits.
    RUNTIME.get_or_init(|| tokio::runtime::Runtime::new().unwrap())
}

/// A site with these pages.
pub(crate) fn serve(pages: &[(&str, &str)]) -> Site {
    let route = |body: &str| Route {
        body: Some(body.to_owned()),
        ..Route::default()
    };
    let routes: BTreeMap<_, _> = pages
        .iter()
        .map(|(path, body)| ((*path).to_owned(), route(body)))
        .collect();
    runtime()
        .block_on(Site::start(Content::default(), SiteSpec { routes }))
        .unwrap()
}

/// A site that serves a folder.
pub(crate) fn serve_folder(folder: &Path) -> Site {
    let content = Content {
        index: None,
        folders: vec![folder.to_owned()],
    };
    runtime().block_on(Site::start(content, SiteSpec::default())).unwrap()
}

/// The text of a contract of a target and what follows it.
pub(crate) fn contract(name: &str, origin: &str, rest: &str) -> String {
    format!("jurat: contract/1\nname: {name}\ntarget: {{ url: {origin}/ }}\n{rest}\n")
}

/// Settings with every default, for the browser that the environment names.
pub(crate) fn settings(evidence: &Path) -> Settings {
    let mut settings = Settings::new(evidence);
    settings.browser = std::env::var_os("JURAT_BROWSER").map(PathBuf::from);
    settings
}

/// Runs one contract through the library.
pub(crate) fn run(text: &str, settings: &Settings, listener: Listener) -> RunReport {
    let contract = engine::parse(text, Format::Yaml, &ParseOptions::default()).unwrap();
    let job = Job {
        contract,
        name: "contract.yaml".into(),
        folder: ".".into(),
        url: None,
    };
    let mut reports = runtime()
        .block_on(engine::run(vec![job], settings, listener, Cancel::new()))
        .unwrap();
    assert_eq!(reports.len(), 1);
    reports.remove(0)
}

/// A listener that nobody listens to.
pub(crate) fn deaf() -> Listener {
    Arc::new(|_| {})
}

/// The binary, without what the environment says, but for the browser.
pub(crate) fn jurat(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jurat"));
    for (name, _) in std::env::vars_os().filter(|(n, _)| n.to_string_lossy().starts_with("JURAT_")) {
        command.env_remove(name);
    }
    if let Some(browser) = std::env::var_os("JURAT_BROWSER") {
        command.env("JURAT_BROWSER", browser);
    }
    command.args(args).env_remove("RUST_LOG");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the binary with `--json`; gives its exit code and the object.
#[track_caller]
pub(crate) fn json(args: &[&str]) -> (i32, Value) {
    let output = jurat(args).output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    let value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}\nstdout: {out}\nstderr: {err}"));
    (output.status.code().unwrap_or(-1), value)
}

/// A copy of a bundle, to be edited.
pub(crate) fn copy(bundle: &Path, into: &Path) -> PathBuf {
    let to = into.join(bundle.file_name().unwrap());
    copy_tree(bundle, &to);
    to
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// Every file below a directory.
pub(crate) fn files(below: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(below).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            all.extend(files(&entry.path()));
        } else {
            all.push(entry.path());
        }
    }
    all
}

/// The lines of a JSONL file.
pub(crate) fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
