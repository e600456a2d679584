//! What is in line, in pieces.

use std::collections::VecDeque;

/// How many items are in one piece.
const SEGMENT: usize = 128;

/// A `VecDeque` in pieces of a fixed size, so that growing neither moves what is
/// in it nor takes twice the memory, and what is taken out is given back.
///
/// None but the first and the last have free places.
pub(crate) struct Segments<T> {
    segments: VecDeque<VecDeque<T>>,
    len: usize,
}

impl<T> Segments<T> {
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
        // The only one is kept: soon there will be an item for it.
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
        /// From outside it cannot be told from a `VecDeque`.
        #[test]
        fn it_does_what_a_vec_deque_does(
            steps in prop::collection::vec((0..3_u8, 1..200_usize), 0..20),
        ) {
            let (mut segments, mut expected) = (Segments::new(), VecDeque::new());
            for (step, times) in steps {
                for n in 0..times {
                    match step {
                        0 => {
                            segments.push_back(n);
                            expected.push_back(n);
                        }
                        1 => {
                            segments.push_front(n);
                            expected.push_front(n);
                        }
                        _ => prop_assert_eq!(segments.pop_front(), expected.pop_front()),
                    }
                    prop_assert_eq!(segments.len(), expected.len());
                }
                prop_assert!(segments.segments.len() <= segments.len() / SEGMENT + 2);
            }
        }
    }
}
