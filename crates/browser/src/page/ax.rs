//! Roles and names as Chromium's own accessibility tree has them.

use std::time::Instant;

use jurat_core::contract::Locator;
use jurat_core::evaluate::matching;
use jurat_core::untrusted::Untrusted;
use serde_json::json;

use super::call;
use super::error::ReadError;
use super::gather::{Found, Gathered, by_role};
use super::scan::{Item, Wish};
use crate::cdp::protocol::BackendNodeId;
use crate::cdp::protocol::accessibility::{AxNode, GetPartialAxTree};
use crate::cdp::protocol::runtime::CallArgument;
use crate::context::{ActError, FrameRef};

/// Chromium's role and name of an element.
#[derive(Debug, Clone, Default)]
pub(super) struct AxFact {
    /// None for a role that ARIA does not know (a plain box, a label); the scan's own is then kept.
    pub(super) role: Option<String>,
    pub(super) name: String,
    /// Not in the tree.
    ignored: bool,
    answered: bool,
}

impl AxFact {
    /// Not known yet, but to be asked for.
    pub(super) fn asked() -> Self {
        Self::default()
    }
}

/// Asks Chromium for the role and name of what was found, and leaves only what is a match by them. Where only Chromium's answer makes it one, its
/// facts are fetched.
pub(super) async fn confirm(
    gathered: &mut Gathered,
    locator: &Locator,
    wish: &Wish,
    deadline: Instant,
) -> Result<(), ReadError> {
    let all: Vec<usize> = (0..gathered.found.len())
        .filter(|at| gathered.found[*at].ax.is_some())
        .collect();
    ask(gathered, &all, deadline).await?;
    // A tree that was built just now can still lack a frame's part: what the scan is sure of is asked for twice.
    let again: Vec<usize> = all
        .into_iter()
        .filter(|at| {
            let found = &gathered.found[*at];
            by_role(locator) && !found.item.is_unsure() && !is_match(found, locator)
        })
        .collect();
    ask(gathered, &again, deadline).await?;
    for found in &mut gathered.found {
        // An element that the tree leaves out has no role of its own there.
        if found.ax.as_ref().is_some_and(|ax| !ax.answered || ax.ignored) && !by_role(locator) {
            found.ax = None;
        }
    }
    if by_role(locator) {
        let before = gathered.found.len();
        gathered.found.retain(|found| is_match(found, locator));
        // A frame that is confirmed has all its candidates here; one that is not counted its matches itself.
        let dropped = u32::try_from(before - gathered.found.len()).unwrap_or(u32::MAX);
        gathered.total = gathered.total.saturating_sub(dropped);
        fetch_missing(gathered, locator, wish, deadline).await?;
    }
    Ok(())
}

async fn ask(gathered: &mut Gathered, which: &[usize], deadline: Instant) -> Result<(), ReadError> {
    let mut asked = Vec::with_capacity(which.len());
    for at in which {
        let found = &gathered.found[*at];
        let ask = GetPartialAxTree {
            backend_node_id: Some(found.node),
            fetch_relatives: Some(false),
            ..Default::default()
        };
        asked.push((*at, gathered.frames[found.frame].session.send(&ask)));
    }
    for (at, pending) in asked {
        let fact = match pending.wait(deadline).await {
            Ok(answer) => answer.nodes.first().map(read).unwrap_or_default(),
            // The node went away: its document changed under the look.
            Err(error) if error.kind() == crate::cdp::CallErrorKind::Refused => {
                return Err(ActError::Gone { what: error.method() }.into());
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(found) = gathered.found.get_mut(at) {
            found.ax = Some(fact);
        }
    }
    Ok(())
}

/// Chromium's own roles of nodes of one frame; `None` where a node has none, or is not in the tree.
pub(super) async fn roles(
    frame: &FrameRef,
    nodes: &[BackendNodeId],
    deadline: Instant,
) -> Result<Vec<Option<String>>, ReadError> {
    let asked: Vec<_> = nodes
        .iter()
        .map(|node| {
            frame.session.send(&GetPartialAxTree {
                backend_node_id: Some(*node),
                fetch_relatives: Some(false),
                ..Default::default()
            })
        })
        .collect();
    let mut roles = Vec::with_capacity(nodes.len());
    for pending in asked {
        roles.push(match pending.wait(deadline).await {
            // A role that ARIA does not know is none of those that a locator can name.
            Ok(answer) => answer.nodes.first().filter(|node| !node.ignored).map(|node| {
                let fact = read(node);
                fact.role.unwrap_or_default()
            }),
            // It went away.
            Err(error) if error.kind() == crate::cdp::CallErrorKind::Refused => None,
            Err(error) => return Err(error.into()),
        });
    }
    Ok(roles)
}

fn is_match(found: &Found, locator: &Locator) -> bool {
    let Some(ax) = &found.ax else { return true };
    if ax.ignored || !ax.answered {
        return false;
    }
    let mut element = found.item.element(false);
    if let Some(role) = &ax.role {
        element.role = Untrusted::new(role);
    }
    element.name = Untrusted::new(&ax.name);
    matching::matches(locator, &element)
}

/// The facts of matches that the scan did not think were any.
async fn fetch_missing(
    gathered: &mut Gathered,
    locator: &Locator,
    wish: &Wish,
    deadline: Instant,
) -> Result<(), ReadError> {
    let spec = super::scan::spec(&super::scan::What::Locator(locator), wish, None, 0);
    let missing: Vec<usize> = gathered
        .found
        .iter()
        .enumerate()
        .filter(|(_, f)| f.item.is_unsure())
        .map(|(at, _)| at)
        .collect();
    for at in missing {
        let found = &gathered.found[at];
        let arguments = vec![
            CallArgument::Value(json!(found.look)),
            CallArgument::Value(json!([found.index])),
            CallArgument::Value(spec.clone()),
            CallArgument::Value(json!(false)),
        ];
        let frame = gathered.frames[found.frame].clone();
        let mut items: Vec<Item> = call::call_json(&frame, MORE, arguments, deadline).await?;
        if let (Some(item), Some(found)) = (items.pop(), gathered.found.get_mut(at)) {
            found.item = item;
        }
    }
    Ok(())
}

/// The page script's second look at elements of a first.
pub(super) const MORE: &str =
    "function (look, indices, spec, scroll) { return __jurat.more(look, indices, spec, scroll); }";

fn read(node: &AxNode) -> AxFact {
    let role = node
        .role
        .as_ref()
        .filter(|role| role.r#type == "role")
        .and_then(crate::cdp::protocol::accessibility::AxValue::text);
    let role = role.map(|role| match role.as_str() {
        "image" => "img".to_owned(),
        "presentation" => "none".to_owned(),
        _ => role,
    });
    let name = node
        .name
        .as_ref()
        .and_then(crate::cdp::protocol::accessibility::AxValue::text)
        .unwrap_or_default();
    // A form is one only by its name.
    let role = if role.as_deref() == Some("form") && name.is_empty() {
        Some("generic".to_owned())
    } else {
        role
    };
    AxFact {
        role,
        name: matching::fold(&name),
        ignored: node.ignored,
        answered: true,
    }
}
