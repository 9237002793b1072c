//! The escape corpus: the table of routes by which a page might reach something other than the target.
//!
//! `conformance/escape/` holds `routes.json` (the table, and what the site answers besides files), `contract.yaml`,
//! `pages/NAME.html`, and `shared/` for all pages. One page serves both twins: its placeholders stand for outside
//! listeners in the broken one, and for the target itself in the clean one (see [`crate::outside::Aim`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::case::{Browser, CaseError};
use crate::site::{Content, Route as SiteRoute, SiteSpec};

/// The one level that has no network namespace of its own, and no tripwire that hears what goes past the proxy.
const GUARD_ONLY: &str = "guard_only";

/// The corpus, as read from its folder.
#[derive(Debug, Clone)]
pub struct Corpus {
    /// Its folder.
    pub dir: PathBuf,
    /// Its routes, in the table's order.
    pub routes: Vec<Route>,
    site: SiteSpec,
}

/// `routes.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    site: BTreeMap<String, SiteRoute>,
    routes: Vec<Route>,
}

/// One route.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Its name, that of its page and of its tests.
    pub name: String,
    /// The browser that has it.
    #[serde(default = "headless_shell")]
    pub browser: Browser,
    /// What it goes by; `stopped` where the browser itself lets nothing out, guarded or not.
    pub family: String,
    /// The outside listeners that it reaches when nothing confines the browser. None for what is stopped.
    #[serde(default)]
    pub reaches: Vec<String>,
    /// What violations' URLs begin with, one violation for each, whatever the level. Where there is none, a run may pass.
    #[serde(default)]
    pub to: Vec<String>,
    /// The owners that such a violation may have; `nobody` only with the kind `unattributed_request`.
    #[serde(default)]
    pub owner: Vec<String>,
    /// It goes by WebRTC. At `guard_only` its datagrams are stopped by Chromium's own setting, and heard by nobody. A namespace has
    /// no interface to gather candidates from: nothing need be tried there at all, and what is tried is an `escape_attempt`.
    #[serde(default)]
    pub rtc: bool,
    /// It navigates a tab's main frame, which is an `origin_violation` of its own.
    #[serde(default)]
    pub navigates: bool,
    /// Why a run has nothing to record, where a browser that nothing confines does reach the outside.
    #[serde(default)]
    pub quiet: Option<String>,
}

fn headless_shell() -> Browser {
    Browser::HeadlessShell
}

impl Corpus {
    /// Reads the corpus of a folder.
    ///
    /// # Errors
    /// When `routes.json` cannot be read, or is not what it should be.
    pub fn read(dir: &Path) -> Result<Self, CaseError> {
        let path = dir.join("routes.json");
        let text = fs::read(&path).map_err(|source| CaseError::Io {
            path: path.clone(),
            source,
        })?;
        let table: Table = serde_json::from_slice(&text).map_err(|source| CaseError::Json { path, source })?;
        Ok(Self {
            dir: dir.to_path_buf(),
            routes: table.routes,
            site: SiteSpec { routes: table.site },
        })
    }

    /// The files of a route's site.
    pub fn content(&self, route: &Route) -> Content {
        Content {
            index: Some(self.page(route)),
            folders: vec![self.dir.join("shared")],
        }
    }

    /// What the site of every route does beyond serving its files.
    pub fn site(&self) -> SiteSpec {
        self.site.clone()
    }

    /// The contract of every route.
    pub fn contract(&self) -> PathBuf {
        self.dir.join("contract.yaml")
    }

    fn page(&self, route: &Route) -> PathBuf {
        self.dir.join("pages").join(format!("{}.html", route.name))
    }

    /// What is not whole: pages without a route, routes without a page or an expectation, too many without an owner.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let names: BTreeSet<_> = self.routes.iter().map(|r| r.name.as_str()).collect();
        if names.len() != self.routes.len() {
            faults.push("a route stands in the table twice".to_owned());
        }
        for route in &self.routes {
            if !self.page(route).is_file() {
                faults.push(format!("{} has no page", route.name));
            }
            if route.is_live() && route.to.is_empty() && !route.rtc && route.quiet.is_none() {
                faults.push(format!("{} is live, and expected to be recorded nowhere", route.name));
            }
            if !route.to.is_empty() && route.owner.is_empty() {
                faults.push(format!("{} names no owner", route.name));
            }
        }
        for page in fs::read_dir(self.dir.join("pages")).into_iter().flatten().flatten() {
            let page = page.path();
            let name = page.file_stem().unwrap_or_default().to_string_lossy();
            if !names.contains(name.as_ref()) {
                faults.push(format!("{name} is a page without a route"));
            }
        }
        let live = self.live().count();
        if live < 72 {
            faults.push(format!("there are {live} live routes, fewer than 72"));
        }
        // WebRTC's own have no owner at all (no domain of DevTools tells them); they are not counted here.
        let unowned = self.live().filter(|r| !r.rtc && r.may_be_unowned()).count();
        if unowned * 20 > live {
            faults.push(format!("{unowned} of {live} routes may lack an owner, more than 5 %"));
        }
        faults
    }

    /// The routes that reach something when nothing confines the browser.
    pub fn live(&self) -> impl Iterator<Item = &Route> {
        self.routes.iter().filter(|r| r.is_live())
    }
}

