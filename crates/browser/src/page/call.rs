//! Calls of the page script that give JSON and nodes in one answer.
//!
//! `Runtime.callFunctionOn` with a deep serialization gives the backend id of every node in the returned value, so that a look
//! needs no second round trip to learn them.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::ReadError;
use super::script::script;
use std::time::Instant;

use crate::cdp::protocol::runtime::{CallArgument, CallFunctionOn, Evaluate, ExceptionDetails};
use crate::cdp::protocol::{BackendNodeId, Command};
use crate::cdp::{Pending, Session};
use crate::context::{ActError, FrameRef};

/// `Runtime.callFunctionOn`, the answer deeply serialized.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeepCall {
    function_declaration: &'static str,
    execution_context_id: i64,
    arguments: Vec<CallArgument>,
    await_promise: bool,
    serialization_options: Value,
}

impl Command for DeepCall {
    const METHOD: &'static str = "Runtime.callFunctionOn";
    type Response = DeepAnswer;
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeepAnswer {
    result: DeepObject,
    exception_details: Option<ExceptionDetails>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeepObject {
    deep_serialized_value: Option<Typed<Vec<Value>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Typed<T> {
    value: Option<T>,
    /// A node that stands in the answer twice has its value only once; this says which it is.
    weak_local_object_reference: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeepNode {
    backend_node_id: BackendNodeId,
}

/// JSON text and lists of nodes.
#[derive(Debug)]
pub(super) struct Deep {
    pub(super) json: String,
    pub(super) nodes: Vec<Vec<BackendNodeId>>,
}

/// Sends `[json, nodes, …] = __jurat.find(spec)` to the frame. `None` when the frame has no world.
pub(super) fn send_find(frame: &FrameRef, spec: &Value) -> Option<Pending<DeepAnswer>> {
    send_deep(
        frame,
        "function (spec) { return __jurat.find(spec); }",
        vec![CallArgument::Value(spec.clone())],
    )
}

/// Sends a call that gives `[json, nodes, …]`. `None` when the frame has no world.
pub(super) fn send_deep(
    frame: &FrameRef,
    function: &'static str,
    arguments: Vec<CallArgument>,
) -> Option<Pending<DeepAnswer>> {
    let call = DeepCall {
        function_declaration: function,
        execution_context_id: frame.world_id?,
        arguments,
        await_promise: true,
        serialization_options: json!({
            "serialization": "deep", "maxDepth": 3, "additionalParameters": { "maxNodeDepth": 0, "includeShadowTree": "none" }
        }),
    };
    Some(frame.session.send(&call))
}

impl DeepAnswer {
    pub(super) fn read(self) -> Result<Deep, ReadError> {
        const WHAT: &str = "look for a locator";
        if let Some(details) = self.exception_details {
            return Err(thrown(WHAT, &details));
        }
        let lost = || {
            ReadError::Page(ActError::Lost {
                what: WHAT,
                detail: "the answer has another shape than expected".to_owned(),
            })
        };
        let parts = self
            .result
            .deep_serialized_value
            .and_then(|v| v.value)
            .ok_or_else(lost)?;
        let mut parts = parts.into_iter();
        let first: Typed<String> = parts
            .next()
            .and_then(|v| serde_json::from_value(v).ok())
            .ok_or_else(lost)?;
        let json = first.value.ok_or_else(lost)?;
        let mut nodes = Vec::new();
        let mut known: HashMap<u64, BackendNodeId> = HashMap::new();
        for part in parts {
            let list: Typed<Vec<Typed<DeepNode>>> = serde_json::from_value(part).map_err(|_| lost())?;
            let ids = list.value.unwrap_or_default().into_iter().map(|node| {
                let reference = node.weak_local_object_reference;
                match (node.value, reference) {
                    (Some(node), reference) => {
                        known.extend(reference.map(|reference| (reference, node.backend_node_id)));
                        Some(node.backend_node_id)
                    }
                    (None, reference) => known.get(&reference?).copied(),
                }
            });
            nodes.push(ids.collect::<Option<Vec<_>>>().ok_or_else(lost)?);
        }
        Ok(Deep { json, nodes })
    }
}

/// What a script threw, as an error: a selector or pattern that is none is the locator's fault.
fn thrown(what: &'static str, details: &ExceptionDetails) -> ReadError {
    let said = details
        .exception
        .as_ref()
        .and_then(|e| e.description.clone())
        .unwrap_or_else(|| details.text.clone());
    let first = said
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(300)
        .collect::<String>();
    if let Some(message) = first.strip_prefix("SyntaxError: ") {
        return ReadError::BadLocator {
            what: message.to_owned(),
        };
    }
    ReadError::Page(ActError::Script { what, message: first })
}

/// Whether a call failed because the page script is not in the frame's world.
pub(super) fn script_missing(error: &ReadError) -> bool {
    matches!(error, ReadError::Page(ActError::Script { message, .. }) if message.contains("__jurat is not defined"))
}

/// Puts the page script into a frame's world.
pub(super) async fn install(frame: &FrameRef, deadline: Instant) -> Result<(), ReadError> {
    let evaluate = Evaluate {
        context_id: frame.world_id,
        return_by_value: Some(true),
        ..Evaluate::new(script())
    };
    let answer = frame.session.call(&evaluate, deadline).await?;
    match answer.exception_details {
        None => Ok(()),
        Some(details) => Err(thrown("install the page script", &details)),
    }
}

/// Sends a call whose function gives JSON text. `None` when the frame has no world.
pub(super) fn send_json(
    frame: &FrameRef,
    function: &'static str,
    arguments: Vec<CallArgument>,
) -> Option<Pending<crate::cdp::protocol::runtime::Evaluated>> {
    let call = CallFunctionOn {
        execution_context_id: Some(frame.world_id?),
        arguments: Some(arguments),
        return_by_value: Some(true),
        await_promise: Some(true),
        ..CallFunctionOn::new(function)
    };
    Some(frame.session.send(&call))
}

/// Calls a function that gives JSON text, and reads it.
pub(super) async fn call_json<T: serde::de::DeserializeOwned>(
    frame: &FrameRef,
    function: &'static str,
    arguments: Vec<CallArgument>,
    deadline: Instant,
) -> Result<T, ReadError> {
    const WHAT: &str = "call the page script";
    let gone = || ReadError::Page(ActError::Gone { what: WHAT });
    let pending = send_json(frame, function, arguments).ok_or_else(gone)?;
    let answer = pending.wait(deadline).await?;
    if let Some(details) = answer.exception_details {
        return Err(thrown(WHAT, &details));
    }
    let lost = |error: serde_json::Error| {
        ReadError::Page(ActError::Lost {
            what: WHAT,
            detail: error.to_string(),
        })
    };
    let text: String = serde_json::from_str(answer.result.value.as_ref().map_or("null", |v| v.get())).map_err(lost)?;
    serde_json::from_str(&text).map_err(lost)
}

/// Gives handles for nodes in a frame's world, in order; a node that is gone is `None`.
pub(super) async fn resolve(
    session: &Session,
    world: i64,
    nodes: &[BackendNodeId],
    deadline: Instant,
) -> Result<Vec<Option<crate::cdp::protocol::ObjectId>>, ReadError> {
    use crate::cdp::protocol::dom::ResolveNode;
    let pending: Vec<_> = nodes
        .iter()
        .map(|node| {
            session.send(&ResolveNode {
                backend_node_id: Some(*node),
                execution_context_id: Some(world),
                object_group: Some(GROUP.to_owned()),
                ..Default::default()
            })
        })
        .collect();
    let mut out = Vec::with_capacity(pending.len());
    for one in pending {
        match one.wait(deadline).await {
            Ok(answer) => out.push(answer.object.object_id),
            Err(error) if error.kind() == crate::cdp::CallErrorKind::Refused && !error.context_gone() => out.push(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(out)
}

/// Object group of handles that live for one look only.
pub(super) const GROUP: &str = "jurat-look";
