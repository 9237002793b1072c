//! The plan: a contract with everything resolved.
//!
//! It lists every criterion, viewport and deadline before anything is touched, and has a digest of its own.

use serde::{Deserialize, Serialize};

use crate::canon::{self, Digest};
use crate::confinement::Level;
use crate::contract::{Action, Contract, Start, Step, Viewport};

/// The version of the plan's shape.
pub const PLAN_SCHEMA: &str = "jurat.plan/1";

/// A contract with everything resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Always [`PLAN_SCHEMA`].
    pub schema: String,
    /// Of the contract, before `url` was overridden.
    pub contract_ref: Digest,
    /// Where the run starts: `--url`, else `target.url`; canonical.
    pub url: String,
    /// The exact origin of `url`.
    pub origin: String,
    /// Further exact origins that may be reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Third parties whose refusal is expected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refuse: Vec<String>,
    /// How jurat starts the app, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<PlannedStart>,
    /// The viewports, every field written out.
    pub viewports: Vec<PlannedViewport>,
    /// The plain HTTP criteria, which are looked at once and before the browser's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<PlannedCriterion>,
    /// The criteria of each viewport, in order.
    pub criteria: Vec<PlannedCriterion>,
    /// The whole run, in milliseconds.
    pub wall_ms: u64,
    /// One step or expectation, in milliseconds.
    pub step_ms: u64,
    /// How long a negative must hold, in milliseconds.
    pub hold_ms: u64,
    /// How long nothing may change for the page to count as settled, in milliseconds.
    pub quiet_ms: u64,
    /// The weakest confinement at which a pass counts.
    pub accept_confinement: Level,
}

/// How jurat starts the app, afresh for each viewport.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedStart {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Its folder, relative to the contract's; `.` is the contract's own.
    pub cwd: String,
    /// Whether it gets a private copy of that folder to write to.
    pub writable: bool,
    /// `none` or `host`.
    pub network: String,
    /// How long it may take to be ready, in milliseconds.
    pub ready_ms: u64,
}

impl From<&Start> for PlannedStart {
    fn from(start: &Start) -> Self {
        Self {
            command: start.command.clone(),
            cwd: start.cwd.clone().unwrap_or_else(|| ".".into()),
            writable: start.writable,
            network: start.network.as_str().into(),
            ready_ms: start.ready.within.0,
        }
    }
}

/// A viewport with every field written out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedViewport {
    /// Its name.
    pub name: String,
    /// Width in CSS pixels.
    pub width: u32,
    /// Height in CSS pixels.
    pub height: u32,
    /// Mobile layout and touch.
    pub mobile: bool,
    /// Device pixels for a CSS pixel.
    pub scale: u32,
}

impl From<&Viewport> for PlannedViewport {
    fn from(v: &Viewport) -> Self {
        Self {
            name: v.name.clone(),
            width: v.width,
            height: v.height,
            mobile: v.mobile(),
            scale: v.scale,
        }
    }
}

/// One criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedCriterion {
    /// Its id.
    pub id: String,
    /// `click`, `expect.visible`, `wait.hidden`, `visible` (at the end), …
    pub kind: String,
    /// Where it stands.
    pub source: Source,
    /// How many actions have been begun when it is looked at, its own included.
    pub after_action: u32,
}

/// Where a criterion stands in the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// `target.http[i]`; in no viewport.
    Http(u32),
    /// The opening of `url`, when the first step does not navigate.
    Open,
    /// `steps[i]`.
    Step(u32),
    /// `expect[i]`.
    End(u32),
}

/// What a run was asked to do beside the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanOptions {
    /// Replaces `target.url`; canonical and already checked.
    pub url: Option<String>,
    /// The weakest confinement at which a pass counts.
    pub accept_confinement: Level,
}

/// How long a negative must hold, in milliseconds.
pub const HOLD_MS: u64 = 150;
/// How long nothing may change for a page to count as settled, in milliseconds.
pub const QUIET_MS: u64 = 100;

