//! Words, numbers and untrusted text as they stand in the report.

use jurat_core::untrusted::escape;

/// Text from outside, safe to read: control, direction and invisible characters as `\u{…}`, line breaks kept, at most `max`
/// characters. HTML is escaped later, by the template.
pub(crate) fn shown(text: &str, max: usize) -> String {
    let mut left = max;
    let mut out = String::with_capacity(text.len().min(max));
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        out.push_str(&escape(line.strip_suffix('\r').unwrap_or(line), left));
        let taken = line.chars().count() + 1;
        if taken > left {
            if !out.ends_with('…') {
                out.push('…');
            }
            break;
        }
        left -= taken;
    }
    out
}

/// A duration in microseconds, to three digits or so.
pub(crate) fn duration(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..10_000 => format!("{}.{} ms", us / 1_000, us / 100 % 10),
        10_000..1_000_000 => format!("{} ms", us / 1_000),
        1_000_000..60_000_000 => format!("{}.{:02} s", us / 1_000_000, us / 10_000 % 100),
        _ => format!("{} min {:02} s", us / 60_000_000, us / 1_000_000 % 60),
    }
}

/// A moment of the run, in microseconds since it began.
pub(crate) fn moment(us: u64) -> String {
    format!("{}.{:03} s", us / 1_000_000, us / 1_000 % 1_000)
}

/// A number of bytes.
pub(crate) fn bytes(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{}.{} kB", n / 1_000, n / 100 % 10),
        _ => format!("{}.{} MB", n / 1_000_000, n / 100_000 % 10),
    }
}

/// Hundredths of a CSS pixel.
pub(crate) fn px(hundredths: i64) -> String {
    let sign = if hundredths < 0 { "-" } else { "" };
    let n = hundredths.unsigned_abs();
    match n % 100 {
        0 => format!("{sign}{}", n / 100),
        part => format!("{sign}{}.{part:02}", n / 100),
    }
}

/// A count and its noun, in the plural where that is due.
pub(crate) fn count(n: usize, one: &str, many: &str) -> String {
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {many}")
    }
}

/// An identifier as words.
pub(crate) fn words(identifier: &str) -> String {
    identifier.replace(['_', '-'], " ")
}

/// The wire name of a value that serialises to one text.
pub(crate) fn wire(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_text_shows_its_controls_and_keeps_its_lines() {
        assert_eq!(shown("a\u{1b}[2J\u{202e}b\r\nc", 100), "a\\u{1b}[2J\\u{202e}b\nc");
        assert_eq!(shown("abcdef", 3), "abc…");
        assert_eq!(shown("ab\ncdef", 5), "ab\ncd…");
        assert_eq!(shown("ab\n\n\n", 4), "ab\n\n…");
        assert_eq!(shown("<b>", 9), "<b>");
    }

    #[test]
    fn numbers_read_well() {
        let durations: Vec<_> = [7, 1_250, 312_400, 1_240_000, 125_000_000].map(duration).into();
        assert_eq!(durations, ["7 µs", "1.2 ms", "312 ms", "1.24 s", "2 min 05 s"]);
        assert_eq!([0, 12_345, 3_500_000].map(bytes), ["0 B", "12.3 kB", "3.5 MB"]);
        assert_eq!([0, 1250, -5].map(px), ["0", "12.50", "-0.05"]);
        assert_eq!(moment(1_005_000), "1.005 s");
        assert_eq!([count(1, "a", "b"), count(2, "a", "b")], ["1 a", "2 b"]);
    }
}
