//! `Accessibility`: roles and names as Chromium computes them.

#![expect(missing_docs, reason = "fields are those of the DevTools protocol")]

use serde_json::value::RawValue;

use super::{AxNodeId, BackendNodeId, Done, FrameId, NodeId, ObjectId, command, record};

command! { Enable = "Accessibility.enable" -> Done }
command! { Disable = "Accessibility.disable" -> Done }
command! {
    GetPartialAxTree = "Accessibility.getPartialAXTree" -> AxNodes,
    optional { node_id: NodeId, backend_node_id: BackendNodeId, object_id: ObjectId, fetch_relatives: bool }
}
command! { GetFullAxTree = "Accessibility.getFullAXTree" -> AxNodes, optional { depth: u32, frame_id: FrameId } }
command! {
    QueryAxTree = "Accessibility.queryAXTree" -> AxNodes,
    optional {
        node_id: NodeId, backend_node_id: BackendNodeId, object_id: ObjectId, accessible_name: String, role: String,
    }
}
command! { GetRootAxNode = "Accessibility.getRootAXNode" -> AxNodeAnswer, optional { frame_id: FrameId } }

record! { AxNodes { nodes: Vec<AxNode> } }
record! { AxNodeAnswer { node: AxNode } }
record! {
    AxNode {
        node_id: AxNodeId,
        ignored: bool,
        ignored_reasons: Option<Vec<AxProperty>>,
        role: Option<AxValue>,
        chrome_role: Option<AxValue>,
        name: Option<AxValue>,
        description: Option<AxValue>,
        value: Option<AxValue>,
        properties: Option<Vec<AxProperty>>,
        parent_id: Option<AxNodeId>,
        child_ids: Option<Vec<AxNodeId>>,
        #[serde(rename = "backendDOMNodeId")] backend_dom_node_id: Option<BackendNodeId>,
        frame_id: Option<FrameId>,
    }
}
record! { AxProperty { name: String, value: AxValue } }
record! {
    AxValue {
        r#type: String,
        /// Text, truth or number, by `type`.
        value: Option<Box<RawValue>>,
    }
}

impl AxValue {
    /// The value as text, when it is text.
    pub fn text(&self) -> Option<String> {
        serde_json::from_str(self.value.as_ref()?.get()).ok()
    }
}
