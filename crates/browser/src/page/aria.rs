//! The accessibility tree as Playwright's ARIA snapshots have it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use jurat_core::aria::{MAX_DEPTH, Node, Tristate, tidy};
use jurat_core::observation::AriaFact;
use jurat_core::untrusted::Untrusted;

use super::error::ReadError;
use super::gather::ready_frames;
use crate::cdp::protocol::accessibility::{AxNode, AxValue, GetFullAxTree};
use crate::cdp::protocol::dom::DescribeNode;
use crate::cdp::protocol::{AxNodeId, BackendNodeId};
use crate::cdp::{CallErrorKind, Session};
use crate::context::{ActError, ElementHandle, Tab};

/// Nodes of one tree.
const MAX_NODES: usize = 2000;
/// Levels of Chromium's tree that are gone down; those without meaning count too.
const MAX_LEVELS: usize = 200;
/// Bytes of one name or text.
const MAX_TEXT: usize = 2000;
/// Links and text boxes whose attributes are read.
const MAX_DESCRIBED: usize = 300;
/// Between two looks at a document that went away.
const PAUSE: Duration = Duration::from_millis(15);

/// The accessibility tree of the main document, or what is below and with one element: elements without meaning left out, texts joined, states
/// told, frames as leaves.
///
/// # Errors
/// [`ReadError::Page`] when there is no tree by the deadline; [`ActError::Gone`] when the element is not in it.
pub async fn aria(tab: &Tab, root: Option<&ElementHandle>, deadline: Instant) -> Result<AriaFact, ReadError> {
    const WHAT: &str = "read the accessibility tree";
    tab.race(WHAT, async {
        loop {
            let tree = once(tab, root, deadline).await;
            let again = tree.as_ref().is_err_and(ReadError::retryable) && root.is_none();
            if !again || Instant::now() + PAUSE >= deadline {
                return Ok(tree);
            }
            tokio::time::sleep(PAUSE).await;
        }
    })
    .await?
}

async fn once(tab: &Tab, root: Option<&ElementHandle>, deadline: Instant) -> Result<AriaFact, ReadError> {
    const WHAT: &str = "read the accessibility tree";
    let (session, frame_id) = if let Some(element) = root {
        (element.session.clone(), element.frame_id.clone())
    } else {
        let frames = ready_frames(tab, deadline).await?;
        let main = frames.first().ok_or(ActError::Closed { what: WHAT })?;
        (main.session.clone(), main.frame_id.clone())
    };
    let ask = GetFullAxTree {
        frame_id: Some(frame_id),
        ..Default::default()
    };
    let nodes = session.call(&ask, deadline).await?.nodes;
    let by_id: HashMap<AxNodeId, &AxNode> = nodes.iter().map(|node| (node.node_id.clone(), node)).collect();
    let top = match root {
        None => nodes.first(),
        Some(element) => nodes.iter().find(|node| node.backend_dom_node_id == Some(element.node)),
    };
    let Some(top) = top else {
        return Err(ActError::Gone { what: WHAT }.into());
    };
    let mut tree = Tree {
        by_id: &by_id,
        attributes: HashMap::new(),
        left: MAX_NODES,
        cut: false,
    };
    tree.describe(&session, &nodes, deadline).await?;
    let nodes = if root.is_some() {
        tree.nodes(top, 0, 0)
    } else {
        tree.children(top, 0, 0)
    };
    Ok(AriaFact {
        nodes: tidy(&nodes),
        cut: tree.cut,
    })
}

struct Tree<'a> {
    by_id: &'a HashMap<AxNodeId, &'a AxNode>,
    /// `href` of links and `placeholder` of text boxes, as the page wrote them.
    attributes: HashMap<BackendNodeId, String>,
    left: usize,
    cut: bool,
}

