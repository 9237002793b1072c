//! CSS selectors: standard ones only.
//!
//! The browser decides what a valid selector is. Refused here is what another tool's engine would understand and the
//! browser would not, because it is the likely mistake and has a better spelling.

use super::cursor::{Cursor, Problems};

/// What is no CSS, and what to write instead.
const FOREIGN: &[(&str, &str)] = &[
    (">>", "use within: for what a locator stands in"),
    (":has-text(", "use text: or role: with name:"),
    (":text(", "use text:"),
    (":text-is(", "use text: with exact: true"),
    (":text-matches(", "use text: with regex: true"),
    (":contains(", "use text:"),
    (":visible", "leave it out; what is visible is an expectation"),
    (":nth-match(", "use nth:"),
    (":right-of(", "use within: or nth:"),
    (":left-of(", "use within: or nth:"),
    (":above(", "use within: or nth:"),
    (":below(", "use within: or nth:"),
    (":near(", "use within: or nth:"),
    (":light(", "shadow roots are searched anyway; leave it out"),
    ("/deep/", "shadow roots are searched anyway; leave it out"),
    ("::shadow", "shadow roots are searched anyway; leave it out"),
];

const ENGINES: &[&str] = &[
    "css=",
    "text=",
    "xpath=",
    "role=",
    "id=",
    "data-testid=",
    "internal:",
    "_react=",
    "_vue=",
    "//",
    "..",
    "(",
];

pub(super) fn css(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<String> {
    let selector = cursor.some_text(problems)?;
    let bare = without_strings(&selector);
    if let Some((found, hint)) = FOREIGN.iter().find(|(foreign, _)| bare.contains(foreign)) {
        return cursor.wrong(problems, format!("\"{found}\" is no CSS"), *hint);
    }
    if let Some(engine) = ENGINES.iter().find(|engine| bare.trim_start().starts_with(**engine)) {
        return cursor.wrong(
            problems,
            format!("a CSS selector does not begin with \"{engine}\""),
            "write plain CSS, or use role:, label:, text: or testid:",
        );
    }
    if bare.trim_end().ends_with(',') || bare.trim_start().starts_with(',') {
        return cursor.wrong(
            problems,
            "a selector is missing beside the comma",
            "take the comma away",
        );
    }
    Some(selector)
}

/// The selector with the content of its strings blanked.
fn without_strings(selector: &str) -> String {
    let mut bare = String::with_capacity(selector.len());
    let (mut quote, mut escaped) = (None, false);
    for c in selector.chars() {
        match quote {
            _ if escaped => {
                escaped = false;
                bare.push('_');
            }
            _ if c == '\\' => {
                escaped = true;
                bare.push('_');
            }
            Some(q) if c == q => {
                quote = None;
                bare.push(c);
            }
            Some(_) => bare.push('_'),
            None => {
                if matches!(c, '"' | '\'') {
                    quote = Some(c);
                }
                bare.push(c);
            }
        }
    }
    bare
}
