//! From a finished run to a sealed bundle.

use std::path::PathBuf;

use jurat_core::canon::{CanonError, to_canonical};
use jurat_core::contract::Contract;
use jurat_core::observation::Record;
use jurat_core::plan::Plan;
use jurat_core::verdict::{Verdict, judge};
use jurat_evidence::{Class, FileName, Kind, Ledger, LedgerEntry, LedgerError, Root, RunId, WriteError, Writer};
use serde::Serialize;

/// All that a run brought.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) contract: Contract,
    pub(super) plan: Plan,
    pub(super) record: Record,
    pub(super) pictures: Vec<Vec<u8>>,
    pub(super) run_id: RunId,
    /// Wall clock at the start, RFC 3339 in UTC.
    pub(super) at: String,
}

/// Why a run could not be sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The bundle could not be written.
    #[error("the bundle could not be written: {0}")]
    Write(#[from] WriteError),
    /// A fact has no canonical form.
    #[error("a fact has no canonical form: {0}")]
    Canon(#[from] CanonError),
    /// The ledger could not be written.
    #[error("the ledger could not be written: {0}")]
    Ledger(#[from] LedgerError),
    /// A name is none.
    #[error("{0} is no name of a bundle's file")]
    Name(&'static str),
}

/// Judges a run and writes its bundle; blocks.
pub(super) fn seal(root: &Root, finished: Finished) -> Result<(Verdict, PathBuf), SealError> {
    let Finished { contract, plan, record, pictures, run_id, at } = finished;
    let verdict = judge(&contract, &plan, &record);
    let mut writer = Writer::begin(root, &run_id)?;
    let mut add = |name: &'static str, kind, class, bytes: &[u8]| -> Result<(), SealError> {
        let name = FileName::parse(name).map_err(|_| SealError::Name(name))?;
        writer.add(&name, kind, class, bytes)?;
        Ok(())
    };
    add(FileName::CONTRACT, Kind::Contract, Class::Control, &to_canonical(&contract)?)?;
    add(FileName::PLAN, Kind::Plan, Class::Control, &to_canonical(&plan)?)?;
    add(FileName::OBSERVATIONS, Kind::Observations, Class::Observed, &lines(&record.observations)?)?;
    add(FileName::EVENTS, Kind::Events, Class::Observed, &lines(&record.events)?)?;
    add(FileName::VERDICT, Kind::Verdict, Class::Control, &to_canonical(&verdict)?)?;
    for picture in &pictures {
        writer.add_blob(Kind::Screenshot, Class::Observed, picture)?;
    }
    let contract_ref = plan.contract_ref.clone();
    let sealed = writer.seal(contract_ref.clone(), verdict.verdict, |draft| jurat_report::render_html(draft).into_bytes())?;
    Ledger::of(root).append(LedgerEntry { run_id, contract_ref, verdict: verdict.verdict, manifest: sealed.manifest, at })?;
    Ok((verdict, sealed.path))
}

/// One canonical object a line.
fn lines<T: Serialize>(all: &[T]) -> Result<Vec<u8>, CanonError> {
    let mut bytes = Vec::with_capacity(all.len() * 256);
    for one in all {
        bytes.extend(to_canonical(one)?);
        bytes.push(b'\n');
    }
    Ok(bytes)
}

