//! Environment, confinement and the digests by which the bundle is checked again.

use jurat_core::canon::Digest;
use jurat_core::confinement::{ConfinementRecord, LayerState};
use jurat_core::observation::Happening;
use jurat_evidence::Contents;

use super::{Pair, Tone};
use crate::Bounds;
use crate::read::Run;
use crate::text::{bytes, shown, wire, words};

/// How it was run, and what was kept.
#[derive(Debug)]
pub(crate) struct Evidence {
    pub(crate) environment: Vec<Pair>,
    pub(crate) layers: Vec<Layer>,
    pub(crate) not_enforced: Vec<String>,
    pub(crate) argv: Vec<String>,
    pub(crate) recheck: String,
    pub(crate) manifest_digest: String,
    pub(crate) files: Vec<File>,
    pub(crate) files_cut: usize,
    pub(crate) manifest: String,
    pub(crate) statement: String,
}

/// One layer of confinement.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) tone: Tone,
    pub(crate) name: String,
    pub(crate) state: String,
    pub(crate) detail: String,
}

/// One file of the bundle.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) class: String,
    pub(crate) size: String,
    pub(crate) sha256: String,
}

/// What the level of a run does not stop, in words.
pub(crate) fn not_enforced(run: &Run) -> Vec<String> {
    confinement(run)
        .map(|record| record.not_enforced.iter().map(|word| words(&shown(word, 60))).collect())
        .unwrap_or_default()
}

fn confinement(run: &Run) -> Option<&ConfinementRecord> {
    run.events.iter().find_map(|event| match &event.what {
        Happening::Confinement(record) => Some(record),
        _ => None,
    })
}

impl Evidence {
    pub(crate) fn new(run: &Run, contents: &dyn Contents, bounds: Bounds) -> Self {
        let record = confinement(run);
        let manifest = contents.manifest();
        let files = manifest.entries.iter().take(bounds.rows).map(|entry| File {
            path: entry.path.clone(),
            class: wire(&entry.class),
            size: entry.cut_from.map_or_else(
                || bytes(entry.bytes),
                |whole| format!("{} of {}", bytes(entry.bytes), bytes(whole)),
            ),
            sha256: entry.sha256.hex().to_owned(),
        });
        let layers = record
            .map(|record| record.layers.as_slice())
            .unwrap_or_default()
            .iter()
            .map(|layer| Layer {
                tone: match layer.state {
                    LayerState::Enforced => Tone::Pass,
                    LayerState::Absent => Tone::Skipped,
                    LayerState::Failed => Tone::Fail,
                },
                name: words(&shown(&layer.name, 60)),
                state: wire(&layer.state),
                detail: shown(&layer.detail, 300),
            });
        let argv = record.map(|record| record.argv.as_slice()).unwrap_or_default();
        Self {
            environment: environment(run),
            layers: layers.collect(),
            not_enforced: not_enforced(run),
            argv: argv
                .iter()
                .take(bounds.rows)
                .map(|argument| shown(argument, 400))
                .collect(),
            recheck: format!("jurat recheck runs/{}", manifest.run_id),
            manifest_digest: Digest::of(contents.manifest_text().as_bytes()).to_string(),
            files: files.collect(),
            files_cut: manifest.entries.len().saturating_sub(bounds.rows),
            manifest: contents.manifest_text().to_owned(),
            statement: contents.statement_text().to_owned(),
        }
    }
}

fn environment(run: &Run) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for event in &run.events {
        match &event.what {
            Happening::Begun(begun) => {
                pairs.push(Pair::plain("jurat", shown(&begun.jurat, 60)));
                pairs.push(Pair::plain("Platform", shown(&begun.platform, 100)));
                pairs.extend(
                    begun
                        .target_address
                        .as_ref()
                        .map(|address| Pair::mono("Target dialled at", shown(address, 100))),
                );
            }
            Happening::Browser(browser) => {
                pairs.push(Pair::plain("Browser", shown(browser.product.raw(), 100)));
                pairs.push(Pair::mono("Program", shown(&browser.program, 300)));
                pairs.push(Pair::plain("Kind", shown(&browser.kind, 40)));
                pairs.push(Pair::mono("User agent", shown(browser.user_agent.raw(), 300)));
            }
            Happening::Confinement(record) => {
                pairs.push(Pair::plain("Confinement", record.level.as_str()));
                pairs.push(Pair::plain("Browser sandbox", record.sandbox.as_str()));
                pairs.extend(record.uid.map(|uid| Pair::plain("Browser's user id", uid.to_string())));
            }
            _ => {}
        }
    }
    if let Some(plan) = &run.plan {
        pairs.push(Pair::mono("Origin", shown(&plan.origin, 200)));
        for (label, origins) in [("Also allowed", &plan.allow), ("Expected refusals", &plan.refuse)] {
            if !origins.is_empty() {
                pairs.push(Pair::mono(label, shown(&origins.join("\n"), 2000)));
            }
        }
        pairs.push(Pair::plain(
            "Budget",
            format!("{} ms in all, {} ms a step", plan.wall_ms, plan.step_ms),
        ));
    }
    pairs
}
