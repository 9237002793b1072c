//! Locators, which stand inline among the fields of what they belong to.

use super::cursor::{Cursor, Fields, Problems, did_you_mean};
use super::nearest::nearest;
use super::roles::{MISTAKEN, ROLES};
use super::selector;
use crate::contract::pattern;
use crate::contract::text::{Value, quoted};
use crate::contract::{By, FrameChoice, Locator, Within};

/// The fields that say what an element is found by.
const BY: &[&str] = &["role", "label", "text", "placeholder", "testid", "css"];
/// Every field of a locator.
pub(super) const FIELDS: &[&str] = &[
    "role",
    "name",
    "label",
    "text",
    "placeholder",
    "testid",
    "css",
    "exact",
    "regex",
    "nth",
    "within",
];
/// Fields that stand beside a locator in an action or an expectation.
const BESIDE: &[&str] = &[
    "value",
    "attribute",
    "to",
    "key",
    "template",
    "count",
    "button",
    "modifiers",
    "option",
    "options",
    "files",
];
/// How often a locator can stand within another.
const MOST_WITHIN: usize = 8;

const HINT: &str = "write a locator, such as { role: button, name: Add }";

/// The fields of a locator and what else may stand beside them, for a suggestion.
pub(super) fn fields_with(more: &[&'static str]) -> Vec<&'static str> {
    FIELDS.iter().chain(more).copied().collect()
}

/// A map that is nothing but a locator.
pub(super) fn alone(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Locator> {
    nested(cursor, 0, problems)
}

fn nested(cursor: &Cursor<'_>, depth: usize, problems: &mut Problems) -> Option<Locator> {
    let mut fields = cursor.fields(problems, HINT)?;
    let found = take_nested(&mut fields, depth, problems);
    if fields.finish(problems, "a locator", FIELDS) {
        found
    } else {
        None
    }
}

/// Takes a locator out of the fields of an action or an expectation.
pub(super) fn take(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Locator> {
    take_nested(fields, 0, problems)
}

/// Takes a locator, if a field of one stands there; `Some(None)` when none does.
#[expect(
    clippy::option_option,
    reason = "the outer one says whether it could be read, as everywhere here"
)]
pub(super) fn take_optional(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Option<Locator>> {
    if FIELDS.iter().any(|key| fields.has(key)) {
        take(fields, problems).map(Some)
    } else {
        Some(None)
    }
}

fn take_nested(fields: &mut Fields<'_>, depth: usize, problems: &mut Problems) -> Option<Locator> {
    let mark = problems.mark();
    let by = take_by(fields, problems);
    let (by, mut subject) = by.unzip();
    let name = fields.take("name");
    let exact_at = fields.take("exact");
    let regex_at = fields.take("regex");
    let exact = exact_at.as_ref().map_or(Some(false), |c| c.bool(problems));
    let regex = regex_at.as_ref().map_or(Some(false), |c| c.bool(problems));
    let nth = match fields.take("nth") {
        Some(c) => c
            .integer(problems, -10_000, 10_000)
            .and_then(|n| i32::try_from(n).ok())
            .map(Some),
        None => Some(None),
    };
    let within = match fields.take("within") {
        Some(c) => within(&c, depth, problems).map(|w| Some(Box::new(w))),
        None => Some(None),
    };
    let mut locator = Locator {
        by: by?,
        exact: exact?,
        regex: regex?,
        nth: nth?,
        within: within?,
    };
    if let Some(c) = name {
        let text = c.some_text(problems);
        match &mut locator.by {
            By::Role { name, .. } => {
                *name = text;
                subject = Some(c);
            }
            _ => {
                return c.wrong(
                    problems,
                    "name stands only beside role",
                    "write role: with it, or leave it out",
                );
            }
        }
    }
    if locator.exact && locator.regex {
        let at = regex_at.as_ref().or(exact_at.as_ref())?;
        return at.wrong(
            problems,
            "exact and regex exclude each other",
            "a regex is exact between ^ and $",
        );
    }
    match &locator.by {
        By::Role { name: None, .. } if locator.exact || locator.regex => {
            let at = exact_at.filter(|_| locator.exact).or(regex_at)?;
            return at.wrong(
                problems,
                "there is no name that it could be about",
                "give the role a name, or leave it out",
            );
        }
        By::Css { .. } if locator.exact || locator.regex => {
            let at = exact_at.filter(|_| locator.exact).or(regex_at)?;
            return at.wrong(problems, "a CSS selector matches as it does", "leave it out");
        }
        By::Testid { .. } => {
            if let Some(at) = &exact_at
                && !locator.exact
            {
                return at.wrong(
                    problems,
                    "a test id always matches exactly",
                    "leave it out, or write regex: true",
                );
            }
            // It is exact anyway, so that saying so does not change the identity.
            locator.exact = false;
        }
        _ => {}
    }
    if locator.regex
        && let Some(c) = &subject
        && let Some(text) = c.text(problems)
        && let Err(e) = pattern::compile(text)
    {
        return c.wrong(
            problems,
            format!("{} is refused as a pattern: {e}", quoted(text)),
            e.hint(),
        );
    }
    problems.clean(mark).then_some(locator)
}

fn take_by<'a>(fields: &mut Fields<'a>, problems: &mut Problems) -> Option<(By, Cursor<'a>)> {
    let mut found = fields.take_any(BY).into_iter();
    let Some((key, _, cursor)) = found.next() else {
        // A slip in the one key that matters is told once, as an unknown field.
        if fields
            .keys()
            .any(|key| !BESIDE.contains(&key) && nearest(key, BY).is_some())
        {
            return None;
        }
        return fields.wrong(
            problems,
            "nothing says which element it is",
            format!("give one of {}", BY.join(", ")),
        );
    };
    if let Some((second, at, other)) = found.next() {
        problems.push(
            at,
            &other.path,
            format!("\"{key}\" and \"{second}\" exclude each other"),
            "keep one; within: says where it stands",
        );
        return None;
    }
    let by = match key {
        "role" => role(&cursor, problems).map(|role| By::Role { role, name: None }),
        "label" => cursor.some_text(problems).map(|label| By::Label { label }),
        "text" => cursor.some_text(problems).map(|text| By::Text { text }),
        "placeholder" => cursor
            .some_text(problems)
            .map(|placeholder| By::Placeholder { placeholder }),
        "testid" => cursor.some_text(problems).map(|testid| By::Testid { testid }),
        _ => selector::css(&cursor, problems).map(|css| By::Css { css }),
    };
    by.map(|by| (by, cursor))
}

fn role(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<String> {
    let text = cursor.text(problems)?;
    if ROLES.contains(&text) {
        return Some(text.to_owned());
    }
    let hint = match MISTAKEN.iter().find(|(written, _)| written.eq_ignore_ascii_case(text)) {
        Some((_, meant)) => format!("did you mean \"{meant}\"?"),
        None => did_you_mean(text, ROLES),
    };
    let hint = if hint.is_empty() {
        "write a role of WAI-ARIA, such as button, link or textbox".into()
    } else {
        hint
    };
    cursor.wrong(problems, format!("{} is no ARIA role", quoted(text)), hint)
}

fn within(cursor: &Cursor<'_>, depth: usize, problems: &mut Problems) -> Option<Within> {
    if depth + 1 > MOST_WITHIN {
        return cursor.wrong(
            problems,
            format!("within is nested deeper than {MOST_WITHIN}"),
            "name a nearer ancestor",
        );
    }
    let mut fields = cursor.fields(problems, HINT)?;
    let Some(frame) = fields.take("frame") else {
        return nested(cursor, depth + 1, problems).map(Within::Element);
    };
    let frame = match &frame.node.value {
        Value::Map(_) => nested(&frame, depth + 1, problems).map(FrameChoice::Element),
        _ => frame.some_text(problems).map(FrameChoice::Named),
    };
    if !fields.finish(problems, "a frame", &["frame"]) {
        return None;
    }
    Some(Within::Frame { frame: frame? })
}
