//! Level `netns`: a network namespace of its own, where bubblewrap is missing or refused.
//!
//! Root makes the namespace as itself and starts the browser in it as another user; anybody else makes a user namespace with it,
//! in which they stay who they are. Invariant: the browser has no other network than a loopback that we watch.

use jurat_core::confinement::Level;
use rustix::process::geteuid;

use super::enter::{Place, enter};
use super::{GUARD_PORT, Ground, Order, Settings, Way, asks, host, refusal};

pub(super) async fn prepare(order: Order, settings: &Settings) -> Result<Ground, String> {
    if settings.withheld.user_namespaces {
        return Err("user namespaces are withheld".to_owned());
    }
    let place = Place::New {
        user: !geteuid().is_root(),
    };
    let entered = enter(place, !settings.withheld.routes, asks(&order, settings))
        .await
        .map_err(|e| refusal::namespaces(e.stage, &e.source))?;
    let ground = host::ground(Level::Netns, order, settings, Way::Netns(entered))?;
    Ok(Ground {
        guard_port: GUARD_PORT,
        ..ground
    })
}
