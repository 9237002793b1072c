//! Regular expressions of contracts: only what Rust and JavaScript read alike.
//!
//! A pattern is searched in white-space-folded text, by jurat here and perhaps by the page script there, and both must
//! agree. So these are refused: look-around and back references, inline flags (`(?i)`), named groups, classes in
//! brackets (`[[:alpha:]]`) and nested or computed classes, `\p{…}`, `\A`, `\z`, `\<` and other extended boundaries, octal and
//! `\x{…}`, an unescaped `]` or `}`, escapes of characters that need none, a repetition of a repetition or of an
//! assertion, `{,n}`. `\d`, `\w` and `\b` mean ASCII; `\s` means any white space; `.` is any character but a line end;
//! `^` and `$` are the ends of the whole text. JavaScript reads them so with the flag `u`.

use regex::{Regex, RegexBuilder};
use regex_syntax::ast::{self, Ast};

/// Why a pattern is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    message: String,
    hint: &'static str,
}

const PLAIN: &str =
    "use plain parts only: characters, ., classes such as [a-z], \\d, \\w, \\s, groups, |, *, +, ?, {2,3}, ^, $, \\b";

impl PatternError {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: PLAIN,
        }
    }

    fn hinted(message: impl Into<String>, hint: &'static str) -> Self {
        Self {
            message: message.into(),
            hint,
        }
    }

    /// What to write instead.
    pub fn hint(&self) -> &'static str {
        self.hint
    }
}

/// The most characters of a pattern.
const MOST: usize = 1000;

/// Checks a pattern and compiles it to what JavaScript would match with the flag `u`.
///
/// Errors: a pattern that is wrong, too great, or not read alike by both (see the module).
pub fn compile(pattern: &str) -> Result<Regex, PatternError> {
    if pattern.is_empty() {
        return Err(PatternError::hinted(
            "it is empty",
            "write a pattern, or leave regex out",
        ));
    }
    if pattern.chars().count() > MOST {
        return Err(PatternError::hinted(
            format!("it has more than {MOST} characters"),
            "write a shorter one",
        ));
    }
    escapes(pattern)?;
    let tree = ast::parse::ParserBuilder::new()
        .nest_limit(50)
        .build()
        .parse(pattern)
        .map_err(|e| match e.kind() {
            ast::ErrorKind::UnsupportedLookAround => PatternError::new("look-around is not supported"),
            ast::ErrorKind::UnsupportedBackreference => PatternError::new("back references are not supported"),
            kind => PatternError::new(kind.to_string()),
        })?;
    let mut rewritten = Rewrite {
        pattern,
        edits: Vec::new(),
    };
    match ast::visit(&tree, Collect(&mut rewritten)) {
        Ok(()) => {}
        Err(e) => return Err(e),
    }
    RegexBuilder::new(&rewritten.apply())
        .size_limit(1 << 20)
        .build()
        .map_err(|_| PatternError::hinted("it is too great or not valid", "use smaller counts"))
}

/// Escapes that both read alike.
fn escapes(pattern: &str) -> Result<(), PatternError> {
    let mut characters = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = characters.next() {
        match c {
            '[' => in_class = true,
            ']' => in_class = false,
            '\\' => match characters.next() {
                Some(
                    'd' | 'D' | 'w' | 'W' | 's' | 'S' | 't' | 'n' | 'r' | 'f' | 'v' | '^' | '$' | '\\' | '.' | '*'
                    | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '/',
                ) => {}
                Some('b' | 'B') if !in_class => {}
                Some('-') if in_class => {}
                Some(x @ ('x' | 'u')) if characters.peek() != Some(&'{') || x == 'u' => {}
                Some('p' | 'P') => return Err(PatternError::new("classes of Unicode properties are not supported")),
                Some(other) => {
                    return Err(PatternError::new(format!(
                        "the escape \\{other} is not read alike everywhere"
                    )));
                }
                None => return Err(PatternError::new("a backslash stands at the end")),
            },
            _ => {}
        }
    }
    Ok(())
}

struct Rewrite<'p> {
    pattern: &'p str,
    /// Byte ranges and what stands there instead, in the order of the pattern.
    edits: Vec<(usize, usize, &'static str)>,
}

