//! What lies on top of an element at sample points, whether or not it takes clicks.

use std::collections::HashMap;
use std::time::Instant;

use jurat_core::observation::{Layout, Px100, Rect, Top, TopIs};
use jurat_core::untrusted::Untrusted;
use serde_json::json;

use super::call;
use super::error::ReadError;
use super::gather::Found;
use super::place::{Expected, Level, owner_node};
use crate::cdp::CallErrorKind;
use crate::cdp::protocol::dom::{GetNodeForLocation, NodeForLocation};
use crate::cdp::protocol::runtime::CallArgument;
use crate::cdp::protocol::{BackendNodeId, FrameId};
use crate::context::FrameRef;

/// One element whose sample points are to be looked at.
#[derive(Debug)]
pub(super) struct Sampled<'a> {
    pub(super) found: &'a Found,
    pub(super) layout: &'a mut Layout,
    pub(super) levels: Vec<Level>,
    /// Sample points of the page script, in the tab's viewport once its frame is placed.
    pub(super) points: Vec<(Px100, Px100)>,
}

/// Sample points of a rectangle, as shares of it.
const SPOTS: [(i64, i64); 5] = [(50, 50), (10, 50), (90, 50), (30, 25), (70, 75)];

/// Points of the tab's viewport that lie in what is shown; of the rectangle's own where none of the given do.
pub(super) fn points(given: &[[i32; 2]], levels: &[Level], shown: Option<Rect>) -> Vec<(Px100, Px100)> {
    let Some(shown) = shown else { return Vec::new() };
    // Only the points of an element in the tab's own frame are already in the tab's viewport.
    let given: Vec<(Px100, Px100)> = match levels {
        [_] => given
            .iter()
            .map(|[x, y]| (i64::from(*x) * 100, i64::from(*y) * 100))
            .collect(),
        _ => Vec::new(),
    };
    if !given.is_empty() {
        return given;
    }
    SPOTS
        .iter()
        .map(|(x, y)| (shown.x + shown.width * x / 100, shown.y + shown.height * y / 100))
        .collect()
}

/// Fills in what is on top. All questions go out at once.
pub(super) async fn fill(frames: &[FrameRef], mut all: Vec<Sampled<'_>>, deadline: Instant) -> Result<(), ReadError> {
    let mut asked = Vec::new();
    for (element, sampled) in all.iter().enumerate() {
        for (level, seen_from) in sampled.levels.iter().enumerate() {
            for (point, at) in sampled.points.iter().enumerate() {
                let (x, y) = seen_from.document_point(*at);
                let ask = GetNodeForLocation {
                    include_user_agent_shadow_dom: Some(false),
                    ignore_pointer_events_none: Some(true),
                    ..GetNodeForLocation::new(x, y)
                };
                let Some(frame) = frames.get(seen_from.frame) else {
                    continue;
                };
                asked.push((element, level, point, frame.session.send(&ask)));
            }
        }
    }
    let mut answers: HashMap<(usize, usize, usize), Option<NodeForLocation>> = HashMap::with_capacity(asked.len());
    for (element, level, point, pending) in asked {
        let answer = match pending.wait(deadline).await {
            Ok(answer) => Some(answer),
            Err(error) if error.kind() == CallErrorKind::Refused && !error.context_gone() => None,
            Err(error) => return Err(error.into()),
        };
        answers.insert((element, level, point), answer);
    }
    for (element, sampled) in all.iter_mut().enumerate() {
        let node = |level: usize, point: usize| answers.get(&(element, level, point)).and_then(Option::as_ref);
        let mut unknown: Vec<(BackendNodeId, FrameId)> = Vec::new();
        for point in 0..sampled.points.len() {
            if let Some(top) = node(0, point)
                && top.backend_node_id != sampled.found.node
                && !unknown.iter().any(|(known, _)| *known == top.backend_node_id)
            {
                unknown.push((top.backend_node_id, top.frame_id.clone()));
            }
        }
        let related = relate(frames, sampled.found, &unknown, deadline).await?;
        let mut tops = Vec::with_capacity(sampled.points.len());
        for (point, (x, y)) in sampled.points.iter().enumerate() {
            let (mut is, mut other) = match node(0, point) {
                None => (TopIs::Nothing, None),
                Some(top) if top.backend_node_id == sampled.found.node => (TopIs::Own, None),
                Some(top) => related
                    .get(&top.backend_node_id)
                    .cloned()
                    .unwrap_or((TopIs::Other, None)),
            };
            for (level, seen_from) in sampled.levels.iter().enumerate().skip(1) {
                let Expected::Owner(owner) = seen_from.expected else {
                    continue;
                };
                match node(level, point) {
                    Some(top) if top.backend_node_id == owner => {}
                    Some(_) => (is, other) = (TopIs::Other, None),
                    None => (is, other) = (TopIs::Nothing, None),
                }
            }
            tops.push(Top {
                x: *x,
                y: *y,
                is,
                other: other.map(|o: String| Untrusted::bounded(&o, 300).0),
            });
        }
        sampled.layout.tops = tops;
    }
    Ok(())
}

type Related = HashMap<BackendNodeId, (TopIs, Option<String>)>;

/// Whose nodes are, seen from an element.
async fn relate(
    frames: &[FrameRef],
    found: &Found,
    unknown: &[(BackendNodeId, FrameId)],
    deadline: Instant,
) -> Result<Related, ReadError> {
    let mut related = Related::new();
    if unknown.is_empty() {
        return Ok(related);
    }
    let Some(frame) = frames.get(found.frame) else {
        return Ok(related);
    };
    let Some(world) = frame.world_id else {
        return Ok(related);
    };
    let mut asked = Vec::new();
    for (node, in_frame) in unknown {
        match lift(frames, *node, in_frame, found.frame, deadline).await? {
            Some(lifted) => asked.push((*node, lifted)),
            None => drop(related.insert(*node, (TopIs::Other, None))),
        }
    }
    let nodes: Vec<BackendNodeId> = asked.iter().map(|(_, lifted)| *lifted).collect();
    let objects = call::resolve(&frame.session, world, &nodes, deadline).await?;
    let mut arguments = vec![
        CallArgument::Value(json!(found.look)),
        CallArgument::Value(json!(found.index)),
    ];
    let mut order = Vec::new();
    for ((node, _), object) in asked.iter().zip(objects) {
        match object {
            Some(object) => {
                order.push(*node);
                arguments.push(CallArgument::ObjectId(object));
            }
            None => drop(related.insert(*node, (TopIs::Other, None))),
        }
    }
    if order.is_empty() {
        return Ok(related);
    }
    let function = "function (look, index, ...nodes) { return __jurat.relate(look, index, ...nodes); }";
    let answers: Vec<(TopIs, Option<String>)> = call::call_json(frame, function, arguments, deadline).await?;
    related.extend(order.into_iter().zip(answers));
    Ok(related)
}

/// The node of one frame that stands for a node of a frame inside it; `None` when it is in no frame inside.
async fn lift(
    frames: &[FrameRef],
    node: BackendNodeId,
    from: &FrameId,
    to: usize,
    deadline: Instant,
) -> Result<Option<BackendNodeId>, ReadError> {
    let Some(mut at) = frames.iter().position(|f| f.frame_id == *from) else {
        return Ok(None);
    };
    let mut node = node;
    while at != to {
        let Some(parent) = frames[at].parent else {
            return Ok(None);
        };
        let Some(owner) = owner_node(frames, at, deadline).await? else {
            return Ok(None);
        };
        node = owner;
        at = parent;
    }
    Ok(Some(node))
}
