//! The conformance cases: reading them from disk, and holding a result of the command against what a case expects.
//!
//! A case is a folder `conformance/<area>/<name>/` with a `contract.yaml`, a `case.json` and its pages: `clean.html` and
//! `broken.html`, or folders `clean/` and `broken/`; `shared/` serves both, `files/` holds what a contract uploads. A hostile
//! page has no twin: `page.html` or `page/`, or only a route in `case.json`.
//!
//! An expectation is a subset: what it names must be so, what it leaves out is free.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::site::{Content, Route, SiteSpec};

/// Why the cases could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaseError {
    /// A file or folder cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A `case.json` that is not what it should be.
    #[error("{path}: {source}")]
    Json {
        /// Where.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// The area, the name of the folder above.
    pub area: String,
    /// The name of the case's own folder.
    pub name: String,
    /// The case's own folder.
    pub dir: PathBuf,
    /// What `case.json` says.
    pub spec: CaseSpec,
}

/// `case.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseSpec {
    /// One phrase that names the one thing that is broken, or what a hostile page does.
    pub broken: String,
    /// A slug of that thing; no slug serves more than two pairs.
    #[serde(default)]
    pub thing: Option<String>,
    /// The browsers it runs on.
    #[serde(default = "headless_shell")]
    pub browsers: Vec<Browser>,
    /// What the site does beyond serving files.
    #[serde(default)]
    pub site: CaseSite,
    /// What the clean twin must give.
    #[serde(default)]
    pub expect_clean: Option<Expected>,
    /// What the broken twin must give.
    #[serde(default)]
    pub expect_broken: Option<Expected>,
    /// What a page without a twin must give.
    #[serde(default)]
    pub expect: Option<Expected>,
    /// Seconds that one run may take as a whole; 30 when it is left out.
    #[serde(default = "thirty")]
    pub budget_s: u64,
}

fn headless_shell() -> Vec<Browser> {
    vec![Browser::HeadlessShell]
}

fn thirty() -> u64 {
    30
}

/// The browsers that cases run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Browser {
    /// `chromium-headless-shell`, which keeps every frame in the process of its page.
    HeadlessShell,
    /// Full Chromium, which puts cross-site frames in processes of their own.
    Chromium,
}

impl Browser {
    /// As `case.json` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::HeadlessShell => "headless-shell",
            Self::Chromium => "chromium",
        }
    }
}

/// The two versions of a case's app, and the one of a hostile page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twin {
    /// Works.
    Clean,
    /// Is broken in one way.
    Broken,
    /// Has no twin.
    Page,
}

impl Twin {
    /// The name of its file or folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Broken => "broken",
            Self::Page => "page",
        }
    }
}

/// Routes of both twins, and of either.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CaseSite {
    routes: std::collections::BTreeMap<String, Route>,
    clean: SiteSpec,
    broken: SiteSpec,
}

/// One value, or several of which any will do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum OneOf<T> {
    /// This one.
    One(T),
    /// Any of these.
    Any(Vec<T>),
}

impl<T: PartialEq> OneOf<T> {
    /// Whether the value will do.
    pub fn admits(&self, value: &T) -> bool {
        match self {
            Self::One(v) => v == value,
            Self::Any(vs) => vs.contains(value),
        }
    }
}

/// What a run must give.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The verdict of the run.
    pub verdict: OneOf<String>,
    /// The exit code; follows from the verdict when it is left out.
    #[serde(default)]
    pub exit: Option<OneOf<i32>>,
    /// Criteria that must be among those of the run.
    #[serde(default)]
    pub criteria: Vec<ExpectedCriterion>,
    /// Classes that must be among the run's reasons.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// At least one of these must be among the run's reasons, unless it passes.
    #[serde(default)]
    pub reasons_any: Vec<String>,
    /// Violations that must be among those of the run.
    #[serde(default)]
    pub violations: Vec<ExpectedViolation>,
    /// How many requests may reach the site under a name that is not the target's.
    #[serde(default)]
    pub strangers: Strangers,
    /// What the bundle must hold besides.
    #[serde(default)]
    pub evidence: ExpectedEvidence,
}

/// One criterion of a result.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedCriterion {
    /// Its id.
    pub id: String,
    /// Its viewport.
    #[serde(default = "desktop")]
    pub viewport: String,
    /// Its kind, where that matters.
    #[serde(default)]
    pub kind: Option<String>,
    /// Its outcome.
    pub outcome: OneOf<String>,
    /// Reasons, class or detail, that must be among its own.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// At least one of these must be among its reasons.
    #[serde(default)]
    pub reasons_any: Vec<String>,
}

fn desktop() -> String {
    "desktop".into()
}

