//! The key of a template's line: `role "name" [state=value]`.

use std::iter::Peekable;
use std::str::Chars;

use super::node::Tristate;
use super::template::{Name, Pattern};
use super::tidy::{fold, role};
use crate::contract::{ROLES, pattern};

/// Reads one key.
pub(super) fn parse(text: &str, line: usize) -> Result<Pattern, String> {
    let mut key = Key {
        rest: text.chars().peekable(),
    };
    let role = key.role()?;
    let mut pattern = Pattern::of(role, line, text);
    key.skip_space();
    match key.rest.peek() {
        Some('"') => {
            let name = fold(&key.string()?);
            pattern.name = (!name.is_empty()).then_some(Name::Text(name));
        }
        Some('/') => pattern.name = Some(Name::Regex(key.regex()?)),
        _ => {}
    }
    loop {
        key.skip_space();
        match key.rest.next() {
            None => return Ok(pattern),
            Some('[') => key.attribute(&mut pattern)?,
            Some(c) => return Err(format!("{c:?} is not expected; write: role \"name\" [state]")),
        }
    }
}

struct Key<'t> {
    rest: Peekable<Chars<'t>>,
}

impl Key<'_> {
    fn skip_space(&mut self) {
        while self.rest.next_if(|c| c.is_whitespace()).is_some() {}
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.rest.next_if(char::is_ascii_alphabetic) {
            word.push(c);
        }
        word
    }

    fn role(&mut self) -> Result<String, String> {
        let word = self.word();
        match role(&word) {
            "none" | "generic" => Err(format!("the role {word:?} has no meaning and is never in a snapshot")),
            "text" => Err("a text is written: - text: what it is".into()),
            known if ROLES.contains(&known) || known == "iframe" => Ok(known.to_owned()),
            _ if word.is_empty() => Err("a role is expected, such as: - button \"Save\"".into()),
            _ => Err(format!("{word:?} is no ARIA role")),
        }
    }

    /// From the opening quote to the closing one; a backslash takes the next character as it is.
    fn string(&mut self) -> Result<String, String> {
        self.rest.next();
        let mut text = String::new();
        while let Some(c) = self.rest.next() {
            match c {
                '"' => return Ok(text),
                '\\' => text.extend(self.rest.next()),
                c => text.push(c),
            }
        }
        Err("the name has no closing quote".into())
    }

    /// From the opening slash to the closing one, which may stand in a class.
    fn regex(&mut self) -> Result<regex::Regex, String> {
        self.rest.next();
        let (mut text, mut in_class) = (String::new(), false);
        while let Some(c) = self.rest.next() {
            match c {
                '/' if !in_class => return compile(&text),
                '\\' => {
                    text.push(c);
                    text.extend(self.rest.next());
                    continue;
                }
                '[' => in_class = true,
                ']' => in_class = false,
                _ => {}
            }
            text.push(c);
        }
        Err("the pattern has no closing slash".into())
    }

    /// After the opening bracket.
    fn attribute(&mut self, pattern: &mut Pattern) -> Result<(), String> {
        self.skip_space();
        let name = self.word();
        self.skip_space();
        let mut value = String::new();
        if self.rest.next_if_eq(&'=').is_some() {
            self.skip_space();
            while let Some(c) = self.rest.next_if(|c| *c != ']' && !c.is_whitespace()) {
                value.push(c);
            }
            self.skip_space();
        } else {
            value.push_str("true");
        }
        if self.rest.next() != Some(']') {
            return Err(format!("[{name} has no closing bracket"));
        }
        let set = match name.as_str() {
            "checked" => tristate(&value).map(|v| pattern.checked.replace(v).is_none()),
            "pressed" => tristate(&value).map(|v| pattern.pressed.replace(v).is_none()),
            "disabled" => boolean(&value).map(|v| pattern.disabled.replace(v).is_none()),
            "expanded" => boolean(&value).map(|v| pattern.expanded.replace(v).is_none()),
            "selected" => boolean(&value).map(|v| pattern.selected.replace(v).is_none()),
            "active" => boolean(&value).map(|v| pattern.active.replace(v).is_none()),
            "level" => value
                .parse()
                .ok()
                .filter(|n| *n > 0)
                .map(|v| pattern.level.replace(v).is_none()),
            _ => {
                return Err(format!(
                    "[{name}] is no state; write one of checked, disabled, expanded, active, level=N, pressed, selected"
                ));
            }
        };
        match set {
            Some(true) => Ok(()),
            Some(false) => Err(format!("[{name}] stands twice")),
            None => Err(format!("{value:?} is no value of [{name}]")),
        }
    }
}

/// A regular expression between slashes.
pub(super) fn compile(text: &str) -> Result<regex::Regex, String> {
    pattern::compile(text).map_err(|e| format!("/{text}/ is refused as a pattern: {e}"))
}

fn boolean(value: &str) -> Option<bool> {
    match value {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

fn tristate(value: &str) -> Option<Tristate> {
    match value {
        "true" => Some(Tristate::True),
        "false" => Some(Tristate::False),
        "mixed" => Some(Tristate::Mixed),
        _ => None,
    }
}
