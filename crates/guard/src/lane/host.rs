//! Level `guard_only`, and what it has in common with `netns`: the host's files, a private home, the browser as an unprivileged
//! user with its own sandbox on.

use std::ffi::OsString;

use jurat_core::confinement::Level;

use super::running::{Network, Parts};
use super::{Ground, Lane, Order, Settings, Way, no_directory, record};
use crate::guard::host_listeners;
use crate::scratch::Scratch;
use crate::supervise::{SandboxPlan, Spawn, Supervisor, User};

pub(super) fn prepare(order: Order, settings: &Settings) -> Result<Ground, String> {
    let listeners = host_listeners(order.listeners).map_err(|e| format!("the guard cannot listen: {e}"))?;
    let port = listeners
        .first()
        .and_then(|listener| listener.local_addr().ok())
        .map_or(0, |address| address.port());
    let ground = ground(Level::GuardOnly, order, settings, Way::Host(listeners))?;
    Ok(Ground {
        guard_port: port,
        ..ground
    })
}

/// A private home on the host, for a browser that sees the host's files.
pub(super) fn ground(level: Level, order: Order, settings: &Settings, way: Way) -> Result<Ground, String> {
    let helper = order.program.parent().map(|folder| folder.join("chrome-sandbox"));
    let sandbox = SandboxPlan::probe(User::NOBODY, helper.as_deref());
    let scratch = Scratch::create(&order.temporary, sandbox.user).map_err(|e| no_directory(&order, &e))?;
    let home = scratch.dir("home").map_err(|e| no_directory(&order, &e))?;
    let files = scratch.dir("files").map_err(|e| no_directory(&order, &e))?;
    Ok(Ground {
        level,
        settings: settings.clone(),
        scratch,
        sandbox,
        home,
        files,
        guard_port: 0,
        shm: shm_bytes(),
        way,
        order,
    })
}

pub(super) async fn start(mut ground: Ground, supervisor: &Supervisor, args: Vec<OsString>) -> Result<Lane, String> {
    let mut env: Vec<(OsString, OsString)> = vec![
        ("HOME".into(), ground.home.clone().into()),
        ("TMPDIR".into(), ground.home.clone().into()),
        ("PATH".into(), "/nonexistent".into()),
        ("LANG".into(), "C.UTF-8".into()),
    ];
    env.extend(ground.order.display.iter().cloned());
    let spawn = Spawn {
        program: ground.order.program.clone(),
        args,
        env,
        cwd: ground.home.clone(),
        user: ground.sandbox.user,
        pipes: true,
        fds: Vec::new(),
        no_new_privs: ground.sandbox.no_new_privs,
    };
    let (namespaces, network) = match std::mem::replace(&mut ground.way, Way::Host(Vec::new())) {
        Way::Netns(entered) => {
            let namespaces = std::sync::Arc::clone(&entered.namespaces);
            let ids = record::held_ids(&namespaces);
            (Some(namespaces), Network::of(entered, &ground.order, None, ids)?)
        }
        Way::Host(listeners) => (None, Network::host(listeners)),
        Way::Sealed { .. } => return Err("made ready for bubblewrap".to_owned()),
    };
    let supervised = supervisor
        .spawn_in(spawn, namespaces)
        .await
        .map_err(|e| format!("{e}: {}", e.io()))?;
    Parts {
        ground,
        supervised,
        network,
        lane_argv: Vec::new(),
    }
    .assemble()
}

/// The size of /dev/shm, as far as the system tells.
pub fn shm_bytes() -> Option<u64> {
    let found = rustix::fs::statvfs("/dev/shm").ok()?;
    Some(found.f_blocks * found.f_frsize)
}
