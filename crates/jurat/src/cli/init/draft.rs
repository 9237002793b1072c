//! The draft: lines that become steps and end expectations of a contract, as a person would write them.

use std::fmt;

use jurat_core::contract::{By, Locator};

/// A contract in the making.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) refuse: Vec<String>,
    pub(super) steps: Vec<Line>,
    pub(super) ends: Vec<Line>,
}

/// One step or one end expectation.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// A map with the one key that names it.
    flow: Flow,
    /// What is written instead when there is more than one match.
    weaker: Option<Flow>,
    /// It does something: without it, what follows makes no sense.
    acts: bool,
    /// It tells how many there are, of what was there before too.
    counts: bool,
}

impl Line {
    /// A step that acts.
    pub(super) fn act(key: &'static str, value: Flow) -> Self {
        Self {
            flow: Flow::Map(vec![(key, value)]),
            weaker: None,
            acts: true,
            counts: false,
        }
    }

    /// An `expect` step.
    pub(super) fn expect(key: &'static str, value: Flow) -> Self {
        Self {
            flow: expect(key, value),
            weaker: None,
            acts: false,
            counts: false,
        }
    }

    /// An `expect` step that tells how many matches a locator has.
    pub(super) fn count(locator: &Locator, number: u32) -> Self {
        let value = Flow::with(locator, Flow::Number(number.into()));
        Self {
            counts: true,
            ..Self::expect("count", value)
        }
    }

    /// An expectation at the end.
    pub(super) fn end(key: &'static str, value: Flow) -> Self {
        Self {
            flow: Flow::Map(vec![(key, value)]),
            weaker: None,
            acts: false,
            counts: false,
        }
    }

    /// The same `expect` step of a locator, about the last of several matches if there are.
    pub(super) fn expect_or_last(key: &'static str, locator: &Locator) -> Self {
        let last = Locator {
            nth: Some(-1),
            ..locator.clone()
        };
        Self {
            flow: expect(key, Flow::of(locator)),
            weaker: Some(expect(key, Flow::of(&last))),
            acts: false,
            counts: false,
        }
    }

    fn is_reload(&self) -> bool {
        matches!(&self.flow, Flow::Map(fields) if fields.first().is_some_and(|(key, _)| *key == "reload"))
    }
}

fn expect(key: &'static str, value: Flow) -> Flow {
    Flow::Map(vec![("expect", Flow::Map(vec![(key, value)]))])
}

impl Draft {
    /// The text of the contract, below a header of comments.
    pub(super) fn text(&self, header: &str) -> String {
        use fmt::Write as _;
        let mut out = header.to_owned();
        let _ = writeln!(out, "jurat: contract/1\nname: {}", Flow::text(&self.name));
        let _ = writeln!(out, "target:\n  url: {}", Flow::text(&self.url));
        if !self.refuse.is_empty() {
            let origins: Vec<String> = self.refuse.iter().map(|o| Flow::text(o).to_string()).collect();
            let _ = writeln!(out, "  refuse: [{}]", origins.join(", "));
        }
        for (key, lines) in [("steps", &self.steps), ("expect", &self.ends)] {
            if !lines.is_empty() {
                let _ = writeln!(out, "{key}:");
            }
            for line in lines {
                let _ = writeln!(out, "  - {}", Outer(&line.flow));
            }
        }
        out
    }

    /// Third parties that the draft refuses.
    pub(super) fn refused(&self) -> impl Iterator<Item = &str> {
        self.refuse.iter().map(String::as_str)
    }

