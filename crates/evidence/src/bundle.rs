//! A sound bundle in memory, and the check that makes it one.
//!
//! Invariant: there is no [`Bundle`] whose bytes are not all accounted for by its seal. The check is the same for a
//! directory and for a map of bytes ([`Bundle::from_memory`]), and depends on nothing else.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jurat_core::canon::Digest;

use crate::audit::{AuditError, Finding, Problem};
use crate::json;
use crate::limits::Limits;
use crate::manifest::{Entry, Manifest, ManifestVersion, blob_path};
use crate::name::{CONTROL, FileName, MANIFEST, REPORT, SEAL, STATEMENT};
use crate::seal::{Seal, SealVersion, Sealed};
use crate::statement::{Envelope, Predicate, Statement};

/// What a report is rendered from: a bundle, or one that is about to be sealed.
pub trait Contents {
    /// The manifest.
    fn manifest(&self) -> &Manifest;
    /// The manifest's exact text.
    fn manifest_text(&self) -> &str;
    /// The statement's exact text, in its envelope.
    fn statement_text(&self) -> &str;
    /// The bytes of a file that the manifest names.
    fn file(&self, name: &str) -> Option<Cow<'_, [u8]>>;

    /// The bytes of a blob that the manifest names.
    fn blob(&self, digest: &Digest) -> Option<Cow<'_, [u8]>> {
        self.file(&blob_path(digest))
    }
}

/// A bundle that was read whole and found sound.
#[derive(Debug, Clone)]
pub struct Bundle {
    files: BTreeMap<String, Vec<u8>>,
    manifest: Manifest,
    manifest_text: String,
    statement: Statement,
    statement_text: String,
    seal: Seal,
}

impl Bundle {
    /// Reads a directory and checks all of it.
    ///
    /// Errors: what is wrong, file by file.
    pub fn open(path: &Path) -> Result<Self, AuditError> {
        Self::from_memory(crate::read::directory(path, Limits::DEFAULT)?)
    }

    /// Checks a map from relative path to bytes, as [`Bundle::open`] does for a directory.
    ///
    /// Errors: what is wrong, file by file.
    pub fn from_memory(files: BTreeMap<String, Vec<u8>>) -> Result<Self, AuditError> {
        bounded(&files, Limits::DEFAULT)?;
        let seal = read_seal(&files)?;
        let mut findings = Vec::new();
        for (name, sealed) in [
            (MANIFEST, &seal.manifest),
            (STATEMENT, &seal.statement),
            (REPORT, &seal.report),
        ] {
            findings.extend(compare(name, files.get(name), sealed));
        }
        let sound = |name: &str, findings: &[Finding]| findings.iter().all(|found| found.file != name);
        if !sound(MANIFEST, &findings) {
            // What the files are compared with is not what was sealed.
            return Err(AuditError::of(findings));
        }
        let manifest = match read_manifest(&files, &seal) {
            Ok(manifest) => manifest,
            Err(finding) => {
                findings.push(finding);
                return Err(AuditError::of(findings));
            }
        };
        findings.extend(compare_entries(&files, &manifest));
        if !sound(STATEMENT, &findings) {
            return Err(AuditError::of(findings));
        }
        let statement = match read_statement(&files, &seal, &manifest) {
            Ok(statement) if findings.is_empty() => statement,
            Ok(_) => return Err(AuditError::of(findings)),
            Err(finding) => {
                findings.push(finding);
                return Err(AuditError::of(findings));
            }
        };
        let text = |name: &str| files.get(name).and_then(|bytes| String::from_utf8(bytes.clone()).ok());
        let (Some(manifest_text), Some(statement_text)) = (text(MANIFEST), text(STATEMENT)) else {
            return Err(AuditError::one(
                MANIFEST,
                Problem::Malformed("it is no UTF-8".to_owned()),
            ));
        };
        Ok(Self {
            files,
            manifest,
            manifest_text,
            statement,
            statement_text,
            seal,
        })
    }

