//! The tree as it is compared and shown.

use super::node::Node;
use crate::untrusted::Untrusted;

/// Folds white space, drops what has no width.
pub(super) fn fold(text: &str) -> String {
    let bare: String = text
        .chars()
        .filter(|c| !matches!(c, '\u{200b}' | '\u{ad}' | '\u{feff}'))
        .collect();
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// ARIA's synonyms as one.
pub(super) fn role(role: &str) -> &str {
    match role {
        "image" => "img",
        "presentation" => "none",
        other => other,
    }
}

fn is_meaningless(node: &Node) -> bool {
    matches!(role(node.role.raw()), "" | "generic" | "none")
}

/// Elements without meaning leave their children, adjacent texts become one, texts that repeat a name or hold nothing
/// go, and white space is folded. Tidying twice changes nothing.
#[must_use]
pub fn tidy(nodes: &[Node]) -> Vec<Node> {
    let mut flat = Vec::new();
    hoist(nodes, &mut flat);
    let mut out: Vec<Node> = Vec::new();
    // Texts that stand side by side in the page are one text; white space is folded after they were joined.
    let mut text = String::new();
    for node in flat {
        if node.is_text() {
            text.push_str(node.text.raw());
            continue;
        }
        flush(&mut text, &mut out);
        let mut element = Node {
            role: Untrusted::new(role(node.role.raw())),
            name: Untrusted::new(fold(node.name.raw())),
            text: Untrusted::default(),
            children: tidy(&node.children),
            ..node.clone_without_children()
        };
        if let [only] = element.children.as_slice()
            && only.is_text()
            && only.text == element.name
        {
            element.children.clear();
        }
        out.push(element);
    }
    flush(&mut text, &mut out);
    out
}

fn flush(text: &mut String, out: &mut Vec<Node>) {
    let folded = fold(&std::mem::take(text));
    if !folded.is_empty() {
        out.push(Node::text(folded));
    }
}

fn hoist<'a>(nodes: &'a [Node], out: &mut Vec<&'a Node>) {
    for node in nodes {
        if is_meaningless(node) {
            hoist(&node.children, out);
        } else {
            out.push(node);
        }
    }
}

impl Node {
    fn clone_without_children(&self) -> Self {
        Self {
            role: Untrusted::default(),
            name: Untrusted::default(),
            text: Untrusted::default(),
            level: self.level,
            checked: self.checked,
            disabled: self.disabled,
            expanded: self.expanded,
            pressed: self.pressed,
            selected: self.selected,
            active: self.active,
            url: self.url.clone(),
            placeholder: self.placeholder.clone(),
            children: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_meaning_vanishes() {
        let seen = vec![Node::element("generic", "").with(vec![
            Node::text(" a "),
            Node::element("none", "x").with(vec![Node::text("\u{200b}b\n c")]),
            Node::element("button", " Save  it ").with(vec![Node::text("Save it")]),
            Node::text("  "),
        ])];
        let tidied = tidy(&seen);
        assert_eq!(tidied, vec![Node::text("a b c"), Node::element("button", "Save it")]);
        assert_eq!(tidy(&tidied), tidied);
    }
}