/// One violation of a result.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedViolation {
    /// Its kind, where that matters.
    #[serde(default)]
    pub kind: Option<OneOf<String>>,
    /// What its URL begins with, placeholders filled in.
    pub url: String,
    /// Its owner, where that matters.
    #[serde(default)]
    pub owner: Option<OneOf<String>>,
}

/// How many requests may reach the site under a name that is not the target's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strangers {
    /// Not one.
    #[default]
    None,
    /// At least one: the contract allows an origin, and the page uses it.
    Some,
}

/// What a bundle must hold.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectedEvidence {
    /// A frame in a process of its own was met (asked of full Chromium only).
    pub oopif: bool,
}

impl Case {
    /// `area::name`.
    pub fn id(&self) -> String {
        format!("{}::{}", self.area, self.name)
    }

    /// Whether it has two twins.
    pub fn is_pair(&self) -> bool {
        self.spec.expect.is_none()
    }

    /// The twins that it has.
    pub fn twins(&self) -> &'static [Twin] {
        if self.is_pair() {
            &[Twin::Clean, Twin::Broken]
        } else {
            &[Twin::Page]
        }
    }

    /// What a twin must give.
    pub fn expected(&self, twin: Twin) -> Option<&Expected> {
        match twin {
            Twin::Clean => self.spec.expect_clean.as_ref(),
            Twin::Broken => self.spec.expect_broken.as_ref(),
            Twin::Page => self.spec.expect.as_ref(),
        }
    }

    /// The files of a twin.
    pub fn content(&self, twin: Twin) -> Content {
        let index = Some(self.dir.join(format!("{}.html", twin.name()))).filter(|p| p.is_file());
        let folders = [self.dir.join(twin.name()), self.dir.join("shared")];
        Content {
            index,
            folders: folders.into_iter().filter(|p| p.is_dir()).collect(),
        }
    }

    /// The behaviour of a twin's site.
    pub fn site(&self, twin: Twin) -> SiteSpec {
        let mut routes = self.spec.site.routes.clone();
        match twin {
            Twin::Clean => routes.extend(self.spec.site.clean.routes.clone()),
            Twin::Broken => routes.extend(self.spec.site.broken.routes.clone()),
            Twin::Page => {}
        }
        SiteSpec { routes }
    }

    /// Writes the contract, placeholders filled in by `render`, and what it uploads into a folder; the contract's path.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn lay_out(&self, into: &Path, render: impl Fn(&str) -> String) -> Result<PathBuf, CaseError> {
        let from = self.dir.join("contract.yaml");
        let text = fs::read_to_string(&from).map_err(|source| CaseError::Io { path: from, source })?;
        let path = into.join("contract.yaml");
        fs::write(&path, render(&text)).map_err(|source| CaseError::Io {
            path: path.clone(),
            source,
        })?;
        let files = self.dir.join("files");
        if files.is_dir() {
            let to = into.join("files");
            fs::create_dir_all(&to).map_err(|source| CaseError::Io {
                path: to.clone(),
                source,
            })?;
            for file in list(&files)? {
                let target = to.join(file.file_name().unwrap_or_default());
                fs::copy(&file, &target).map_err(|source| CaseError::Io { path: target, source })?;
            }
        }
        Ok(path)
    }
}

