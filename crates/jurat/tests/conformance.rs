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

mod escape;
mod harness;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use harness::{Command, runtime, shape, verify};
use jurat_testkit::case::{Browser, Case, Expected, Strangers, Twin, discover};
use jurat_testkit::site::Site;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

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
    match escape::trials(&root.join("escape")) {
        Ok(more) => trials.extend(more),
        Err(e) => {
            eprintln!("the escape corpus cannot be read: {e}");
            return ExitCode::FAILURE;
        }
    }
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

/// Runs one twin on one browser and holds the result against the case.
async fn run(case: &Case, twin: Twin, browser: Browser) -> Result<(), Failed> {
    let expected = case
        .expected(twin)
        .ok_or("case.json has no expectation for this twin")?;
    let site = Site::start(case.content(twin), case.site(twin)).await?;
    let scratch = tempfile::tempdir()?;
    let contract = case.lay_out(scratch.path(), |text| site.render(text))?;
    let said = verify(Command {
        contract: &contract,
        url: &format!("{}/", site.origin()),
        browser,
        keep_as: &format!("{}-{}-{}-{}", case.area, case.name, twin.name(), browser.name()),
        budget_s: case.spec.budget_s,
    })
    .await?;
    let one = &said.result["runs"][0];
    let mut faults = shape(&said.result, said.exit);
    faults.extend(expected.faults(one, said.exit, |text| site.render(text)));
    faults.extend(reach(&site, expected));
    if expected.evidence.oopif && browser == Browser::Chromium && !met_oopif(one)? {
        faults.push("no frame in a process of its own was met".into());
    }
    said.conclude(&faults)
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
        let named = broken
            .criteria
            .iter()
            .any(|c| !c.reasons.is_empty() || !c.reasons_any.is_empty())
            || !broken.violations.is_empty();
        if broken.verdict.admits(&"pass".into()) || !named {
            faults.push(format!(
                "the broken twin of {id} may pass, or is not said to fail anywhere"
            ));
        }
    }
    faults
}
