//! Closed shadow roots: found by their hosts, handed to the page script by their backend ids.
//!
//! No script can ask an element for its closed root, so the page script names elements that could have one (custom elements, and elements
//! that may host a root and render none of their light children), and `DOM.describeNode` tells.

use std::time::Instant;

use super::call;
use super::error::ReadError;
use crate::cdp::CallErrorKind;
use crate::cdp::protocol::BackendNodeId;
use crate::cdp::protocol::dom::{DescribeNode, Node};
use crate::cdp::protocol::runtime::{CallArgument, CallFunctionOn, Evaluate};
use crate::context::FrameRef;

/// So many suspects are asked about one by one.
const ONE_BY_ONE: usize = 48;
/// Documents up to this many elements are described as a whole when there are more.
const WHOLE_ELEMENTS: u32 = 1000;

/// Hands closed roots of the suspects to the page script. Says whether there was any.
pub(super) async fn hand_in(
    frame: &FrameRef,
    suspects: &[BackendNodeId],
    more: u32,
    elements: u32,
    deadline: Instant,
) -> Result<bool, ReadError> {
    let Some(world) = frame.world_id else { return Ok(false) };
    let mut roots = Vec::new();
    if (suspects.len() > ONE_BY_ONE || more as usize > suspects.len()) && elements <= WHOLE_ELEMENTS {
        describe_whole(frame, world, &mut roots, deadline).await?;
    } else {
        let pending: Vec<_> = suspects
            .iter()
            .map(|node| {
                let ask = DescribeNode {
                    backend_node_id: Some(*node),
                    depth: Some(0),
                    pierce: Some(false),
                    ..Default::default()
                };
                frame.session.send(&ask)
            })
            .collect();
        for one in pending {
            match one.wait(deadline).await {
                Ok(answer) => collect(&answer.node, &mut roots),
                // It went away meanwhile.
                Err(error) if error.kind() == CallErrorKind::Refused => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    adopt(frame, world, &roots, deadline).await
}

/// Hands in all closed roots of a document. Says whether there was any that was not known.
pub(super) async fn search(frame: &FrameRef, deadline: Instant) -> Result<bool, ReadError> {
    let Some(world) = frame.world_id else { return Ok(false) };
    let mut roots = Vec::new();
    describe_whole(frame, world, &mut roots, deadline).await?;
    adopt(frame, world, &roots, deadline).await
}

async fn describe_whole(
    frame: &FrameRef,
    world: i64,
    roots: &mut Vec<BackendNodeId>,
    deadline: Instant,
) -> Result<(), ReadError> {
    let evaluate = Evaluate {
        context_id: Some(world),
        object_group: Some(call::GROUP.into()),
        ..Evaluate::new("document")
    };
    let document = frame.session.call(&evaluate, deadline).await?.result.object_id;
    let ask = DescribeNode {
        object_id: document,
        depth: Some(-1),
        pierce: Some(true),
        ..Default::default()
    };
    match frame.session.call(&ask, deadline).await {
        Ok(answer) => {
            collect(&answer.node, roots);
            Ok(())
        }
        // Too deep or too long to be read: what the signs give away is known all the same.
        Err(error)
            if matches!(
                error.kind(),
                CallErrorKind::Refused | CallErrorKind::Decode | CallErrorKind::TooLarge
            ) =>
        {
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Closed roots in a described node, without those of other documents.
fn collect(node: &Node, roots: &mut Vec<BackendNodeId>) {
    for root in node.shadow_roots.iter().flatten() {
        if root.shadow_root_type.as_deref() == Some("closed") {
            roots.push(root.backend_node_id);
        }
        collect(root, roots);
    }
    for child in node.children.iter().flatten() {
        collect(child, roots);
    }
}

/// Gives roots to the page script; says whether any was new to it.
pub(super) async fn adopt(
    frame: &FrameRef,
    world: i64,
    roots: &[BackendNodeId],
    deadline: Instant,
) -> Result<bool, ReadError> {
    if roots.is_empty() {
        return Ok(false);
    }
    let objects = call::resolve(&frame.session, world, roots, deadline).await?;
    let mut arguments: Vec<CallArgument> = objects.into_iter().flatten().map(CallArgument::ObjectId).collect();
    if arguments.is_empty() {
        return Ok(false);
    }
    arguments.truncate(400);
    let call = CallFunctionOn {
        execution_context_id: Some(world),
        arguments: Some(arguments),
        return_by_value: Some(true),
        ..CallFunctionOn::new("function (...roots) { return roots.map((root) => __jurat.adopt(root)).some(Boolean); }")
    };
    let answer = frame.session.call(&call, deadline).await?;
    Ok(answer.result.value.is_some_and(|v| v.get() == "true"))
}
