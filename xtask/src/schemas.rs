//! The published JSON Schemas: `schemas/KIND.json`, printed by `jurat schema KIND`.
//!
//! The binary is the only source. This task builds it once and writes or compares what it prints, byte for byte.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::metadata::cargo;

/// Every kind that `jurat schema` prints as a JSON document and that we publish.
const KINDS: [&str; 3] = ["contract", "reasons", "result"];

/// Why the schemas were not written, or not found fresh.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemasError {
    #[error("cargo did not start: {0}")]
    Start(#[source] std::io::Error),
    #[error("jurat schema {kind} failed:\n{stderr}")]
    Print { kind: &'static str, stderr: String },
    #[error("{path} cannot be written: {source}")]
    Write { path: String, source: std::io::Error },
    #[error("these schemas are not what the binary prints: {0}\nwrite them with: cargo xtask schemas")]
    Stale(String),
}

/// Writes every schema.
pub(crate) fn write(root: &Path) -> Result<String, SchemasError> {
    let failed = |path: &Path, source| SchemasError::Write {
        path: path.display().to_string(),
        source,
    };
    let folder = root.join("schemas");
    std::fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
    for kind in KINDS {
        let path = file(root, kind);
        std::fs::write(&path, print(root, kind)?).map_err(|error| failed(&path, error))?;
    }
    Ok(format!("schemas: wrote {}", KINDS.join(", ")))
}

/// Compares every committed schema with what the binary prints.
pub(crate) fn check(root: &Path) -> Result<String, SchemasError> {
    let mut stale = Vec::new();
    for kind in KINDS {
        // A schema that cannot be read is one that is not there: stale.
        let committed = std::fs::read(file(root, kind)).ok();
        if committed != Some(print(root, kind)?) {
            stale.push(format!("schemas/{kind}.json"));
        }
    }
    if stale.is_empty() {
        Ok(format!("schemas: {} are fresh", KINDS.join(", ")))
    } else {
        Err(SchemasError::Stale(stale.join(", ")))
    }
}

fn file(root: &Path, kind: &str) -> PathBuf {
    root.join("schemas").join(format!("{kind}.json"))
}

fn print(root: &Path, kind: &'static str) -> Result<Vec<u8>, SchemasError> {
    let output = Command::new(cargo())
        .args([
            "run",
            "--quiet",
            "--package",
            "jurat",
            "--bin",
            "jurat",
            "--",
            "schema",
            kind,
        ])
        .current_dir(root)
        .output()
        .map_err(SchemasError::Start)?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(SchemasError::Print {
            kind,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}
