//! The tree that both syntaxes are read into.

use std::collections::HashMap;

/// A place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl Position {
    /// The first character.
    pub(crate) const START: Self = Self { line: 1, column: 1 };
}

/// A value and where it begins.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Where it begins.
    pub at: Position,
    /// What it is.
    pub value: Value,
}

/// What stands in the text, by the core schema.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// Nothing, `~` or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it was written.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the text, without duplicate keys.
    Map(Vec<Entry>),
}

impl Value {
    /// What it is, for a message.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Null => "nothing".into(),
            Self::Bool(b) => format!("{b}"),
            Self::Number(n) => format!("the number {n}"),
            Self::Text(t) => format!("the text {}", quoted(t)),
            Self::List(_) => "a list".into(),
            Self::Map(_) => "a map".into(),
        }
    }
}

/// A text in quotes, shortened for a message.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{:?}", format!("{}…", &text[..cut])),
        None => format!("{text:?}"),
    }
}

/// One field of a map.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The key.
    pub key: String,
    /// Where the key begins.
    pub key_at: Position,
    /// The value.
    pub value: Node,
}

/// Why a text has no tree.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    /// Where.
    pub at: Position,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

impl SyntaxError {
    /// An error with a hint.
    pub(crate) fn new(at: Position, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
            hint: Some(hint.into()),
        }
    }

    /// An error that says it all.
    pub(crate) fn plain(at: Position, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
            hint: None,
        }
    }
}

/// Refuses a key that stands twice.
pub(crate) fn refuse_duplicates(entries: &[Entry]) -> Result<(), SyntaxError> {
    let mut seen: HashMap<&str, Position> = HashMap::with_capacity(entries.len());
    for entry in entries {
        if let Some(first) = seen.insert(&entry.key, entry.key_at) {
            return Err(SyntaxError::new(
                entry.key_at,
                format!("the key {} stands twice", quoted(&entry.key)),
                format!("it stands on line {} already; keep one of the two", first.line),
            ));
        }
    }
    Ok(())
}
