//! A deque in segments of a fixed size.

use std::collections::VecDeque;

/// Number of items in one segment.
const SEGMENT: usize = 128;

/// An empty deque keeps memory for this number of items.
const SMALL: usize = 8;

/// A deque made of segments of a fixed size. Unlike a `VecDeque`, it neither
/// moves its items nor takes twice the memory when it grows, and it frees the
/// memory of items that were taken out.
///
/// Only the first and the last segment may have free places.
pub(crate) struct SegmentedDeque<T> {
    segments: VecDeque<VecDeque<T>>,
    len: usize,
}

impl<T> Default for SegmentedDeque<T> {
    fn default() -> Self {
        Self { segments: VecDeque::new(), len: 0 }
    }
}

impl<T> SegmentedDeque<T> {
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn push_back(&mut self, item: T) {
        self.len += 1;
        match self.segments.back_mut().filter(|last| last.len() < SEGMENT) {
            Some(last) => last.push_back(item),
            None => self.segments.push_back(self.segment(item)),
        }
    }

    pub(crate) fn push_front(&mut self, item: T) {
        self.len += 1;
        match self.segments.front_mut().filter(|first| first.len() < SEGMENT) {
            Some(first) => first.push_front(item),
            None => self.segments.push_front(self.segment(item)),
        }
    }

    pub(crate) fn front(&self) -> Option<&T> {
        self.segments.front()?.front()
    }

    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let first = self.segments.front_mut()?;
        let item = first.pop_front()?;
        let (is_empty, is_small) = (first.is_empty(), first.capacity() <= SMALL);
        self.len -= 1;
        // A small segment is kept if it is the only one: soon there will be an item
        // for it.
        if is_empty && !(is_small && self.segments.len() == 1) {
            self.segments.pop_front();
        }
        Some(item)
    }

    /// Creates a segment. The first one grows as needed, since most deques are
    /// short.
    fn segment(&self, item: T) -> VecDeque<T> {
        let mut segment = VecDeque::new();
        if !self.segments.is_empty() {
            segment.reserve_exact(SEGMENT);
        }
        segment.push_back(item);
        segment
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compares it with a `VecDeque`, step by step.
        #[test]
        fn it_behaves_like_a_vec_deque(
            steps in prop::collection::vec((0..3_u8, 1..200_usize), 0..20),
        ) {
            let (mut deque, mut expected) = (SegmentedDeque::default(), VecDeque::new());
            for (step, times) in steps {
                for n in 0..times {
                    match step {
                        0 => {
                            deque.push_back(n);
                            expected.push_back(n);
                        }
                        1 => {
                            deque.push_front(n);
                            expected.push_front(n);
                        }
                        _ => prop_assert_eq!(deque.pop_front(), expected.pop_front()),
                    }
                    prop_assert_eq!(deque.len(), expected.len());
                    prop_assert_eq!(deque.front(), expected.front());
                }
                prop_assert!(deque.segments.len() <= deque.len() / SEGMENT + 2);
            }
        }
    }
}
