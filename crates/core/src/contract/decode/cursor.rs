//! The place in a contract that is being read, and what was found wrong on the way.
//!
//! Every decoder takes a [`Cursor`] or the [`Fields`] of a map, pushes what is wrong, and gives `None` when it pushed
//! something. So one reading finds many errors.

use super::nearest::nearest;
use crate::contract::error::ContractError;
use crate::contract::text::{Entry, Node, Position, Value, quoted};

/// What was found wrong so far.
#[derive(Debug, Default)]
pub(super) struct Problems(pub(super) Vec<ContractError>);

impl Problems {
    /// How much was wrong until here.
    pub(super) fn mark(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was wrong since then.
    pub(super) fn clean(&self, mark: usize) -> bool {
        self.0.len() == mark
    }

    pub(super) fn push(&mut self, at: Position, path: &str, message: impl Into<String>, hint: impl Into<String>) {
        let hint = hint.into();
        self.0.push(ContractError {
            line: at.line,
            column: at.column,
            path: path.to_owned(),
            message: message.into(),
            hint: (!hint.is_empty()).then_some(hint),
        });
    }
}

/// A value and its path.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    pub(super) node: &'a Node,
    pub(super) path: String,
}

impl<'a> Cursor<'a> {
    pub(super) fn root(node: &'a Node) -> Self {
        Self {
            node,
            path: String::new(),
        }
    }

    /// Says what is wrong with the value here; gives `None` for the caller to return.
    pub(super) fn wrong<T>(
        &self,
        problems: &mut Problems,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Option<T> {
        problems.push(self.node.at, &self.path, message, hint);
        None
    }

    fn mistyped<T>(&self, problems: &mut Problems, wanted: &str, hint: impl Into<String>) -> Option<T> {
        self.wrong(
            problems,
            format!("{wanted} is expected, not {}", self.node.value.describe()),
            hint,
        )
    }

    /// A map.
    pub(super) fn fields(&self, problems: &mut Problems, hint: &str) -> Option<Fields<'a>> {
        match &self.node.value {
            Value::Map(entries) => Some(Fields {
                at: self.node.at,
                path: self.path.clone(),
                rest: entries.iter().collect(),
            }),
            _ => self.mistyped(problems, "a map", hint),
        }
    }

    /// A list, which may be empty.
    pub(super) fn items(&self, problems: &mut Problems, hint: &str) -> Option<Vec<Cursor<'a>>> {
        match &self.node.value {
            Value::List(items) => Some(
                items
                    .iter()
                    .enumerate()
                    .map(|(i, node)| Cursor {
                        node,
                        path: format!("{}[{i}]", self.path),
                    })
                    .collect(),
            ),
            _ => self.mistyped(problems, "a list", hint),
        }
    }

    /// A list with something in it, which might be left out.
    pub(super) fn some_items(&self, problems: &mut Problems, hint: &str) -> Option<Vec<Cursor<'a>>> {
        self.filled(problems, hint, ", or leave the field out")
    }

    /// A list with something in it, which must stand.
    pub(super) fn required_items(&self, problems: &mut Problems, hint: &str) -> Option<Vec<Cursor<'a>>> {
        self.filled(problems, hint, "")
    }

    fn filled(&self, problems: &mut Problems, hint: &str, otherwise: &str) -> Option<Vec<Cursor<'a>>> {
        let items = self.items(problems, hint)?;
        if items.is_empty() {
            return self.wrong(problems, "the list is empty", format!("{hint}{otherwise}"));
        }
        Some(items)
    }

    /// A text, as it is.
    pub(super) fn text(&self, problems: &mut Problems) -> Option<&'a str> {
        match &self.node.value {
            Value::Text(text) => Some(text),
            Value::Number(number) => self.mistyped(problems, "a text", format!("put it in quotes: \"{number}\"")),
            Value::Bool(b) => self.mistyped(problems, "a text", format!("put it in quotes: \"{b}\"")),
            Value::Null => self.mistyped(problems, "a text", "write one; the empty text is \"\""),
            _ => self.mistyped(problems, "a text", ""),
        }
    }

    /// A text that says something.
    pub(super) fn some_text(&self, problems: &mut Problems) -> Option<String> {
        let text = self.text(problems)?;
        if text.trim().is_empty() {
            return self.wrong(
                problems,
                "the text is empty",
                "write what it should be, or leave the field out",
            );
        }
        Some(text.to_owned())
    }

    pub(super) fn bool(&self, problems: &mut Problems) -> Option<bool> {
        match self.node.value {
            Value::Bool(b) => Some(b),
            _ => self.mistyped(problems, "true or false", "write true or false, without quotes"),
        }
    }

    /// A whole number in plain decimal digits, within bounds.
    pub(super) fn integer(&self, problems: &mut Problems, least: i64, most: i64) -> Option<i64> {
        let number = match &self.node.value {
            Value::Number(number) => number,
            Value::Text(text) => {
                return self.mistyped(
                    problems,
                    "a whole number",
                    match text.replace('_', "").trim_start_matches('0') {
                        digits if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                            format!("write {digits}, without quotes")
                        }
                        _ => format!("write a number from {least} to {most}, without quotes"),
                    },
                );
            }
            _ => {
                return self.mistyped(
                    problems,
                    "a whole number",
                    format!("write a number from {least} to {most}"),
                );
            }
        };
        let digits = number.strip_prefix('-').unwrap_or(number);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) || number == "-0" {
            return self.wrong(
                problems,
                format!("a whole number in decimal digits is expected, not {number}"),
                format!("write a number from {least} to {most}"),
            );
        }
        match number.parse::<i64>() {
            Ok(value) if (least..=most).contains(&value) => Some(value),
            _ => self.wrong(
                problems,
                format!("{number} is out of range"),
                format!("write a number from {least} to {most}"),
            ),
        }
    }

    pub(super) fn unsigned(&self, problems: &mut Problems, least: u32, most: u32) -> Option<u32> {
        self.integer(problems, least.into(), most.into())
            .and_then(|n| u32::try_from(n).ok())
    }

    /// One word of several.
    pub(super) fn choice<T: Copy>(&self, problems: &mut Problems, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text(problems)?;
        if let Some((_, value)) = choices.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        self.wrong(
            problems,
            format!("{} is none of {}", quoted(text), words.join(", ")),
            did_you_mean(text, &words),
        )
    }
}

