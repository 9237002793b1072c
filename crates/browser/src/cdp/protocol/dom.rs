//! `DOM`: nodes by their backend ids, boxes, files.

#![expect(missing_docs, reason = "fields are those of the DevTools protocol")]

use serde::Serialize;

use super::runtime::RemoteObject;
use super::{BackendNodeId, Done, FrameId, NodeId, ObjectId, command, event, record};

command! { Enable = "DOM.enable" -> Done }
command! { Disable = "DOM.disable" -> Done }
command! { GetDocument = "DOM.getDocument" -> Document, optional { depth: i32, pierce: bool } }
command! {
    DescribeNode = "DOM.describeNode" -> Described,
    optional { node_id: NodeId, backend_node_id: BackendNodeId, object_id: ObjectId, depth: i32, pierce: bool }
}
command! {
    ResolveNode = "DOM.resolveNode" -> Resolved,
    optional { node_id: NodeId, backend_node_id: BackendNodeId, object_group: String, execution_context_id: i64 }
}
command! { RequestNode = "DOM.requestNode" -> Requested { object_id: ObjectId } }
command! {
    GetContentQuads = "DOM.getContentQuads" -> ContentQuads,
    optional { node_id: NodeId, backend_node_id: BackendNodeId, object_id: ObjectId }
}
command! {
    GetBoxModel = "DOM.getBoxModel" -> BoxModelAnswer,
    optional { node_id: NodeId, backend_node_id: BackendNodeId, object_id: ObjectId }
}
command! {
    /// In CSS pixels of the viewport.
    GetNodeForLocation = "DOM.getNodeForLocation" -> NodeForLocation { x: i32, y: i32 }
    optional {
        #[serde(rename = "includeUserAgentShadowDOM")] include_user_agent_shadow_dom: bool,
        ignore_pointer_events_none: bool,
    }
}
command! {
    SetFileInputFiles = "DOM.setFileInputFiles" -> Done { files: Vec<String> }
    optional { node_id: NodeId, backend_node_id: BackendNodeId, object_id: ObjectId }
}
command! {
    ScrollIntoViewIfNeeded = "DOM.scrollIntoViewIfNeeded" -> Done,
    optional { node_id: NodeId, backend_node_id: BackendNodeId, object_id: ObjectId, rect: Rect }
}
command! {
    Focus = "DOM.focus" -> Done,
    optional { node_id: NodeId, backend_node_id: BackendNodeId, object_id: ObjectId }
}
command! { GetFrameOwner = "DOM.getFrameOwner" -> FrameOwner { frame_id: FrameId } }
command! {
    GetOuterHtml = "DOM.getOuterHTML" -> OuterHtml,
    optional { node_id: NodeId, backend_node_id: BackendNodeId, object_id: ObjectId }
}

event! { DocumentUpdated = "DOM.documentUpdated" {} }

record! { Document { root: Node } }
record! { Described { node: Node } }
record! { Resolved { object: RemoteObject } }
record! { Requested { node_id: NodeId } }
record! { ContentQuads { quads: Vec<Quad> } }
record! { BoxModelAnswer { model: BoxModel } }
record! { BoxModel { content: Quad, padding: Quad, border: Quad, margin: Quad, width: i64, height: i64 } }
record! { NodeForLocation { backend_node_id: BackendNodeId, frame_id: FrameId, node_id: Option<NodeId> } }
record! { FrameOwner { backend_node_id: BackendNodeId, node_id: Option<NodeId> } }
record! {
    OuterHtml { #[serde(rename = "outerHTML")] outer_html: String }
}
record! {
    Node {
        node_id: NodeId,
        parent_id: Option<NodeId>,
        backend_node_id: BackendNodeId,
        node_type: i64,
        node_name: String,
        local_name: String,
        node_value: String,
        child_node_count: Option<u64>,
        children: Option<Vec<Node>>,
        /// Names and values in turn.
        attributes: Option<Vec<String>>,
        #[serde(rename = "documentURL")] document_url: Option<String>,
        frame_id: Option<FrameId>,
        content_document: Option<Box<Node>>,
        shadow_roots: Option<Vec<Node>>,
        shadow_root_type: Option<String>,
        pseudo_type: Option<String>,
        #[serde(rename = "isSVG")] is_svg: Option<bool>,
    }
}

/// Four corners, clockwise from the top left: `x, y` in turn, CSS pixels of the viewport.
pub type Quad = [f64; 8];

/// A rectangle in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}
