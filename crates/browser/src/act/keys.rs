//! Keys by their names in the UI Events specification, on a US keyboard.

use std::borrow::Cow;

use jurat_core::contract::Modifier;

/// What pressing a key sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    /// `KeyboardEvent.key`.
    pub(super) name: Cow<'static, str>,
    /// `KeyboardEvent.code`; empty when the keyboard has no such key.
    pub(super) code: Cow<'static, str>,
    /// `KeyboardEvent.keyCode`.
    pub(super) number: u32,
    /// What it types; empty for none.
    pub(super) text: Cow<'static, str>,
    /// `KeyboardEvent.location`.
    pub(super) location: u32,
    /// Typed with shift on this keyboard.
    pub(super) shifted: bool,
}

/// A key with the keys held down around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chord {
    pub(super) modifiers: Vec<Modifier>,
    pub(super) key: Key,
}

/// Keys that type nothing or the same with and without shift: name, code, number, text, location.
const NAMED: &[(&str, &str, u32, &str, u32)] = &[
    ("Enter", "Enter", 13, "\r", 0),
    ("Tab", "Tab", 9, "", 0),
    ("Backspace", "Backspace", 8, "", 0),
    ("Delete", "Delete", 46, "", 0),
    ("Escape", "Escape", 27, "", 0),
    ("Insert", "Insert", 45, "", 0),
    ("Home", "Home", 36, "", 0),
    ("End", "End", 35, "", 0),
    ("PageUp", "PageUp", 33, "", 0),
    ("PageDown", "PageDown", 34, "", 0),
    ("ArrowLeft", "ArrowLeft", 37, "", 0),
    ("ArrowUp", "ArrowUp", 38, "", 0),
    ("ArrowRight", "ArrowRight", 39, "", 0),
    ("ArrowDown", "ArrowDown", 40, "", 0),
    ("Shift", "ShiftLeft", 16, "", 1),
    ("Control", "ControlLeft", 17, "", 1),
    ("Alt", "AltLeft", 18, "", 1),
    ("Meta", "MetaLeft", 91, "", 1),
    ("CapsLock", "CapsLock", 20, "", 0),
    ("NumLock", "NumLock", 144, "", 0),
    ("ScrollLock", "ScrollLock", 145, "", 0),
    ("Pause", "Pause", 19, "", 0),
    ("PrintScreen", "PrintScreen", 44, "", 0),
    ("ContextMenu", "ContextMenu", 93, "", 0),
];

/// Printing keys: without shift, with shift, code, number.
const PRINTING: &[(char, char, &str, u32)] = &[
    ('1', '!', "Digit1", 49),
    ('2', '@', "Digit2", 50),
    ('3', '#', "Digit3", 51),
    ('4', '$', "Digit4", 52),
    ('5', '%', "Digit5", 53),
    ('6', '^', "Digit6", 54),
    ('7', '&', "Digit7", 55),
    ('8', '*', "Digit8", 56),
    ('9', '(', "Digit9", 57),
    ('0', ')', "Digit0", 48),
    ('-', '_', "Minus", 189),
    ('=', '+', "Equal", 187),
    ('[', '{', "BracketLeft", 219),
    (']', '}', "BracketRight", 221),
    ('\\', '|', "Backslash", 220),
    (';', ':', "Semicolon", 186),
    ('\'', '"', "Quote", 222),
    (',', '<', "Comma", 188),
    ('.', '>', "Period", 190),
    ('/', '?', "Slash", 191),
    ('`', '~', "Backquote", 192),
];

/// Whether `press` knows a key or chord of this name.
pub fn is_key(name: &str) -> bool {
    chord(name).is_some()
}

/// A key or chord by its name: `Enter`, `a`, `Control+a`, `Control+Shift+ArrowLeft`, `Shift++`.
pub(super) fn chord(name: &str) -> Option<Chord> {
    let (held, last) = match name.strip_suffix('+') {
        // The key is the plus sign itself.
        Some("") => ("", "+"),
        Some(held) => (held.strip_suffix('+')?, "+"),
        None => name.rsplit_once('+').unwrap_or(("", name)),
    };
    let mut modifiers = Vec::new();
    for part in held.split('+').filter(|_| !held.is_empty()) {
        let modifier = match part {
            "Alt" => Modifier::Alt,
            "Control" | "Ctrl" | "ControlOrMeta" => Modifier::Control,
            "Meta" => Modifier::Meta,
            "Shift" => Modifier::Shift,
            _ => return None,
        };
        if !modifiers.contains(&modifier) {
            modifiers.push(modifier);
        }
    }
    let mut key = named(last)?;
    if modifiers.contains(&Modifier::Shift)
        && let Some(shifted) = single(&key.name).and_then(shift)
    {
        key = printing(shifted);
    }
    Some(Chord { modifiers, key })
}