impl Route {
    /// Whether it reaches something when nothing confines the browser.
    pub fn is_live(&self) -> bool {
        !self.reaches.is_empty()
    }

    /// Whether its request may be recorded without an owner.
    pub fn may_be_unowned(&self) -> bool {
        self.owner.iter().any(|o| o == "nobody")
    }

    /// Everything in which a run of the broken twin, an entry of `runs` in a `jurat.result/1`, is not as it must be.
    pub fn faults(&self, run: &Value, render: impl Fn(&str) -> String) -> Vec<String> {
        let verdict = run["verdict"].as_str().unwrap_or_default();
        let level = run["confinement"]["level"].as_str().unwrap_or_default();
        let violations = run["violations"].as_array().map_or(&[][..], Vec::as_slice);
        let mut faults = Vec::new();
        if verdict == "fail" && self.is_live() {
            faults.push("the app is blamed for what was refused".to_owned());
        }
        if verdict == "pass" && !violations.is_empty() {
            faults.push("it passes with a violation".to_owned());
        }
        let to = if self.rtc && level != GUARD_ONLY {
            &[][..]
        } else {
            &self.to
        };
        if verdict == "pass" && !to.is_empty() {
            faults.push("it passes".to_owned());
        }
        let kinds: &[_] = if self.navigates {
            &["blocked_request", "origin_violation"]
        } else {
            &["blocked_request"]
        };
        for to in to {
            let to = render(to);
            for kind in kinds {
                if !violations.iter().any(|v| self.is_met(v, kind, &to)) {
                    let owner = &self.owner;
                    faults.push(format!("no {kind} toward {to} of {owner:?}; there are {violations:?}"));
                }
            }
        }
        for violation in violations {
            let kind = violation["kind"].as_str().unwrap_or_default();
            if kind == "escape_attempt" && level == GUARD_ONLY {
                faults.push(format!("an escape attempt is told at {level}, where nothing hears it"));
            }
            if kind == "unattributed_request" && !self.may_be_unowned() {
                faults.push(format!("nobody owns {violation}"));
            }
        }
        faults
    }

    fn is_met(&self, violation: &Value, kind: &str, to: &str) -> bool {
        let text = |key: &str| violation[key].as_str().unwrap_or_default();
        let unowned = kind == "blocked_request" && text("kind") == "unattributed_request" && self.may_be_unowned();
        (text("kind") == kind || unowned)
            && text("url").starts_with(to)
            && self.owner.iter().any(|o| o == text("owner"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

    use super::*;
    use serde_json::json;

    fn route(value: Value) -> Route {
        serde_json::from_value(value).unwrap()
    }

    fn run(verdict: &str, violations: &Value) -> Value {
        json!({"verdict": verdict, "confinement": {"level": "guard_only"}, "violations": violations})
    }

    #[test]
    fn what_is_recorded_with_its_owner_is_no_fault_and_each_lack_is_one() {
        let fetch = route(json!({"name": "fetch", "family": "request", "reaches": ["tcp1"],
            "to": ["http://127.0.0.1:9/"], "owner": ["page"]}));
        let told = |kind: &str, url: &str, owner: &str| json!([{"kind": kind, "url": url, "owner": owner}]);
        let faults = |verdict, violations| fetch.faults(&run(verdict, &violations), str::to_owned).len();
        let right = told("blocked_request", "http://127.0.0.1:9/x", "page");
        assert_eq!(faults("inconclusive", right.clone()), 0);
        assert_eq!(faults("fail", right.clone()), 1);
        assert_eq!(faults("pass", right), 2);
        assert_eq!(faults("inconclusive", json!([])), 1);
        assert_eq!(
            faults(
                "inconclusive",
                told("blocked_request", "http://127.0.0.1:9/x", "worker")
            ),
            1
        );
        assert_eq!(
            faults("inconclusive", told("blocked_request", "http://127.0.0.1:8/x", "page")),
            1
        );
        assert_eq!(
            faults(
                "inconclusive",
                told("unattributed_request", "http://127.0.0.1:9/x", "nobody")
            ),
            2
        );
    }

    #[test]
    fn datagrams_may_go_unheard_but_not_unjudged() {
        let stun = route(json!({"name": "webrtc_stun", "family": "webrtc", "reaches": ["udp1"], "rtc": true}));
        let heard = json!([{"kind": "escape_attempt", "url": "udp://127.0.0.1:9", "owner": "nobody"}]);
        assert!(stun.faults(&run("pass", &json!([])), str::to_owned).is_empty());
        assert_eq!(stun.faults(&run("pass", &heard), str::to_owned).len(), 2);
        let mut lane = run("inconclusive", &heard);
        lane["confinement"]["level"] = json!("lane");
        assert!(stun.faults(&lane, str::to_owned).is_empty());
    }
}