    /// The bytes of a file that the manifest names.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        if CONTROL.contains(&name) {
            None
        } else {
            self.files.get(name).map(Vec::as_slice)
        }
    }

    /// The bytes of a blob.
    pub fn blob(&self, digest: &Digest) -> Option<&[u8]> {
        self.file(&blob_path(digest))
    }

    /// `contract.json`.
    pub fn contract(&self) -> &[u8] {
        self.required(FileName::CONTRACT)
    }

    /// `plan.json`.
    pub fn plan(&self) -> &[u8] {
        self.required(FileName::PLAN)
    }

    /// `observations.jsonl`.
    pub fn observations(&self) -> &[u8] {
        self.required(FileName::OBSERVATIONS)
    }

    /// `events.jsonl`.
    pub fn events(&self) -> &[u8] {
        self.required(FileName::EVENTS)
    }

    /// `verdict.json`.
    pub fn verdict(&self) -> &[u8] {
        self.required(FileName::VERDICT)
    }

    /// `report.html`.
    pub fn report(&self) -> &[u8] {
        self.required(REPORT)
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The manifest's digest, as the ledger has it.
    pub fn manifest_digest(&self) -> &Digest {
        &self.seal.manifest.sha256
    }

    /// What the statement says that the run concluded. Compare it with what the files say.
    pub fn predicate(&self) -> &Predicate {
        &self.statement.predicate
    }

    /// The seal.
    pub fn seal(&self) -> &Seal {
        &self.seal
    }

    /// The check has seen that all of these are there.
    fn required(&self, name: &str) -> &[u8] {
        self.files.get(name).map_or(&[], Vec::as_slice)
    }
}

impl Contents for Bundle {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn manifest_text(&self) -> &str {
        &self.manifest_text
    }

    fn statement_text(&self) -> &str {
        &self.statement_text
    }

    fn file(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        Self::file(self, name).map(Cow::Borrowed)
    }
}

fn bounded(files: &BTreeMap<String, Vec<u8>>, limits: Limits) -> Result<(), AuditError> {
    if files.len() > limits.files {
        return Err(AuditError::one(".", Problem::TooLarge("too many files")));
    }
    let mut total = 0;
    for (name, bytes) in files {
        let length = bytes.len() as u64;
        total += length;
        if length > limits.file || total > limits.total {
            return Err(AuditError::one(shown(name), Problem::TooLarge("too many bytes")));
        }
    }
    Ok(())
}

fn read_seal(files: &BTreeMap<String, Vec<u8>>) -> Result<Seal, AuditError> {
    let bytes = files.get(SEAL).ok_or_else(|| AuditError::one(SEAL, Problem::Missing))?;
    let seal: Seal = json::read(bytes, Some(SealVersion::TEXT)).map_err(|problem| AuditError::one(SEAL, problem))?;
    if seal.holds() {
        Ok(seal)
    } else {
        Err(AuditError::one(SEAL, Problem::SelfDigest))
    }
}

/// Compares a file with what was sealed.
fn compare(name: &str, bytes: Option<&Vec<u8>>, sealed: &Sealed) -> Option<Finding> {
    let problem = match bytes {
        None => Problem::Missing,
        Some(bytes) if bytes.len() as u64 != sealed.bytes => Problem::Length {
            sealed: sealed.bytes,
            found: bytes.len() as u64,
        },
        Some(bytes) => {
            let found = Digest::of(bytes);
            if found == sealed.sha256 {
                return None;
            }
            Problem::Altered {
                sealed: sealed.sha256.clone(),
                found,
            }
        }
    };
    Some(Finding {
        file: name.to_owned(),
        problem,
    })
}

fn read_manifest(files: &BTreeMap<String, Vec<u8>>, seal: &Seal) -> Result<Manifest, Finding> {
    let wrong = |problem| Finding {
        file: MANIFEST.to_owned(),
        problem,
    };
    let bytes = files.get(MANIFEST).ok_or_else(|| wrong(Problem::Missing))?;
    let manifest: Manifest = json::read(bytes, Some(ManifestVersion::TEXT)).map_err(wrong)?;
    if manifest.run_id != seal.run_id {
        return Err(wrong(Problem::Contradiction {
            with: SEAL,
            what: "they name different runs",
        }));
    }
    if !manifest.entries.iter().all(Entry::path_is_sound) {
        return Err(wrong(Problem::Malformed(
            "it names a path that no bundle has".to_owned(),
        )));
    }
    if !manifest.entries.is_sorted_by(|a, b| a.key() < b.key()) {
        return Err(wrong(Problem::Malformed(
            "its entries are not in strictly ascending order".to_owned(),
        )));
    }
    Ok(manifest)
}

