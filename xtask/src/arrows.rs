//! The arrow check: arrows.toml against the resolved graph.
//!
//! Pure apart from reading arrows.toml. Every finding is reported, not only the first. A crate that the table does not
//! name is a finding, and so is a line of the table that names no crate, so the table cannot fall behind.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use crate::metadata::Metadata;

/// arrows.toml.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    crates: BTreeMap<String, Row>,
}

/// What one crate owns and may use.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    #[serde(rename = "owns")]
    _owns: String,
    may_use: BTreeSet<String>,
    #[serde(default)]
    forbid: BTreeSet<String>,
    #[serde(default)]
    dev_only: bool,
}

/// One arrow that should not be there, or one line of the table that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
enum Finding {
    #[error("{0} is a crate of the workspace but has no line in arrows.toml")]
    NotListed(String),
    #[error("arrows.toml has a line for {0}, which is no crate of the workspace")]
    NotThere(String),
    #[error("arrows.toml lets {from} use {to}, which is no crate of the workspace")]
    UnknownTarget { from: String, to: String },
    #[error("{from} depends on {to}, which is for tests only")]
    ShipsDevCrate { from: String, to: String },
    #[error("{from} depends on {to}; arrows.toml does not have this arrow")]
    Arrow { from: String, to: String },
    #[error("{from} may not have {krate} below it, but it does: {path}")]
    Forbidden { from: String, krate: String, path: String },
    #[error("the arrows of {0} lead back to it")]
    Cycle(String),
}

/// Why the check did not pass.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArrowsError {
    #[error("arrows.toml cannot be read: {0}")]
    Read(#[from] std::io::Error),
    #[error("arrows.toml: {0}")]
    Parse(#[from] toml::de::Error),
    #[error("the crates do not follow arrows.toml:\n{0}")]
    Findings(String),
}

/// Checks the workspace at `root`; the line says what was checked.
pub(crate) fn run(root: &Path, metadata: &Metadata) -> Result<String, ArrowsError> {
    let table: Table = toml::from_str(&std::fs::read_to_string(root.join("arrows.toml"))?)?;
    let findings = check(&table, metadata);
    if findings.is_empty() {
        return Ok(format!("arrows: {} crates follow arrows.toml", table.crates.len()));
    }
    let lines: Vec<String> = findings.iter().map(|finding| format!("  - {finding}")).collect();
    Err(ArrowsError::Findings(lines.join("\n")))
}

fn check(table: &Table, metadata: &Metadata) -> BTreeSet<Finding> {
    let graph = Graph::new(metadata);
    let mut findings = BTreeSet::new();
    for name in table
        .crates
        .keys()
        .filter(|name| !graph.members.contains(name.as_str()))
    {
        findings.insert(Finding::NotThere(name.clone()));
    }
    for (from, row) in &table.crates {
        for to in row.may_use.iter().filter(|to| !table.crates.contains_key(*to)) {
            findings.insert(Finding::UnknownTarget {
                from: from.clone(),
                to: to.clone(),
            });
        }
        if leads_back(table, from) {
            findings.insert(Finding::Cycle(from.clone()));
        }
    }
    for &member in &graph.members {
        match table.crates.get(member) {
            None => {
                findings.insert(Finding::NotListed(member.to_owned()));
            }
            Some(row) => {
                findings.extend(arrows_of(table, &graph, member, row));
                findings.extend(forbidden_below(&graph, member, row));
            }
        }
    }
    findings
}

/// Direct dependencies on other crates of the workspace.
fn arrows_of(table: &Table, graph: &Graph<'_>, from: &str, row: &Row) -> Vec<Finding> {
    let mut findings = Vec::new();
    for edge in graph
        .edges(from)
        .iter()
        .filter(|edge| graph.members.contains(edge.to) && edge.to != from)
    {
        let for_tests = table.crates.get(edge.to).is_some_and(|target| target.dev_only);
        if for_tests && (edge.dev_only || row.dev_only) {
            continue;
        }
        let (from, to) = (from.to_owned(), edge.to.to_owned());
        if for_tests {
            findings.push(Finding::ShipsDevCrate { from, to });
        } else if !row.may_use.contains(&to) {
            findings.push(Finding::Arrow { from, to });
        }
    }
    findings
}

/// Forbidden crates anywhere below `from`, by normal dependencies alone, each with the shortest path to it.
fn forbidden_below(graph: &Graph<'_>, from: &str, row: &Row) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::from([from]);
    let mut level = vec![vec![from]];
    while !level.is_empty() {
        let mut next = Vec::new();
        for path in level {
            let Some(&last) = path.last() else { continue };
            for edge in graph.edges(last).iter().filter(|edge| edge.normal) {
                if !seen.insert(edge.to) {
                    continue;
                }
                let mut longer = path.clone();
                longer.push(edge.to);
                if row.forbid.contains(edge.to) {
                    findings.push(Finding::Forbidden {
                        from: from.to_owned(),
                        krate: edge.to.to_owned(),
                        path: longer.join(" -> "),
                    });
                } else {
                    next.push(longer);
                }
            }
        }
        level = next;
    }
    findings
}

fn leads_back(table: &Table, start: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut todo = vec![start];
    while let Some(name) = todo.pop() {
        for to in table.crates.get(name).iter().flat_map(|row| &row.may_use) {
            if to == start {
                return true;
            }
            if seen.insert(to.as_str()) {
                todo.push(to);
            }
        }
    }
    false
}

/// One dependency by name.
struct Edge<'a> {
    to: &'a str,
    normal: bool,
    dev_only: bool,
}

/// The resolved graph by crate name. Two versions of one crate count as one crate, with the edges of both.
struct Graph<'a> {
    members: BTreeSet<&'a str>,
    edges: BTreeMap<&'a str, Vec<Edge<'a>>>,
}

