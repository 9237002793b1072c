//! What evidence says about a lane.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use jurat_core::confinement::{ConfinementRecord, Layer, LayerState, Level, Sandbox};
use rustix::process::geteuid;

use super::enter::Namespaces;
use super::{Lane, Unavailable};

/// What each level does not stop, in the words of evidence, with the levels that do not stop it.
pub const NOT_ENFORCED: [(&str, &[Level]); 8] = [
    ("udp", &[Level::GuardOnly]),
    ("multicast", &[Level::GuardOnly]),
    ("dns", &[Level::GuardOnly]),
    ("host_network", &[Level::GuardOnly]),
    ("external_protocol", &[Level::GuardOnly, Level::Netns]),
    ("host_files", &[Level::GuardOnly, Level::Netns]),
    ("host_processes", &[Level::GuardOnly, Level::Netns]),
    ("resources", &[Level::GuardOnly, Level::Netns, Level::Lane]),
];

/// The namespaces that a lane can have of its own, as /proc names them.
const NAMES: [&str; 7] = ["user", "net", "pid", "mnt", "ipc", "uts", "cgroup"];

/// The namespaces of a process that are not ours, by inode number; those that cannot be seen are left out.
pub(super) fn namespace_ids(pid: i32) -> BTreeMap<String, u64> {
    let inode = |who: &str, name: &str| fs::metadata(format!("/proc/{who}/ns/{name}")).ok().map(|m| m.ino());
    let pid = pid.to_string();
    NAMES
        .iter()
        .filter_map(|name| {
            let id = inode(&pid, name)?;
            (inode("self", name) != Some(id)).then(|| ((*name).to_owned(), id))
        })
        .collect()
}

/// The same of namespaces that are held open.
pub(super) fn held_ids(namespaces: &Namespaces) -> BTreeMap<String, u64> {
    let inode = |fd: &std::os::fd::OwnedFd| rustix::fs::fstat(fd).ok().map(|found| found.st_ino);
    let user = namespaces.user.as_ref().and_then(inode);
    [("user", user), ("net", inode(&namespaces.net))]
        .into_iter()
        .filter_map(|(name, id)| Some((name.to_owned(), id?)))
        .collect()
}

/// The record of a lane, whose program was started as `argv`.
pub(super) fn of(lane: &Lane, argv: Vec<String>, missing: &[Unavailable]) -> ConfinementRecord {
    let level = lane.level();
    let mut ids = lane.ids.clone();
    if let Some(init) = lane.init {
        // bwrap goes into one more user namespace before it runs the program.
        ids.extend(namespace_ids(init));
    }
    let mut not_enforced: Vec<String> = NOT_ENFORCED
        .iter()
        .filter(|(_, levels)| levels.contains(&lane.built()))
        .map(|(word, _)| (*word).to_owned())
        .collect();
    if lane.tripwire().is_none() {
        not_enforced.push("tripwire".to_owned());
    }
    ConfinementRecord {
        level,
        sandbox: lane.sandbox.sandbox,
        layers: layers(lane, &ids, missing),
        not_enforced,
        argv,
        lane_argv: lane.bwrap_argv.clone(),
        namespaces: ids,
        uid: Some(lane.sandbox.user.map_or_else(|| geteuid().as_raw(), |user| user.uid)),
    }
}

fn layers(lane: &Lane, ids: &BTreeMap<String, u64>, missing: &[Unavailable]) -> Vec<Layer> {
    use LayerState::{Absent, Enforced, Failed};
    let built = lane.built();
    let sandbox = match lane.sandbox.sandbox {
        Sandbox::On => Enforced,
        Sandbox::Off => Failed,
    };
    let user = match lane.sandbox.user {
        Some(user) => Layer::new("unprivileged_user", Enforced, format!("uid {}", user.uid)),
        None => Layer::new(
            "unprivileged_user",
            Absent,
            "the browser runs as the user who started jurat",
        ),
    };
    let mut layers = vec![
        Layer::new("guard", Enforced, "forwarding proxy, no bypass entry"),
        Layer::new("canaries", Enforced, ""),
        Layer::new("browser_sandbox", sandbox, lane.sandbox.reasons.join("; ")),
        user,
    ];
    if built >= Level::Netns {
        layers.push(Layer::new("network", Enforced, "a namespace with loopback only"));
        layers.push(match &lane.routes {
            Some([Ok(()), Ok(())]) => Layer::new("any_address_local", Enforced, "local default routes, IPv4 and IPv6"),
            Some([v4, v6]) => {
                let said = |name: &str, one: &Result<(), String>| match one {
                    Ok(()) => format!("{name} is in place"),
                    Err(why) => format!("{name}: {why}"),
                };
                Layer::new(
                    "any_address_local",
                    Failed,
                    format!("{}; {}", said("IPv4", v4), said("IPv6", v6)),
                )
            }
            None => Layer::new("any_address_local", Failed, "withheld"),
        });
        layers.push(match &lane.tripwire {
            Some(Ok(_)) => Layer::new("tripwire", Enforced, "packet socket on loopback"),
            Some(Err(why)) => Layer::new("tripwire", Failed, why.clone()),
            None => Layer::new("tripwire", Absent, ""),
        });
    } else {
        layers.push(Layer::new("tripwire", Absent, "the network is the host's"));
    }
    if built == Level::Lane {
        let names: Vec<&str> = ids.keys().map(String::as_str).collect();
        layers.push(Layer::new("namespaces", Enforced, names.join(", ")));
        layers.push(Layer::new(
            "files",
            Enforced,
            "libraries, fonts and the browser read-only; no programs; home and /tmp in memory",
        ));
        layers.push(Layer::new(
            "process_tree",
            Enforced,
            "pid namespace, death signal, subreaper, pidfd",
        ));
    } else {
        layers.push(Layer::new(
            "process_tree",
            Enforced,
            "session, death signal, subreaper, pidfd; no pid namespace",
        ));
    }
    let short = lane.shortfall().map(|why| (Level::Lane, why.to_owned()));
    let not_had = missing.iter().map(|m| (m.level, m.why.clone())).chain(short);
    layers.extend(not_had.map(|(level, why)| Layer::new(level.as_str(), Absent, why)));
    layers
}