/// Compares all files with the manifest, and tells renamed and swapped ones from lost and altered ones.
fn compare_entries(files: &BTreeMap<String, Vec<u8>>, manifest: &Manifest) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut named: BTreeSet<&str> = CONTROL.into();
    for entry in &manifest.entries {
        // A path with several classes has equal digests in each, or one of them is found here.
        let sealed = Sealed {
            bytes: entry.bytes,
            sha256: entry.sha256.clone(),
        };
        let first = named.insert(&entry.path);
        if let Some(finding) = compare(&entry.path, files.get(&entry.path), &sealed)
            && (first || findings.iter().all(|found| found.file != finding.file))
        {
            findings.push(finding);
        }
    }
    for name in FileName::REQUIRED {
        if manifest.entry(name).is_none() {
            findings.push(Finding {
                file: name.to_owned(),
                problem: Problem::Missing,
            });
        }
    }
    let mut added: Vec<&str> = files
        .keys()
        .map(String::as_str)
        .filter(|name| !named.contains(name))
        .collect();
    if !findings.is_empty() {
        explain(files, manifest, &mut findings, &mut added);
    }
    findings.extend(added.iter().map(|name| Finding {
        file: shown(name),
        problem: Problem::Added,
    }));
    findings
}

/// Looks where the bytes of a lost or altered file have gone.
fn explain(files: &BTreeMap<String, Vec<u8>>, manifest: &Manifest, findings: &mut [Finding], added: &mut Vec<&str>) {
    for finding in findings {
        let Some(entry) = manifest.entry(&finding.file) else {
            continue;
        };
        match &finding.problem {
            Problem::Missing => {
                let same = |name: &&str| files.get(*name).is_some_and(|bytes| Digest::of(bytes) == entry.sha256);
                if let Some(at) = added.iter().position(same) {
                    finding.problem = Problem::Renamed {
                        to: shown(added.remove(at)),
                    };
                }
            }
            Problem::Altered { .. } | Problem::Length { .. } => {
                let Some(found) = files.get(&finding.file).map(|bytes| Digest::of(bytes)) else {
                    continue;
                };
                if let Some(other) = manifest.entries.iter().find(|other| other.sha256 == found) {
                    finding.problem = Problem::Swapped { of: other.path.clone() };
                }
            }
            _ => {}
        }
    }
}

fn read_statement(files: &BTreeMap<String, Vec<u8>>, seal: &Seal, manifest: &Manifest) -> Result<Statement, Finding> {
    let wrong = |problem| Finding {
        file: STATEMENT.to_owned(),
        problem,
    };
    let against = |with, what| wrong(Problem::Contradiction { with, what });
    let bytes = files.get(STATEMENT).ok_or_else(|| wrong(Problem::Missing))?;
    let envelope: Envelope = json::read(bytes, None).map_err(wrong)?;
    if envelope.is_signed() {
        return Err(wrong(Problem::Signed));
    }
    let payload = envelope
        .payload()
        .ok_or_else(|| wrong(Problem::Malformed("its payload is no base64".to_owned())))?;
    let statement: Statement = json::read(&payload, None).map_err(wrong)?;
    if !statement.is_about(&seal.manifest.sha256) {
        return Err(against(MANIFEST, "its subject is another manifest"));
    }
    if statement.predicate.run_id != manifest.run_id {
        return Err(against(MANIFEST, "they name different runs"));
    }
    if manifest
        .entry(FileName::PLAN)
        .is_some_and(|plan| plan.sha256 != statement.predicate.plan_digest)
    {
        return Err(against(FileName::PLAN, "it names the digest of another plan"));
    }
    Ok(statement)
}

/// A name out of a directory that is not trusted, for one line of a terminal.
pub(crate) fn shown(name: &str) -> String {
    name.chars()
        .take(200)
        .flat_map(|c| {
            if c.is_ascii_graphic() {
                vec![c]
            } else {
                c.escape_unicode().collect()
            }
        })
        .collect()
}
