//! The conformance cases against real Chromium, through the real binary: each twin on each of its browsers is a test of
//! its own, `AREA::NAME::TWIN::BROWSER`.
//!
//! Run some of them with a filter (`cargo test -p jurat --test conformance -- frames::`), see what a run said with
//! `JURAT_CONFORMANCE_KEEP=DIR`, which keeps every bundle there. A browser that is not found is a failure.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should panic"
)]
#![allow(
    clippy::print_stderr,
    reason = "what a test could not start with is told where tests tell it"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jurat_testkit::case::{Browser, Case, Expected, Strangers, Twin, discover, exit_of};
use jurat_testkit::site::Site;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use tokio::runtime::Runtime;

/// The areas that must have cases.
const AREAS: &[&str] = &[
    "aria",
    "console",
    "dialogs",
    "emulate",
    "forgery",
    "frames",
    "hostile",
    "locators",
    "navigation",
    "network",
    "shadow",
    "steps",
    "tabs",
    "transient",
    "visibility",
    "waiting",
];
/// Areas whose every case runs on both browsers.
const BOTH: &[&str] = &["dialogs", "frames", "shadow"];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Every run is a whole browser: two at once keep two cores busy, more only make them wait for each other.
    arguments.test_threads.get_or_insert(2);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let cases = match discover(&root) {
        Ok(cases) => cases,
        Err(e) => {
            eprintln!("the conformance cases cannot be read: {e}");
            return ExitCode::FAILURE;
        }
    };
    let mut trials = meta(&cases);
    for case in cases {
        let case = Arc::new(case);
        for &twin in case.twins() {
            for &browser in &case.spec.browsers {
                let case = Arc::clone(&case);
                let name = format!("{}::{}::{}", case.id(), twin.name(), browser.name());
                trials.push(Trial::test(name, move || runtime().block_on(run(&case, twin, browser))));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The runtime that all sites and children live in.
fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime starts")
    })
}