    /// Names the third parties among these URLs as refused; whether there was a new one.
    pub(super) fn refuse<'a>(&mut self, urls: impl Iterator<Item = &'a str>) -> bool {
        let before = self.refuse.len();
        for url in urls.filter_map(|u| url::Url::parse(u).ok()) {
            let origin = url.origin().ascii_serialization();
            // What is on this machine is another part of the app, or a mistake: not to be excused unseen.
            let elsewhere = url
                .domain()
                .is_some_and(|d| d != "localhost" && !d.ends_with(".localhost"));
            if url.scheme() == "https" && elsewhere && self.refuse.len() < 32 && !self.refuse.contains(&origin) {
                self.refuse.push(origin);
            }
        }
        self.refuse.len() > before
    }

    /// Takes out, or weakens, what did not hold; false when nothing is left to take out. Each is an id of a criterion, and whether there was
    /// more than one match.
    pub(super) fn weaken<'a>(&mut self, not_held: impl Iterator<Item = (&'a str, bool)>) -> bool {
        let mut ends: Vec<usize> = Vec::new();
        let mut step = None;
        for (id, ambiguous) in not_held {
            let number = |prefix: &str| id.strip_prefix(prefix)?.parse::<usize>().ok()?.checked_sub(1);
            if let Some(index) = number("step-") {
                // What follows a step that did not hold was not reached.
                step.get_or_insert((index, ambiguous));
            } else if let Some(index) = number("expect-").filter(|_| step.is_none()) {
                ends.push(index);
            }
        }
        let Some((index, ambiguous)) = step else {
            let before = self.ends.len();
            let mut index = 0;
            self.ends.retain(|_| {
                index += 1;
                !ends.contains(&(index - 1))
            });
            return self.ends.len() < before;
        };
        match self.steps.get_mut(index) {
            None => return false,
            Some(line) if line.acts && line.is_reload() => self.steps.truncate(index),
            // Without the page itself there is nothing to say; without one of its actions, nothing about the rest.
            Some(line) if line.acts => {
                if index == 0 {
                    return false;
                }
                self.steps.truncate(1);
            }
            Some(line) if ambiguous && line.weaker.is_some() => self.expect_more(),
            Some(_) => {
                self.steps.remove(index);
            }
        }
        if self.steps.last().is_some_and(Line::is_reload) {
            self.steps.pop();
        }
        true
    }
}

impl Draft {
    /// The app keeps what was entered from run to run: the last of several is meant everywhere, and how many there are says nothing.
    fn expect_more(&mut self) {
        self.steps.retain(|line| !line.counts);
        for line in &mut self.steps {
            if let Some(weaker) = line.weaker.take() {
                line.flow = weaker;
            }
        }
    }
}

/// A YAML value in flow style, its fields in the order of writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Flow {
    Text(String),
    Number(i64),
    True,
    Map(Vec<(&'static str, Flow)>),
}

impl Flow {
    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// A locator.
    pub(super) fn of(locator: &Locator) -> Self {
        Self::Map(fields(locator))
    }

    /// A locator and a value.
    pub(super) fn with(locator: &Locator, value: Flow) -> Self {
        let mut fields = fields(locator);
        fields.push(("value", value));
        Self::Map(fields)
    }
}

fn fields(locator: &Locator) -> Vec<(&'static str, Flow)> {
    let mut fields = match &locator.by {
        By::Role { role, name } => {
            let mut both = vec![("role", Flow::text(role))];
            both.extend(name.as_ref().map(|name| ("name", Flow::text(name))));
            both
        }
        By::Label { label } => vec![("label", Flow::text(label))],
        By::Text { text } => vec![("text", Flow::text(text))],
        By::Placeholder { placeholder } => vec![("placeholder", Flow::text(placeholder))],
        By::Testid { testid } => vec![("testid", Flow::text(testid))],
        By::Css { css } => vec![("css", Flow::text(css))],
    };
    if locator.exact {
        fields.push(("exact", Flow::True));
    }
    fields.extend(locator.nth.map(|nth| ("nth", Flow::Number(nth.into()))));
    fields
}

/// The outermost map of a line, which needs no braces when it has one field.
struct Outer<'a>(&'a Flow);

impl fmt::Display for Outer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Flow::Map(fields) => match fields.as_slice() {
                [(key, value)] => write!(f, "{key}: {value}"),
                _ => self.0.fmt(f),
            },
            other => other.fmt(f),
        }
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) if is_plain(text) => f.write_str(text),
            Self::Text(text) => quote(f, text),
            Self::Number(number) => write!(f, "{number}"),
            Self::True => f.write_str("true"),
            Self::Map(fields) if fields.is_empty() => f.write_str("{}"),
            Self::Map(fields) => {
                f.write_str("{ ")?;
                for (i, (key, value)) in fields.iter().enumerate() {
                    write!(f, "{}{key}: {value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(" }")
            }
        }
    }
}

