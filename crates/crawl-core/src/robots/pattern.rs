//! The paths of rules, and what they match (RFC 9309 sections 2.2.2 and 2.2.3).
//!
//! Both sides are brought to one spelling first, in which an octet is written
//! in one way only. An octet that may stand for itself does, all others are
//! percent-encoded in upper case. A delimiter and its percent-encoding remain
//! two different things, as in the URL itself: `/*%3F` forbids URLs with a
//! misplaced question mark, not all that have a query.
//!
//! Within a query, though, some delimiters delimit nothing, and the RFC has
//! `https://` there equal `https%3A%2F%2F`. A path that shows by a question mark
//! where the query begins is compared in this way.

use url::{Position, Url};

/// The path of a rule: it matches what begins like it.
///
/// A `*` stands for anything, a `$` at the end for the end of the URL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pattern(Box<str>);

/// The path and query of a URL.
#[derive(Debug)]
pub(super) struct Target {
    as_written: String,
    /// With the delimiters in the query that delimit nothing there.
    with_plain_query: String,
}

impl Pattern {
    /// Nothing, if `value` is empty or cannot match because no path begins so.
    pub(super) fn new(value: &[u8]) -> Option<Self> {
        let begins_like_a_path = matches!(value, [b'/' | b'*', ..]);
        begins_like_a_path.then(|| Self(spell(value, true, true).into()))
    }

    /// The longer of two patterns is the more specific one.
    pub(super) fn octets(&self) -> usize {
        self.0.len()
    }

    /// Whether it matches. Takes from `steps` what there is to search when it
    /// has wildcards; None if there are not enough left.
    ///
    /// Text between two wildcards is looked for once, from left to right: its
    /// first occurrence leaves most for what comes after. So each byte of the
    /// pattern and of the target is passed over once.
    pub(super) fn matches(&self, target: &Target, steps: &mut usize) -> Option<bool> {
        let target =
            if self.0.contains('?') { &target.with_plain_query } else { &target.as_written };
        let (pattern, is_whole) = match self.0.strip_suffix('$') {
            Some(pattern) => (pattern, true),
            None => (&*self.0, false),
        };
        let (beginning, wild) = match pattern.split_once('*') {
            Some((beginning, wild)) => (beginning, Some(wild)),
            None => (pattern, None),
        };
        let (Some(rest), wild) = (target.strip_prefix(beginning), wild) else {
            return Some(false);
        };
        let Some(wild) = wild else {
            return Some(!is_whole || rest.is_empty());
        };
        *steps = steps.checked_sub(rest.len())?;
        Some(matches_behind_wildcard(wild, rest, is_whole))
    }
}

fn matches_behind_wildcard(pattern: &str, target: &str, is_whole: bool) -> bool {
    let (middle, last) = pattern.rsplit_once('*').unwrap_or(("", pattern));
    let mut rest = target;
    for text in middle.split('*') {
        match rest.find(text) {
            Some(at) => rest = &rest[at + text.len()..],
            None => return false,
        }
    }
    if is_whole { rest.ends_with(last) } else { rest.contains(last) }
}

impl Target {
    pub(super) fn new(url: &Url) -> Self {
        let text = url[Position::BeforePath..Position::AfterQuery].as_bytes();
        Self { as_written: spell(text, false, false), with_plain_query: spell(text, false, true) }
    }
}

/// `text` in the one spelling; the wildcards of a pattern remain.
fn spell(text: &[u8], is_pattern: bool, plain_query: bool) -> String {
    let mut spelled = String::with_capacity(text.len());
    let mut in_query = false;
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        let escaped = decode(rest);
        let (octet, after) = escaped.unwrap_or((*byte, after));
        let stands_for_itself = match (octet, escaped.is_some()) {
            _ if is_unreserved(octet) => true,
            (b':' | b'/' | b'@', true) => plain_query && in_query,
            (_, true) => false,
            (b'*', _) => is_pattern,
            (b'$', _) => is_pattern && after.is_empty(),
            _ => is_delimiter(octet),
        };
        if stands_for_itself {
            spelled.push(char::from(octet));
        } else {
            spelled.extend(['%', digit(octet >> 4), digit(octet & 15)]);
        }
        in_query |= *byte == b'?';
        rest = after;
    }
    spelled
}

fn digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or_default().to_ascii_uppercase()
}

/// The octet that is percent-encoded at the beginning of `text`, and what
/// follows it.
fn decode(text: &[u8]) -> Option<(u8, &[u8])> {
    let ([b'%', high, low], rest) = text.split_first_chunk()? else {
        return None;
    };
    let value = |digit: u8| char::from(digit).to_digit(16);
    let octet = value(*high)? << 4 | value(*low)?;
    Some((u8::try_from(octet).ok()?, rest))
}

/// RFC 3986, section 2.3.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// RFC 3986, section 2.2: the reserved characters, without those that mean
/// something in a pattern, and without the apostrophe, which the URL standard
/// encodes in one place and not in the other.
fn is_delimiter(byte: u8) -> bool {
    b":/?#[]@!&()+,;=".contains(&byte)
}