/// Reads every case under a `conformance` folder, in order of area and name. An area with a table of its own
/// (`routes.json`, see [`crate::escape`]) has no cases.
///
/// # Errors
/// When a folder or a `case.json` cannot be read.
pub fn discover(root: &Path) -> Result<Vec<Case>, CaseError> {
    let mut cases = Vec::new();
    for area in list(root)?
        .into_iter()
        .filter(|p| p.is_dir() && !p.join("routes.json").is_file())
    {
        for dir in list(&area)?.into_iter().filter(|p| p.is_dir()) {
            let path = dir.join("case.json");
            let text = fs::read(&path).map_err(|source| CaseError::Io {
                path: path.clone(),
                source,
            })?;
            let spec = serde_json::from_slice(&text).map_err(|source| CaseError::Json { path, source })?;
            cases.push(Case {
                area: name_of(&area),
                name: name_of(&dir),
                dir,
                spec,
            });
        }
    }
    Ok(cases)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn list(dir: &Path) -> Result<Vec<PathBuf>, CaseError> {
    let wrap = |source| CaseError::Io {
        path: dir.to_path_buf(),
        source,
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).map_err(wrap)? {
        paths.push(entry.map_err(wrap)?.path());
    }
    paths.sort();
    Ok(paths)
}

impl Expected {
    /// Everything in which a run of a `jurat.result/1`, with the command's exit code, is not as expected.
    pub fn faults(&self, run: &Value, exit: i32, render: impl Fn(&str) -> String) -> Vec<String> {
        let mut faults = Vec::new();
        let verdict = text(run, "verdict");
        if !self.verdict.admits(&verdict) {
            faults.push(format!("verdict is {verdict:?}, expected {:?}", self.verdict));
        }
        let admitted = match &self.exit {
            Some(codes) => codes.admits(&exit),
            None => exit_of(&verdict) == Some(exit),
        };
        if !admitted {
            faults.push(format!("exit code is {exit} with verdict {verdict:?}"));
        }
        let any = if verdict == "pass" {
            &[][..]
        } else {
            &self.reasons_any[..]
        };
        named("run", &strings(run, "reasons"), &self.reasons, any, &mut faults);
        for expected in &self.criteria {
            expected.faults(run, &mut faults);
        }
        for expected in &self.violations {
            let url = render(&expected.url);
            let met = items(run, "violations").any(|v| {
                text(v, "url").starts_with(&url)
                    && expected.kind.as_ref().is_none_or(|k| k.admits(&text(v, "kind")))
                    && expected.owner.as_ref().is_none_or(|o| o.admits(&text(v, "owner")))
            });
            if !met {
                faults.push(format!("no violation like {expected:?} at {url}"));
            }
        }
        faults
    }
}

impl ExpectedCriterion {
    fn faults(&self, run: &Value, faults: &mut Vec<String>) {
        let found = items(run, "criteria").find(|c| text(c, "id") == self.id && text(c, "viewport") == self.viewport);
        let Some(found) = found else {
            faults.push(format!("there is no criterion {} at {}", self.id, self.viewport));
            return;
        };
        let outcome = text(found, "outcome");
        if !self.outcome.admits(&outcome) {
            faults.push(format!("{} is {outcome:?}, expected {:?}", self.id, self.outcome));
        }
        if let Some(kind) = &self.kind
            && *kind != text(found, "kind")
        {
            faults.push(format!(
                "{} is of kind {:?}, expected {kind:?}",
                self.id,
                text(found, "kind")
            ));
        }
        named(
            &self.id,
            &strings(found, "reasons"),
            &self.reasons,
            &self.reasons_any,
            faults,
        );
    }
}

/// The exit code that goes with a verdict.
pub fn exit_of(verdict: &str) -> Option<i32> {
    match verdict {
        "pass" => Some(0),
        "fail" => Some(1),
        "inconclusive" => Some(2),
        _ => None,
    }
}

fn named(of: &str, given: &[String], all: &[String], any: &[String], faults: &mut Vec<String>) {
    for reason in all {
        if !given.contains(reason) {
            faults.push(format!("{of} lacks the reason {reason}, it has {given:?}"));
        }
    }
    if !any.is_empty() && !any.iter().any(|r| given.contains(r)) {
        faults.push(format!("{of} has none of the reasons {any:?}, it has {given:?}"));
    }
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

fn strings(value: &Value, key: &str) -> Vec<String> {
    items(value, key).filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

    use super::*;
    use serde_json::json;

    fn expected(value: Value) -> Expected {
        serde_json::from_value(value).unwrap()
    }

    fn run() -> Value {
        json!({
            "verdict": "fail", "reasons": ["expectation_not_met"],
            "criteria": [{"id": "step-2", "kind": "expect.visible", "viewport": "desktop", "outcome": "fail",
                          "reasons": ["expectation_not_met", "not_found"]}],
            "violations": [{"kind": "blocked_request", "url": "http://127.0.0.1:9/x", "owner": "page"}],
        })
    }

    #[test]
    fn what_is_named_and_so_is_no_fault() {
        let expected = expected(json!({
            "verdict": ["fail", "inconclusive"], "reasons": ["expectation_not_met"],
            "criteria": [{"id": "step-2", "outcome": "fail", "reasons": ["not_found"]}],
            "violations": [{"url": "{{other}}/x", "owner": "page"}],
        }));
        let faults = expected.faults(&run(), 1, |t| t.replace("{{other}}", "http://127.0.0.1:9"));
        assert_eq!(faults, Vec::<String>::new());
    }

    #[test]
    fn each_thing_that_differs_is_one_fault() {
        let expected = expected(json!({
            "verdict": "pass", "reasons": ["app_exited"], "reasons_any": ["page_unresponsive"],
            "criteria": [{"id": "step-2", "kind": "click", "outcome": "pass", "reasons": ["covered"]},
                         {"id": "step-3", "outcome": "fail"}],
            "violations": [{"url": "http://127.0.0.1:8/"}],
        }));
        assert_eq!(expected.faults(&run(), 0, str::to_owned).len(), 9);
    }
}
