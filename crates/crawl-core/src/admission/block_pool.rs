//! A pool of small blocks of bytes, in less memory than an allocation for each takes.

use std::num::NonZeroU32;
use std::ops::Range;

/// A pool of blocks of bytes. It is segregated by size: the blocks of one size lie side
/// by side, and those that are given back are used again for the same size. An id takes
/// four bytes, and a block nothing beside its bytes.
#[derive(Debug, Default)]
pub(super) struct BlockPool {
    /// The blocks of [`size_of_class`] of 0, of 1 and so on.
    classes: Vec<SizeClass>,
}

/// The id of a block in a [`BlockPool`]: in its highest byte the number of the size class,
/// from 1, and below it that of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockId(NonZeroU32);

#[derive(Debug)]
struct SizeClass {
    block_size: usize,
    /// Segments of so many blocks as [`SizeClass::segment_len`] says: growing moves nothing.
    segments: Vec<Vec<u8>>,
    free: Vec<u32>,
    /// The number of blocks, with those that are free.
    len: u32,
}

/// The number of bits in the number of a block.
const NUMBER_BITS: u32 = 24;

/// The maximum number of size classes.
const MAX_CLASSES: usize = (1 << (u32::BITS - NUMBER_BITS)) - 1;

/// The minimum size of a segment, in bytes.
const MIN_SEGMENT: usize = 32 * 1024;

impl BlockPool {
    /// Allocates a block for so many bytes, filled with `filler`; `None` if they are too
    /// many, or all blocks are used.
    pub(super) fn allocate(&mut self, bytes: usize, filler: u8) -> Option<BlockId> {
        // A class without a block left passes it on to the next one.
        (class_of(bytes)..MAX_CLASSES).find_map(|class| {
            let new_classes = self.classes.len()..=class;
            self.classes.extend(new_classes.map(SizeClass::new));
            let number = self.classes[class].allocate(filler)?;
            NonZeroU32::new((class as u32 + 1) << NUMBER_BITS | number).map(BlockId)
        })
    }

    /// Copies a block into a larger one for so many bytes, filled up with `filler`, and
    /// takes it back; `None` as in [`BlockPool::allocate`].
    pub(super) fn grow(&mut self, id: BlockId, bytes: usize, filler: u8) -> Option<BlockId> {
        let larger = self.allocate(bytes, filler)?;
        let (smaller_classes, classes) = self.classes.split_at_mut(larger.class());
        let old = smaller_classes[id.class()].block(id.number());
        classes[0].block_mut(larger.number())[..old.len()].copy_from_slice(old);
        self.free(id);
        Some(larger)
    }

    /// Takes a block back, and returns its size in bytes.
    pub(super) fn free(&mut self, id: BlockId) -> usize {
        let class = &mut self.classes[id.class()];
        class.free.push(id.number());
        // In the end most pools are empty.
        if class.free.len() == class.len as usize {
            *class = SizeClass::new(id.class());
        }
        class.block_size
    }

    pub(super) fn get(&self, id: BlockId) -> &[u8] {
        self.classes[id.class()].block(id.number())
    }

    pub(super) fn get_mut(&mut self, id: BlockId) -> &mut [u8] {
        self.classes[id.class()].block_mut(id.number())
    }
}

impl SizeClass {
    fn new(class: usize) -> Self {
        let block_size = size_of_class(class);
        Self { block_size, segments: Vec::new(), free: Vec::new(), len: 0 }
    }

    /// Returns the number of a block that was free or is new, unless no number is left.
    fn allocate(&mut self, filler: u8) -> Option<u32> {
        if let Some(number) = self.free.pop() {
            self.block_mut(number).fill(filler);
            return Some(number);
        }
        let number = self.len;
        if number >> NUMBER_BITS != 0 {
            return None;
        }
        self.len += 1;
        let (segment, bytes) = self.position(number);
        if segment == self.segments.len() {
            // The first one grows as needed, since most pools are small.
            let capacity = if segment == 0 { 0 } else { self.segment_len() * self.block_size };
            self.segments.push(Vec::with_capacity(capacity));
        }
        self.segments[segment].resize(bytes.end, filler);
        Some(number)
    }

    fn block(&self, number: u32) -> &[u8] {
        let (segment, bytes) = self.position(number);
        &self.segments[segment][bytes]
    }

    fn block_mut(&mut self, number: u32) -> &mut [u8] {
        let (segment, bytes) = self.position(number);
        &mut self.segments[segment][bytes]
    }

    /// Returns the number of blocks in a segment: a power of two.
    fn segment_len(&self) -> usize {
        MIN_SEGMENT >> self.block_size.ilog2()
    }

    /// Returns the segment of a block, and where it lies in that.
    fn position(&self, number: u32) -> (usize, Range<usize>) {
        let (number, segment_len) = (number as usize, self.segment_len());
        let begin = (number & (segment_len - 1)) * self.block_size;
        (number >> segment_len.ilog2(), begin..begin + self.block_size)
    }
}

impl BlockId {
    fn class(self) -> usize {
        (self.0.get() >> NUMBER_BITS) as usize - 1
    }

    fn number(self) -> u32 {
        self.0.get() & ((1 << NUMBER_BITS) - 1)
    }
}

/// Returns the smallest size class for so many bytes.
fn class_of(bytes: usize) -> usize {
    bytes.saturating_sub(9) / 16
}

/// Returns the size of the blocks of a class, in bytes: 24, 40, 56 and so on.
fn size_of_class(class: usize) -> usize {
    24 + 16 * class
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// No block shares a byte with another one, whichever are given back.
        #[test]
        fn blocks_do_not_overlap(steps in prop::collection::vec((0..5000_usize, any::<bool>()), 0..300)) {
            let (mut pool, mut blocks) = (BlockPool::default(), Vec::new());
            for (n, (bytes, is_freed)) in steps.into_iter().enumerate() {
                if is_freed && !blocks.is_empty() {
                    let (id, _) = blocks.swap_remove(bytes % blocks.len());
                    pool.free(id);
                    continue;
                }
                let Some(id) = pool.allocate(bytes, n as u8) else {
                    prop_assert!(bytes > size_of_class(MAX_CLASSES - 1));
                    continue;
                };
                prop_assert_eq!(pool.get(id).len(), size_of_class(class_of(bytes)));
                prop_assert!(pool.get(id).len() >= bytes);
                prop_assert!(pool.get_mut(id).iter().all(|byte| *byte == n as u8));
                blocks.push((id, n as u8));
            }
            for (id, filler) in blocks {
                prop_assert!(pool.get(id).iter().all(|byte| *byte == filler));
            }
        }
    }

    #[test]
    fn a_full_class_passes_a_block_on_to_the_next() {
        let mut pool = BlockPool::default();
        let small = pool.allocate(1, 0).unwrap();
        pool.classes[0].len = 1 << NUMBER_BITS;
        let other = pool.allocate(1, 0).unwrap();
        assert_eq!([small, other].map(|id| pool.get(id).len()), [24, 40]);
    }

    #[test]
    fn a_block_is_used_again_and_an_empty_class_takes_no_memory() {
        let mut pool = BlockPool::default();
        let blocks = [1, 24, 24].map(|bytes| pool.allocate(bytes, 0).unwrap());
        pool.free(blocks[1]);
        assert_eq!(pool.allocate(24, 0), Some(blocks[1]));
        assert!(blocks.map(|id| pool.free(id)).iter().all(|size| *size == 24));
        assert_eq!(pool.classes[0].segments.capacity(), 0);
    }
}
