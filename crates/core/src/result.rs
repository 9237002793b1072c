//! `jurat.result/1`: what `--json` prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boundary::Violation;
use crate::outcome::Answer;
use crate::verdict::Verdict;

/// The schema string.
pub const RESULT_SCHEMA: &str = "jurat.result/1";

/// The result of a command that gives a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    /// Always `jurat.result/1`.
    pub schema: String,
    /// The fold over all runs.
    pub verdict: Verdicts,
    /// One entry for each contract, in the order given (and for each repetition).
    pub runs: Vec<RunEntry>,
}

/// The three verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdicts {
    /// Everything required was proven.
    Pass,
    /// Something does not hold.
    Fail,
    /// It is not known.
    Inconclusive,
}

impl From<Answer> for Verdicts {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Pass => Self::Pass,
            Answer::Fail => Self::Fail,
            Answer::Inconclusive => Self::Inconclusive,
        }
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunEntry {
    /// The contract, as it was named on the command line.
    pub contract: String,
    /// `sha256:` of the contract's canonical JSON.
    pub contract_ref: String,
    /// The contract without its acceptance prompt, when it has one.
    pub base_contract_ref: Option<String>,
    /// The acceptance prompt's contract, when it has one.
    pub browser_contract_ref: Option<String>,
    /// The run's id.
    pub run_id: String,
    /// Absolute path of the sealed bundle.
    pub bundle: String,
    /// Its verdict.
    pub verdict: Verdicts,
    /// The sorted union of its criteria's classes.
    pub reasons: Vec<String>,
    /// The confinement that held.
    pub confinement: ConfinementEntry,
    /// Every criterion in every viewport, in order.
    pub criteria: Vec<CriterionEntry>,
    /// What went off the origins that the contract names.
    pub violations: Vec<ViolationEntry>,
    /// Hits on ports that nothing may reach.
    pub canary_hits: u32,
    /// Processes that were left.
    pub processes_left: u32,
}

/// The confinement that held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfinementEntry {
    /// `lane`, `netns`, `guard_only`, or null when no browser ran.
    pub level: Option<String>,
    /// `on` or `off`.
    pub sandbox: String,
}

/// One criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CriterionEntry {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// The viewport.
    pub viewport: String,
    /// What became of it.
    pub outcome: Verdicts,
    /// `proven`.
    pub basis: String,
    /// Class, and detail; empty when it passed.
    pub reasons: Vec<String>,
    /// The observations that it rests on.
    pub cites: Vec<String>,
}

/// One violation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ViolationEntry {
    /// `blocked_request`, `unattributed_request`, `origin_violation` or `escape_attempt`.
    pub kind: String,
    /// Where to.
    pub url: String,
    /// `page`, `frame`, `worker`, `service_worker`, `popup` or `nobody`.
    pub owner: String,
}

/// What a run entry says beside its verdict.
#[derive(Debug, Clone)]
pub struct RunNames {
    /// The contract, as it was named on the command line.
    pub contract: String,
    /// The run's id.
    pub run_id: String,
    /// Absolute path of the bundle.
    pub bundle: String,
}

impl RunEntry {
    /// The entry of a verdict.
    pub fn new(names: RunNames, verdict: &Verdict) -> Self {
        Self {
            contract: names.contract,
            contract_ref: verdict.contract_ref.as_str().to_owned(),
            base_contract_ref: None,
            browser_contract_ref: None,
            run_id: names.run_id,
            bundle: names.bundle,
            verdict: verdict.verdict.into(),
            reasons: verdict.reasons.clone(),
            confinement: ConfinementEntry {
                level: verdict.confinement.level.map(|l| l.as_str().to_owned()),
                sandbox: verdict.confinement.sandbox.clone(),
            },
            criteria: verdict
                .criteria
                .iter()
                .map(|c| CriterionEntry {
                    id: c.id.clone(),
                    kind: c.kind.clone(),
                    viewport: c.viewport.clone(),
                    outcome: c.outcome.into(),
                    basis: c.basis.clone(),
                    reasons: c.reasons.clone(),
                    cites: c.cites.clone(),
                })
                .collect(),
            violations: verdict.violations.iter().map(ViolationEntry::from).collect(),
            canary_hits: verdict.canary_hits,
            processes_left: verdict.processes_left,
        }
    }
}

impl From<&Violation> for ViolationEntry {
    fn from(violation: &Violation) -> Self {
        let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            kind: word(serde_json::to_value(violation.kind).unwrap_or_default()),
            url: violation.url.raw().to_owned(),
            owner: word(serde_json::to_value(violation.owner).unwrap_or_default()),
        }
    }
}

impl RunResult {
    /// The result of some runs.
    pub fn new(runs: Vec<RunEntry>, answers: impl IntoIterator<Item = Answer>) -> Self {
        Self {
            schema: RESULT_SCHEMA.into(),
            verdict: Answer::fold(answers).into(),
            runs,
        }
    }
}

/// The JSON Schema of [`RunResult`].
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(RunResult).to_value()
}
