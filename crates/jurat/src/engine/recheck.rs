//! Deriving a verdict again, from disk alone: no browser, no model, no network.

use std::path::{Path, PathBuf};

use jurat_core::canon::{Digest, to_canonical};
use jurat_core::contract::{self, Format, ParseOptions};
use jurat_core::observation::{Event, Fact, Happening, Observation, Record};
use jurat_core::plan::{Plan, PlanOptions};
use jurat_core::verdict::{CriterionResult, Verdict, judge};
use jurat_evidence::{AuditError, Bundle};
use serde::de::DeserializeOwned;

/// A bundle whose verdict was derived again and agrees.
#[derive(Debug)]
pub struct Rechecked {
    /// The verdict.
    pub verdict: Verdict,
    /// The contract's name.
    pub contract_name: String,
    /// The run's id.
    pub run_id: String,
    /// The bundle's absolute path.
    pub bundle: PathBuf,
}

/// Why a bundle proves nothing.
#[derive(Debug, thiserror::Error)]
pub enum RecheckError {
    /// Its bytes are not what was sealed.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// A file cannot be read as what it should be.
    #[error("{file}: {why}")]
    Unreadable {
        /// Which.
        file: &'static str,
        /// Why.
        why: String,
    },
    /// A file does not agree with what follows from the others.
    #[error("{file} does not follow from the rest of the bundle: {why}")]
    Disagrees {
        /// Which.
        file: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The bundle is sound, and is not shown to be of this source tree.
    #[error("the bundle is sound, but not shown to be of this source: {0}")]
    Source(String),
}

/// Checks a bundle and derives its verdict again.
///
/// # Errors
/// Whatever does not agree, by file.
pub fn recheck(path: &Path) -> Result<Rechecked, RecheckError> {
    let bundle = Bundle::open(path)?;
    let verdict = derive(&bundle)?;
    let contract = contract_of(&bundle)?;
    Ok(Rechecked {
        verdict,
        contract_name: contract.name,
        run_id: bundle.predicate().run_id.as_str().to_owned(),
        bundle: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    })
}

/// The verdict that follows from a bundle, which must be the one in it.
///
/// # Errors
/// See [`recheck()`].
pub fn derive(bundle: &Bundle) -> Result<Verdict, RecheckError> {
    let disagrees = |file, why: &str| RecheckError::Disagrees { file, why: why.into() };
    let contract = contract_of(bundle)?;
    let plan: Plan = one("plan.json", bundle.plan())?;
    if plan.contract_ref != Digest::of(bundle.contract()) {
        return Err(disagrees("plan.json", "it is the plan of another contract"));
    }
    let options = PlanOptions {
        url: Some(plan.url.clone()),
        accept_confinement: plan.accept_confinement,
    };
    let again = Plan::new(&contract, &options).map_err(|e| disagrees("plan.json", &e.to_string()))?;
    if again != plan {
        return Err(disagrees("plan.json", "the contract resolves to another plan"));
    }
    let record = Record {
        observations: many("observations.jsonl", bundle.observations(), |o: &Observation| o.seq)?,
        events: many("events.jsonl", bundle.events(), |e: &Event| e.seq)?,
    };
    for observation in &record.observations {
        if let Fact::Screenshot(picture) = &observation.fact
            && bundle.blob(&picture.blob).is_none()
        {
            return Err(disagrees("observations.jsonl", "it names a picture that is not there"));
        }
    }
    for event in &record.events {
        if let Happening::AppEnded(ended) = &event.what
            && let Some(log) = &ended.log
            && bundle.blob(&log.blob).is_none()
        {
            return Err(disagrees("events.jsonl", "it names a log that is not there"));
        }
    }
    let verdict = judge(&contract, &plan, &record);
    let bytes = to_canonical(&verdict).map_err(|e| disagrees("verdict.json", &e.to_string()))?;
    if bytes != bundle.verdict() {
        let why = format!("the facts give {}", verdict.verdict);
        return Err(disagrees("verdict.json", &why));
    }
    if bundle.predicate().verdict != verdict.verdict || bundle.predicate().contract_ref != plan.contract_ref {
        return Err(disagrees(
            "statement.dsse.json",
            "it states another verdict or contract",
        ));
    }
    Ok(verdict)
}

/// Whether a folder holds the app that a bundle verified: the same tree, byte by byte, but for what was installed or built.
///
/// # Errors
/// The bundle does not hold, names no source, or the folder is another.
pub fn recheck_source(path: &Path, folder: &Path) -> Result<(), RecheckError> {
    let bundle = Bundle::open(path)?;
    derive(&bundle)?;
    let events = many("events.jsonl", bundle.events(), |e: &Event| e.seq)?;
    let verified = events.into_iter().find_map(|event| match event.what {
        Happening::Source(source) => Some(source),
        _ => None,
    });
    let verified = verified
        .ok_or_else(|| RecheckError::Source("it names no source, because jurat did not start the app".to_owned()))?;
    let found = jurat_guard::app::source(folder)
        .map_err(|e| RecheckError::Source(format!("{} cannot be read: {e}", folder.display())))?;
    if found.cut || verified.cut {
        return Err(RecheckError::Source(
            "the source is larger than what a digest is made of".to_owned(),
        ));
    }
    if found.tree != verified.tree {
        let (here, there) = (found.tree, verified.tree);
        return Err(RecheckError::Source(format!(
            "{} is {here}, and what was verified is {there}",
            folder.display()
        )));
    }
    Ok(())
}

fn contract_of(bundle: &Bundle) -> Result<contract::Contract, RecheckError> {
    let unreadable = |why: String| RecheckError::Unreadable {
        file: "contract.json",
        why,
    };
    let text = std::str::from_utf8(bundle.contract()).map_err(|e| unreadable(e.to_string()))?;
    let contract = contract::parse(
        text,
        Format::Json,
        &ParseOptions {
            allow_remote_target: true,
        },
    )
    .map_err(|e| unreadable(e.to_string()))?;
    let canonical = to_canonical(&contract).map_err(|e| unreadable(e.to_string()))?;
    if canonical != bundle.contract() {
        return Err(unreadable("it is not in canonical form".into()));
    }
    Ok(contract)
}

fn one<T: DeserializeOwned>(file: &'static str, bytes: &[u8]) -> Result<T, RecheckError> {
    serde_json::from_slice(bytes).map_err(|e| RecheckError::Unreadable {
        file,
        why: e.to_string(),
    })
}

/// Reads lines whose places must grow.
fn many<T: DeserializeOwned>(
    file: &'static str,
    bytes: &[u8],
    seq: impl Fn(&T) -> u64,
) -> Result<Vec<T>, RecheckError> {
    let mut all = Vec::new();
    let mut last = 0;
    for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        let item: T = one(file, line)?;
        if seq(&item) <= last {
            return Err(RecheckError::Disagrees {
                file,
                why: format!("line {} is out of order", all.len() + 1),
            });
        }
        last = seq(&item);
        all.push(item);
    }
    Ok(all)
}

