//! A generational slab: values under keys that notice when the value is gone.

// ANCHOR: key
/// The name of one value in a [`Slab`]: its index, and its generation, counted
/// over all values ever stored. After the value is removed, its key finds
/// nothing, until four billion further values have been stored and one of them
/// got the same index with the same generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    index: u32,
    generation: u32,
}
// ANCHOR_END: key

impl Key {
    /// Packs the key into one number, to travel through an operating system's
    /// event queue and back.
    pub fn to_bits(self) -> u64 {
        (u64::from(self.generation) << 32) | u64::from(self.index)
    }

    /// Unpacks the key that [`Key::to_bits`] has packed.
    pub fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }

    /// Returns the index of the value's slot: below the most values that the
    /// slab has held at a time, and unique among those it holds.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// Values under generational keys: inserting, finding and removing take
/// constant time. Holds up to 2^32 - 1 values at a time.
#[derive(Debug)]
pub struct Slab<T> {
    slots: Vec<Slot<T>>,
    /// The generation of the value in each slot, or of its last one. In a list
    /// of their own they take 4 bytes each; in the slots they would be padded.
    generations: Vec<u32>,
    /// The head of the free list: the slot vacated last.
    vacant: Option<u32>,
    len: u32,
    /// The generation of the next value. One counter for all slots, so that
    /// all values ever stored differ, not only those of one slot.
    generation: u32,
}

#[derive(Debug)]
enum Slot<T> {
    Taken(T),
    /// A link of the free list: the slot vacated before this one.
    Vacant(Option<u32>),
}

impl<T> Slab<T> {
    /// Makes an empty slab, which allocates nothing.
    pub const fn new() -> Self {
        Self { slots: Vec::new(), generations: Vec::new(), vacant: None, len: 0, generation: 0 }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if there is no value.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    // ANCHOR: insert
    /// Stores a value and returns its key.
    pub fn insert(&mut self, value: T) -> Key {
        self.insert_with(|_| value)
    }

    /// Stores a value that contains its own key, and returns the key.
    pub fn insert_with(&mut self, value: impl FnOnce(Key) -> T) -> Key {
        let generation = self.generation;
        self.generation = generation.wrapping_add(1);
        let index = self.vacant.unwrap_or(self.len);
        let key = Key { index, generation };
        self.fill(key.index(), Slot::Taken(value(key)));
        self.generations[key.index()] = generation;
        self.len += 1;
        key
    }
    // ANCHOR_END: insert

    /// Puts a slot at an index: where one was vacated last, or else at the end.
    fn fill(&mut self, index: usize, taken: Slot<T>) {
        if let Some(slot) = self.slots.get_mut(index) {
            if let Slot::Vacant(next) = std::mem::replace(slot, taken) {
                self.vacant = next;
            }
            return;
        }
        if self.slots.len() == self.slots.capacity() {
            // By a sixteenth rather than doubled: ten thousand connections should not
            // pay for twenty thousand.
            let more = self.slots.len() / 16 + 16;
            self.slots.reserve_exact(more);
            self.generations.reserve_exact(more);
        }
        self.slots.push(taken);
        self.generations.push(0);
    }

    // ANCHOR: get
    /// Returns the value of a key, or nothing once it is removed.
    pub fn get(&self, key: Key) -> Option<&T> {
        match self.slots.get(key.index())? {
            Slot::Taken(value) if self.is_current(key) => Some(value),
            _ => None,
        }
    }
    // ANCHOR_END: get

    /// Returns the value of a key for changing.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        if !self.is_current(key) {
            return None;
        }
        match self.slots.get_mut(key.index())? {
            Slot::Taken(value) => Some(value),
            Slot::Vacant(_) => None,
        }
    }

    fn is_current(&self, key: Key) -> bool {
        self.generations.get(key.index()) == Some(&key.generation)
    }

    /// Returns the keys of all values.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        let keys =
            (0..).zip(&self.generations).map(|(index, &generation)| Key { index, generation });
        keys.zip(&self.slots)
            .filter_map(|(key, slot)| matches!(slot, Slot::Taken(_)).then_some(key))
    }

    /// Returns all values, in the order of their indices.
    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.slots.into_iter().filter_map(|slot| match slot {
            Slot::Taken(value) => Some(value),
            Slot::Vacant(_) => None,
        })
    }

    /// Removes and returns the value; from now on its key finds nothing.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        let vacated = Slot::Vacant(self.vacant.replace(key.index));
        self.len -= 1;
        match std::mem::replace(self.slots.get_mut(key.index())?, vacated) {
            Slot::Taken(value) => Some(value),
            Slot::Vacant(_) => None,
        }
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_outlives_its_value_but_finds_no_other() {
        let mut slab = Slab::new();
        let first = slab.insert("first");
        assert_eq!(slab.remove(first), Some("first"));
        let second = slab.insert("second");
        assert_eq!(first.index, second.index, "the slot is reused");
        assert_eq!(slab.get(first), None);
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.get(second), Some(&"second"));
        assert_eq!(slab.len(), 1);
    }

    #[test]
    fn vacated_slots_are_filled_before_the_slab_grows() {
        let mut slab = Slab::new();
        let keys: Vec<Key> = (0..200).map(|n| slab.insert(n)).collect();
        let indices: Vec<u32> = keys.iter().map(|key| key.index).collect();
        assert_eq!(indices, Vec::from_iter(0..200));
        let vacated = [keys[7], keys[150], keys[64]];
        assert!(vacated.iter().all(|key| slab.remove(*key).is_some()));
        assert_eq!((slab.len(), slab.keys().count()), (197, 197));
        let again = [(); 4].map(|()| slab.insert(0).index);
        assert_eq!(again, [64, 150, 7, 200], "the slot vacated last is filled first");
        assert_eq!(slab.keys().count(), 201);
        assert_eq!(slab.get(keys[8]), Some(&8));
    }

    #[test]
    fn the_slab_grows_by_a_sixteenth_and_not_at_every_value() {
        let mut slab = Slab::new();
        let (mut capacity, mut growths) = (0, 0);
        for n in 1..=10_000 {
            slab.insert(n);
            if slab.slots.capacity() != capacity {
                capacity = slab.slots.capacity();
                growths += 1;
            }
            assert!(capacity <= n + n / 16 + 16, "{capacity} for {n}");
        }
        assert!(growths < 90, "{growths}");
    }

    #[test]
    fn a_key_can_be_packed_into_a_number() {
        let mut slab = Slab::new();
        let old = slab.insert(1);
        slab.remove(old);
        let key = slab.insert(2);
        assert_eq!(Key::from_bits(key.to_bits()), key);
        assert_ne!(old.to_bits(), key.to_bits());
    }
}