/// Why a contract cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The URL has no origin that can be compared.
    #[error("{0} is no http or https URL")]
    Url(String),
    /// The contract has no canonical form.
    #[error("the contract has no canonical form: {0}")]
    Canon(String),
}

impl Plan {
    /// Resolves a contract.
    ///
    /// # Errors
    /// The URL given in `options` is no http or https URL.
    pub fn new(contract: &Contract, options: &PlanOptions) -> Result<Self, PlanError> {
        let url = options.url.clone().unwrap_or_else(|| contract.target.url.clone());
        let origin = origin_of(&url).ok_or_else(|| PlanError::Url(url.clone()))?;
        Ok(Self {
            schema: PLAN_SCHEMA.into(),
            contract_ref: Digest::of(&canon::to_canonical(contract).map_err(|e| PlanError::Canon(e.to_string()))?),
            url,
            origin,
            allow: contract.target.allow.clone(),
            refuse: contract.target.refuse.clone(),
            start: contract.target.start.as_ref().map(PlannedStart::from),
            viewports: contract.viewports.iter().map(PlannedViewport::from).collect(),
            http: http_criteria(contract),
            criteria: criteria(contract),
            wall_ms: contract.budget.wall.0,
            step_ms: contract.budget.step.0,
            hold_ms: HOLD_MS,
            quiet_ms: QUIET_MS,
            accept_confinement: options.accept_confinement,
        })
    }

    /// `sha256:` of the plan's canonical JSON.
    ///
    /// # Errors
    /// A number beyond 2^53, which no planned value reaches.
    pub fn digest(&self) -> Result<Digest, canon::CanonError> {
        canon::to_canonical(self).map(|bytes| Digest::of(&bytes))
    }
}

/// The id of the criterion that opens the page.
pub const OPEN_ID: &str = "target-open";

/// The canonical origin of an http or https URL.
pub fn origin_of(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.origin().ascii_serialization())
}

/// The plain HTTP criteria of a contract, in order.
pub fn http_criteria(contract: &Contract) -> Vec<PlannedCriterion> {
    let criteria = contract.target.http.iter().zip(0u32..);
    criteria
        .map(|(_, i)| PlannedCriterion {
            id: format!("target-http-{}", i + 1),
            kind: "http".into(),
            source: Source::Http(i),
            after_action: 0,
        })
        .collect()
}

/// The criteria of each viewport, in order; none when there is nothing to see in a browser.
pub fn criteria(contract: &Contract) -> Vec<PlannedCriterion> {
    let mut actions = 0;
    let mut all = Vec::new();
    if contract.steps.is_empty()
        && contract.expect.is_empty()
        && contract.checks.is_empty()
        && contract.accept.is_none()
        && !contract.target.http.is_empty()
    {
        return all;
    }
    if !matches!(contract.steps.first().map(|s| &s.action), Some(Action::Navigate(_))) {
        actions = 1;
        let source = Source::Open;
        all.push(PlannedCriterion {
            id: OPEN_ID.into(),
            kind: "navigate".into(),
            source,
            after_action: actions,
        });
    }
    let steps = contract.steps.iter().zip(0u32..).map(|(step, i)| {
        if !matches!(step.action, Action::Wait(_) | Action::Expect(_)) {
            actions += 1;
        }
        PlannedCriterion {
            id: step_id(step, i),
            kind: kind_of(&step.action),
            source: Source::Step(i),
            after_action: actions,
        }
    });
    all.extend(steps);
    all.extend(contract.expect.iter().zip(0u32..).map(|(e, i)| PlannedCriterion {
        id: e.id.clone().unwrap_or_else(|| format!("expect-{}", i + 1)),
        kind: e.expectation.name().into(),
        source: Source::End(i),
        after_action: actions,
    }));
    all
}

fn step_id(step: &Step, i: u32) -> String {
    step.id.clone().unwrap_or_else(|| format!("step-{}", i + 1))
}

fn kind_of(action: &Action) -> String {
    match action.expectation() {
        Some(e) => format!("{}.{}", action.name(), e.name()),
        None => action.name().into(),
    }
}