impl Tree<'_> {
    async fn describe(&mut self, session: &Session, nodes: &[AxNode], deadline: Instant) -> Result<(), ReadError> {
        let wanted = nodes.iter().filter(|n| !n.ignored).filter_map(|n| {
            let attribute = match role(n).as_str() {
                "link" => "href",
                "textbox" | "searchbox" | "combobox" | "spinbutton" => "placeholder",
                _ => return None,
            };
            Some((n.backend_dom_node_id?, attribute))
        });
        let pending: Vec<_> = wanted
            .take(MAX_DESCRIBED)
            .map(|(node, attribute)| {
                let ask = DescribeNode {
                    backend_node_id: Some(node),
                    depth: Some(0),
                    ..Default::default()
                };
                (node, attribute, session.send(&ask))
            })
            .collect();
        for (node, attribute, one) in pending {
            match one.wait(deadline).await {
                Ok(answer) => {
                    let pairs = answer.node.attributes.unwrap_or_default();
                    let value = pairs
                        .chunks_exact(2)
                        .find(|pair| pair[0] == attribute)
                        .map(|pair| pair[1].clone());
                    self.attributes.extend(value.map(|value| (node, value)));
                }
                // It went away meanwhile.
                Err(error) if error.kind() == CallErrorKind::Refused => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn children(&mut self, node: &AxNode, level: usize, depth: usize) -> Vec<Node> {
        let mut out = Vec::new();
        for id in node.child_ids.iter().flatten() {
            if let Some(child) = self.by_id.get(id) {
                out.append(&mut self.nodes(child, level + 1, depth));
            }
        }
        out
    }

    /// The node itself, or what it leaves when it has no meaning.
    fn nodes(&mut self, node: &AxNode, level: usize, depth: usize) -> Vec<Node> {
        if self.left == 0 || level > MAX_LEVELS {
            self.cut = true;
            return Vec::new();
        }
        let name = node.name.as_ref().and_then(AxValue::text).unwrap_or_default();
        let role = role(node);
        match role.as_str() {
            "StaticText" => {
                self.left -= 1;
                vec![Node {
                    role: Untrusted::new(Node::TEXT),
                    text: self.bounded(&name),
                    ..Node::default()
                }]
            }
            "LineBreak" => vec![Node::text(" ")],
            "InlineTextBox" | "ListMarker" => Vec::new(),
            "iframe" => {
                self.left -= 1;
                vec![Node {
                    role: Untrusted::new("iframe"),
                    name: self.bounded(&name),
                    ..Node::default()
                }]
            }
            "" => self.children(node, level, depth),
            // A form is one only by its name.
            "form" if name.is_empty() => self.children(node, level, depth),
            _ if node.ignored => self.children(node, level, depth),
            _ => {
                self.left -= 1;
                let mut out = self.element(node, &role, &name);
                let mut below = self.children(node, level, depth + 1);
                if depth + 1 >= MAX_DEPTH {
                    // What lies deeper follows its parent instead of standing in it.
                    let mut flat = vec![out];
                    flat.append(&mut below);
                    return flat;
                }
                out.children = below;
                vec![out]
            }
        }
    }

    fn bounded(&mut self, text: &str) -> Untrusted {
        let (text, cut) = Untrusted::bounded(text, MAX_TEXT);
        self.cut |= cut;
        text
    }

    fn element(&mut self, node: &AxNode, role: &str, name: &str) -> Node {
        let mut out = Node {
            role: Untrusted::new(role),
            name: self.bounded(name),
            ..Node::default()
        };
        for property in node.properties.iter().flatten() {
            let raw = property
                .value
                .value
                .as_ref()
                .map_or("null", |v| v.get())
                .trim_matches('"');
            match property.name.as_str() {
                "level" if matches!(role, "heading" | "row" | "treeitem") => out.level = raw.parse().ok(),
                "checked" => out.checked = tristate(raw),
                "pressed" => out.pressed = tristate(raw),
                "expanded" => out.expanded = Some(raw == "true"),
                "selected" => out.selected = Some(raw == "true"),
                "disabled" => out.disabled = raw == "true",
                "focused" => out.active = raw == "true",
                _ => {}
            }
        }
        if let Some(value) = node
            .backend_dom_node_id
            .and_then(|id| self.attributes.get(&id).cloned())
        {
            let value = self.bounded(&value);
            if role == "link" {
                out.url = Some(value);
            } else {
                out.placeholder = Some(value);
            }
        }
        out
    }
}

fn tristate(raw: &str) -> Option<Tristate> {
    match raw {
        "true" => Some(Tristate::True),
        "false" => Some(Tristate::False),
        "mixed" => Some(Tristate::Mixed),
        _ => None,
    }
}

/// The ARIA role, an internal role that is treated on its own, or nothing for what has no meaning.
fn role(node: &AxNode) -> String {
    let Some(role) = &node.role else { return String::new() };
    let Some(name) = role.text() else { return String::new() };
    if role.r#type == "role" {
        return match name.as_str() {
            "generic" | "none" | "presentation" => String::new(),
            "image" => "img".to_owned(),
            _ => name,
        };
    }
    match name.as_str() {
        "StaticText" | "LineBreak" | "InlineTextBox" | "ListMarker" => name,
        "Iframe" | "IframePresentational" => "iframe".to_owned(),
        "Date" | "DateTime" | "InputTime" => "textbox".to_owned(),
        _ => String::new(),
    }
}
