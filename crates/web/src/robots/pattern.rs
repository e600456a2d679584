//! The path patterns of rules, and how they match URLs (RFC 9309 sections 2.2.2 and
//! 2.2.3).
//!
//! Patterns and URLs are normalized before they are compared, so that every octet is
//! written in one way only: an unreserved octet as itself, all others
//! percent-encoded in upper case. A delimiter and its percent-encoding remain
//! different, as in the URL itself: `/*%3F` forbids URLs with a percent-encoded
//! question mark, not all URLs with a query.
//!
//! Within a query, however, some delimiters delimit nothing, and by the RFC
//! `https://` equals `https%3A%2F%2F` there. This rule is used for patterns with a
//! question mark, which shows where their query begins.

use std::mem;

use serde::{Deserialize, Serialize};
use url::{Position, Url};

/// The path pattern of a rule. It matches every URL that begins with it.
///
/// A `*` stands for any text, a `$` at the end for the end of the URL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Pattern {
    /// The length as it was written, but normalized.
    octets: usize,
    /// The pattern, with one `*` for several in a row, which mean the same.
    text: Box<str>,
}

/// The path and query of a URL.
#[derive(Debug)]
pub(super) struct Target {
    /// The text with its percent-encoded delimiters.
    as_written: String,
    /// The text with those delimiters decoded that delimit nothing in a query.
    with_plain_query: String,
}

impl Pattern {
    /// Creates a pattern. Returns `None` if `value` is empty or cannot match, because
    /// no path begins so.
    pub(super) fn new(value: &[u8]) -> Option<Self> {
        let begins_like_a_path = matches!(value, [b'/' | b'*', ..]);
        begins_like_a_path.then(|| {
            let mut text = normalize(value, true, true);
            let octets = text.len();
            let mut last = ' ';
            text.retain(|c| mem::replace(&mut last, c) != '*' || c != '*');
            Self { octets, text: text.into() }
        })
    }

    /// Returns about the memory that it takes beside its own size, in bytes.
    pub(super) fn memory(&self) -> usize {
        // An allocation takes somewhat more than its bytes.
        self.text.len() + 16
    }

    /// Returns the length. The longer of two patterns is the more specific one.
    pub(super) fn octets(&self) -> usize {
        self.octets
    }

    /// Returns true if the pattern matches. A pattern with wildcards takes the number
    /// of bytes to search from `steps`; returns `None` if too few are left.
    ///
    /// The texts between wildcards are searched from left to right, without
    /// backtracking: the first occurrence of each leaves the longest rest for the
    /// next one. No such text is empty, but the last one, so there are no more of them
    /// to search for than bytes in the target.
    pub(super) fn matches(&self, target: &Target, steps: &mut usize) -> Option<bool> {
        let target =
            if self.text.contains('?') { &target.with_plain_query } else { &target.as_written };
        let (pattern, is_anchored) = match self.text.strip_suffix('$') {
            Some(pattern) => (pattern, true),
            None => (&*self.text, false),
        };
        let (beginning, wildcards) = match pattern.split_once('*') {
            Some((beginning, wildcards)) => (beginning, Some(wildcards)),
            None => (pattern, None),
        };
        let (Some(rest), wildcards) = (target.strip_prefix(beginning), wildcards) else {
            return Some(false);
        };
        let Some(wildcards) = wildcards else {
            return Some(!is_anchored || rest.is_empty());
        };
        *steps = steps.checked_sub(rest.len())?;
        Some(matches_after_wildcard(wildcards, rest, is_anchored))
    }
}

/// Returns true if `target` contains the texts of `pattern`, which follows a first
/// wildcard. If the pattern is anchored, the target must end with the last one.
fn matches_after_wildcard(pattern: &str, target: &str, is_anchored: bool) -> bool {
    let (middle, last) = pattern.rsplit_once('*').unwrap_or(("", pattern));
    let mut rest = target;
    for text in middle.split('*') {
        match rest.find(text) {
            Some(at) => rest = &rest[at + text.len()..],
            None => return false,
        }
    }
    if is_anchored { rest.ends_with(last) } else { rest.contains(last) }
}

impl Target {
    /// Creates the target for the path and query of `url`.
    pub(super) fn new(url: &Url) -> Self {
        let text = url[Position::BeforePath..Position::AfterQuery].as_bytes();
        Self {
            as_written: normalize(text, false, false),
            with_plain_query: normalize(text, false, true),
        }
    }
}

/// Normalizes `text`. The wildcards of a pattern remain.
fn normalize(text: &[u8], is_pattern: bool, plain_query: bool) -> String {
    let mut normalized = String::with_capacity(text.len());
    let mut in_query = false;
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        let escaped = decode_octet(rest);
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
            normalized.push(char::from(octet));
        } else {
            normalized.extend(['%', hex_digit(octet >> 4), hex_digit(octet & 15)]);
        }
        in_query |= *byte == b'?';
        rest = after;
    }
    normalized
}

/// Returns a hexadecimal digit in upper case.
fn hex_digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or_default().to_ascii_uppercase()
}

/// Returns the octet that is percent-encoded at the beginning of `text`, and the
/// bytes that follow it.
fn decode_octet(text: &[u8]) -> Option<(u8, &[u8])> {
    let ([b'%', high, low], rest) = text.split_first_chunk()? else {
        return None;
    };
    let value = |digit: u8| char::from(digit).to_digit(16);
    let octet = value(*high)? << 4 | value(*low)?;
    Some((u8::try_from(octet).ok()?, rest))
}

/// Returns true for the unreserved characters (RFC 3986, section 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Returns true for the reserved characters (RFC 3986, section 2.2), except those
/// with a meaning in a pattern, and except the apostrophe, which the URL standard
/// encodes in a query but not in a path.
fn is_delimiter(byte: u8) -> bool {
    b":/?#[]@!&()+,;=".contains(&byte)
}
