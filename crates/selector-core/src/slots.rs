//! A vector whose places are reused, and whose keys notice it.

use slab::Slab;

// ANCHOR: key
/// Names one tenant of a [`Slots`]: the place, and the tenant's number, counted
/// over the whole house. After the tenant has left, the key finds nothing, until
/// four billion others have come and one of them got the same place with the
/// same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    index: u32,
    generation: u32,
}
// ANCHOR_END: key

impl Key {
    /// The key as one number, to travel through an operating system's event
    /// queue and back.
    pub fn to_bits(self) -> u64 {
        (u64::from(self.generation) << 32) | u64::from(self.index)
    }

    /// The key that [`Key::to_bits`] made this number of.
    pub fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

/// Values under generational keys; adding, finding and removing cost the same
/// however many there are. Holds up to 2^32 values at a time.
#[derive(Debug)]
pub struct Slots<T> {
    slots: Slab<(u32, T)>,
    /// The generation of the next value: all values ever stored are told
    /// apart, not only those of one place.
    generation: u32,
}

impl<T> Slots<T> {
    /// No values, no memory.
    pub const fn new() -> Self {
        Self { slots: Slab::new(), generation: 0 }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    // ANCHOR: insert
    /// Stores a value and names it.
    pub fn insert(&mut self, value: T) -> Key {
        let generation = self.generation;
        self.generation = generation.wrapping_add(1);
        let index = self.slots.insert((generation, value)) as u32;
        Key { index, generation }
    }
    // ANCHOR_END: insert

    // ANCHOR: get
    /// The value of this name, or nothing if it has left.
    pub fn get(&self, key: Key) -> Option<&T> {
        let (generation, value) = self.slots.get(key.index as usize)?;
        (*generation == key.generation).then_some(value)
    }
    // ANCHOR_END: get

    /// The same, to be changed.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let (generation, value) = self.slots.get_mut(key.index as usize)?;
        (*generation == key.generation).then_some(value)
    }

    /// The names of all values.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.slots.iter().map(|(index, &(generation, _))| {
            let index = index as u32;
            Key { index, generation }
        })
    }

    /// Takes the value out; from now on its key finds nothing.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        Some(self.slots.remove(key.index as usize).1)
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_outlives_its_tenant_but_finds_nobody_else() {
        let mut slots = Slots::new();
        let first = slots.insert("first");
        assert_eq!(slots.remove(first), Some("first"));
        let second = slots.insert("second");
        assert_eq!(first.index, second.index, "the place is reused");
        assert_eq!(slots.get(first), None);
        assert_eq!(slots.remove(first), None);
        assert_eq!(slots.get(second), Some(&"second"));
        assert_eq!(slots.len(), 1);
    }

    #[test]
    fn a_key_survives_the_journey_through_a_number() {
        let mut slots = Slots::new();
        let old = slots.insert(1);
        slots.remove(old);
        let key = slots.insert(2);
        assert_eq!(Key::from_bits(key.to_bits()), key);
        assert_ne!(old.to_bits(), key.to_bits());
    }
}
