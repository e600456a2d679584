//! A deque in segments of a fixed size.

use std::collections::VecDeque;

/// Number of items in one segment.
const SEGMENT: usize = 128;

/// A deque made of segments of a fixed size. Unlike a `VecDeque`, it neither
/// moves its items nor takes twice the memory when it grows, and it frees the
/// memory of items that were taken out.
///
/// Only the first and the last segment may have free places.
pub(crate) struct SegmentedDeque<T> {
    segments: VecDeque<VecDeque<T>>,
    len: usize,
}

impl<T> SegmentedDeque<T> {
    pub(crate) const fn new() -> Self {
        Self { segments: VecDeque::new(), len: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push_back(&mut self, item: T) {
        self.len += 1;
        match self.segments.back_mut().filter(|last| last.len() < SEGMENT) {
            Some(last) => last.push_back(item),
            None => self.segments.push_back(segment(item)),
        }
    }

    pub(crate) fn push_front(&mut self, item: T) {
        self.len += 1;
        match self.segments.front_mut().filter(|first| first.len() < SEGMENT) {
            Some(first) => first.push_front(item),
            None => self.segments.push_front(segment(item)),
        }
    }

    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let first = self.segments.front_mut()?;
        let item = first.pop_front()?;
        self.len -= 1;
        // The only segment is kept: soon there will be an item for it.
        if first.is_empty() && self.segments.len() > 1 {
            self.segments.pop_front();
        }
        Some(item)
    }
}

fn segment<T>(item: T) -> VecDeque<T> {
    let mut segment = VecDeque::with_capacity(SEGMENT);
    segment.push_back(item);
    segment
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
            let (mut deque, mut expected) = (SegmentedDeque::new(), VecDeque::new());
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
                }
                prop_assert!(deque.segments.len() <= deque.len() / SEGMENT + 2);
            }
        }
    }
}
