//! What the tests share: the binary, pages, contracts on disk, and one bundle of a pass.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use jurat_testkit::site::{Content, Route, Site, SiteSpec};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A page with a heading and nothing else that a contract could fail on.
pub(crate) const PAGE: &str =
    "<!doctype html><title>Notes</title><link rel=icon href=data:,><h1>Notes</h1><p>hello</p>";

/// The runtime that all sites live in.
fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap()
    })
}

/// A site whose `/` is this page.
pub(crate) fn serve(page: &str) -> Site {
    let route = Route {
        body: Some(page.to_owned()),
        ..Route::default()
    };
    let spec = SiteSpec {
        routes: BTreeMap::from([("/".to_owned(), route)]),
    };
    runtime().block_on(Site::start(Content::default(), spec)).unwrap()
}

/// A place of one test: contracts, evidence, home.
pub(crate) struct Desk {
    pub(crate) dir: TempDir,
}

/// What a command did.
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn evidence(&self) -> PathBuf {
        self.dir.path().join("evidence")
    }

    /// Writes a file; gives its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// A contract of a target and what follows it.
    pub(crate) fn contract(&self, name: &str, origin: &str, rest: &str) -> PathBuf {
        let text = format!("jurat: contract/1\nname: {name}\ntarget: {{ url: {origin}/ }}\n{rest}\n");
        self.file(&format!("{name}.yaml"), &text)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jurat"));
        for (name, _) in std::env::vars_os().filter(|(n, _)| n.to_string_lossy().starts_with("JURAT_")) {
            command.env_remove(name);
        }
        if let Some(browser) = std::env::var_os("JURAT_BROWSER") {
            command.env("JURAT_BROWSER", browser);
        }
        command
            .args(args)
            .current_dir(self.dir.path())
            .env("JURAT_EVIDENCE_ROOT", self.evidence())
            .env_remove("RUST_LOG");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn jurat(&self, args: &[&str]) -> Done {
        Done::of(self.command(args).output().unwrap())
    }

    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).spawn().unwrap()
    }

    /// `jurat verify` with every default.
    pub(crate) fn verify(&self, contract: &Path, more: &[&str]) -> Done {
        let mut args = vec!["verify", contract.to_str().unwrap()];
        args.extend(more);
        self.jurat(&args)
    }

    /// Whether anything was run.
    pub(crate) fn bundles(&self) -> usize {
        fs::read_dir(self.evidence().join("runs")).map_or(0, Iterator::count)
    }
}

impl Done {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Demands an exit code, and says everything when it is another.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\nstdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    /// The one object on stdout.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}\nstdout: {}\nstderr: {}", self.out, self.err))
    }
}

/// The bundle of a pass that keeps a picture, made once.
pub(crate) fn passed() -> &'static Path {
    static BUNDLE: OnceLock<PathBuf> = OnceLock::new();
    BUNDLE.get_or_init(|| {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-passed-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let (desk, site) = (Desk::new(), serve(PAGE));
        let rest = "steps:\n  - navigate: /\n  - expect: { visible: { role: heading, name: Notes } }\ncapture: { screenshot: always }";
        let contract = desk.contract("passes", &site.origin(), rest);
        let done = desk.verify(&contract, &["--json", "--evidence-root", root.to_str().unwrap()]).exits(0);
        let result = done.json();
        assert_valid(&result);
        assert_eq!(done.out.trim_end().lines().count(), 1, "one object, nothing else");
        PathBuf::from(result["runs"][0]["bundle"].as_str().unwrap())
    })
}

/// Holds a result against the published schema.
#[track_caller]
pub(crate) fn assert_valid(result: &Value) {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| Desk::new().jurat(&["schema", "result"]).exits(0).json());
    let validator = jsonschema::draft202012::new(schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(result)
        .map(|e| format!("{e} at {}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}
