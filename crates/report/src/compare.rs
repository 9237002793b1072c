//! Where what was seen differs from what was expected.

/// A piece of text, marked where it differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The text.
    pub(crate) text: String,
    /// Whether the other side does not have it there.
    pub(crate) differs: bool,
}

/// What begins and ends alike is left plain on both sides, what is between is marked.
pub(crate) fn compare(expected: &str, seen: &str) -> (Vec<Piece>, Vec<Piece>) {
    let (a, b): (Vec<char>, Vec<char>) = (expected.chars().collect(), seen.chars().collect());
    let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let most = a.len().min(b.len()) - head;
    let tail = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take(most)
        .take_while(|(x, y)| x == y)
        .count();
    // Two texts that share a letter here and there are simply different.
    let (head, tail) = if (head + tail) * 3 < a.len().max(b.len()) {
        (0, 0)
    } else {
        (head, tail)
    };
    (pieces(&a, head, tail), pieces(&b, head, tail))
}

fn pieces(text: &[char], head: usize, tail: usize) -> Vec<Piece> {
    let end = text.len() - tail;
    [(&text[..head], false), (&text[head..end], true), (&text[end..], false)]
        .into_iter()
        .filter(|(part, _)| !part.is_empty())
        .map(|(part, differs)| Piece {
            text: part.iter().collect(),
            differs,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(pieces: &[Piece]) -> String {
        pieces
            .iter()
            .map(|p| {
                if p.differs {
                    format!("[{}]", p.text)
                } else {
                    p.text.clone()
                }
            })
            .collect()
    }

    #[test]
    fn the_differing_part_is_marked_on_both_sides() {
        for (expected, seen, a, b) in [
            ("Total: 12.00", "Total: 21.00", "Total: [12].00", "Total: [21].00"),
            ("buy milk", "buy milk!", "buy milk", "buy milk[!]"),
            ("aaa", "aa", "aa[a]", "aa"),
            ("saved", "nothing at all", "[saved]", "[nothing at all]"),
            ("", "x", "", "[x]"),
            ("grün", "gran", "gr[ü]n", "gr[a]n"),
        ] {
            let (left, right) = compare(expected, seen);
            assert_eq!((marked(&left).as_str(), marked(&right).as_str()), (a, b));
        }
    }
}
