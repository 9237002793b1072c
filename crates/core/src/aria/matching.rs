//! Whether a tree is as a template says, and if not, where it first differs.

use std::fmt;

use super::node::Node;
use super::template::{Item, Mode, Name, Pattern, Template, TextPattern};
use super::tidy::{fold, tidy};
use crate::untrusted::Untrusted;

/// Where the nearest part of a tree differs from a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The line of the template that nothing matched, from 1.
    pub line: usize,
    /// What that line says.
    pub expected: String,
    /// The nearest that was seen in its place; none when nothing was there.
    pub seen: Option<Untrusted>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {} of the template: {} was expected, ",
            self.line,
            crate::untrusted::escape(&self.expected, 200)
        )?;
        match &self.seen {
            Some(seen) => write!(f, "{} was seen", seen.escaped(200)),
            None => f.write_str("nothing like it was seen"),
        }
    }
}

impl std::error::Error for Mismatch {}

/// Whether the tree, or a part of it, is as the template says.
///
/// Errors: the line of the template where the part that came nearest differs.
pub fn matches(template: &Template, seen: &[Node]) -> Result<(), Mismatch> {
    let whole = Node::default().with(tidy(seen));
    let mut nearest = Nearest::default();
    if anywhere(&whole, &template.root, &mut nearest) {
        return Ok(());
    }
    Err(nearest.found.unwrap_or_else(|| Mismatch {
        line: line(&template.root),
        expected: shown(&template.root),
        seen: None,
    }))
}

/// The failure that came furthest.
#[derive(Default)]
struct Nearest {
    score: usize,
    found: Option<Mismatch>,
}

impl Nearest {
    /// Keeps a failure if it came further than the one before.
    fn offer(&mut self, score: usize, wanted: &Item, seen: Option<&Node>) {
        if self.found.is_none() || score > self.score {
            self.score = score;
            self.found = Some(Mismatch {
                line: line(wanted),
                expected: shown(wanted),
                seen: seen.map(|node| Untrusted::new(describe(node))),
            });
        }
    }
}

/// A matched ancestor or sibling counts for more than how alike the failing node is.
const STEP: usize = 8;

fn anywhere(node: &Node, wanted: &Item, nearest: &mut Nearest) -> bool {
    one(node, wanted, false, 0, nearest) || node.children.iter().any(|child| anywhere(child, wanted, nearest))
}

fn one(node: &Node, wanted: &Item, deep: bool, score: usize, nearest: &mut Nearest) -> bool {
    let pattern = match wanted {
        Item::Text(text) => {
            let held = node.is_text() && text_holds(node.text.raw(), text);
            if !held && node.is_text() {
                nearest.offer(score + 2, wanted, Some(node));
            }
            return held;
        }
        Item::Node(pattern) => pattern,
    };
    if node.is_text() {
        return false;
    }
    let alike = own(node, pattern);
    if alike < OWN {
        if alike > 0 {
            nearest.offer(score + alike, wanted, Some(node));
        }
        return false;
    }
    let score = score + STEP;
    match pattern.mode {
        Some(Mode::Equal) => equals(node, pattern, false, score, nearest),
        Some(Mode::DeepEqual) => equals(node, pattern, true, score, nearest),
        None if deep => equals(node, pattern, true, score, nearest),
        Some(Mode::Contain) | None => contains(node, pattern, score, nearest),
    }
}

/// All that a node has of its own is as expected.
const OWN: usize = 4;

/// How alike a node is apart from its children: 0 for another role.
fn own(node: &Node, pattern: &Pattern) -> usize {
    if pattern.role.as_ref().is_some_and(|role| role != node.role.raw()) {
        return 0;
    }
    let name = match &pattern.name {
        None => true,
        Some(Name::Text(text)) => node.name.raw() == text,
        Some(Name::Regex(regex)) => !node.name.is_empty() && regex.is_match(node.name.raw()),
    };
    if !name {
        return 1;
    }
    let states = pattern.level.is_none_or(|level| node.level == Some(level))
        && pattern.checked.is_none_or(|checked| node.checked == Some(checked))
        && pattern.pressed.is_none_or(|pressed| node.pressed == Some(pressed))
        && pattern.expanded.is_none_or(|expanded| node.expanded == Some(expanded))
        && pattern.selected.is_none_or(|selected| node.selected == Some(selected))
        && pattern.disabled.is_none_or(|disabled| node.disabled == disabled)
        && pattern.active.is_none_or(|active| node.active == active);
    if !states {
        return 2;
    }
    let property = |wanted: &Option<TextPattern>, seen: &Option<Untrusted>| match wanted {
        Some(wanted) => text_holds(&fold(seen.as_ref().map_or("", Untrusted::raw)), wanted),
        None => true,
    };
    if property(&pattern.url, &node.url) && property(&pattern.placeholder, &node.placeholder) {
        OWN
    } else {
        3
    }
}

fn text_holds(seen: &str, wanted: &TextPattern) -> bool {
    if wanted.folded.is_empty() {
        return true;
    }
    !seen.is_empty()
        && (seen == wanted.folded || seen == wanted.raw || wanted.regex.as_ref().is_some_and(|r| r.is_match(seen)))
}

/// In order, with anything between.
fn contains(node: &Node, pattern: &Pattern, score: usize, nearest: &mut Nearest) -> bool {
    let mut rest = node.children.iter();
    let mut score = score;
    for wanted in &pattern.children {
        let left = rest.as_slice();
        if !rest.any(|child| one(child, wanted, false, score, nearest)) {
            nearest.offer(score, wanted, left.iter().find(|child| is_like(child, wanted)));
            return false;
        }
        score += STEP;
    }
    true
}

/// One for one.
fn equals(node: &Node, pattern: &Pattern, deep: bool, score: usize, nearest: &mut Nearest) -> bool {
    let mut seen = node.children.iter();
    let mut score = score;
    for wanted in &pattern.children {
        let child = seen.next();
        if !child.is_some_and(|child| one(child, wanted, deep, score, nearest)) {
            nearest.offer(score, wanted, child);
            return false;
        }
        score += STEP;
    }
    match seen.next() {
        None => true,
        Some(extra) => {
            // Nothing of the template is left for it: what failed is that there is more.
            let score = score + STEP;
            if nearest.found.is_none() || score > nearest.score {
                nearest.score = score;
                nearest.found = Some(Mismatch {
                    line: pattern.line,
                    expected: format!("no more children of {}", pattern.shown),
                    seen: Some(Untrusted::new(describe(extra))),
                });
            }
            false
        }
    }
}

fn is_like(node: &Node, wanted: &Item) -> bool {
    match wanted {
        Item::Text(_) => node.is_text(),
        Item::Node(pattern) => pattern.role.as_ref().is_some_and(|role| role == node.role.raw()),
    }
}

fn line(item: &Item) -> usize {
    match item {
        Item::Text(text) => text.line,
        Item::Node(pattern) => pattern.line,
    }
}

fn shown(item: &Item) -> String {
    match item {
        Item::Text(text) => format!("text: {}", text.raw),
        Item::Node(pattern) => pattern.shown.clone(),
    }
}

fn describe(node: &Node) -> String {
    if node.is_text() {
        format!("text: {}", node.text.raw())
    } else {
        super::render::key(node)
    }
}
