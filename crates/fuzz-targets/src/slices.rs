//! Bytes, cut in several ways.

use std::fmt::Debug;

/// What `read` makes of `bytes`, if it does not matter how they are cut.
///
/// # Panics
/// When it does.
pub(crate) fn in_any_slices<T: Debug + PartialEq>(
    bytes: &[u8],
    read: impl FnMut(&[&[u8]]) -> T,
) -> T {
    in_slices_alike(bytes, read, |one, other| one == other)
}

/// The same, where `is_same` says what does not matter.
pub(crate) fn in_slices_alike<T: Debug>(
    bytes: &[u8],
    mut read: impl FnMut(&[&[u8]]) -> T,
    is_same: impl Fn(&T, &T) -> bool,
) -> T {
    let whole = read(&[bytes]);
    for slices in [bytes.chunks(1).collect(), pieces(bytes)] {
        let sliced = read(&slices);
        assert!(is_same(&sliced, &whole), "sliced {sliced:?}\nwhole {whole:?}");
    }
    whole
}

/// Short slices, long ones and empty ones, at places that only depend on the
/// bytes: the same input always fails alike.
fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    // FNV-1a for the seed, then xorshift.
    let mut state = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    }) | 1;
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let longest = [3, 20, 300][(state >> 32) as usize % 3];
        let (piece, after) = rest.split_at((state as usize % longest).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
