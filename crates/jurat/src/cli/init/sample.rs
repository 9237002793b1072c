//! What is put into a text field: something that fits its type and that no page shows by itself.

use std::collections::BTreeMap;

use jurat_core::untrusted::Untrusted;

/// The attributes of a field that decide.
pub(super) const ATTRIBUTES: [&str; 5] = ["type", "maxlength", "min", "max", "inputmode"];

/// Texts for fields of any text.
const TEXTS: [&str; 6] = [
    "buy milk",
    "call Ada",
    "water the plants",
    "mend the fence",
    "read Lovelace",
    "sharpen pencils",
];

/// A value for a field, and whether the page may well show it afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) value: String,
    pub(super) shows: bool,
}

/// A value for the field with this name and these attributes. `number` is the field's place in its form; `is_shown` says
/// whether the page shows a text already.
pub(super) fn sample(
    name: &str,
    attributes: &BTreeMap<String, Untrusted>,
    number: usize,
    is_shown: impl Fn(&str) -> bool,
) -> Option<Sample> {
    let attribute = |key: &str| attributes.get(key).map(|v| v.raw().trim().to_ascii_lowercase());
    let named = |words: &[&str]| {
        let name = name.to_lowercase();
        words.iter().any(|word| name.contains(word))
    };
    let kind = attribute("type").unwrap_or_default();
    let numeric = attribute("inputmode").is_some_and(|mode| mode == "numeric" || mode == "decimal");
    let (value, shows) = match kind.as_str() {
        "password" => ("correct-Horse-7".to_owned(), false),
        "email" => ("ada@example.com".to_owned(), true),
        "url" => ("https://example.com/".to_owned(), true),
        "tel" => ("+1 555 0100".to_owned(), true),
        "number" => (number_in(attribute("min"), attribute("max")), false),
        "date" => ("2026-01-15".to_owned(), false),
        "time" => ("09:30".to_owned(), false),
        "datetime-local" => ("2026-01-15T09:30".to_owned(), false),
        "month" => ("2026-01".to_owned(), false),
        "week" => ("2026-W03".to_owned(), false),
        "file" | "color" | "range" | "checkbox" | "radio" | "hidden" => return None,
        _ if numeric => (number_in(attribute("min"), attribute("max")), false),
        _ if named(&["mail"]) => ("ada@example.com".to_owned(), true),
        _ if named(&["phone"]) => ("+1 555 0100".to_owned(), true),
        _ if named(&["name", "author"]) && !is_shown("Ada Lovelace") => ("Ada Lovelace".to_owned(), true),
        _ => {
            let fresh = TEXTS
                .iter()
                .cycle()
                .skip(number)
                .take(TEXTS.len())
                .find(|text| !is_shown(text));
            ((*fresh?).to_owned(), true)
        }
    };
    let most = attribute("maxlength").and_then(|n| n.parse::<usize>().ok());
    if most.is_some_and(|most| value.chars().count() > most) {
        let short: String = value.chars().take(most.unwrap_or(0)).collect();
        let short = short.trim_end().to_owned();
        return (!short.is_empty()).then_some(Sample {
            shows: shows && short.len() > 2,
            value: short,
        });
    }
    Some(Sample { value, shows })
}

/// A whole number within the bounds, 7 where it fits.
fn number_in(min: Option<String>, max: Option<String>) -> String {
    let bound = |text: Option<String>| text.and_then(|t| t.split('.').next()?.parse::<i64>().ok());
    let (min, max) = (bound(min).unwrap_or(i64::MIN), bound(max).unwrap_or(i64::MAX));
    if min > max { min } else { 7.clamp(min, max) }.to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn value(name: &str, attributes: &[(&str, &str)]) -> Option<String> {
        let attributes = attributes
            .iter()
            .map(|(k, v)| ((*k).to_owned(), Untrusted::new(*v)))
            .collect();
        sample(name, &attributes, 0, |text| text == "buy milk").map(|s| s.value)
    }

    #[test]
    fn a_value_fits_its_field() {
        assert_eq!(
            value("New note", &[]).unwrap(),
            "call Ada",
            "the page shows the first one already"
        );
        assert_eq!(value("Your e-mail", &[]).unwrap(), "ada@example.com");
        assert_eq!(value("x", &[("type", "NUMBER"), ("max", "3")]).unwrap(), "3");
        assert_eq!(value("x", &[("type", "number"), ("min", "10")]).unwrap(), "10");
        assert_eq!(value("Code", &[("maxlength", "5")]).unwrap(), "call");
        assert_eq!(value("x", &[("type", "file")]), None);
        assert_eq!(value("x", &[("maxlength", "0")]), None);
    }
}
