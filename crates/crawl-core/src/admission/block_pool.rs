//! A pool of small blocks of bytes, in less memory than an allocation for each takes.

use std::num::NonZeroU32;
use std::ops::Range;

/// A pool of blocks of bytes, each of which has an owner. It is segregated by size: the
/// blocks of one size lie side by side, without gaps. One that is given back is replaced by
/// the last one of its size, so that no memory waits for blocks of a size that few need any
/// more. An id takes four bytes, and a block four beside its own.
#[derive(Debug, Default)]
pub(super) struct BlockPool {
    /// The blocks of [`size_of_class`] of 0, of 1 and so on.
    classes: Vec<SizeClass>,
    /// The owner and the new id of the block that has moved last, until they are taken.
    moved: Option<(u32, BlockId)>,
}

/// The id of a block in a [`BlockPool`]: in its highest byte the number of the size class,
/// from 1, and below it that of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockId(NonZeroU32);

#[derive(Debug)]
struct SizeClass {
    block_size: usize,
    /// Segments of so many blocks as [`SizeClass::segment_len`] says: growing moves nothing.
    segments: Vec<Segment>,
}

#[derive(Debug)]
struct Segment {
    bytes: Vec<u8>,
    owners: Vec<u32>,
}

/// The number of bits in the number of a block.
const NUMBER_BITS: u32 = 24;

/// The maximum number of blocks of one size.
const MAX_BLOCKS: usize = 1 << NUMBER_BITS;

/// The maximum number of size classes.
const MAX_CLASSES: usize = (1 << (u32::BITS - NUMBER_BITS)) - 1;

/// The minimum size of a segment, in bytes.
const MIN_SEGMENT: usize = 32 * 1024;

impl BlockPool {
    /// Allocates a block for so many bytes, filled with `filler`; `None` if they are too
    /// many, or all blocks are used.
    pub(super) fn allocate(&mut self, bytes: usize, owner: u32, filler: u8) -> Option<BlockId> {
        // A class without a block left passes it on to the next one.
        (class_of(bytes)..MAX_CLASSES).find_map(|class| {
            let new_classes = self.classes.len()..=class;
            self.classes.extend(new_classes.map(SizeClass::new));
            let number = self.classes[class].push(owner, filler)?;
            BlockId::new(class, number)
        })
    }

    /// Copies a block into a larger one for more bytes than it has, filled up with `filler`, and
    /// takes it back; `None` as in [`BlockPool::allocate`].
    pub(super) fn grow(
        &mut self,
        id: BlockId,
        bytes: usize,
        owner: u32,
        filler: u8,
    ) -> Option<BlockId> {
        let larger = self.allocate(bytes, owner, filler)?;
        let (smaller_classes, classes) = self.classes.split_at_mut(larger.class());
        let old = smaller_classes[id.class()].block(id.number());
        classes[0].block_mut(larger.number())[..old.len()].copy_from_slice(old);
        self.free(id);
        Some(larger)
    }

    /// Takes a block back, and returns its size in bytes. Another one may move into its
    /// place, see [`BlockPool::take_moved`].
    pub(super) fn free(&mut self, id: BlockId) -> usize {
        let class = &mut self.classes[id.class()];
        let moved = class.swap_remove(id.number());
        debug_assert!(self.moved.is_none());
        self.moved = moved.map(|owner| (owner, id));
        class.block_size
    }

    /// Returns the owner and the new id of a block that has moved, since another one was
    /// given back. This is called before a further one is.
    pub(super) fn take_moved(&mut self) -> Option<(u32, BlockId)> {
        self.moved.take()
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
        Self { block_size: size_of_class(class), segments: Vec::new() }
    }

    /// Adds a block, and returns its number, unless no number is left.
    fn push(&mut self, owner: u32, filler: u8) -> Option<u32> {
        let (block_size, segment_len) = (self.block_size, self.segment_len());
        let is_full = |last: &Segment| last.owners.len() == segment_len;
        if self.segments.last().is_none_or(is_full) {
            if self.segments.len() * segment_len >= MAX_BLOCKS {
                return None;
            }
            // The first one grows as needed, since most pools are small.
            let len = if self.segments.is_empty() { 0 } else { segment_len };
            let bytes = Vec::with_capacity(len * block_size);
            self.segments.push(Segment { bytes, owners: Vec::with_capacity(len) });
        }
        let before = (self.segments.len() - 1) * segment_len;
        let last = self.segments.last_mut()?;
        last.bytes.resize(last.bytes.len() + block_size, filler);
        last.owners.push(owner);
        Some((before + last.owners.len() - 1) as u32)
    }

