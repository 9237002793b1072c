//! One node of an observed accessibility tree.

use serde::{Deserialize, Serialize};

use crate::untrusted::Untrusted;

/// The deepest tree that is stored: a reader of JSON gives up at 128 levels, and each node takes two. What lies deeper is
/// given as children of the deepest node, in order.
pub const MAX_DEPTH: usize = 48;

/// An element, or a text when the role is `text`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The ARIA role; `text` for a text.
    pub role: Untrusted,
    /// The accessible name.
    #[serde(default, skip_serializing_if = "Untrusted::is_empty")]
    pub name: Untrusted,
    /// The text of a text; left out for an element.
    #[serde(default, skip_serializing_if = "Untrusted::is_empty")]
    pub text: Untrusted,
    /// The level of a heading, row or tree item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<u32>,
    /// Of what can be checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<Tristate>,
    /// Disabled.
    #[serde(default, skip_serializing_if = "is_false")]
    pub disabled: bool,
    /// Of what can be expanded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expanded: Option<bool>,
    /// Of a toggle button.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressed: Option<Tristate>,
    /// Of what can be selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<bool>,
    /// Has the focus.
    #[serde(default, skip_serializing_if = "is_false")]
    pub active: bool,
    /// Where a link leads, as the page wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Untrusted>,
    /// The placeholder of a text box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<Untrusted>,
    /// What is in it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
}

impl Node {
    /// The role of a text.
    pub const TEXT: &'static str = "text";

    /// An element without states and children.
    pub fn element(role: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            role: Untrusted::new(role),
            name: Untrusted::new(name),
            ..Self::default()
        }
    }

    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            role: Untrusted::new(Self::TEXT),
            text: Untrusted::new(text),
            ..Self::default()
        }
    }

    /// The same with these children.
    #[must_use]
    pub fn with(mut self, children: Vec<Node>) -> Self {
        self.children = children;
        self
    }

    /// Whether it is a text.
    pub fn is_text(&self) -> bool {
        self.role.raw() == Self::TEXT
    }
}

/// A state that can be mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tristate {
    /// Off.
    False,
    /// On.
    True,
    /// Some of what it stands for is on.
    Mixed,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_false(value: &bool) -> bool {
    !*value
}
