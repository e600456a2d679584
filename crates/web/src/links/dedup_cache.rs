//! Deduplication cache for the texts of a page.

/// A direct-mapped cache of the indexes of texts. It finds texts that were seen
/// before, so that a page that repeats a few texts without end costs no memory.
///
/// Its size is fixed: a text whose slot was overwritten by another counts as new.
#[derive(Debug, Default)]
pub(super) struct DedupCache {
    /// The index plus one of each cached text, or zero. Allocated with the first
    /// text.
    slots: Option<Box<[u32; 256]>>,
}

impl DedupCache {
    /// Returns true if this text is cached: `is_same` compares it with the text at
    /// an index. Otherwise caches it with the index `next`.
    #[inline]
    pub(super) fn contains_or_insert(
        &mut self,
        text: &[u8],
        next: usize,
        is_same: impl FnOnce(usize) -> bool,
    ) -> bool {
        let slots = self.slots.get_or_insert_with(|| Box::new([0; 256]));
        let slot = &mut slots[usize::from(slot_of(text))];
        if *slot != 0 && is_same(*slot as usize - 1) {
            return true;
        }
        *slot = u32::try_from(next + 1).unwrap_or(0);
        false
    }
}

/// Returns the slot of a text: a hash of its length and its last eight bytes,
/// since different links mostly differ in their last bytes.
#[inline]
fn slot_of(text: &[u8]) -> u8 {
    let tail = text.last_chunk::<8>().map_or_else(
        || text.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)),
        |tail| u64::from_le_bytes(*tail),
    );
    // After the multiplication with 2^64 divided by the golden ratio, the upper
    // bits depend on all bits.
    let mixed = (tail ^ text.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8
}
