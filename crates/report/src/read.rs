//! What a bundle's files say, parsed. A file that is missing or does not parse becomes a stated fault.

use jurat_core::observation::{Event, Observation};
use jurat_core::plan::Plan;
use jurat_core::verdict::Verdict;
use jurat_evidence::{Contents, FileName};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One run, as far as its files can be read.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// `contract.json`.
    pub(crate) contract: Value,
    /// `plan.json`.
    pub(crate) plan: Option<Plan>,
    /// `observations.jsonl`.
    pub(crate) observations: Vec<Observation>,
    /// `events.jsonl`.
    pub(crate) events: Vec<Event>,
    /// `verdict.json`.
    pub(crate) verdict: Option<Verdict>,
    /// What could not be read, for people.
    pub(crate) faults: Vec<String>,
}

impl Run {
    /// Reads all files.
    pub(crate) fn of(contents: &dyn Contents) -> Self {
        let mut faults = Vec::new();
        Self {
            contract: one(contents, FileName::CONTRACT, &mut faults).unwrap_or_default(),
            plan: one(contents, FileName::PLAN, &mut faults),
            observations: lines(contents, FileName::OBSERVATIONS, &mut faults),
            events: lines(contents, FileName::EVENTS, &mut faults),
            verdict: one(contents, FileName::VERDICT, &mut faults),
            faults,
        }
    }

    /// The contract's name.
    pub(crate) fn name(&self) -> &str {
        self.contract
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or("a contract without a name")
    }
}

fn one<T: DeserializeOwned>(contents: &dyn Contents, name: &str, faults: &mut Vec<String>) -> Option<T> {
    let parsed = contents.file(name).map(|bytes| serde_json::from_slice(&bytes));
    match parsed {
        Some(Ok(value)) => Some(value),
        Some(Err(error)) => {
            faults.push(format!("{name} cannot be read: {error}"));
            None
        }
        None => {
            faults.push(format!("{name} is missing"));
            None
        }
    }
}

fn lines<T: DeserializeOwned>(contents: &dyn Contents, name: &str, faults: &mut Vec<String>) -> Vec<T> {
    let Some(bytes) = contents.file(name) else {
        faults.push(format!("{name} is missing"));
        return Vec::new();
    };
    let mut all = Vec::new();
    for (i, line) in bytes
        .split(|b| *b == b'\n')
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
    {
        match serde_json::from_slice(line) {
            Ok(value) => all.push(value),
            Err(error) => {
                faults.push(format!("{name} cannot be read from line {}: {error}", i + 1));
                break;
            }
        }
    }
    all
}
