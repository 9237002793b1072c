//! Templates: what is expected of a tree.

use regex::Regex;

use super::key;
use super::node::Tristate;
use super::tidy::fold;
use crate::contract::Format;
use crate::contract::text::{self, Node as Yaml, Value, quoted};

/// A parsed template.
#[derive(Debug, Clone)]
pub struct Template {
    pub(super) root: Item,
}

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TemplateError {
    /// From 1, in the template.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl TemplateError {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
        }
    }
}

/// A line of a template.
#[derive(Debug, Clone)]
pub(super) enum Item {
    Text(TextPattern),
    Node(Box<Pattern>),
}

/// An expected text.
#[derive(Debug, Clone)]
pub(super) struct TextPattern {
    pub(super) line: usize,
    /// As it was written.
    pub(super) raw: String,
    /// White space folded; empty matches any text.
    pub(super) folded: String,
    /// When it stands between slashes.
    pub(super) regex: Option<Regex>,
}

/// An expected name.
#[derive(Debug, Clone)]
pub(super) enum Name {
    Text(String),
    Regex(Regex),
}

/// How children are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Contain,
    Equal,
    DeepEqual,
}

/// An expected element.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    pub(super) line: usize,
    /// The key as it was written.
    pub(super) shown: String,
    /// None for the root of a template with several lines at the top, which any element can be.
    pub(super) role: Option<String>,
    pub(super) name: Option<Name>,
    pub(super) level: Option<u32>,
    pub(super) checked: Option<Tristate>,
    pub(super) disabled: Option<bool>,
    pub(super) expanded: Option<bool>,
    pub(super) pressed: Option<Tristate>,
    pub(super) selected: Option<bool>,
    pub(super) active: Option<bool>,
    pub(super) url: Option<TextPattern>,
    pub(super) placeholder: Option<TextPattern>,
    pub(super) mode: Option<Mode>,
    pub(super) children: Vec<Item>,
}

impl Pattern {
    pub(super) fn of(role: String, line: usize, shown: &str) -> Self {
        Self {
            role: Some(role),
            shown: shown.to_owned(),
            ..Self::any(line)
        }
    }

    fn any(line: usize) -> Self {
        Self {
            line,
            shown: "the lines of the template".into(),
            role: None,
            name: None,
            level: None,
            checked: None,
            disabled: None,
            expanded: None,
            pressed: None,
            selected: None,
            active: None,
            url: None,
            placeholder: None,
            mode: None,
            children: Vec::new(),
        }
    }
}

impl Template {
    /// Reads a template in Playwright's ARIA snapshot syntax.
    ///
    /// Errors: what is no YAML list, and every line that would match nothing or anything by mistake, with its line.
    pub fn parse(template: &str) -> Result<Self, TemplateError> {
        let root = text::read(template, Format::Yaml).map_err(|e| TemplateError::new(e.at.line, e.message))?;
        let mut any = Pattern::any(root.at.line);
        list(&root, &mut any)?;
        let contains = any.mode.is_none_or(|mode| mode == Mode::Contain);
        if any.children.len() == 1
            && contains
            && let Some(only) = any.children.pop()
        {
            return Ok(Self { root: only });
        }
        if any.children.is_empty() {
            return Err(TemplateError::new(root.at.line, "the template expects nothing"));
        }
        Ok(Self {
            root: Item::Node(Box::new(any)),
        })
    }
}

fn list(yaml: &Yaml, parent: &mut Pattern) -> Result<(), TemplateError> {
    let Value::List(items) = &yaml.value else {
        return Err(TemplateError::new(
            yaml.at.line,
            "a list is expected; each line begins with \"- \"",
        ));
    };
    for item in items {
        let line = item.at.line;
        match &item.value {
            Value::Text(key) => {
                parent.children.push(Item::Node(Box::new(
                    key::parse(key, line).map_err(|m| TemplateError::new(line, m))?,
                )));
            }
            Value::Map(entries) => {
                for entry in entries {
                    field(&entry.key, entry.key_at.line, &entry.value, parent)?;
                }
            }
            other => {
                let message = format!("a role or a field is expected, not {}", other.describe());
                return Err(TemplateError::new(line, message));
            }
        }
    }
    Ok(())
}

fn field(key: &str, line: usize, value: &Yaml, parent: &mut Pattern) -> Result<(), TemplateError> {
    let wrong = |message: String| TemplateError::new(line, message);
    let plain = || scalar(&value.value).ok_or_else(|| wrong(format!("{} takes a text", quoted(key))));
    match key {
        "text" => parent.children.push(Item::Text(text_pattern(&plain()?, line)?)),
        "/children" => {
            let mode = match plain()?.as_str() {
                "contain" => Mode::Contain,
                "equal" => Mode::Equal,
                "deep-equal" => Mode::DeepEqual,
                other => {
                    return Err(wrong(format!(
                        "{} is none of contain, equal, deep-equal",
                        quoted(other)
                    )));
                }
            };
            if parent.mode.replace(mode).is_some() {
                return Err(wrong("/children stands twice".into()));
            }
        }
        "/url" | "/placeholder" => {
            if parent.role.is_none() {
                return Err(wrong(format!("{key} belongs below an element")));
            }
            let pattern = text_pattern(&plain()?, line)?;
            let slot = if key == "/url" {
                &mut parent.url
            } else {
                &mut parent.placeholder
            };
            if slot.replace(pattern).is_some() {
                return Err(wrong(format!("{key} stands twice")));
            }
        }
        _ if key.starts_with('/') => {
            return Err(wrong(format!(
                "{} is none of /children, /url, /placeholder",
                quoted(key)
            )));
        }
        _ => {
            let mut child = key::parse(key, line).map_err(wrong)?;
            if let Value::List(items) = &value.value {
                if items.is_empty() {
                    return Err(wrong("the list is empty; leave it and the colon out".into()));
                }
                list(value, &mut child)?;
            } else {
                let text = scalar(&value.value)
                    .ok_or_else(|| wrong("a text or a list is expected after the colon; else leave it out".into()))?;
                child.children.push(Item::Text(text_pattern(&text, value.at.line)?));
            }
            parent.children.push(Item::Node(Box::new(child)));
        }
    }
    Ok(())
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) | Value::Number(text) => Some(text.clone()),
        Value::Bool(b) => Some(b.to_string()),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

fn text_pattern(raw: &str, line: usize) -> Result<TextPattern, TemplateError> {
    let regex = raw
        .strip_prefix('/')
        .and_then(|rest| rest.strip_suffix('/'))
        .filter(|inner| !inner.is_empty())
        .map(|inner| key::compile(inner).map_err(|m| TemplateError::new(line, m)))
        .transpose()?;
    Ok(TextPattern {
        line,
        raw: raw.to_owned(),
        folded: fold(raw),
        regex,
    })
}