impl<'a> Graph<'a> {
    fn new(metadata: &'a Metadata) -> Self {
        let names: BTreeMap<&str, &str> = metadata
            .packages
            .iter()
            .map(|package| (package.id.as_str(), package.name.as_str()))
            .collect();
        let name = |id: &'a str| names.get(id).copied().unwrap_or(id);
        let mut edges: BTreeMap<&str, Vec<Edge<'_>>> = BTreeMap::new();
        for node in &metadata.resolve.nodes {
            let deps = node.deps.iter().map(|dep| Edge {
                to: name(&dep.pkg),
                normal: dep.is_normal(),
                dev_only: dep.is_dev_only(),
            });
            edges.entry(name(&node.id)).or_default().extend(deps);
        }
        let members = metadata.workspace_members.iter().map(|id| name(id)).collect();
        Self { members, edges }
    }

    fn edges(&self, from: &str) -> &[Edge<'a>] {
        self.edges.get(from).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"
        [crates.core]
        owns = "judgement"
        may_use = []
        forbid = ["tokio"]
        [crates.guard]
        owns = "the way out"
        may_use = ["core"]
        [crates.kit]
        owns = "fixtures"
        may_use = ["core"]
        dev_only = true
        [crates.app]
        owns = "the engine"
        may_use = ["core", "guard"]
    "#;

    /// A workspace as (crate, its dependencies as `name` or `dev:name`); whatever is in `TABLE` is a member.
    fn workspace(crates: &[(&str, &[&str])]) -> Metadata {
        let members = ["core", "guard", "kit", "app", "extra"];
        let packages: Vec<_> = crates
            .iter()
            .map(|(name, _)| serde_json::json!({"id": name, "name": name}))
            .collect();
        let nodes: Vec<_> = crates
            .iter()
            .map(|(name, deps)| {
                let deps: Vec<_> = deps
                    .iter()
                    .map(|dep| match dep.strip_prefix("dev:") {
                        Some(dev) => serde_json::json!({"pkg": dev, "dep_kinds": [{"kind": "dev"}]}),
                        None => serde_json::json!({"pkg": dep, "dep_kinds": [{"kind": null}]}),
                    })
                    .collect();
                serde_json::json!({"id": name, "deps": deps})
            })
            .collect();
        let present: Vec<_> = crates
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| members.contains(name))
            .collect();
        serde_json::from_value(
            serde_json::json!({"packages": packages, "workspace_members": present, "resolve": {"nodes": nodes}}),
        )
        .unwrap()
    }

    /// Every finding as a line, for the clean workspace with the rows in `changed` put in place of its own.
    fn findings_with(changed: &[(&str, &[&str])]) -> Vec<String> {
        let clean: [(&str, &[&str]); 6] = [
            ("core", &["serde", "dev:kit"]),
            ("guard", &["core", "tokio", "dev:kit"]),
            ("kit", &["core"]),
            ("app", &["core", "guard", "dev:kit"]),
            ("serde", &[]),
            ("tokio", &[]),
        ];
        let mut rows: BTreeMap<&str, &[&str]> = clean.into_iter().collect();
        rows.extend(changed.iter().copied());
        let rows: Vec<_> = rows.into_iter().collect();
        let table: Table = toml::from_str(TABLE).unwrap();
        check(&table, &workspace(&rows))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_workspace_that_follows_the_table_has_no_findings() {
        assert_eq!(findings_with(&[]), Vec::<String>::new());
    }

    #[test]
    fn a_sibling_that_is_imported_is_found() {
        assert_eq!(
            findings_with(&[("core", &["serde", "guard"])])[0],
            "core depends on guard; arrows.toml does not have this arrow"
        );
    }

    #[test]
    fn a_sibling_is_no_dev_dependency_either() {
        assert_eq!(
            findings_with(&[("guard", &["core", "dev:app"])]),
            ["guard depends on app; arrows.toml does not have this arrow"]
        );
    }

    #[test]
    fn a_test_crate_that_would_ship_is_found() {
        assert_eq!(
            findings_with(&[("app", &["core", "kit"])]),
            ["app depends on kit, which is for tests only"]
        );
    }

    #[test]
    fn a_forbidden_crate_is_found_far_below() {
        assert_eq!(
            findings_with(&[("serde", &["mid"]), ("mid", &["tokio"])]),
            ["core may not have tokio below it, but it does: core -> serde -> mid -> tokio"]
        );
    }

    #[test]
    fn a_forbidden_crate_of_the_tests_is_none() {
        assert_eq!(
            findings_with(&[("core", &["serde", "dev:tokio"])]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_crate_without_a_line_and_a_line_without_a_crate_are_found() {
        let table: Table = toml::from_str(TABLE).unwrap();
        let lines: Vec<_> = check(
            &table,
            &workspace(&[("core", &[]), ("guard", &[]), ("kit", &[]), ("extra", &[])]),
        )
        .iter()
        .map(ToString::to_string)
        .collect();
        assert_eq!(
            lines,
            [
                "extra is a crate of the workspace but has no line in arrows.toml",
                "arrows.toml has a line for app, which is no crate of the workspace"
            ]
        );
    }

    #[test]
    fn a_table_that_leads_back_is_found() {
        let text = TABLE.replacen("may_use = []", "may_use = [\"app\"]", 1);
        let table: Table = toml::from_str(&text).unwrap();
        assert!(leads_back(&table, "core"));
        assert!(!leads_back(&toml::from_str(TABLE).unwrap(), "core"));
    }

    #[test]
    fn unknown_keys_of_the_table_are_refused() {
        assert!(toml::from_str::<Table>("[crates.core]\nowns = \"x\"\nmay_use = []\nforbids = []").is_err());
    }
}
