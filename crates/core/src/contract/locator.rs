//! Locators: how a contract names an element.
//!
//! They stand inline (`{ role: button, name: Add }`) and are strict: more than one match is `ambiguous`, except where an
//! expectation takes any number.

use std::fmt;

use serde::Serialize;

use super::model::is_default;

/// How a contract names an element.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Locator {
    /// What it is found by.
    #[serde(flatten)]
    pub by: By,
    /// Whole, case-sensitive text instead of a case-insensitive substring.
    #[serde(skip_serializing_if = "is_default")]
    pub exact: bool,
    /// The text is a regular expression, searched in the white-space-folded text, case-sensitive.
    #[serde(skip_serializing_if = "is_default")]
    pub regex: bool,
    /// Which of several matches, from 0; negative counts from the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<i32>,
    /// Where to look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Box<Within>>,
}

/// What an element is found by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum By {
    /// An ARIA role, and its accessible name.
    Role {
        /// The role.
        role: String,
        /// The accessible name.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The text of its label (`label`, `aria-label`, `aria-labelledby`).
    Label {
        /// The label.
        label: String,
    },
    /// Its text; the smallest element that has it.
    Text {
        /// The text.
        text: String,
    },
    /// Its placeholder.
    Placeholder {
        /// The placeholder.
        placeholder: String,
    },
    /// Its `data-testid`, exactly (or by regular expression).
    Testid {
        /// The test id.
        testid: String,
    },
    /// A CSS selector.
    Css {
        /// The selector.
        css: String,
    },
}

/// Where a locator looks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum Within {
    /// Inside the one document of this frame.
    Frame {
        /// The frame element.
        frame: FrameChoice,
    },
    /// Among the descendants of this element.
    Element(Locator),
}

/// How a frame is named.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum FrameChoice {
    /// Its `name`, `id` or `title`, exactly.
    Named(String),
    /// A locator of the frame element.
    Element(Locator),
}

impl fmt::Display for Locator {
    /// As it would stand in a contract, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.by {
            By::Role { role, name: Some(name) } => write!(f, "{role} {name:?}")?,
            By::Role { role, name: None } => write!(f, "{role}")?,
            By::Label { label } => write!(f, "label {label:?}")?,
            By::Text { text } => write!(f, "text {text:?}")?,
            By::Placeholder { placeholder } => write!(f, "placeholder {placeholder:?}")?,
            By::Testid { testid } => write!(f, "testid {testid:?}")?,
            By::Css { css } => write!(f, "css {css:?}")?,
        }
        if self.exact {
            f.write_str(" (exact)")?;
        }
        if self.regex {
            f.write_str(" (regex)")?;
        }
        if let Some(nth) = self.nth {
            write!(f, " nth {nth}")?;
        }
        match self.within.as_deref() {
            Some(Within::Element(l)) => write!(f, " within {l}"),
            Some(Within::Frame {
                frame: FrameChoice::Named(n),
            }) => write!(f, " within frame {n:?}"),
            Some(Within::Frame {
                frame: FrameChoice::Element(l),
            }) => write!(f, " within frame {l}"),
            None => Ok(()),
        }
    }
}
