//! One run of the real binary, and what every result must be.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use jurat_core::confinement::Level;
use jurat_testkit::case::{Browser, exit_of};
use libtest_mimic::Failed;
use serde_json::Value;
use tokio::runtime::Runtime;

/// The runtime that all sites and children live in.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime starts")
    })
}

/// One `jurat verify`.
pub(crate) struct Command<'a> {
    pub(crate) contract: &'a Path,
    pub(crate) url: &'a str,
    pub(crate) browser: Browser,
    /// The name of the bundle's folder under `JURAT_CONFORMANCE_KEEP`.
    pub(crate) keep_as: &'a str,
    /// Seconds that it may take as a whole.
    pub(crate) budget_s: u64,
}

/// What it said.
pub(crate) struct Said {
    pub(crate) exit: i32,
    pub(crate) result: Value,
    took: Duration,
    output: String,
    /// Holds the bundle until the result was looked at.
    _evidence: tempfile::TempDir,
}

impl Said {
    /// The end of a test: nothing, or the faults with everything that was said.
    pub(crate) fn conclude(self, faults: &[String]) -> Result<(), Failed> {
        if faults.is_empty() {
            return Ok(());
        }
        let (took, output) = (self.took.as_millis(), self.output);
        Err(format!("after {took} ms:\n  {}{output}", faults.join("\n  ")).into())
    }
}

/// Runs the command.
pub(crate) async fn verify(command: Command<'_>) -> Result<Said, Failed> {
    let scratch = tempfile::tempdir()?;
    let evidence = evidence_root(scratch.path(), command.keep_as)?;
    let began = Instant::now();
    let child = tokio::process::Command::new(env!("CARGO_BIN_EXE_jurat"))
        .arg("verify")
        .arg(command.contract)
        .arg("--url")
        .arg(command.url)
        .arg("--browser")
        .arg(executable(command.browser)?)
        .arg("--evidence-root")
        .arg(&evidence)
        .args(["--json", "--accept-confinement", level()?])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let limit = Duration::from_secs(command.budget_s);
    let output = tokio::time::timeout(limit, child.wait_with_output())
        .await
        .map_err(|_| format!("it did not end within {} s", limit.as_secs()))??;
    let took = began.elapsed();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let told = format!(
        "\nstdout: {stdout}\nstderr: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let exit = output.status.code().unwrap_or(-1);
    let result =
        serde_json::from_str(&stdout).map_err(|e| format!("exit {exit}, stdout is no JSON object: {e}{told}"))?;
    Ok(Said {
        exit,
        result,
        took,
        output: told,
        _evidence: scratch,
    })
}

/// The weakest confinement that a pass counts at, `JURAT_CONFORMANCE_LEVEL`. Without it any will do; the run takes the
/// strongest that the machine gives, and says which that was.
fn level() -> Result<&'static str, Failed> {
    let name = std::env::var("JURAT_CONFORMANCE_LEVEL").unwrap_or_else(|_| Level::GuardOnly.as_str().to_owned());
    let level: Level = name.parse().map_err(|e| format!("JURAT_CONFORMANCE_LEVEL: {e}"))?;
    Ok(level.as_str())
}

/// What every result must be, whatever it says.
pub(crate) fn shape(result: &Value, exit: i32) -> Vec<String> {
    let mut faults = Vec::new();
    let mut demand = |holds: bool, what: &str| {
        if !holds {
            faults.push(what.to_owned());
        }
    };
    demand(result["schema"] == "jurat.result/1", "schema is not jurat.result/1");
    let runs = result["runs"].as_array().map_or(&[][..], Vec::as_slice);
    let [run] = runs else {
        faults.push(format!("{} runs for one contract", runs.len()));
        return faults;
    };
    let verdict = run["verdict"].as_str().unwrap_or_default();
    demand(result["verdict"] == verdict, "the verdict is not that of its one run");
    demand(
        exit_of(verdict) == Some(exit),
        "the exit code is not that of the verdict",
    );
    demand(
        run["contract_ref"]
            .as_str()
            .is_some_and(|r| r.starts_with("sha256:") && r.len() == 71),
        "contract_ref is no digest",
    );
    demand(
        run["run_id"].as_str().is_some_and(|r| !r.is_empty()),
        "run_id is missing",
    );
    demand(run["canary_hits"] == 0, "canary_hits is not 0");
    demand(run["processes_left"] == 0, "processes_left is not 0");
    demand(
        run["confinement"]["level"].is_string() && run["confinement"]["sandbox"].is_string(),
        "confinement is missing",
    );
    demand(
        run["violations"].is_array() && run["reasons"].is_array(),
        "violations or reasons is no list",
    );
    let bundle = Path::new(run["bundle"].as_str().unwrap_or_default());
    demand(
        bundle.is_absolute() && bundle.join("seal.json").is_file(),
        "there is no sealed bundle at an absolute path",
    );
    let criteria = run["criteria"].as_array().map_or(&[][..], Vec::as_slice);
    demand(!criteria.is_empty(), "there are no criteria");
    let mut classes = BTreeSet::new();
    for criterion in criteria {
        let outcome = criterion["outcome"].as_str().unwrap_or_default();
        let reasons = criterion["reasons"].as_array().map_or(&[][..], Vec::as_slice);
        let whole = ["id", "kind", "viewport", "outcome", "basis"]
            .iter()
            .all(|key| criterion[*key].is_string());
        demand(whole, "a criterion lacks a field");
        demand(exit_of(outcome).is_some(), "a criterion has an unknown outcome");
        demand(
            reasons.is_empty() == (outcome == "pass"),
            "a criterion passes with reasons, or does not without",
        );
        let cites = criterion["cites"].as_array().map_or(0, Vec::len);
        demand(outcome != "pass" || cites > 0, "a criterion passes and cites nothing");
        demand(
            verdict != "pass" || outcome == "pass",
            "a run passes with a criterion that does not",
        );
        classes.extend(reasons.first().and_then(Value::as_str));
    }
    let given: Vec<_> = run["reasons"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    demand(
        given == classes.into_iter().collect::<Vec<_>>(),
        "reasons is not the sorted union of the criteria's classes",
    );
    faults
}

/// Where the bundle goes: into a scratch folder, or where `JURAT_CONFORMANCE_KEEP` says.
fn evidence_root(scratch: &Path, name: &str) -> Result<PathBuf, Failed> {
    let root = match std::env::var_os("JURAT_CONFORMANCE_KEEP") {
        Some(keep) => std::path::absolute(keep)?.join(name),
        None => scratch.join("evidence"),
    };
    fs::create_dir_all(&root)?;
    Ok(root)
}

/// The browser's executable: from the environment, else from where distributions put it.
pub(crate) fn executable(browser: Browser) -> Result<PathBuf, Failed> {
    let (variable, names): (_, &[&str]) = match browser {
        Browser::HeadlessShell => (
            "JURAT_TEST_HEADLESS_SHELL",
            &["chromium-headless-shell", "chrome-headless-shell"],
        ),
        Browser::Chromium => (
            "JURAT_TEST_CHROMIUM",
            &["chromium", "google-chrome", "chromium-browser"],
        ),
    };
    if let Some(path) = std::env::var_os(variable) {
        return Ok(path.into());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::iter::once(PathBuf::from("/usr/lib/chromium"))
        .chain(std::env::split_paths(&folders))
        .collect();
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
        .ok_or_else(|| format!("{} is not installed; set {variable} to its path", names[0]).into())
}