/// Runs one twin on one browser and holds the result against the case.
async fn run(case: &Case, twin: Twin, browser: Browser) -> Result<(), Failed> {
    let expected = case
        .expected(twin)
        .ok_or("case.json has no expectation for this twin")?;
    let site = Site::start(case.content(twin), case.site(twin)).await?;
    let scratch = tempfile::tempdir()?;
    let contract = case.lay_out(scratch.path(), |text| site.render(text))?;
    let evidence = evidence_root(scratch.path(), case, twin, browser)?;

    let began = Instant::now();
    let child = tokio::process::Command::new(env!("CARGO_BIN_EXE_jurat"))
        .arg("verify")
        .arg(&contract)
        .arg("--url")
        .arg(format!("{}/", site.origin()))
        .arg("--browser")
        .arg(executable(browser)?)
        .arg("--evidence-root")
        .arg(&evidence)
        .args(["--json", "--accept-confinement", "guard_only"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let limit = Duration::from_secs(case.spec.budget_s);
    let output = tokio::time::timeout(limit, child.wait_with_output())
        .await
        .map_err(|_| format!("it did not end within {} s", limit.as_secs()))??;
    let took = began.elapsed();

    let stdout = String::from_utf8_lossy(&output.stdout);
    let told = || {
        format!(
            "\nstdout: {stdout}\nstderr: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    };
    let exit = output.status.code().unwrap_or(-1);
    let result: Value =
        serde_json::from_str(&stdout).map_err(|e| format!("exit {exit}, stdout is no JSON object: {e}{}", told()))?;
    let mut faults = shape(&result, exit);
    let one = &result["runs"][0];
    faults.extend(expected.faults(one, exit, |text| site.render(text)));
    faults.extend(reach(&site, expected));
    if expected.evidence.oopif && browser == Browser::Chromium && !met_oopif(one)? {
        faults.push("no frame in a process of its own was met".into());
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("after {} ms:\n  {}{}", took.as_millis(), faults.join("\n  "), told()).into())
}

/// What every result must be, whatever it says.
fn shape(result: &Value, exit: i32) -> Vec<String> {
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
    let mut classes = std::collections::BTreeSet::new();
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

/// Whether requests reached the site under names that the case does not expect.
fn reach(site: &Site, expected: &Expected) -> Option<String> {
    let strangers = site.strangers();
    match expected.strangers {
        Strangers::None => {
            (!strangers.is_empty()).then(|| format!("requests off the target got through: {strangers:?}"))
        }
        Strangers::Some => strangers
            .is_empty()
            .then(|| "no request reached the allowed origin".into()),
    }
}

/// Whether the bundle's events tell of a frame in a process of its own: a target of the kind `iframe`.
fn met_oopif(run: &Value) -> Result<bool, Failed> {
    let events = Path::new(run["bundle"].as_str().unwrap_or_default()).join("events.jsonl");
    let text = fs::read_to_string(&events).map_err(|e| format!("{}: {e}", events.display()))?;
    Ok(text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .any(|event| is_iframe_target(&event)))
}

fn is_iframe_target(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            (map.contains_key("target") && map.get("kind").is_some_and(|k| k == "iframe"))
                || map.values().any(is_iframe_target)
        }
        Value::Array(items) => items.iter().any(is_iframe_target),
        _ => false,
    }
}

/// Where the bundle goes: beside the contract, or where `JURAT_CONFORMANCE_KEEP` says.
fn evidence_root(scratch: &Path, case: &Case, twin: Twin, browser: Browser) -> Result<PathBuf, Failed> {
    let root = match std::env::var_os("JURAT_CONFORMANCE_KEEP") {
        Some(keep) => {
            let name = format!("{}-{}-{}-{}", case.area, case.name, twin.name(), browser.name());
            std::path::absolute(keep)?.join(name)
        }
        None => scratch.join("evidence"),
    };
    fs::create_dir_all(&root)?;
    Ok(root)
}

/// The browser's executable: from the environment, else from where distributions put it.
fn executable(browser: Browser) -> Result<PathBuf, Failed> {
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

/// The cases themselves: enough, whole, varied.
fn meta(cases: &[Case]) -> Vec<Trial> {
    let faults = faults_of(cases);
    vec![Trial::test("meta::cases_are_whole", move || {
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults.join("\n").into())
        }
    })]
}

fn faults_of(cases: &[Case]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut things: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases {
        let id = case.id();
        if !case.dir.join("contract.yaml").is_file() {
            faults.push(format!("{id} has no contract"));
        }
        for &twin in case.twins() {
            let content = case.content(twin);
            let served = content.index.is_some()
                || content.folders.iter().any(|f| f.join("index.html").is_file())
                || !case.site(twin).routes.is_empty();
            if !served {
                faults.push(format!("{id} has no {} page", twin.name()));
            }
            if case.expected(twin).is_none() {
                faults.push(format!("{id} expects nothing of its {} twin", twin.name()));
            }
        }
        if case.is_pair() {
            faults.extend(faults_of_pair(case));
            match &case.spec.thing {
                Some(thing) => *things.entry(thing).or_default() += 1,
                None => faults.push(format!("{id} does not name the thing that is broken")),
            }
        }
        let both =
            case.spec.browsers.contains(&Browser::HeadlessShell) && case.spec.browsers.contains(&Browser::Chromium);
        if BOTH.contains(&case.area.as_str()) && !both {
            faults.push(format!("{id} does not run on both browsers"));
        }
    }
    faults.extend(
        things
            .iter()
            .filter(|(_, n)| **n > 2)
            .map(|(t, n)| format!("{t} serves {n} pairs")),
    );
    let pairs = cases.iter().filter(|c| c.is_pair()).count();
    if pairs < 60 {
        faults.push(format!("there are {pairs} pairs, fewer than 60"));
    }
    let hostile = cases.iter().filter(|c| c.area == "hostile").count();
    if hostile < 35 {
        faults.push(format!("there are {hostile} hostile pages, fewer than 35"));
    }
    for area in AREAS {
        if !cases.iter().any(|c| c.area == *area) {
            faults.push(format!("there is no case in {area}"));
        }
    }
    if !cases
        .iter()
        .any(|c| c.spec.expect_clean.as_ref().is_some_and(|e| e.evidence.oopif))
    {
        faults.push("no case asserts that a frame in a process of its own was met".into());
    }
    faults
}

/// The twins differ, the clean one must pass, and the broken one must not, at a criterion or by a violation that is named.
fn faults_of_pair(case: &Case) -> Vec<String> {
    let id = case.id();
    let mut faults = Vec::new();
    let serve = |twin| {
        let content = case.content(twin);
        (
            content.index.map(fs::read).and_then(Result::ok),
            content.folders,
            case.site(twin),
        )
    };
    if serve(Twin::Clean) == serve(Twin::Broken) {
        faults.push(format!("the twins of {id} are one"));
    }
    if let Some(clean) = case.expected(Twin::Clean)
        && (!clean.verdict.admits(&"pass".into()) || clean.verdict.admits(&"fail".into()))
    {
        faults.push(format!("the clean twin of {id} need not pass"));
    }
    if let Some(broken) = case.expected(Twin::Broken) {
        let named = broken.criteria.iter().any(|c| !c.reasons.is_empty() || !c.reasons_any.is_empty())
            || !broken.violations.is_empty();
        if broken.verdict.admits(&"pass".into()) || !named {
            faults.push(format!(
                "the broken twin of {id} may pass, or is not said to fail anywhere"
            ));
        }
    }
    faults
}
