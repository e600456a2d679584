//! Searches for the next byte that matters.

use memchr::{memchr, memchr2};

/// Returns the index of the next `byte`, from `at` on. The byte at `at` is tested
/// first, because it is often the right one: a tag often follows a tag.
#[inline]
pub(super) fn find(byte: u8, input: &[u8], at: usize) -> Option<usize> {
    if input.get(at) == Some(&byte) { Some(at) } else { Some(at + memchr(byte, input.get(at..)?)?) }
}

/// Returns the index of the next of two bytes, see [`find`].
#[inline]
pub(super) fn find2(one: u8, other: u8, input: &[u8], at: usize) -> Option<usize> {
    match input.get(at)? {
        byte if *byte == one || *byte == other => Some(at),
        _ => Some(at + memchr2(one, other, &input[at..])?),
    }
}

/// Returns the end of the run of bytes from `at` on for which `belongs` returns
/// true.
#[inline]
pub(super) fn run(input: &[u8], at: usize, belongs: impl Fn(u8) -> bool) -> usize {
    let length = input[at..].iter().position(|&byte| !belongs(byte));
    length.map_or(input.len(), |length| at + length)
}
