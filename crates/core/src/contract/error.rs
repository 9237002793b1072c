//! What is wrong with a contract, where it stands, and what to write instead.

use std::fmt;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractError {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The field, such as `steps[2].click.role`; empty for the whole contract.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

impl fmt::Display for ContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.line, self.column)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// Everything that is wrong with one contract, in the order of the text; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractErrors {
    errors: Vec<ContractError>,
}

impl ContractErrors {
    /// How many are kept. More do not help anyone.
    pub(super) const MOST: usize = 50;

    pub(super) fn new(first: ContractError, rest: Vec<ContractError>) -> Self {
        let mut errors = vec![first];
        errors.extend(rest);
        errors.sort_by_key(|e| (e.line, e.column));
        errors.truncate(Self::MOST);
        Self { errors }
    }

    /// Each of them.
    pub fn iter(&self) -> std::slice::Iter<'_, ContractError> {
        self.errors.iter()
    }

    /// For people: `file:line:column: path: message`, the line itself with a caret, and the hint.
    ///
    /// Control characters of the contract are replaced, so that the text can go to a terminal.
    pub fn render<'a>(&'a self, file: &'a str, text: &'a str) -> impl fmt::Display + 'a {
        Rendered {
            errors: self,
            file,
            text,
        }
    }
}

impl<'a> IntoIterator for &'a ContractErrors {
    type Item = &'a ContractError;
    type IntoIter = std::slice::Iter<'a, ContractError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for ContractErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.errors.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ContractErrors {}

struct Rendered<'a> {
    errors: &'a ContractErrors,
    file: &'a str,
    text: &'a str,
}

impl fmt::Display for Rendered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for error in &self.errors.errors {
            writeln!(f, "{}:{}", plain(self.file), plain(&error.to_string()))?;
            let line = self.text.lines().nth(error.line - 1).unwrap_or("");
            let line = line.strip_prefix('\u{feff}').unwrap_or(line);
            let (shown, caret) = window(line, error.column - 1);
            let number = error.line.to_string();
            writeln!(f, "  {number} | {}", plain(&shown))?;
            writeln!(f, "  {:width$} | {:caret$}^", "", "", width = number.len())?;
            if let Some(hint) = &error.hint {
                writeln!(f, "  {:width$} = {}", "", plain(hint), width = number.len())?;
            }
        }
        Ok(())
    }
}

/// The part of a line around a column, and where the column is in it: a JSON contract may be one line.
fn window(line: &str, column: usize) -> (String, usize) {
    const WIDTH: usize = 100;
    let characters: Vec<char> = line.chars().take(column + WIDTH).collect();
    if characters.len() <= WIDTH {
        return (characters.into_iter().collect(), column.min(line.chars().count()));
    }
    let start = column.saturating_sub(WIDTH / 2);
    let shown: String = characters.iter().skip(start).take(WIDTH).collect();
    if start == 0 {
        (shown, column)
    } else {
        (format!("…{shown}"), column - start + 1)
    }
}

/// One character for one, so that the caret stays where it belongs.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c == '\t' {
                ' '
            } else if unprintable(c) {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

fn unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: usize, column: usize, path: &str, message: &str, hint: Option<&str>) -> ContractErrors {
        let error = ContractError {
            line,
            column,
            path: path.into(),
            message: message.into(),
            hint: hint.map(Into::into),
        };
        ContractErrors::new(error, Vec::new())
    }

    #[test]
    fn an_error_shows_its_line_and_a_hint() {
        let text = "jurat: contract/1\nsteps:\n  - clik: {}\n";
        let errors = one(3, 5, "steps[0]", "\"clik\" is no step", Some("did you mean \"click\"?"));
        let expected = "c.yaml:3:5: steps[0]: \"clik\" is no step\n  3 |   - clik: {}\n    |     ^\n    = did you mean \"click\"?\n";
        assert_eq!(errors.render("c.yaml", text).to_string(), expected);
    }

    #[test]
    fn nothing_of_the_contract_can_drive_a_terminal() {
        let errors = one(1, 3, "", "bad \u{1b}[31m", None);
        let shown = errors.render("c.yaml", "a\u{1b}[2Jb\u{202e}").to_string();
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown:?}");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}X{}", "é".repeat(5000), "b".repeat(5000));
        let shown = one(1, 5001, "", "here", None).render("c.json", &text).to_string();
        let lines: Vec<&str> = shown.lines().collect();
        let caret = lines[2].chars().position(|c| c == '^');
        assert_eq!(caret, lines[1].chars().position(|c| c == 'X'), "{shown}");
        assert!(lines[1].chars().count() < 120);
    }
}
