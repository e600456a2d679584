//! Looking for the next byte that matters.

use memchr::{memchr, memchr2};

/// Where the next `byte` is, from `at` on. What is often found where it is
/// looked for first, such as the `<` of a tag behind a tag, is found at once.
#[inline]
pub(super) fn find(byte: u8, input: &[u8], at: usize) -> Option<usize> {
    if input.get(at) == Some(&byte) { Some(at) } else { Some(at + memchr(byte, input.get(at..)?)?) }
}

/// Where the next of two bytes is, see [`find`].
#[inline]
pub(super) fn find2(one: u8, other: u8, input: &[u8], at: usize) -> Option<usize> {
    match input.get(at)? {
        byte if *byte == one || *byte == other => Some(at),
        _ => Some(at + memchr2(one, other, &input[at..])?),
    }
}

/// The end of the run of bytes from `at` on of which `belongs` holds.
#[inline]
pub(super) fn run(input: &[u8], at: usize, belongs: impl Fn(u8) -> bool) -> usize {
    let length = input[at..].iter().position(|&byte| !belongs(byte));
    length.map_or(input.len(), |length| at + length)
}
