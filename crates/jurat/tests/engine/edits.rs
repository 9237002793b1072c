//! What may be written over in a sealed bundle, and what must come of it.

use std::fs;
use std::path::Path;

use jurat_core::outcome::Answer;
use serde_json::{Value, json};

use super::kit::lines;

/// Changes the lines of a JSONL file; gives how many were changed. A line that becomes null is removed.
pub(crate) fn edit(file: &Path, change: impl Fn(&mut Value)) -> usize {
    let before = lines(file);
    let mut after = before.clone();
    after.iter_mut().for_each(change);
    let changed = before.iter().zip(&after).filter(|(b, a)| b != a).count();
    let kept: Vec<String> = after
        .iter()
        .filter(|line| !line.is_null())
        .map(Value::to_string)
        .collect();
    fs::write(file, kept.join("\n") + "\n").unwrap();
    changed
}

/// A change of one line or file.
pub(crate) type Change = fn(&mut Value);

/// One edit of what was observed, and what must come of it.
pub(crate) struct Edit {
    pub(crate) what: &'static str,
    pub(crate) file: &'static str,
    pub(crate) change: Change,
    pub(crate) verdict: Answer,
    /// A class among the reasons.
    pub(crate) reason: &'static str,
}

fn of<'a>(line: &'a mut Value, criterion: &str, kind: &str) -> Option<&'a mut Value> {
    (line["criterion"] == criterion && line["fact"]["kind"] == kind).then(|| &mut line["fact"])
}

pub(crate) fn event<'a>(line: &'a mut Value, kind: &str) -> Option<&'a mut Value> {
    (line["what"]["event"] == kind).then(|| &mut line["what"])
}

/// Edits of a real pass, one fact each.
pub(crate) const EDITS: &[Edit] = &[
    Edit {
        what: "the text of an element",
        file: "observations.jsonl",
        change: |l| {
            if let Some(fact) = of(l, "said", "probe") {
                fact["elements"][0]["text"] = json!("Nothing happened");
            }
        },
        verdict: Answer::Fail,
        reason: "expectation_not_met",
    },
    Edit {
        what: "a box made empty",
        file: "observations.jsonl",
        change: |l| {
            if let Some(fact) = of(l, "listed", "probe") {
                fact["elements"][0]["layout"]["boxes"] = json!([]);
            }
        },
        verdict: Answer::Fail,
        reason: "expectation_not_met",
    },
    Edit {
        what: "an element made transparent",
        file: "observations.jsonl",
        change: |l| {
            if let Some(fact) = of(l, "listed", "probe") {
                fact["elements"][0]["layout"]["opacity"] = json!(0);
            }
        },
        verdict: Answer::Fail,
        reason: "expectation_not_met",
    },
    Edit {
        what: "a click that something else took",
        file: "observations.jsonl",
        change: |l| {
            if let Some(fact) = of(l, "add", "action") {
                fact["received"] = json!({ "own": false, "other": "div.cover" });
            }
        },
        verdict: Answer::Fail,
        reason: "action_not_possible",
    },
    Edit {
        what: "a field that took nothing",
        file: "observations.jsonl",
        change: |l| {
            if let Some(fact) = of(l, "write", "action") {
                fact["after"] = json!("");
            }
        },
        verdict: Answer::Fail,
        reason: "action_not_possible",
    },
    Edit {
        what: "the address",
        file: "observations.jsonl",
        change: |l| {
            if let Some(fact) = of(l, "address", "page") {
                let url = format!("{}elsewhere", fact["url"].as_str().unwrap());
                fact["url"] = json!(url);
            }
        },
        verdict: Answer::Fail,
        reason: "expectation_not_met",
    },
    Edit {
        what: "a request that was never answered",
        file: "observations.jsonl",
        change: |l| {
            if let Some(fact) = of(l, "listed", "settled") {
                fact["in_flight"] = json!(2);
            }
        },
        verdict: Answer::Inconclusive,
        reason: "evidence_missing",
    },
    Edit {
        what: "an observation from before the last action",
        file: "observations.jsonl",
        change: |l| {
            if l["criterion"] == "said" {
                l["after_action"] = json!(0);
            }
        },
        verdict: Answer::Inconclusive,
        reason: "evidence_missing",
    },
    Edit {
        what: "an observation that is gone",
        file: "observations.jsonl",
        change: |l| {
            if l["criterion"] == "listed" {
                *l = Value::Null;
            }
        },
        verdict: Answer::Inconclusive,
        reason: "evidence_missing",
    },
    Edit {
        what: "a document that was not found",
        file: "observations.jsonl",
        change: |l| {
            if of(l, "step-1", "action").is_some() {
                l["fact"]["document"]["status"] = json!(404);
            }
        },
        verdict: Answer::Fail,
        reason: "navigation_failed",
    },
    Edit {
        what: "a process that stayed",
        file: "events.jsonl",
        change: |l| {
            if let Some(what) = event(l, "leftovers") {
                what["processes"] = json!(1);
            }
        },
        verdict: Answer::Inconclusive,
        reason: "leftover_processes",
    },
    Edit {
        what: "canaries that nobody read",
        file: "events.jsonl",
        change: |l| {
            if event(l, "canaries").is_some() {
                *l = Value::Null;
            }
        },
        verdict: Answer::Inconclusive,
        reason: "evidence_missing",
    },
    Edit {
        what: "processes that nobody counted",
        file: "events.jsonl",
        change: |l| {
            if event(l, "leftovers").is_some() {
                *l = Value::Null;
            }
        },
        verdict: Answer::Inconclusive,
        reason: "evidence_missing",
    },
    Edit {
        what: "a confinement that nobody wrote down",
        file: "events.jsonl",
        change: |l| {
            if event(l, "confinement").is_some() {
                *l = Value::Null;
            }
        },
        verdict: Answer::Inconclusive,
        reason: "confinement_insufficient",
    },
    Edit {
        what: "a request to another port",
        file: "events.jsonl",
        change: |l| {
            if let Some(what) = event(l, "guard") {
                what["url"] = json!("http://127.0.0.1:9/collect");
                what["disposition"] = json!("refused");
                what["reason"] = json!("off_origin");
            }
        },
        verdict: Answer::Inconclusive,
        reason: "boundary_violation",
    },
];
