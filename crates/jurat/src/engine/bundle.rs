//! From a finished run to a sealed bundle.

use std::path::PathBuf;

use jurat_core::canon::{CanonError, to_canonical};
use jurat_core::contract::Contract;
use jurat_core::observation::{Observation, Record};
use jurat_core::plan::Plan;
use jurat_core::verdict::{Verdict, judge};
use jurat_evidence::{Class, FileName, Kind, Ledger, LedgerEntry, LedgerError, Root, RunId, WriteError, Writer};
use serde::Serialize;

/// Why a run could not be sealed.
#[derive(Debug, thiserror::Error)]
pub(super) enum SealError {
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

/// Begins a bundle with all that stands before the run has quite ended; blocks.
pub(super) fn begin(
    root: &Root,
    run_id: &RunId,
    (contract, plan): (&Contract, &Plan),
    observations: &[Observation],
    pictures: &[Vec<u8>],
    logs: &[Vec<u8>],
) -> Result<Writer, SealError> {
    let mut writer = Writer::begin(root, run_id)?;
    add(
        &mut writer,
        FileName::CONTRACT,
        Kind::Contract,
        Class::Control,
        &to_canonical(contract)?,
    )?;
    add(
        &mut writer,
        FileName::PLAN,
        Kind::Plan,
        Class::Control,
        &to_canonical(plan)?,
    )?;
    add(
        &mut writer,
        FileName::OBSERVATIONS,
        Kind::Observations,
        Class::Observed,
        &lines(observations)?,
    )?;
    for picture in pictures {
        writer.add_blob(Kind::Screenshot, Class::Observed, picture)?;
    }
    for log in logs {
        // An app's own words: jurat saw that it wrote them, not that they are true.
        writer.add_blob(Kind::Other, Class::Claim, log)?;
    }
    Ok(writer)
}

/// Judges a run and seals its bundle, which [`begin`] began with the same observations; blocks. `at` is the wall clock at the start.
pub(super) fn seal(
    root: &Root,
    mut writer: Writer,
    (contract, plan): (&Contract, &Plan),
    record: &Record,
    at: String,
) -> Result<(Verdict, PathBuf), SealError> {
    let verdict = judge(contract, plan, record);
    add(
        &mut writer,
        FileName::EVENTS,
        Kind::Events,
        Class::Observed,
        &lines(&record.events)?,
    )?;
    add(
        &mut writer,
        FileName::VERDICT,
        Kind::Verdict,
        Class::Control,
        &to_canonical(&verdict)?,
    )?;
    let contract_ref = plan.contract_ref.clone();
    let sealed = writer.seal(contract_ref.clone(), verdict.verdict, |draft| {
        jurat_report::render_html(draft).into_bytes()
    })?;
    let (run_id, manifest) = (sealed.run_id, sealed.manifest);
    Ledger::of(root).append(LedgerEntry {
        run_id,
        contract_ref,
        verdict: verdict.verdict,
        manifest,
        at,
    })?;
    Ok((verdict, sealed.path))
}

fn add(writer: &mut Writer, name: &'static str, kind: Kind, class: Class, bytes: &[u8]) -> Result<(), SealError> {
    let name = FileName::parse(name).map_err(|_| SealError::Name(name))?;
    writer.add(&name, kind, class, bytes)?;
    Ok(())
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