/// The key for a modifier.
pub(super) fn modifier(modifier: Modifier) -> Key {
    let name = match modifier {
        Modifier::Alt => "Alt",
        Modifier::Control => "Control",
        Modifier::Meta => "Meta",
        Modifier::Shift => "Shift",
    };
    named(name).unwrap_or_else(|| printing(' '))
}

/// The key that types a character; `None` when no key of the keyboard does.
pub(super) fn typing(c: char) -> Option<Key> {
    match c {
        '\n' | '\r' => named("Enter"),
        '\t' => named("Tab"),
        c if c == ' ' || c.is_ascii_graphic() => Some(printing(c)),
        _ => None,
    }
}

fn single(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

fn shift(c: char) -> Option<char> {
    if c.is_ascii_lowercase() {
        return Some(c.to_ascii_uppercase());
    }
    PRINTING.iter().find(|row| row.0 == c).map(|row| row.1)
}

fn named(name: &str) -> Option<Key> {
    if let Some(c) = single(name) {
        return (!c.is_control()).then(|| printing(c));
    }
    if name == "Space" {
        return Some(printing(' '));
    }
    if let Some((key, code, number, text, location)) = NAMED.iter().find(|row| row.0 == name).copied() {
        let (key, code, text) = (Cow::from(key), Cow::from(code), Cow::from(text));
        return Some(Key {
            name: key,
            code,
            number,
            text,
            location,
            shifted: false,
        });
    }
    let number: u32 = name
        .strip_prefix('F')?
        .parse()
        .ok()
        .filter(|n| (1..=24).contains(n) && !name.starts_with("F0"))?;
    let key = Cow::from(name.to_owned());
    Some(Key {
        code: key.clone(),
        name: key,
        number: 111 + number,
        text: Cow::from(""),
        location: 0,
        shifted: false,
    })
}

fn printing(c: char) -> Key {
    let text = Cow::from(c.to_string());
    let key = |code: String, number, shifted| Key {
        name: text.clone(),
        code: Cow::from(code),
        number,
        text: text.clone(),
        location: 0,
        shifted,
    };
    if c.is_ascii_alphabetic() {
        let upper = c.to_ascii_uppercase();
        return key(format!("Key{upper}"), u32::from(upper), c.is_ascii_uppercase());
    }
    if c == ' ' {
        return key("Space".to_owned(), 32, false);
    }
    match PRINTING.iter().find(|row| row.0 == c || row.1 == c) {
        Some(row) => key(row.2.to_owned(), row.3, row.1 == c),
        None => key(String::new(), 0, false),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn of(name: &str) -> (Vec<Modifier>, String, String, u32, String) {
        let chord = chord(name).unwrap();
        let key = chord.key;
        (
            chord.modifiers,
            key.name.into_owned(),
            key.code.into_owned(),
            key.number,
            key.text.into_owned(),
        )
    }

    #[test]
    fn chords_are_taken_apart() {
        let made =
            |m: &[Modifier], k: &str, c: &str, n, t: &str| (m.to_vec(), k.to_owned(), c.to_owned(), n, t.to_owned());
        assert_eq!(of("a"), made(&[], "a", "KeyA", 65, "a"));
        assert_eq!(of("Control+a"), made(&[Modifier::Control], "a", "KeyA", 65, "a"));
        assert_eq!(of("Shift+a"), made(&[Modifier::Shift], "A", "KeyA", 65, "A"));
        assert_eq!(of("Shift+1"), made(&[Modifier::Shift], "!", "Digit1", 49, "!"));
        assert_eq!(of("+"), made(&[], "+", "Equal", 187, "+"));
        assert_eq!(of("Control++"), made(&[Modifier::Control], "+", "Equal", 187, "+"));
        assert_eq!(of("Control+Shift+ArrowLeft").1, "ArrowLeft");
        assert_eq!(of("F12"), made(&[], "F12", "F12", 123, ""));
        assert_eq!(of("Enter"), made(&[], "Enter", "Enter", 13, "\r"));
        assert_eq!(of("ü"), made(&[], "ü", "", 0, "ü"));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for name in [
            "", "Foo", "Control", "Hyper+a", "F0", "F25", "F012", "Control+", "a+b", "\n",
        ] {
            assert_eq!(is_key(name), name == "Control", "{name:?}");
        }
    }
}
