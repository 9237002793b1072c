//! Numbers and durations as they are written.

use super::cursor::{Cursor, Problems};
use crate::contract::text::Value;
use crate::contract::{Decimal, Millis};

/// The longest duration anywhere: 30 minutes.
pub(super) const MOST_MILLIS: u64 = 30 * 60 * 1000;

/// A duration, such as `500ms`, `10s` or `2m`; more than nothing and at most half an hour.
pub(super) fn duration(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Millis> {
    const HINT: &str = "write a whole number and its unit: 500ms, 10s or 2m";
    if let Value::Number(number) = &cursor.node.value {
        return cursor.wrong(
            problems,
            format!("{number} has no unit"),
            format!("{HINT}; perhaps {number}s"),
        );
    }
    let text = cursor.text(problems)?;
    match parse_duration(text) {
        Some(millis) if millis > MOST_MILLIS => {
            cursor.wrong(problems, format!("{text} is too long"), "write at most 30m")
        }
        Some(0) => cursor.wrong(problems, format!("{text} is no time at all"), HINT),
        Some(millis) => Some(Millis(millis)),
        None => cursor.wrong(
            problems,
            format!("{} is no duration", crate::contract::text::quoted(text)),
            HINT,
        ),
    }
}

fn parse_duration(text: &str) -> Option<u64> {
    let (digits, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s'), text.strip_suffix('m')) {
        (Some(digits), _, _) => (digits, 1),
        (_, Some(digits), _) => (digits, 1000),
        (_, _, Some(digits)) => (digits, 60_000),
        _ => return None,
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) || (digits.len() > 1 && digits.starts_with('0'))
    {
        return None;
    }
    // What overflows is too long anyway.
    Some(
        digits
            .parse::<u64>()
            .ok()
            .and_then(|n| n.checked_mul(unit))
            .unwrap_or(u64::MAX),
    )
}

/// A decimal number between two whole ones, as canonical text. Written as a number, or as a text (`"52.52"`).
pub(super) fn decimal(cursor: &Cursor<'_>, problems: &mut Problems, most: u32) -> Option<Decimal> {
    let hint = format!("write decimal degrees from -{most} to {most}, such as 52.52");
    let text = match &cursor.node.value {
        Value::Number(text) | Value::Text(text) => text,
        other => {
            return cursor.wrong(
                problems,
                format!("a number is expected, not {}", other.describe()),
                hint,
            );
        }
    };
    match Decimal::parse(text) {
        Some(decimal) if decimal.within(most) => Some(decimal),
        Some(_) => cursor.wrong(problems, format!("{text} is out of range"), hint),
        None => cursor.wrong(
            problems,
            format!("{} is no decimal number", crate::contract::text::quoted(text)),
            hint,
        ),
    }
}

impl Decimal {
    /// Reads plain decimal digits, at most 12 after the point, into the canonical text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (minus, unsigned) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
        let (whole, fraction) = unsigned.split_once('.').map_or((unsigned, None), |(w, f)| (w, Some(f)));
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        let plain_whole = digits(whole) && (whole.len() == 1 || !whole.starts_with('0')) && whole.len() <= 9;
        let fraction = match fraction {
            Some(f) if digits(f) && f.len() <= 12 => f.trim_end_matches('0'),
            Some(_) => return None,
            None => "",
        };
        if !plain_whole {
            return None;
        }
        let minus = if whole == "0" && fraction.is_empty() { "" } else { minus };
        let point = if fraction.is_empty() { "" } else { "." };
        Some(Self(format!("{minus}{whole}{point}{fraction}")))
    }

    /// Whether its magnitude is at most this.
    fn within(&self, most: u32) -> bool {
        let unsigned = self.0.strip_prefix('-').unwrap_or(&self.0);
        let (whole, has_fraction) = unsigned.split_once('.').map_or((unsigned, false), |(w, _)| (w, true));
        whole
            .parse::<u32>()
            .is_ok_and(|w| w < most || (w == most && !has_fraction))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn durations() {
        for (text, millis) in [("500ms", 500), ("10s", 10_000), ("2m", 120_000), ("0s", 0)] {
            assert_eq!(parse_duration(text), Some(millis), "{text}");
        }
        for text in ["", "s", "ms", "10", "1.5s", "-1s", "010s", "1h", "1 s", "1S", "١s"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
        assert_eq!(parse_duration("99999999999999999999s"), Some(u64::MAX));
    }

    #[test]
    fn decimals_have_one_text() {
        for (text, canonical) in [
            ("52.520", "52.52"),
            ("-0.0", "0"),
            ("0", "0"),
            ("-1.50", "-1.5"),
            ("90.000", "90"),
        ] {
            assert_eq!(Decimal::parse(text).unwrap().as_str(), canonical);
        }
        for text in ["", ".", "1.", ".5", "1e3", "+1", "01", "--1", "1.2.3", "0x1", "NaN"] {
            assert!(Decimal::parse(text).is_none(), "{text}");
        }
        assert!(Decimal::parse("90").unwrap().within(90));
        assert!(!Decimal::parse("-90.1").unwrap().within(90));
    }
}
