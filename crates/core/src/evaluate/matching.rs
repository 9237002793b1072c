//! Whether an element is what a locator names.
//!
//! The page's scan proposes; this decides, from the recorded texts, so that a verdict can be derived again from disk.
//! Text is compared as Playwright does: white space folded, case-insensitive substring unless `exact`.

use crate::contract::{By, Locator, pattern};
use crate::observation::{Element, Probe};
use crate::reason::ReasonDetail;
use crate::untrusted::Untrusted;

/// Folds white space, and drops what has no width.
pub fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut gap = false;
    for c in text.chars() {
        match c {
            '\u{200b}' | '\u{ad}' => {}
            c if c.is_whitespace() => gap = true,
            c => {
                if gap && !out.is_empty() {
                    out.push(' ');
                }
                gap = false;
                out.push(c);
            }
        }
    }
    out
}

/// Whether `seen` is what a locator's text asks for.
pub fn text_matches(seen: &str, wanted: &str, locator: &Locator) -> bool {
    let seen = fold(seen);
    if locator.regex {
        return pattern::compile(wanted).is_ok_and(|r| r.is_match(&seen));
    }
    let wanted = fold(wanted);
    if locator.exact {
        seen == wanted
    } else {
        seen.to_lowercase().contains(&wanted.to_lowercase())
    }
}

/// Whether two roles are the same, by ARIA's synonyms.
fn same_role(a: &str, b: &str) -> bool {
    let plain = |role: &str| match role {
        "image" => "img".to_owned(),
        "presentation" => "none".to_owned(),
        other => other.to_lowercase(),
    };
    plain(a) == plain(b)
}

/// Whether an element is what a locator names, `nth` and `within` apart.
pub fn matches(locator: &Locator, element: &Element) -> bool {
    let matched = element.matched.as_ref().map_or("", Untrusted::raw);
    match &locator.by {
        By::Role { role, name } => {
            same_role(element.role.raw(), role)
                && name
                    .as_ref()
                    .is_none_or(|name| text_matches(element.name.raw(), name, locator))
        }
        By::Label { label } => {
            text_matches(matched, label, locator) || text_matches(element.name.raw(), label, locator)
        }
        By::Text { text } => {
            text_matches(element.text.raw(), text, locator)
                || (!matched.is_empty() && text_matches(matched, text, locator))
        }
        By::Placeholder { placeholder } => text_matches(matched, placeholder, locator),
        By::Testid { testid } if locator.regex => text_matches(matched, testid, locator),
        By::Testid { testid } => matched == testid,
        By::Css { .. } => element.css,
    }
}

/// All elements that a locator names, `nth` applied; whether some are beyond the bound of the probe.
pub fn all<'a>(locator: &Locator, probe: &'a Probe) -> (Vec<&'a Element>, bool) {
    let found: Vec<_> = probe.elements.iter().filter(|e| matches(locator, e)).collect();
    let more = probe.matches as usize > probe.elements.len();
    match locator.nth {
        None => (found, more),
        Some(nth) => {
            let distance = nth.unsigned_abs() as usize;
            let index = if nth < 0 {
                found.len().checked_sub(distance)
            } else {
                Some(distance)
            };
            (index.and_then(|i| found.get(i).copied()).into_iter().collect(), false)
        }
    }
}

/// The one element that a strict locator names.
///
/// # Errors
/// `not_found` or `ambiguous`, and `frame_unread` when nothing was found but a frame could not be read.
pub fn one<'a>(locator: &Locator, probe: &'a Probe) -> Result<&'a Element, ReasonDetail> {
    match all(locator, probe) {
        (found, false) if found.len() == 1 => Ok(found[0]),
        (found, _) if found.is_empty() && !probe.unread_frames.is_empty() => Err(ReasonDetail::FrameUnread),
        (found, _) if found.is_empty() => Err(ReasonDetail::NotFound),
        _ => Err(ReasonDetail::Ambiguous),
    }
}

/// How an element is called in a message.
pub fn describe(element: &Element) -> String {
    let (role, name) = (element.role.raw(), element.name.raw());
    match (role, name) {
        ("" | "generic" | "none", _) | (_, "") => format!("<{}> {:?}", element.tag.raw(), short(element.text.raw())),
        _ => format!("{role} {:?}", short(name)),
    }
}

/// At most 60 characters.
pub fn short(text: &str) -> String {
    let mut out: String = text.chars().take(60).collect();
    if text.chars().count() > 60 {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Locator {
        Locator {
            by: By::Text { text: text.into() },
            exact: false,
            regex: false,
            nth: None,
            within: None,
        }
    }

    #[test]
    fn folds_like_a_reader() {
        assert_eq!(fold("  a\u{a0}\n b\u{200b}c "), "a bc");
    }

    #[test]
    fn substring_ignores_case_and_exact_does_not() {
        assert!(text_matches("Buy  MILK now", "milk", &text("milk")));
        let exact = Locator {
            exact: true,
            ..text("milk")
        };
        assert!(!text_matches("Milk", "milk", &exact));
        assert!(text_matches(" milk ", "milk", &exact));
        let regex = Locator {
            regex: true,
            ..text("^m.lk$")
        };
        assert!(text_matches("milk", "^m.lk$", &regex));
        assert!(!text_matches("Milk", "^m.lk$", &regex));
    }

    #[test]
    fn roles_have_synonyms() {
        assert!(same_role("image", "img"));
        assert!(!same_role("button", "link"));
    }
}
