//! Checks that a result does not depend on how the bytes are cut into slices.

use std::fmt::Debug;

/// Calls `read` with `bytes` in one slice, in single bytes and in random slices, and
/// returns the result.
///
/// # Panics
/// Panics if the results differ.
pub(crate) fn in_any_slices<T: Debug + PartialEq>(
    bytes: &[u8],
    read: impl FnMut(&[&[u8]]) -> T,
) -> T {
    in_any_slices_by(bytes, read, |one, other| one == other)
}

/// Does the same as [`in_any_slices`], but compares the results by `is_equivalent`.
pub(crate) fn in_any_slices_by<T: Debug>(
    bytes: &[u8],
    mut read: impl FnMut(&[&[u8]]) -> T,
    is_equivalent: impl Fn(&T, &T) -> bool,
) -> T {
    let whole = read(&[bytes]);
    for slices in [bytes.chunks(1).collect(), random_slices(bytes)] {
        let sliced = read(&slices);
        assert!(is_equivalent(&sliced, &whole), "sliced {sliced:?}\nwhole {whole:?}");
    }
    whole
}

/// Cuts `bytes` into short, long and empty slices. The cuts are pseudo-random, with a seed
/// from the bytes, so that a failure can be reproduced.
fn random_slices(bytes: &[u8]) -> Vec<&[u8]> {
    // FNV-1a for the seed, then xorshift.
    let mut state = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    }) | 1;
    let mut slices = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let max_len = [3, 20, 300][(state >> 32) as usize % 3];
        let (piece, after) = rest.split_at((state as usize % max_len).min(rest.len()));
        slices.push(piece);
        rest = after;
    }
    slices
}
