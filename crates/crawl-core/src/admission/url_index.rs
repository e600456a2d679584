//! The index of the URL table: finds the number of a URL by its hash.

use std::hint::black_box;
use std::mem;

/// A hash table of numbers, with open addressing: linear probing, in the order of the
/// hashes. It is partitioned by the highest bits of the hash.
///
/// A slot holds the whole hash beside the number, so a look at one line of the cache
/// says where the record is, and a table that grows reads no records. The position in
/// a partition is proportional to the hash, so that one which grows is read and written
/// from the beginning to the end. And since each partition grows for itself, little
/// memory is there twice, and no growth takes long.
#[derive(Debug, Default)]
pub(super) struct UrlIndex {
    /// [`PARTITIONS`] of them, or none while the table is empty.
    partitions: Vec<Partition>,
}

#[derive(Clone, Debug)]
struct Partition {
    slots: Vec<Slot>,
    len: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    hash: u32,
    /// The number, or [`UNUSED`].
    number: u32,
}

/// The number in a slot that is not used.
const UNUSED: u32 = u32::MAX;

impl Slot {
    const UNUSED: Self = Self { hash: 0, number: UNUSED };
}

/// The number of partitions: so few that their heads stay in the caches.
const PARTITIONS: usize = 64;

/// The number of slots of a new partition.
const MIN_SLOTS: usize = 8;

impl UrlIndex {
    /// Loads the slots at which the search for these hashes begins into the processor's
    /// caches.
    pub(super) fn prefetch(&self, hashes: &[u32]) {
        for &hash in hashes {
            let partition = self.partitions.get(partition_of(hash));
            let home = partition.and_then(|partition| partition.slots.get(partition.home(hash)));
            black_box(home.copied());
        }
    }

    /// Returns the first number with this hash that `is_match` accepts.
    pub(super) fn find(&self, hash: u32, is_match: impl Fn(u32) -> bool) -> Option<u32> {
        let partition = self.partitions.get(partition_of(hash))?;
        let used = partition.used_from(hash);
        used.filter(|slot| slot.hash == hash).map(|slot| slot.number).find(|n| is_match(*n))
    }

    /// Adds a number, which is not `u32::MAX`.
    pub(super) fn insert(&mut self, hash: u32, number: u32) {
        let new = || Partition { slots: vec![Slot::UNUSED; MIN_SLOTS], len: 0 };
        self.partitions.resize_with(PARTITIONS, new);
        let partition = &mut self.partitions[partition_of(hash)];
        // At most four of five slots are used.
        if 5 * (partition.len + 1) > 4 * partition.slots.len() {
            partition.grow();
        }
        partition.len += 1;
        partition.put(Slot { hash, number });
    }
}

impl Partition {
    /// Returns the position at which the search for a hash begins.
    fn home(&self, hash: u32) -> usize {
        let low_bits = u64::from(hash << PARTITIONS.ilog2());
        ((low_bits * self.slots.len() as u64) >> u32::BITS) as usize
    }

    /// Returns the slots from that position on, around the end, up to the first one that
    /// is not used.
    fn used_from(&self, hash: u32) -> impl Iterator<Item = &Slot> {
        let (before, from) = self.slots.split_at(self.home(hash));
        from.iter().chain(before).take_while(|slot| slot.number != UNUSED)
    }

    fn put(&mut self, slot: Slot) {
        let mut position = self.home(slot.hash);
        while self.slots[position].number != UNUSED {
            position = if position + 1 < self.slots.len() { position + 1 } else { 0 };
        }
        self.slots[position] = slot;
    }

    fn grow(&mut self) {
        let larger = vec![Slot::UNUSED; self.slots.len() * 3 / 2];
        let old = mem::replace(&mut self.slots, larger);
        old.into_iter().filter(|slot| slot.number != UNUSED).for_each(|slot| self.put(slot));
    }
}

/// Returns the number of the partition for a hash.
fn partition_of(hash: u32) -> usize {
    (hash >> (u32::BITS - PARTITIONS.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each number is found by its hash and no other, in the order of adding, even if
        /// all hashes are alike or have the last positions of a partition.
        #[test]
        fn all_numbers_are_found(
            hashes in prop::collection::vec(
                prop_oneof![0..3_u32, 0x03ff_fffa..0x0400_0003_u32, any::<u32>()],
                0..300,
            ),
        ) {
            let mut index = UrlIndex::default();
            for (number, hash) in (0..).zip(&hashes) {
                index.insert(*hash, number);
            }
            for hash in hashes.iter().chain(&[0, 5, u32::MAX]) {
                let numbered = (0..).zip(&hashes).filter(|(_, other)| *other == hash);
                let expected: Vec<u32> = numbered.map(|(number, _)| number).collect();
                let first = index.find(*hash, |_| true);
                prop_assert_eq!(first.is_some(), !expected.is_empty());
                for number in 0..hashes.len() as u32 {
                    let found = index.find(*hash, |other| other == number);
                    prop_assert_eq!(found.is_some(), expected.contains(&number));
                }
            }
            let slots: usize = index.partitions.iter().map(|partition| partition.slots.len()).sum();
            prop_assert!(slots <= MIN_SLOTS * PARTITIONS + 2 * hashes.len());
        }
    }
}
