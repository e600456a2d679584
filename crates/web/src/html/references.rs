//! Character references such as `&amp;`, and their decoding.

use memchr::memchr3;

use super::entities::{C1_REPLACEMENTS, NAMED_CHARACTERS};

/// Decodes the value of an attribute and appends it to `decoded`: character
/// references become characters, line ends become line feeds, and malformed
/// UTF-8 becomes U+FFFD.
///
/// A reference without a semicolon is not decoded when a letter, a digit or an
/// equals sign follows (HTML standard, section 13.2.5.73): `?a=1&copy=2` is a
/// query without a copyright sign.
#[inline]
pub fn decode_attribute(value: &[u8], decoded: &mut String) {
    match std::str::from_utf8(value) {
        Ok(text) => decode(text, true, decoded),
        Err(_) => decode(&String::from_utf8_lossy(value), true, decoded),
    }
}

/// Decodes text and appends it to `decoded`, see [`decode_attribute`]. In text,
/// `&copy=2` begins with a reference.
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

/// Decodes a text whose first special byte is at index `first`.
fn decode_from(first: usize, text: &str, in_attribute: bool, decoded: &mut String) {
    let (mut rest, mut next) = (text, Some(first));
    while let Some(at) = next {
        if let Some(after) = rest[at..].strip_prefix("&amp;") {
            // By far the most frequent reference, and a lookup in the table is slow.
            decoded.push_str(&rest[..=at]);
            rest = after;
            next = next_special(rest.as_bytes());
            continue;
        }
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

/// Returns true if decoding this value, given that it is UTF-8, changes nothing.
#[inline]
pub(crate) fn is_plain(value: &[u8]) -> bool {
    next_special(value).is_none()
}

/// Returns the index of the first byte that does not stand for itself.
#[inline]
fn next_special(text: &[u8]) -> Option<usize> {
    // For a short text, starting `memchr` takes longer than the whole search.
    const SHORT: usize = 16;
    if text.len() <= SHORT {
        text.iter().position(|byte| matches!(byte, b'&' | b'\r' | 0))
    } else {
        memchr3(b'&', b'\r', 0, text)
    }
}

/// A character reference, found behind an ampersand.
struct Reference {
    /// The length without the ampersand, in bytes, all of them ASCII.
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

/// Returns the reference with the longest name in the table that `bytes` begin
/// with.
fn named(bytes: &[u8], in_attribute: bool) -> Option<Reference> {
    // The names that begin with the bytes so far. They stand together, sorted.
    let mut names = &NAMED_CHARACTERS[..];
    let mut longest = None;
    for (at, &byte) in bytes.iter().enumerate() {
        let byte_of = |name: &str| name.as_bytes().get(at).copied();
        names = &names[names.partition_point(|(name, _)| byte_of(name) < Some(byte))..];
        names = &names[..names.partition_point(|(name, _)| byte_of(name) == Some(byte))];
        let Some((shortest, characters)) = names.first() else { break };
        if shortest.len() == at + 1 {
            longest = Some((at + 1, characters));
        }
    }
    let (length, characters) = longest?;
    let next = bytes.get(length);
    let continues = next.is_some_and(|&byte| byte == b'=' || byte.is_ascii_alphanumeric());
    if in_attribute && continues && bytes[length - 1] != b';' {
        return None;
    }
    let mut characters = characters.chars();
    Some(Reference { length, characters: [characters.next(), characters.next()] })
}

/// Returns the reference of a `#` and a number (HTML standard, section 13.2.5.75
/// and the following).
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
        // A number beyond all characters stays beyond them.
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
