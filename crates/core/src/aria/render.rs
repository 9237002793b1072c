//! A tree as the text of an ARIA snapshot.

use std::fmt::Write as _;

use super::node::{Node, Tristate};
use super::tidy::tidy;

/// The snapshot of a tree: a template that matches it. It is made of untrusted text; escape it before it is shown.
pub fn render(nodes: &[Node]) -> String {
    let mut out = String::new();
    lines(&tidy(nodes), 0, &mut out);
    out
}

fn lines(nodes: &[Node], depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    for node in nodes {
        if node.is_text() {
            let _ = writeln!(out, "{indent}- text: {}", scalar(node.text.raw(), false));
            continue;
        }
        let _ = write!(out, "{indent}- {}", scalar(&key(node), true));
        let properties = [("/url", &node.url), ("/placeholder", &node.placeholder)];
        let has_properties = properties.iter().any(|(_, value)| value.is_some());
        match node.children.as_slice() {
            [] if !has_properties => out.push('\n'),
            [only] if only.is_text() && !has_properties => {
                let _ = writeln!(out, ": {}", scalar(only.text.raw(), false));
            }
            children => {
                out.push_str(":\n");
                for (name, value) in properties {
                    if let Some(value) = value {
                        let _ = writeln!(
                            out,
                            "{indent}  - {name}: {}",
                            scalar(&super::tidy::fold(value.raw()), false)
                        );
                    }
                }
                lines(children, depth + 1, out);
            }
        }
    }
}

/// `role "name" [state]`.
pub(super) fn key(node: &Node) -> String {
    let mut key = node.role.raw().to_owned();
    if !node.name.is_empty() {
        let _ = write!(
            key,
            " \"{}\"",
            node.name.raw().replace('\\', "\\\\").replace('"', "\\\"")
        );
    }
    let tristate = |key: &mut String, name: &str, value: Option<Tristate>| match value {
        Some(Tristate::True) => {
            let _ = write!(key, " [{name}]");
        }
        Some(Tristate::Mixed) => {
            let _ = write!(key, " [{name}=mixed]");
        }
        Some(Tristate::False) | None => {}
    };
    tristate(&mut key, "checked", node.checked);
    let flag = |key: &mut String, name: &str, value: bool| {
        if value {
            let _ = write!(key, " [{name}]");
        }
    };
    flag(&mut key, "disabled", node.disabled);
    flag(&mut key, "expanded", node.expanded == Some(true));
    flag(&mut key, "active", node.active);
    if let Some(level) = node.level {
        let _ = write!(key, " [level={level}]");
    }
    tristate(&mut key, "pressed", node.pressed);
    flag(&mut key, "selected", node.selected == Some(true));
    key
}

/// A YAML scalar: plain where that is safe, quoted else.
fn scalar(text: &str, is_key: bool) -> String {
    let plain = text.starts_with(|c: char| c.is_alphabetic() || (!is_key && c.is_ascii_digit()))
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with(':')
        && !matches!(text.to_ascii_lowercase().as_str(), "null" | "true" | "false")
        && !text.chars().any(is_special);
    if plain {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if is_special(c) => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Characters that YAML does not take as they are, or reads as line ends.
fn is_special(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}
