//! Character references: what `&amp;` stands for.

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};
use memchr::{memchr, memchr3};

/// Appends the value of an attribute as a program sees it: character references
/// are characters, line ends are line feeds, and what is not UTF-8 is U+FFFD.
///
/// A reference without a semicolon is none when a letter, a digit or an equals
/// sign follows (HTML standard, section 13.2.5.73): `?a=1&copy=2` is a query
/// and has nothing to do with copyright.
#[inline]
pub fn decode_attribute(value: &[u8], decoded: &mut String) {
    match std::str::from_utf8(value) {
        Ok(text) => decode(text, true, decoded),
        Err(_) => decode(&String::from_utf8_lossy(value), true, decoded),
    }
}

/// Appends text as a program sees it, see [`decode_attribute`]. Here, `&copy=2`
/// begins with a reference.
pub fn decode_text(text: &[u8], decoded: &mut String) {
    decode(&String::from_utf8_lossy(text), false, decoded);
}

#[inline]
fn decode(text: &str, in_attribute: bool, decoded: &mut String) {
    match next_special(text.as_bytes()) {
        None => decoded.push_str(text),
        Some(first) => decode_from(first, text, in_attribute, decoded),
    }
}

/// The first special byte is `at` this place of the text.
fn decode_from(at: usize, text: &str, in_attribute: bool, decoded: &mut String) {
    let (mut rest, mut next) = (text, Some(at));
    while let Some(at) = next {
        decoded.push_str(&rest[..at]);
        let special = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        match special {
            b'&' => match reference(rest.as_bytes(), in_attribute) {
                Some(reference) => {
                    decoded.extend(reference.characters.into_iter().flatten());
                    rest = &rest[reference.length..];
                }
                None => decoded.push('&'),
            },
            b'\r' => {
                decoded.push('\n');
                rest = rest.strip_prefix('\n').unwrap_or(rest);
            }
            _ if in_attribute => decoded.push(char::REPLACEMENT_CHARACTER),
            _ => decoded.push('\0'),
        }
        next = next_special(rest.as_bytes());
    }
    decoded.push_str(rest);
}

/// Whether the value of an attribute, if it is UTF-8, is what it says.
#[inline]
pub(crate) fn is_plain(value: &[u8]) -> bool {
    next_special(value).is_none()
}

/// The first byte that does not simply stand for itself.
#[inline]
fn next_special(text: &[u8]) -> Option<usize> {
    // To begin takes `memchr` longer than a short address does as a whole.
    const SHORT: usize = 16;
    if text.len() <= SHORT {
        text.iter().position(|byte| matches!(byte, b'&' | b'\r' | 0))
    } else {
        memchr3(b'&', b'\r', 0, text)
    }
}

/// What stands behind an ampersand.
struct Reference {
    /// How many bytes, all of them ASCII.
    length: usize,
    characters: [Option<char>; 2],
}

fn reference(bytes: &[u8], in_attribute: bool) -> Option<Reference> {
    match bytes.first()? {
        b'#' => numeric(bytes),
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => named(bytes, in_attribute),
        _ => None,
    }
}

/// The longest name in the table that `bytes` begin with.
fn named(bytes: &[u8], in_attribute: bool) -> Option<Reference> {
    if bytes.starts_with(b"amp;") {
        // By far the most frequent, and looking up is slow.
        return Some(Reference { length: 4, characters: [Some('&'), None] });
    }
    let limit = memchr(b';', &bytes[..bytes.len().min(40)]).map_or(40, |end| end + 1);
    let mut longest = None;
    for length in 1..=limit.min(bytes.len()) {
        // The table holds the beginnings of all names as well.
        let known = std::str::from_utf8(&bytes[..length]).ok();
        let Some(characters) = known.and_then(|name| NAMED_ENTITIES.get(name)) else {
            break;
        };
        if characters.0 != 0 {
            longest = Some((length, *characters));
        }
    }
    let (length, (first, second)) = longest?;
    let follower = bytes.get(length);
    let goes_on = follower.is_some_and(|&byte| byte == b'=' || byte.is_ascii_alphanumeric());
    if in_attribute && goes_on && bytes[length - 1] != b';' {
        return None;
    }
    let second = char::from_u32(second).filter(|&second| second != '\0');
    Some(Reference { length, characters: [char::from_u32(first), second] })
}

/// `#` and a number (HTML standard, section 13.2.5.75 and the following).
fn numeric(bytes: &[u8]) -> Option<Reference> {
    let (radix, prefix) = match bytes.get(1) {
        Some(b'x' | b'X') => (16, 2),
        _ => (10, 1),
    };
    let digits = bytes[prefix..].iter().map_while(|&byte| char::from(byte).to_digit(radix));
    let mut length = prefix;
    let mut number = 0_u32;
    for digit in digits {
        length += 1;
        // Once it is beyond all characters, it stays there.
        number = number.saturating_mul(radix).saturating_add(digit);
    }
    if length == prefix {
        return None;
    }
    if bytes.get(length) == Some(&b';') {
        length += 1;
    }
    let windows_1252 = number.checked_sub(0x80).and_then(|n| *C1_REPLACEMENTS.get(n as usize)?);
    let character = windows_1252.or_else(|| char::from_u32(number).filter(|&c| c != '\0'));
    let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
    Some(Reference { length, characters: [Some(character), None] })
}
