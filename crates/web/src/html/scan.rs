//! Searches for the next byte that matters.

use memchr::{memchr, memchr2};

/// The length of what [`position`] searches on its own, in bytes.
const NEAR: usize = 24;

/// Returns the index of the next `byte`, from `at` on. The byte at `at` is tested
/// first, because it is often the right one.
#[inline]
pub(super) fn find(byte: u8, input: &[u8], at: usize) -> Option<usize> {
    if input.get(at) == Some(&byte) {
        Some(at)
    } else {
        Some(at + position(byte, input.get(at..)?)?)
    }
}

/// Returns the index of the first `byte`.
///
/// It is often near: then starting `memchr` takes longer than the whole search.
#[inline(always)]
pub(super) fn position(byte: u8, input: &[u8]) -> Option<usize> {
    let Some((near, far)) = input.split_first_chunk::<NEAR>() else {
        return memchr(byte, input);
    };
    for (number, word) in near.as_chunks().0.iter().enumerate() {
        if let Some(index) = position_in_word(byte, word) {
            return Some(number * word.len() + index);
        }
    }
    Some(NEAR + memchr(byte, far)?)
}

/// Returns the index of the first `byte` in a word, of which all bytes are compared at
/// once.
#[inline(always)]
fn position_in_word(byte: u8, word: &[u8; 8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let differences = u64::from_le_bytes(*word) ^ (ONES * u64::from(byte));
    // The lowest bit that is set is in the first byte without a difference.
    let matches = differences.wrapping_sub(ONES) & !differences & (ONES << 7);
    (matches != 0).then_some(matches.trailing_zeros() as usize / 8)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_is_that_of_the_first() {
        for length in 0..3 * NEAR {
            for other in [b'=', b'>', b'<' | 0x80, 0] {
                let mut text = vec![other; length];
                assert_eq!(position(b'<', &text), None);
                for at in (0..length).rev() {
                    text[at] = b'<';
                    assert_eq!(position(b'<', &text), Some(at), "{other} {length}");
                    assert_eq!(find(b'<', &text, at), Some(at));
                }
            }
        }
        assert_eq!(find(b'<', b"<", 2), None);
    }
}
