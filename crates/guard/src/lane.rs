//! How far a run can be confined on this machine: the seam for lanes.
//!
//! Only `guard_only` is built. The stronger levels are named with the reason why they are not there, so that nothing reports
//! more than it enforces.

use jurat_core::confinement::{ConfinementRecord, Layer, LayerState, Level, Sandbox};

use crate::supervise::SandboxPlan;

/// What `guard_only` does not stop, in the words of evidence.
pub const NOT_ENFORCED: [&str; 6] = [
    "udp",
    "multicast",
    "dns",
    "external_protocol",
    "host_files",
    "host_network",
];

/// Whether one level can be had here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelProbe {
    /// The level.
    pub level: Level,
    /// None if it can be had; else why not.
    pub unavailable: Option<String>,
}

/// What the machine and this build offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The strongest level that can be had.
    pub level: Level,
    /// Every level, strongest first.
    pub levels: Vec<LevelProbe>,
}

/// Probes every level.
pub fn probe() -> Probe {
    const NOT_BUILT: &str = "not built yet: this version confines by the guard alone";
    let levels = vec![
        LevelProbe {
            level: Level::Lane,
            unavailable: Some(NOT_BUILT.to_owned()),
        },
        LevelProbe {
            level: Level::Netns,
            unavailable: Some(NOT_BUILT.to_owned()),
        },
        LevelProbe {
            level: Level::GuardOnly,
            unavailable: None,
        },
    ];
    let available = levels
        .iter()
        .filter(|probe| probe.unavailable.is_none())
        .map(|probe| probe.level);
    Probe {
        level: available.max().unwrap_or(Level::GuardOnly),
        levels,
    }
}

/// A way to confine a browser. A lane becomes a variant beside this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confinement {
    /// The host's network and files; the guard by proxy setting; the browser as the plan says.
    GuardOnly(SandboxPlan),
}

impl Confinement {
    /// Its level.
    pub fn level(&self) -> Level {
        match self {
            Self::GuardOnly(_) => Level::GuardOnly,
        }
    }

    /// The record for evidence, with the argument vector that the browser was started with.
    pub fn record(&self, argv: Vec<String>) -> ConfinementRecord {
        let Self::GuardOnly(plan) = self;
        let sandbox = match plan.sandbox {
            Sandbox::On => LayerState::Enforced,
            Sandbox::Off => LayerState::Failed,
        };
        let user = match plan.user {
            Some(user) => (LayerState::Enforced, format!("uid {}", user.uid)),
            None => (
                LayerState::Absent,
                "the browser runs as the user who started jurat".to_owned(),
            ),
        };
        let absent = probe()
            .levels
            .into_iter()
            .filter_map(|p| Some(Layer::new(p.level.as_str(), LayerState::Absent, p.unavailable?)));
        let mut layers = vec![
            Layer::new("guard", LayerState::Enforced, "forwarding proxy, no bypass entry"),
            Layer::new("canaries", LayerState::Enforced, ""),
            Layer::new("browser_sandbox", sandbox, plan.reasons.join("; ")),
            Layer::new("unprivileged_user", user.0, user.1),
            Layer::new(
                "process_tree",
                LayerState::Enforced,
                "session, death signal, subreaper, pidfd; no pid namespace",
            ),
        ];
        layers.extend(absent);
        ConfinementRecord {
            level: self.level(),
            sandbox: plan.sandbox,
            layers,
            not_enforced: NOT_ENFORCED.map(str::to_owned).to_vec(),
            argv,
            uid: Some(
                plan.user
                    .map_or_else(|| rustix::process::geteuid().as_raw(), |user| user.uid),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervise::User;

    #[test]
    fn nothing_is_claimed_that_is_not_built() {
        let probe = probe();
        assert_eq!(probe.level, Level::GuardOnly);
        assert!(
            probe
                .levels
                .iter()
                .all(|p| (p.level == Level::GuardOnly) == p.unavailable.is_none())
        );
        assert!(probe.levels.is_sorted_by(|a, b| a.level > b.level));
    }

    #[test]
    fn the_record_says_what_is_in_force() {
        let plan = |sandbox, user| SandboxPlan {
            sandbox,
            user,
            no_new_privs: true,
            reasons: vec!["why".to_owned()],
        };
        let state = |record: &ConfinementRecord, name: &str| {
            record
                .layers
                .iter()
                .find(|layer| layer.name == name)
                .map(|layer| layer.state)
        };
        let on = Confinement::GuardOnly(plan(Sandbox::On, Some(User::NOBODY))).record(vec!["a".to_owned()]);
        assert_eq!(
            (on.level, on.sandbox, on.uid),
            (Level::GuardOnly, Sandbox::On, Some(65534))
        );
        assert_eq!(state(&on, "browser_sandbox"), Some(LayerState::Enforced));
        assert_eq!(state(&on, "unprivileged_user"), Some(LayerState::Enforced));
        assert_eq!(state(&on, "lane"), Some(LayerState::Absent));
        assert!(on.not_enforced.contains(&"udp".to_owned()));
        let off = Confinement::GuardOnly(plan(Sandbox::Off, None)).record(Vec::new());
        assert_eq!(state(&off, "browser_sandbox"), Some(LayerState::Failed));
        assert_eq!(state(&off, "unprivileged_user"), Some(LayerState::Absent));
    }
}
