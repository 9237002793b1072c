//! What an accessibility tree tells about a page: its form, its texts, its headings, what it counts.

use jurat_core::aria::Node;

/// Roles of fields that take text.
const FIELDS: [&str; 4] = ["textbox", "searchbox", "spinbutton", "combobox"];
/// Roles whose texts tell what just happened.
const NEWS: [&str; 2] = ["status", "alert"];
/// Roles that are counted.
pub(super) const COUNTED: [&str; 4] = ["listitem", "row", "article", "treeitem"];
/// Words of buttons that are not pressed unasked.
const LEFT_ALONE: [&str; 20] = [
    "delete",
    "remove",
    "cancel",
    "close",
    "clear",
    "reset",
    "log out",
    "logout",
    "sign out",
    "unsubscribe",
    "pay",
    "purchase",
    "place order",
    "show",
    "hide",
    "toggle",
    "menu",
    "back",
    "deactivate",
    "dismiss",
];
/// Fields of one form at most.
const MOST_FIELDS: usize = 8;

/// A control, by role and accessible name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Control {
    pub(super) role: String,
    pub(super) name: String,
}

/// Named text fields that a named button follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) fields: Vec<Control>,
    pub(super) button: Control,
}

/// The first form of the page that can be tried.
pub(super) fn form(tree: &[Node]) -> Option<Form> {
    let mut fields: Vec<Control> = Vec::new();
    let mut all = Vec::new();
    walk(tree, &mut |node| {
        all.push(node);
        true
    });
    for node in all {
        let (role, name) = (node.role.raw(), fold(node.name.raw()));
        if node.disabled || name.is_empty() {
            continue;
        }
        let control = Control {
            role: role.to_owned(),
            name,
        };
        if FIELDS.contains(&role) {
            if fields.len() < MOST_FIELDS && !fields.contains(&control) {
                fields.push(control);
            }
        } else if role == "button" && !fields.is_empty() && !is_left_alone(&control.name) {
            return Some(Form {
                fields,
                button: control,
            });
        }
    }
    None
}

fn is_left_alone(name: &str) -> bool {
    let name = name.to_lowercase();
    LEFT_ALONE.iter().any(|word| name.contains(word))
}

/// The texts that the page shows outside of fields, each once.
pub(super) fn texts(tree: &[Node]) -> Vec<String> {
    let mut texts = Vec::new();
    walk(tree, &mut |node| {
        if node.is_text() {
            push(&mut texts, node.text.raw());
        }
        !FIELDS.contains(&node.role.raw())
    });
    texts
}

/// The texts of live regions, each once.
pub(super) fn news(tree: &[Node]) -> Vec<String> {
    let mut texts = Vec::new();
    walk(tree, &mut |node| {
        if !NEWS.contains(&node.role.raw()) {
            return true;
        }
        for text in self::texts(&node.children) {
            push(&mut texts, &text);
        }
        false
    });
    texts
}

/// The names of headings that stand once.
pub(super) fn headings(tree: &[Node]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    walk(tree, &mut |node| {
        if node.role.raw() == "heading" && !node.name.is_empty() {
            names.push(fold(node.name.raw()));
        }
        true
    });
    let once = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    names.iter().filter(|name| once(name)).cloned().collect()
}

/// How many elements have a role.
pub(super) fn count(tree: &[Node], role: &str) -> usize {
    let mut count = 0;
    walk(tree, &mut |node| {
        count += usize::from(node.role.raw() == role);
        true
    });
    count
}

/// Goes through the tree in order, not into what `enter` refuses.
fn walk<'a>(nodes: &'a [Node], enter: &mut impl FnMut(&'a Node) -> bool) {
    for node in nodes {
        if enter(node) {
            walk(&node.children, enter);
        }
    }
}

fn push(texts: &mut Vec<String>, text: &str) {
    let text = fold(text);
    if !text.is_empty() && !texts.contains(&text) {
        texts.push(text);
    }
}

fn fold(text: &str) -> String {
    jurat_core::evaluate::matching::fold(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn page() -> Vec<Node> {
        vec![
            Node::element("heading", "Notes"),
            Node::element("button", "Menu"),
            Node::element("textbox", "Title").with(vec![Node::text("typed")]),
            Node::element("textbox", ""),
            Node::element("button", "Clear"),
            Node::element("button", "Add"),
            Node::element("status", "").with(vec![Node::text("Saved  now")]),
            Node::element("list", "").with(vec![Node::element("listitem", "").with(vec![Node::text("milk")])]),
        ]
    }

    #[test]
    fn the_form_is_the_named_fields_before_a_named_button() {
        let form = form(&page()).unwrap();
        assert_eq!(form.button.name, "Add");
        assert_eq!(
            form.fields,
            [Control {
                role: "textbox".into(),
                name: "Title".into()
            }]
        );
        assert_eq!(super::form(&page()[..2]), None);
    }

    #[test]
    fn texts_are_those_that_are_shown_and_not_those_that_were_typed() {
        assert_eq!(texts(&page()), ["Saved now", "milk"]);
        assert_eq!(news(&page()), ["Saved now"]);
        assert_eq!(headings(&page()), ["Notes"]);
        assert_eq!(count(&page(), "listitem"), 1);
    }
}