/// The picture that belongs to a criterion, as a path in the bundle.
pub fn screenshot_of(bundle: &Path, criterion: &CriterionResult) -> Option<PathBuf> {
    let text = std::fs::read(bundle.join("observations.jsonl")).ok()?;
    let all = many("observations.jsonl", &text, |o: &Observation| o.seq).ok()?;
    let of = |o: &&Observation| o.viewport == criterion.viewport && o.criterion == criterion.id;
    all.iter().rev().filter(of).find_map(|o| match &o.fact {
        Fact::Screenshot(picture) => Some(bundle.join("blobs/sha256").join(picture.blob.hex())),
        _ => None,
    })
}

/// Why a report cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The bundle proves nothing.
    #[error(transparent)]
    Recheck(#[from] RecheckError),
    /// There is no such report.
    #[error("there is no report of the kind {0:?}")]
    Kind(String),
}

/// Renders a report from a bundle alone: `html`, or `json` (the verdict).
///
/// # Errors
/// A bundle that does not hold, or an unknown kind.
pub fn report(path: &Path, kind: &str) -> Result<String, ReportError> {
    let bundle = Bundle::open(path).map_err(RecheckError::from)?;
    let verdict = derive(&bundle)?;
    match kind {
        "html" => Ok(jurat_report::render_html(&bundle)),
        "json" => Ok(serde_json::to_string_pretty(&verdict).unwrap_or_default()),
        other => Err(ReportError::Kind(other.into())),
    }
}