/// The fields of a map that nobody has taken yet.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    pub(super) at: Position,
    pub(super) path: String,
    rest: Vec<&'a Entry>,
}

impl<'a> Fields<'a> {
    /// Where a field stands.
    fn cursor(&self, entry: &'a Entry) -> Cursor<'a> {
        let path = if self.path.is_empty() {
            entry.key.clone()
        } else {
            format!("{}.{}", self.path, entry.key)
        };
        Cursor {
            node: &entry.value,
            path,
        }
    }

    /// Says what is wrong with the map as a whole.
    pub(super) fn wrong<T>(
        &self,
        problems: &mut Problems,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Option<T> {
        problems.push(self.at, &self.path, message, hint);
        None
    }

    /// Says what is wrong with one key.
    pub(super) fn wrong_at<T>(
        &self,
        key: &str,
        problems: &mut Problems,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Option<T> {
        let at = self
            .rest
            .iter()
            .find(|entry| entry.key == key)
            .map_or(self.at, |entry| entry.key_at);
        problems.push(at, &self.path, message, hint);
        None
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Cursor<'a>> {
        let index = self.rest.iter().position(|entry| entry.key == key)?;
        let entry = self.rest.remove(index);
        Some(self.cursor(entry))
    }

    pub(super) fn required(&mut self, key: &str, problems: &mut Problems, hint: &str) -> Option<Cursor<'a>> {
        let taken = self.take(key);
        if taken.is_none() {
            problems.push(self.at, &self.path, format!("\"{key}\" is missing"), hint);
        }
        taken
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.rest.iter().any(|entry| entry.key == key)
    }

    /// The keys that nobody has taken yet.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.rest.iter().map(|entry| entry.key.as_str())
    }

    /// Takes the fields whose keys are among these, in the order of the text.
    pub(super) fn take_any(&mut self, keys: &[&str]) -> Vec<(&'a str, Position, Cursor<'a>)> {
        let (taken, rest): (Vec<_>, Vec<_>) = self
            .rest
            .iter()
            .copied()
            .partition(|entry| keys.contains(&entry.key.as_str()));
        self.rest = rest;
        taken
            .into_iter()
            .map(|entry| (entry.key.as_str(), entry.key_at, self.cursor(entry)))
            .collect()
    }

    /// Refuses what is left. `known` is every key that may stand here, for a suggestion.
    ///
    /// Gives whether nothing was left.
    #[must_use]
    pub(super) fn finish(self, problems: &mut Problems, what: &str, known: &[&str]) -> bool {
        for entry in &self.rest {
            let message = format!("{} is no field of {what}", quoted(&entry.key));
            problems.push(
                entry.key_at,
                &self.path,
                message,
                did_you_mean_or_list(&entry.key, known),
            );
        }
        self.rest.is_empty()
    }
}

/// `did you mean "x"?`, or nothing.
pub(super) fn did_you_mean(word: &str, known: &[&str]) -> String {
    nearest(word, known)
        .map(|k| format!("did you mean \"{k}\"?"))
        .unwrap_or_default()
}

/// `did you mean "x"?`, or all that may stand there.
pub(super) fn did_you_mean_or_list(word: &str, known: &[&str]) -> String {
    nearest(word, known).map_or_else(
        || format!("one of these is expected: {}", known.join(", ")),
        |k| format!("did you mean \"{k}\"?"),
    )
}
