//! How far a run was confined: the levels, their order, and the record that goes into evidence.
//!
//! A level is probed and recorded, never chosen in silence. Invariant: `Lane > Netns > GuardOnly`, so "accepts L and what
//! is above" is one comparison ([`Level::satisfies`]).

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A confinement level, weakest first so that the derived order is the order of strength.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The guard proxy alone: the browser is told to use it and shares the host's network.
    GuardOnly,
    /// A network namespace of its own with the tripwire on it; the host's files.
    Netns,
    /// Namespaces for user, network, pid, ipc, uts and mounts: the guard is the only way out.
    Lane,
}

impl Level {
    /// The level below which a pass becomes inconclusive unless another was accepted.
    pub const DEFAULT_ACCEPTED: Self = Self::Netns;

    /// Whether a run at this level is enough when `accepted` is the weakest level that the operator accepts.
    pub fn satisfies(self, accepted: Self) -> bool {
        self >= accepted
    }

    /// The word used on the command line, in evidence and in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GuardOnly => "guard_only",
            Self::Netns => "netns",
            Self::Lane => "lane",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no confinement level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no confinement level; write lane, netns or guard_only")]
pub struct UnknownLevel(pub String);

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "guard_only" => Ok(Self::GuardOnly),
            "netns" => Ok(Self::Netns),
            "lane" => Ok(Self::Lane),
            other => Err(UnknownLevel(other.to_owned())),
        }
    }
}

/// Whether Chromium's own sandbox was on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sandbox {
    /// Renderers ran in Chromium's sandbox.
    On,
    /// `--no-sandbox`: nothing else worked and the level was accepted.
    Off,
}

impl Sandbox {
    /// The word used in evidence and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

/// What became of one layer of confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LayerState {
    /// In force for the whole run.
    Enforced,
    /// Not part of this level, or not available here.
    Absent,
    /// Tried, and it did not take.
    Failed,
}

/// One layer: a name, what became of it, and what the probe saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Such as `guard`, `unprivileged_uid`, `subreaper`.
    pub name: String,
    /// What became of it.
    pub state: LayerState,
    /// What the probe saw, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl Layer {
    /// A layer with its state and detail.
    pub fn new(name: &str, state: LayerState, detail: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            state,
            detail: detail.into(),
        }
    }
}

/// The confinement of one run, as it goes into evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfinementRecord {
    /// The level that the run was really at.
    pub level: Level,
    /// Chromium's own sandbox.
    pub sandbox: Sandbox,
    /// Each layer in order.
    pub layers: Vec<Layer>,
    /// What this level does not stop, in fixed words (`udp`, `multicast`, `external_protocol`, …).
    pub not_enforced: Vec<String>,
    /// The browser's argument vector.
    pub argv: Vec<String>,
    /// The argument vector of bubblewrap, whole: the policy of the lane. Empty at the other levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lane_argv: Vec<String>,
    /// The namespaces that the browser was started in, by their names in `/proc/PID/ns`, with their inode numbers (namespaces(7));
    /// those that are jurat's own are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub namespaces: BTreeMap<String, u64>,
    /// The user id that the browser ran as, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const ALL: [Level; 3] = [Level::GuardOnly, Level::Netns, Level::Lane];

    #[test]
    fn stronger_levels_satisfy_weaker_ones() {
        for (i, level) in ALL.iter().enumerate() {
            for (j, accepted) in ALL.iter().enumerate() {
                assert_eq!(level.satisfies(*accepted), i >= j, "{level} against {accepted}");
            }
        }
        assert!(!Level::GuardOnly.satisfies(Level::DEFAULT_ACCEPTED));
        assert!(Level::Netns.satisfies(Level::DEFAULT_ACCEPTED));
    }

    #[test]
    fn words_are_the_same_everywhere() {
        for level in ALL {
            assert_eq!(level.as_str().parse::<Level>().unwrap(), level);
            assert_eq!(serde_json::to_string(&level).unwrap(), format!("\"{level}\""));
        }
        assert_eq!("Lane".parse::<Level>(), Err(UnknownLevel("Lane".to_owned())));
        for sandbox in [Sandbox::On, Sandbox::Off] {
            assert_eq!(
                serde_json::to_string(&sandbox).unwrap(),
                format!("\"{}\"", sandbox.as_str())
            );
        }
    }

    #[test]
    fn unknown_fields_are_refused() {
        let good = r#"{"level":"guard_only","sandbox":"on","layers":[{"name":"guard","state":"enforced"}],"not_enforced":["udp"],"argv":[]}"#;
        let record: ConfinementRecord = serde_json::from_str(good).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), good);
        assert!(serde_json::from_str::<ConfinementRecord>(&good.replacen('{', r#"{"x":1,"#, 1)).is_err());
    }
}
