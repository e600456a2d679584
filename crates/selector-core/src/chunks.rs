//! A vector that never moves what is in it.

/// Values in the order in which they came, in chunks that stay where they are.
/// Growing takes no second copy, and at most one chunk has room for nothing; a
/// vector that doubles when it is full may have as much again.
#[derive(Debug)]
pub(crate) struct Chunks<T>(Vec<Vec<T>>);

impl<T> Chunks<T> {
    const SIZE: usize = 64;

    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn push(&mut self, value: T) {
        match self.0.last_mut().filter(|last| last.len() < Self::SIZE) {
            Some(last) => last.push(value),
            None => {
                let mut chunk = Vec::with_capacity(Self::SIZE);
                chunk.push(value);
                self.0.push(chunk);
            }
        }
    }

    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.0.get(index as usize / Self::SIZE)?.get(index as usize % Self::SIZE)
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.0.get_mut(index as usize / Self::SIZE)?.get_mut(index as usize % Self::SIZE)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }
}
