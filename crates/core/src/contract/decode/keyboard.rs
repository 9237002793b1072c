//! Keys and chords.

use super::cursor::{Cursor, Problems};
use super::nearest::nearest;
use crate::contract::text::quoted;

/// Keys without a character, by their `key` value in UI Events; `Space` is written for `" "`.
pub const KEY_NAMES: &[&str] = &[
    "Alt",
    "AltGraph",
    "ArrowDown",
    "ArrowLeft",
    "ArrowRight",
    "ArrowUp",
    "Backspace",
    "CapsLock",
    "Clear",
    "ContextMenu",
    "Control",
    "Delete",
    "End",
    "Enter",
    "Escape",
    "F1",
    "F2",
    "F3",
    "F4",
    "F5",
    "F6",
    "F7",
    "F8",
    "F9",
    "F10",
    "F11",
    "F12",
    "Help",
    "Home",
    "Insert",
    "Meta",
    "NumLock",
    "PageDown",
    "PageUp",
    "Pause",
    "PrintScreen",
    "ScrollLock",
    "Shift",
    "Space",
    "Tab",
];

const MODIFIERS: &[&str] = &["Alt", "Control", "Meta", "Shift"];

/// What people write for a key.
const MISTAKEN: &[(&str, &str)] = &[
    ("ctrl", "Control"),
    ("strg", "Control"),
    ("cmd", "Meta"),
    ("command", "Meta"),
    ("win", "Meta"),
    ("option", "Alt"),
    ("esc", "Escape"),
    ("return", "Enter"),
    ("del", "Delete"),
    ("ins", "Insert"),
    ("up", "ArrowUp"),
    ("down", "ArrowDown"),
    ("left", "ArrowLeft"),
    ("right", "ArrowRight"),
    ("spacebar", "Space"),
    ("pgup", "PageUp"),
    ("pgdn", "PageDown"),
    ("controlormeta", "Control"),
];

/// A key, or modifiers and a key joined by `+`. The space bar becomes `" "`, which is its `key` value.
pub(super) fn key(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<String> {
    let text = cursor.text(problems)?;
    let mut held: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some((modifier, after)) = MODIFIERS.iter().find_map(|m| {
        let after = rest.strip_prefix(m)?.strip_prefix('+')?;
        (!after.is_empty()).then_some((*m, after))
    }) {
        if held.contains(&modifier) {
            return cursor.wrong(problems, format!("{modifier} stands twice"), "hold each modifier once");
        }
        held.push(modifier);
        rest = after;
    }
    let mut characters = rest.chars();
    let single = matches!((characters.next(), characters.next()), (Some(c), None) if !c.is_control());
    if !single && !KEY_NAMES.contains(&rest) {
        return cursor.wrong(problems, format!("{} is no key", quoted(text)), suggestion(text));
    }
    let last = if rest == "Space" { " " } else { rest };
    Some(held.into_iter().chain([last]).collect::<Vec<_>>().join("+"))
}

fn suggestion(text: &str) -> String {
    let meant: Option<Vec<String>> = text
        .split('+')
        .map(|part| {
            let mistaken = MISTAKEN
                .iter()
                .find(|(written, _)| written.eq_ignore_ascii_case(part))
                .map(|(_, k)| *k);
            let single = (part.chars().count() == 1).then_some(part);
            single
                .or(mistaken)
                .or_else(|| nearest(part, KEY_NAMES))
                .map(str::to_owned)
        })
        .collect();
    match meant {
        Some(parts) if !text.is_empty() && parts.join("+") != text => format!("did you mean \"{}\"?", parts.join("+")),
        _ => "write one character, a name such as Enter or ArrowDown, or a chord such as Control+a; type: writes text"
            .into(),
    }
}
