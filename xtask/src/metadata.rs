//! The part of `cargo metadata` that the arrow check reads.
//!
//! Owns the wire shape; anything else cargo prints is ignored. The resolved graph has every feature of the workspace on,
//! so a crate that is seen here may still be absent from one build, never the other way round.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

/// `cargo metadata --format-version 1`.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
    pub(crate) resolve: Resolve,
}

/// One package, from the workspace or from a registry.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// The resolved graph.
#[derive(Debug, Deserialize)]
pub(crate) struct Resolve {
    pub(crate) nodes: Vec<Node>,
}

/// What one package resolved to.
#[derive(Debug, Deserialize)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) deps: Vec<Dep>,
}

/// One edge of the graph. It can be of several kinds at once.
#[derive(Debug, Deserialize)]
pub(crate) struct Dep {
    pub(crate) pkg: String,
    pub(crate) dep_kinds: Vec<DepKind>,
}

/// Why an edge is there; `kind` is absent for a normal dependency.
#[derive(Debug, Deserialize)]
pub(crate) struct DepKind {
    pub(crate) kind: Option<Kind>,
}

/// The kinds that have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// `[dev-dependencies]`
    Dev,
    /// `[build-dependencies]`
    Build,
}

impl Dep {
    /// A normal dependency, perhaps beside other kinds.
    pub(crate) fn is_normal(&self) -> bool {
        self.dep_kinds.iter().any(|kind| kind.kind.is_none())
    }

    /// Nothing but a dev-dependency: it is in no build that ships.
    pub(crate) fn is_dev_only(&self) -> bool {
        self.dep_kinds.iter().all(|kind| kind.kind == Some(Kind::Dev))
    }
}

/// `cargo metadata` could not be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MetadataError {
    /// cargo did not start.
    #[error("cargo metadata did not start: {0}")]
    Start(#[source] std::io::Error),
    /// cargo said no.
    #[error("cargo metadata failed:\n{0}")]
    Failed(String),
    /// cargo printed another shape.
    #[error("cargo metadata printed what this task does not read: {0}")]
    Shape(#[from] serde_json::Error),
}

/// Asks cargo about the workspace at `root`.
pub(crate) fn load(root: &Path) -> Result<Metadata, MetadataError> {
    let output = Command::new(cargo())
        .args(["metadata", "--format-version", "1"])
        .current_dir(root)
        .output()
        .map_err(MetadataError::Start)?;
    if !output.status.success() {
        return Err(MetadataError::Failed(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The cargo that runs this task.
pub(crate) fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
