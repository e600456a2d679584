//! Deterministic pseudo-random numbers.

/// Hashes all inputs into one pseudo-random number, with the finalizer of
/// SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
/// Generators", 2014), once for each input.
pub(crate) fn mix(inputs: &[u64]) -> u64 {
    inputs.iter().fold(0, |state, input| {
        let mut z = (state ^ input).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// Maps the upper half of `random` to a number in `0..bound`. `bound` must not be
/// 0 (the result would be 0 too).
pub(crate) fn below(random: u64, bound: u32) -> u32 {
    let product = (random >> 32) * u64::from(bound);
    (product >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_depends_on_every_input_and_their_order() {
        assert_ne!(mix(&[1, 2]), mix(&[2, 1]));
        assert_ne!(mix(&[1]), mix(&[1, 0]));
        assert_eq!(mix(&[7, 8, 9]), mix(&[7, 8, 9]));
    }

    #[test]
    fn below_stays_below_and_reaches_both_ends() {
        assert_eq!(below(0, 10), 0);
        assert_eq!(below(u64::MAX, 10), 9);
        assert_eq!(below(u64::MAX, u32::MAX), u32::MAX - 1);
    }
}
