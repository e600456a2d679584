//! A vector whose places are reused, and whose keys notice it.

/// Names one tenant of a [`Slots`]: a place, and which tenant of that place.
///
/// After the tenant has left, the key finds nothing, for four thousand million
/// later tenants of the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    /// The key as one number, to travel through an operating system's event
    /// queue and back.
    pub fn to_bits(self) -> u64 {
        (u64::from(self.generation) << 32) | u64::from(self.index)
    }

    /// The key that [`Key::to_bits`] made this number of.
    pub fn from_bits(bits: u64) -> Self {
        Self {
            index: bits as u32,
            generation: (bits >> 32) as u32,
        }
    }
}

/// Values under generational keys; adding, finding and removing cost the same
/// however many there are. Holds up to 2^32 - 1 values at a time.
#[derive(Debug)]
pub struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Slots<T> {
    /// No values, no memory.
    pub fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stores a value and names it.
    pub fn insert(&mut self, value: T) -> Key {
        self.insert_with(|_| value)
    }

    /// Stores a value that wants to know its own name.
    ///
    /// # Panics
    /// When 2^32 - 1 values are stored already.
    pub fn insert_with(&mut self, value: impl FnOnce(Key) -> T) -> Key {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 slots");
                self.slots.push(Slot {
                    generation: 0,
                    value: None,
                });
                index
            }
        };
        let slot = &mut self.slots[index as usize];
        let key = Key {
            index,
            generation: slot.generation,
        };
        slot.value = Some(value(key));
        key
    }

    /// The value of this name, or nothing if it has left.
    pub fn get(&self, key: Key) -> Option<&T> {
        let slot = self.slots.get(key.index as usize)?;
        (slot.generation == key.generation)
            .then_some(slot.value.as_ref())
            .flatten()
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let slot = self.slots.get_mut(key.index as usize)?;
        (slot.generation == key.generation)
            .then_some(slot.value.as_mut())
            .flatten()
    }

    /// Takes the value out; from now on its key finds nothing.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let slot = self.slots.get_mut(key.index as usize)?;
        if slot.generation != key.generation {
            return None;
        }
        let value = slot.value.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(key.index);
        Some(value)
    }

    /// Takes every value out, leaving every key stale.
    pub fn drain(&mut self) -> Vec<T> {
        let occupied: Vec<Key> = (0..)
            .zip(&self.slots)
            .filter(|(_, slot)| slot.value.is_some())
            .map(|(index, slot)| Key {
                index,
                generation: slot.generation,
            })
            .collect();
        occupied
            .into_iter()
            .filter_map(|key| self.remove(key))
            .collect()
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

    #[test]
    fn drain_empties_and_leaves_no_key_valid() {
        let mut slots = Slots::new();
        let keys = [slots.insert(1), slots.insert(2)];
        assert_eq!(slots.drain(), [1, 2]);
        assert!(slots.is_empty());
        assert!(keys.iter().all(|&key| slots.get(key).is_none()));
    }
}