    /// Removes a block. Moves the last one into its place, unless it is that, and returns
    /// the owner of that one.
    fn swap_remove(&mut self, number: u32) -> Option<u32> {
        let (segment, bytes) = self.position(number);
        let in_segment = bytes.start / self.block_size;
        let last_segment = self.segments.len() - 1;
        let last = self.segments.last_mut()?;
        let (owner, from) = (last.owners.pop()?, last.bytes.len() - self.block_size);
        let is_last = segment == last_segment && bytes.start == from;
        if segment == last_segment {
            last.bytes.copy_within(from.., bytes.start);
        } else {
            let (before, last) = self.segments.split_at_mut(last_segment);
            before[segment].bytes[bytes].copy_from_slice(&last[0].bytes[from..]);
        }
        if !is_last {
            self.segments[segment].owners[in_segment] = owner;
        }
        let last = &mut self.segments[last_segment];
        last.bytes.truncate(from);
        if from == 0 {
            self.segments.pop();
        }
        (!is_last).then_some(owner)
    }

    fn block(&self, number: u32) -> &[u8] {
        let (segment, bytes) = self.position(number);
        &self.segments[segment].bytes[bytes]
    }

    fn block_mut(&mut self, number: u32) -> &mut [u8] {
        let (segment, bytes) = self.position(number);
        &mut self.segments[segment].bytes[bytes]
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
    fn new(class: usize, number: u32) -> Option<Self> {
        NonZeroU32::new((class as u32 + 1) << NUMBER_BITS | number).map(Self)
    }

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
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each block keeps its bytes, whichever others grow or are given back.
        #[test]
        fn blocks_keep_their_bytes(
            steps in prop::collection::vec((0..3_u8, 0..5000_usize), 0..3000),
        ) {
            let (mut pool, mut blocks) = (BlockPool::default(), BTreeMap::new());
            for (owner, (step, bytes)) in (0..).zip(steps) {
                let chosen = blocks.keys().nth(bytes % blocks.len().max(1)).copied();
                match (step, chosen) {
                    (0, _) | (_, None) => match pool.allocate(bytes % 100, owner, owner as u8) {
                        Some(id) => _ = blocks.insert(owner, (id, pool.get(id).len())),
                        None => prop_assert!(false),
                    },
                    (1, Some(chosen)) => {
                        let (id, len) = blocks[&chosen];
                        prop_assert_eq!(pool.free(id), len);
                        blocks.remove(&chosen);
                    }
                    (_, Some(chosen)) => {
                        let (id, len) = blocks[&chosen];
                        if let Some(id) = pool.grow(id, len + 1 + bytes, chosen, chosen as u8) {
                            blocks.insert(chosen, (id, pool.get(id).len()));
                            prop_assert!(pool.get(id).len() > len + bytes);
                        } else {
                            prop_assert!(len + bytes >= size_of_class(MAX_CLASSES - 1));
                        }
                    }
                }
                if let Some((owner, id)) = pool.take_moved() {
                    blocks.get_mut(&owner).unwrap().0 = id;
                }
            }
            for (owner, (id, len)) in &blocks {
                prop_assert_eq!(pool.get(*id), vec![*owner as u8; *len]);
                prop_assert_eq!(pool.get_mut(*id).len(), *len);
            }
            let live: usize = blocks.values().map(|(_, len)| len).sum();
            let segments = pool.classes.iter().flat_map(|class| &class.segments);
            prop_assert_eq!(segments.map(|segment| segment.bytes.len()).sum::<usize>(), live);
        }
    }

    #[test]
    fn a_full_class_passes_a_block_on_to_the_next() {
        let mut pool = BlockPool::default();
        let small = pool.allocate(1, 0, 0).unwrap();
        while pool.classes[0].segments.len() * pool.classes[0].segment_len() < MAX_BLOCKS {
            let (bytes, owners) = (Vec::new(), Vec::new());
            pool.classes[0].segments.push(Segment { bytes, owners });
        }
        pool.classes[0].segments.last_mut().unwrap().owners = vec![0; 2048];
        let other = pool.allocate(1, 0, 0).unwrap();
        assert_eq!([small, other].map(|id| pool.get(id).len()), [24, 40]);
    }
}
