//! Which known word was meant.

/// The known word that is nearest to what was written, when one is near enough.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let folded: Vec<char> = word
        .chars()
        .take(64)
        .flat_map(char::to_lowercase)
        .filter(|c| !matches!(c, '-' | '_' | ' '))
        .collect();
    let bare = |known: &str| -> Vec<char> {
        known
            .chars()
            .flat_map(char::to_lowercase)
            .filter(|c| !matches!(c, '-' | '_' | ' '))
            .collect()
    };
    known
        .iter()
        .map(|k| (distance(&folded, &bare(k)), *k))
        .filter(|(distance, k)| {
            *distance <= (k.chars().count().min(folded.len()) / 3).max(1) && *distance < folded.len().max(1)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, k)| k)
}

/// Edits between two words; swapping two neighbours is one.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut least = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *y && *x == b[j - 1] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let known = ["click", "check", "navigate", "text_contains", "fill"];
        assert_eq!(nearest("clik", &known), Some("click"));
        assert_eq!(nearest("cilck", &known), Some("click"));
        assert_eq!(nearest("textContains", &known), Some("text_contains"));
        assert_eq!(nearest("Fill", &known), Some("fill"));
        assert_eq!(nearest("navigat", &known), Some("navigate"));
        assert_eq!(nearest("teleport", &known), None);
        assert_eq!(nearest("x", &known), None);
        assert_eq!(nearest("", &known), None);
    }
}
