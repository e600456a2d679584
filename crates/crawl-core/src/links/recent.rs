//! What a page has just had.

/// Remembers where texts were, so that a page that repeats a few of them
/// without end costs no memory.
///
/// It forgets: a text whose slot was taken by another counts as new.
#[derive(Debug, Default)]
pub(super) struct Recent {
    /// Indexes of texts, plus one. None until there is one.
    slots: Option<Box<[u32; 256]>>,
}

impl Recent {
    /// Whether this text is one that `is_same` knows by its index. If not, it is
    /// from now on at index `next`.
    #[inline]
    pub(super) fn has(
        &mut self,
        text: &[u8],
        next: usize,
        is_same: impl FnOnce(usize) -> bool,
    ) -> bool {
        let slots = self.slots.get_or_insert_with(|| Box::new([0; 256]));
        let slot = &mut slots[usize::from(slot(text))];
        if *slot != 0 && is_same(*slot as usize - 1) {
            return true;
        }
        *slot = u32::try_from(next + 1).unwrap_or(0);
        false
    }
}

/// Links differ in their last bytes, if they differ.
#[inline]
fn slot(text: &[u8]) -> u8 {
    let tail = text.last_chunk::<8>().map_or_else(
        || text.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)),
        |tail| u64::from_le_bytes(*tail),
    );
    // Multiplied by 2^64 divided by the golden ratio, the upper bits depend on
    // all of them.
    let mixed = (tail ^ text.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8
}
