//! A scanner for Rust sources: comments, literals and identifiers.

use std::iter::Peekable;
use std::str::CharIndices;

/// The kind of a [`Piece`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A comment, with its slashes.
    Comment,
    /// A string or character, with its quotes.
    Literal,
    /// An identifier or keyword.
    Identifier,
}

/// A piece of a source that is not punctuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    /// The kind.
    pub(crate) kind: Kind,
    /// The line of its beginning, from 1.
    pub(crate) line: usize,
    /// The text, as it is in the source.
    pub(crate) text: &'a str,
}

/// Splits a source that compiles into its pieces.
pub(crate) fn scan(source: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut signs = source.char_indices().peekable();
    let mut line = 1;
    while let Some((begin, sign)) = signs.next() {
        let rest = &source[begin..];
        let found = match sign {
            '\n' => {
                line += 1;
                None
            }
            '/' if rest.starts_with("//") => {
                Some((Kind::Comment, rest.find('\n').unwrap_or(rest.len())))
            }
            '/' if rest.starts_with("/*") => {
                Some((Kind::Comment, rest.find("*/").map_or(rest.len(), |end| end + 2)))
            }
            '"' => Some((Kind::Literal, 1 + quoted(&rest[1..], '"'))),
            '\'' => character(rest).map(|length| (Kind::Literal, length)),
            _ if is_word(sign) && !sign.is_ascii_digit() => {
                let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                Some(match literal_behind(&rest[..length], &rest[length..]) {
                    Some(behind) => (Kind::Literal, length + behind),
                    None => (Kind::Identifier, length),
                })
            }
            _ if sign.is_ascii_digit() => {
                // A number, whose suffix is no identifier.
                let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                skip(&mut signs, begin + length);
                None
            }
            _ => None,
        };
        if let Some((kind, length)) = found {
            let text = &source[begin..begin + length];
            pieces.push(Piece { kind, line, text });
            line += text.matches('\n').count();
            skip(&mut signs, begin + length);
        }
    }
    pieces
}

fn is_word(sign: char) -> bool {
    sign == '_' || sign.is_alphanumeric()
}

fn skip(signs: &mut Peekable<CharIndices<'_>>, end: usize) {
    while signs.next_if(|(at, _)| *at < end).is_some() {}
}

/// The length up to and with the closing quote, which no backslash precedes.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, sign) in text.char_indices() {
        if sign == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = sign == '\\' && !is_escaped;
    }
    text.len()
}

/// The length of a character literal; `None` for a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut signs = text.char_indices().skip(1);
    let (_, first) = signs.next()?;
    if first == '\\' {
        return Some(1 + quoted(&text[1..], '\''));
    }
    let (at, second) = signs.next()?;
    (second == '\'').then_some(at + 1)
}

/// The length of the literal behind its prefix (`r`, `b`, `br`, `c`, `cr`).
fn literal_behind(prefix: &str, rest: &str) -> Option<usize> {
    match prefix {
        "b" | "c" if rest.starts_with('"') => Some(1 + quoted(&rest[1..], '"')),
        "b" if rest.starts_with('\'') => character(rest),
        "r" | "br" | "cr" => {
            let hashes = rest.len() - rest.trim_start_matches('#').len();
            let text = rest[hashes..].strip_prefix('"')?;
            let end = format!("\"{}", "#".repeat(hashes));
            Some(hashes + 1 + text.find(&end)? + end.len())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(source: &str) -> Vec<(Kind, usize, &str)> {
        scan(source).iter().map(|piece| (piece.kind, piece.line, piece.text)).collect()
    }

    #[test]
    fn comments_literals_and_identifiers_are_told_apart() {
        use Kind::{Comment, Identifier, Literal};
        assert_eq!(
            pieces("let a1 = \"b // c\\\"\"; // d \"e\nf::<'g>('h', '\\'', 0x1f) /* i\n */ j"),
            [
                (Identifier, 1, "let"),
                (Identifier, 1, "a1"),
                (Literal, 1, "\"b // c\\\"\""),
                (Comment, 1, "// d \"e"),
                (Identifier, 2, "f"),
                (Identifier, 2, "g"),
                (Literal, 2, "'h'"),
                (Literal, 2, "'\\''"),
                (Comment, 2, "/* i\n */"),
                (Identifier, 3, "j"),
            ]
        );
        assert_eq!(
            pieces("r#\"a\"b\"# b\"c\" br\"d\" b'e' r d"),
            [
                (Literal, 1, "r#\"a\"b\"#"),
                (Literal, 1, "b\"c\""),
                (Literal, 1, "br\"d\""),
                (Literal, 1, "b'e'"),
                (Identifier, 1, "r"),
                (Identifier, 1, "d"),
            ]
        );
    }
}