impl Rewrite<'_> {
    fn replace(&mut self, span: ast::Span, with: &'static str) {
        self.edits.push((span.start.offset, span.end.offset, with));
    }

    fn source(&self, span: ast::Span) -> &str {
        self.pattern.get(span.start.offset..span.end.offset).unwrap_or_default()
    }

    fn apply(mut self) -> String {
        self.edits.sort_by_key(|(start, _, _)| *start);
        let mut out = String::new();
        let mut from = 0;
        for (start, end, with) in &self.edits {
            out.push_str(self.pattern.get(from..*start).unwrap_or_default());
            out.push_str(with);
            from = *end;
        }
        out.push_str(self.pattern.get(from..).unwrap_or_default());
        out
    }

    fn perl(&mut self, class: &ast::ClassPerl, bracketed: bool) {
        use ast::ClassPerlKind::{Digit, Space, Word};
        // A bracketed class may hold another: it is a union in Rust's syntax, which is what is compiled.
        let _ = bracketed;
        let with = match (&class.kind, class.negated) {
            (Digit, false) => "[0-9]",
            (Digit, true) => "[^0-9]",
            (Word, false) => "[0-9A-Za-z_]",
            (Word, true) => "[^0-9A-Za-z_]",
            (Space, false) => r"[\s\x{feff}]",
            (Space, true) => r"[^\s\x{feff}]",
        };
        self.replace(class.span, with);
    }
}

/// Walks the tree: refuses what differs, and writes down what is spelled differently in Rust.
struct Collect<'r, 'p>(&'r mut Rewrite<'p>);

impl Collect<'_, '_> {
    fn literal(&self, literal: &ast::Literal) -> Result<(), PatternError> {
        if literal.kind == ast::LiteralKind::Verbatim && matches!(literal.c, ']' | '}' | '{') {
            return Err(PatternError::hinted(
                format!("\"{}\" stands for itself only behind a backslash", literal.c),
                "write \\] , \\{ or \\}",
            ));
        }
        match literal.kind {
            ast::LiteralKind::Octal | ast::LiteralKind::HexBrace(ast::HexLiteralKind::X) => Err(PatternError::new(
                format!("{} is not read alike everywhere", self.0.source(literal.span)),
            )),
            _ => Ok(()),
        }
    }
}

impl ast::Visitor for Collect<'_, '_> {
    type Output = ();
    type Err = PatternError;

    fn finish(self) -> Result<(), PatternError> {
        Ok(())
    }

    fn visit_pre(&mut self, node: &Ast) -> Result<(), PatternError> {
        match node {
            Ast::Flags(_) => Err(PatternError::new("inline flags are not supported")),
            Ast::Literal(literal) => self.literal(literal),
            Ast::Dot(span) => {
                self.0.replace(**span, r"[^\n\r\x{2028}\x{2029}]");
                Ok(())
            }
            Ast::Assertion(assertion) => {
                use ast::AssertionKind::{EndLine, NotWordBoundary, StartLine, WordBoundary};
                match assertion.kind {
                    StartLine | EndLine => Ok(()),
                    WordBoundary => {
                        self.0.replace(assertion.span, r"(?-u:\b)");
                        Ok(())
                    }
                    NotWordBoundary => Err(PatternError::hinted(r"\B is not supported", PLAIN)),
                    _ => Err(PatternError::new("this boundary is not read alike everywhere")),
                }
            }
            Ast::ClassUnicode(_) => Err(PatternError::new("classes of Unicode properties are not supported")),
            Ast::ClassPerl(class) => {
                self.0.perl(class, false);
                Ok(())
            }
            Ast::ClassBracketed(class) => match &class.kind {
                ast::ClassSet::BinaryOp(_) => Err(PatternError::new("a computed class is not supported")),
                ast::ClassSet::Item(_) => Ok(()),
            },
            Ast::Repetition(repetition) => {
                let operator = self.0.source(repetition.op.span);
                if operator.starts_with("{,") || operator.contains(char::is_whitespace) {
                    return Err(PatternError::hinted(
                        format!("{operator} is not read alike everywhere"),
                        "write {0,n}",
                    ));
                }
                match *repetition.ast {
                    Ast::Repetition(_) => Err(PatternError::new("a repetition of a repetition is not supported")),
                    Ast::Assertion(_) => Err(PatternError::new("a repetition of an assertion is not supported")),
                    _ => Ok(()),
                }
            }
            Ast::Group(group) => match &group.kind {
                ast::GroupKind::CaptureIndex(_) => Ok(()),
                ast::GroupKind::CaptureName { .. } => Err(PatternError::hinted(
                    "named groups are not supported",
                    "write a plain group",
                )),
                ast::GroupKind::NonCapturing(flags) if flags.items.is_empty() => Ok(()),
                ast::GroupKind::NonCapturing(_) => Err(PatternError::new("inline flags are not supported")),
            },
            Ast::Empty(_) | Ast::Alternation(_) | Ast::Concat(_) => Ok(()),
        }
    }

    fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), PatternError> {
        match item {
            ast::ClassSetItem::Ascii(_) => Err(PatternError::new("classes such as [:alpha:] are not supported")),
            ast::ClassSetItem::Unicode(_) => Err(PatternError::new("classes of Unicode properties are not supported")),
            ast::ClassSetItem::Bracketed(_) => Err(PatternError::hinted(
                "\"[\" stands for itself only behind a backslash",
                "write \\[",
            )),
            ast::ClassSetItem::Literal(literal) => self.literal(literal),
            ast::ClassSetItem::Range(range) => {
                self.literal(&range.start)?;
                self.literal(&range.end)
            }
            ast::ClassSetItem::Perl(class) => {
                self.0.perl(class, true);
                Ok(())
            }
            ast::ClassSetItem::Empty(_) | ast::ClassSetItem::Union(_) => Ok(()),
        }
    }

    fn visit_class_set_binary_op_pre(&mut self, _: &ast::ClassSetBinaryOp) -> Result<(), PatternError> {
        Err(PatternError::new("a computed class is not supported"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn plain_patterns_match_as_in_javascript() {
        let matches = |pattern: &str, text: &str| compile(pattern).unwrap().is_match(text);
        assert!(matches(r"^\d+ items?$", "12 items"));
        assert!(!matches(r"^\d+$", "\u{0661}\u{0662}"), "digits are ASCII");
        assert!(!matches(r"^\w+$", "caf\u{e9}"), "words are ASCII");
        assert!(matches(r"caf\b", "caf\u{e9}"), "boundaries are of ASCII words");
        assert!(matches(r"^[\w.-]+@[\w.-]+$", "a.b@c-d.e"));
        assert!(matches(r"^[^\d]+$", "abc") && !matches(r"^[^\d]+$", "a1"));
        assert!(matches(r"a{2,3}?b|c", "xaab"));
        assert!(matches(r"(?:one|two) \(x\) \/ \[y\]", "two (x) / [y]"));
        assert!(matches("^.$", "\u{1f600}") && !matches("a.b", "a\u{2028}b"));
        assert!(matches(r"^\u{1F600}\u0041\x42$", "\u{1f600}AB"));
        assert!(!matches("abc", "ABC"), "case counts");
        assert!(matches(r"\s", "\u{feff}") && matches(r"\s", "\u{a0}"));
    }

    #[test]
    fn what_differs_is_refused() {
        for pattern in [
            "",
            "(",
            "a)",
            "[a",
            "*a",
            "a**",
            "a*+",
            "^*",
            r"\b+",
            "(?i)a",
            "(?i:a)",
            "(?P<n>a)",
            "(?<n>a)",
            "(?=a)",
            "(?<!a)",
            r"(a)\1",
            r"\p{L}",
            r"\pL",
            "[[:alpha:]]",
            "[a[b]]",
            "[]a]",
            "[a&&b]",
            "[a--b]",
            "a{,3}",
            "a{1, 2}",
            r"\A",
            r"\z",
            r"\<",
            r"\b{start}",
            r"\x{41}",
            "a]",
            "a}",
            "a{",
            r"\#",
            r"\-",
            r"\_",
            r"\a",
            r"\Qa\E",
            r"\ ",
            r"\B",
            "a{1000}{1000}",
            r"\",
            r"\ud83d",
            "(((((((a{100}){100}){100}){100}){100}){100}){100})",
        ] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
        assert!(compile(&"a".repeat(1001)).is_err());
        assert!(compile(&"(".repeat(900)).is_err());
    }
}
