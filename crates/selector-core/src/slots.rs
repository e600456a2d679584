//! Places that are used again, and keys that notice it.

use crate::chunks::Chunks;

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
    slots: Chunks<Slot<T>>,
    /// The place that was left last.
    vacant: Option<u32>,
    len: u32,
    /// The generation of the next value: all values ever stored are told
    /// apart, not only those of one place.
    generation: u32,
}

#[derive(Debug)]
enum Slot<T> {
    Taken {
        generation: u32,
        value: T,
    },
    /// With the place that was left before this one.
    Vacant(Option<u32>),
}

impl<T> Slots<T> {
    /// No values, no memory.
    pub const fn new() -> Self {
        Self { slots: Chunks::new(), vacant: None, len: 0, generation: 0 }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    // ANCHOR: insert
    /// Stores a value and names it.
    pub fn insert(&mut self, value: T) -> Key {
        let generation = self.generation;
        self.generation = generation.wrapping_add(1);
        let index = self.place(Slot::Taken { generation, value });
        self.len += 1;
        Key { index, generation }
    }
    // ANCHOR_END: insert

    /// Puts a tenant where somebody has left last, or else at the end.
    fn place(&mut self, tenant: Slot<T>) -> u32 {
        let index = self.vacant.unwrap_or(self.len);
        let Some(slot) = self.slots.get_mut(index) else {
            self.slots.push(tenant);
            return index;
        };
        if let Slot::Vacant(next) = std::mem::replace(slot, tenant) {
            self.vacant = next;
        }
        index
    }

    // ANCHOR: get
    /// The value of this name, or nothing if it has left.
    pub fn get(&self, key: Key) -> Option<&T> {
        match self.slots.get(key.index)? {
            Slot::Taken { generation, value } if *generation == key.generation => Some(value),
            _ => None,
        }
    }
    // ANCHOR_END: get

    /// The same, to be changed.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        match self.slots.get_mut(key.index)? {
            Slot::Taken { generation, value } if *generation == key.generation => Some(value),
            _ => None,
        }
    }

    /// The names of all values.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        (0..).zip(self.slots.iter()).filter_map(|(index, slot)| match *slot {
            Slot::Taken { generation, .. } => Some(Key { index, generation }),
            Slot::Vacant(_) => None,
        })
    }

    /// Takes the value out; from now on its key finds nothing.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        let left = Slot::Vacant(self.vacant.replace(key.index));
        self.len -= 1;
        match std::mem::replace(self.slots.get_mut(key.index)?, left) {
            Slot::Taken { value, .. } => Some(value),
            Slot::Vacant(_) => None,
        }
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
    fn places_are_filled_before_there_are_more() {
        let mut slots = Slots::new();
        let keys: Vec<Key> = (0..200).map(|n| slots.insert(n)).collect();
        let indices: Vec<u32> = keys.iter().map(|key| key.index).collect();
        assert_eq!(indices, Vec::from_iter(0..200));
        let left = [keys[7], keys[150], keys[64]];
        assert!(left.map(|key| slots.remove(key).is_some()).iter().all(|left| *left));
        assert_eq!((slots.len(), slots.keys().count()), (197, 197));
        let again = [(); 4].map(|()| slots.insert(0).index);
        assert_eq!(again, [64, 150, 7, 200], "the place that was left last is taken first");
        assert_eq!(slots.keys().count(), 201);
        assert_eq!(slots.get(keys[8]), Some(&8));
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