/// Whether YAML reads it as this text without quotes, in flow style too.
fn is_plain(text: &str) -> bool {
    let first = text.starts_with(|c: char| c.is_alphabetic() || c == '/');
    let inner = |c: char| {
        c.is_alphanumeric()
            || matches!(
                c,
                ' ' | '/'
                    | '.'
                    | '-'
                    | '_'
                    | '\''
                    | '@'
                    | '='
                    | '?'
                    | '&'
                    | '%'
                    | '+'
                    | '~'
                    | '!'
                    | '$'
                    | '('
                    | ')'
                    | ';'
            )
    };
    let url = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let rest = url.unwrap_or(text);
    // A colon inside a word is plain text; before a space or at the end it is not.
    let colons = rest
        .split(':')
        .skip(1)
        .all(|part| part.starts_with(|c: char| c.is_ascii_alphanumeric()));
    let words = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    first
        && !text.ends_with(' ')
        && colons
        && rest.chars().all(|c| inner(c) || c == ':')
        && !words.contains(&text.to_ascii_lowercase().as_str())
}

/// A double-quoted scalar: one line, printable, whatever the page said.
fn quote(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            c if c.is_control()
                || jurat_core::untrusted::escape(c.encode_utf8(&mut [0; 4]), 16).starts_with("\\u")
                || c == '\u{feff}' =>
            {
                write!(f, "\\U{:08x}", u32::from(c))?;
            }
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use jurat_core::contract::{Action, Expectation, Format, ParseOptions, parse};

    use super::*;

    fn text(text: &str) -> Locator {
        Locator {
            by: By::Text { text: text.into() },
            exact: true,
            regex: false,
            nth: None,
            within: None,
        }
    }

    fn draft(texts: &[&str]) -> Draft {
        let mut draft = Draft {
            name: "a: draft".into(),
            url: "http://127.0.0.1:1/".into(),
            ..Draft::default()
        };
        draft.steps.push(Line::act("navigate", Flow::text("/")));
        draft
            .steps
            .extend(texts.iter().map(|t| Line::expect_or_last("visible", &text(t))));
        draft
    }

    #[test]
    fn any_text_of_a_page_comes_back_as_it_was() {
        let hostile = [
            "buy milk",
            "yes",
            "null",
            "012",
            "1_000",
            "a: b",
            "a:",
            "x #y",
            "- a",
            "{a}",
            "[a]",
            "\"q\"",
            "it's",
            "a\\b",
            "a\nb",
            "a\u{1b}[31m",
            "\u{202e}abc",
            "\u{feff}a",
            "a\u{85}b",
            "a\u{2028}b",
            "&a",
            "*a",
            "!a",
            "%a",
            "@a",
            "`a",
            "~",
            "?",
            ": ",
            "漢字",
            "é",
            "a, b",
            "<<",
            "=",
            "http://x:1/",
        ];
        let draft = draft(&hostile);
        let contract = parse(&draft.text("# header\n"), Format::Yaml, &ParseOptions::default()).unwrap();
        let read: Vec<&str> = contract
            .steps
            .iter()
            .filter_map(|s| match &s.action {
                Action::Expect(Expectation::Visible(Locator {
                    by: By::Text { text }, ..
                })) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(read, hostile);
        assert!(!draft.text("").contains(['\u{1b}', '\u{202e}', '\u{2028}']));
    }

    #[test]
    fn what_does_not_hold_is_weakened_then_taken_out() {
        let mut draft = draft(&["milk"]);
        draft.steps.push(Line::count(&text("milk"), 1));
        assert!(draft.weaken([("step-2", true)].into_iter()));
        assert!(!draft.text("").contains("count"), "{}", draft.text(""));
        assert!(draft.text("").contains("nth: -1"), "{}", draft.text(""));
        assert!(draft.weaken([("step-2", true)].into_iter()));
        assert_eq!(draft.steps.len(), 1);
        assert!(
            !draft.weaken([("step-1", false)].into_iter()),
            "a page that does not open has no contract"
        );
    }

    #[test]
    fn a_reload_that_proves_nothing_goes() {
        let mut draft = draft(&[]);
        draft.steps.push(Line::act("reload", Flow::Map(Vec::new())));
        draft.steps.push(Line::expect("visible", Flow::of(&text("milk"))));
        assert!(draft.weaken([("step-3", false), ("expect-1", false)].into_iter()));
        assert_eq!(draft.steps.len(), 1);
    }

    #[test]
    fn only_third_parties_elsewhere_are_refused() {
        let mut draft = draft(&[]);
        assert!(
            draft.refuse(
                [
                    "https://fonts.example.com/a.woff2",
                    "http://127.0.0.1:9/x",
                    "https://localhost:9/"
                ]
                .into_iter()
            )
        );
        assert_eq!(draft.refused().collect::<Vec<_>>(), ["https://fonts.example.com"]);
        assert!(!draft.refuse(["https://fonts.example.com/b"].into_iter()));
    }
}
