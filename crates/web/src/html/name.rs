//! Names of tags and attributes, packed into numbers.

/// The name of a tag or an attribute, in lower case.
///
/// Up to eight bytes are packed into a number, the first of them lowest, so that
/// comparing names is comparing numbers. For a longer name, the number is a hash. A page may be
/// made so that the hashes of two names are equal. This does no harm: the page
/// could contain the other name as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Name(u64);

impl Name {
    /// Returns the name with this spelling, in upper or lower case.
    pub const fn of(spelling: &[u8]) -> Self {
        let mut name = Self(0);
        let mut at = 0;
        while at < spelling.len() {
            name.push(LETTERS[spelling[at] as usize]);
            at += 1;
        }
        name
    }

    /// Returns the names with these spellings, see [`Name::of`].
    pub(crate) const fn all<const N: usize>(spellings: [&str; N]) -> [Self; N] {
        let mut names = [Self(0); N];
        let mut at = 0;
        while at < N {
            names[at] = Self::of(spellings[at].as_bytes());
            at += 1;
        }
        names
    }

    /// Appends the bytes of `input` up to a byte for which `letters` has no letter.
    /// Returns the name so far and the rest of `input`.
    #[inline(always)]
    pub(super) fn take<'a>(self, input: &'a [u8], letters: &[u8; 256]) -> (Self, &'a [u8]) {
        let (mut name, mut rest) = (self, input);
        if self.0 == 0
            && let Some((first, length)) = input.first_chunk().and_then(Self::first)
        {
            (name, rest) = (first, &input[length..]);
        }
        match rest {
            [] | [b'>', ..] => (name, rest),
            [byte, ..] if letters[usize::from(*byte)] == NONE => (name, rest),
            _ => name.take_others(rest, letters),
        }
    }

    /// Reads up to seven lower-case letters at once, if the word begins with any.
    /// Returns their name and their number. Nearly all names consist of so few.
    #[inline(always)]
    pub(super) fn first(word: &[u8; 8]) -> Option<(Self, usize)> {
        let word = u64::from_le_bytes(*word);
        // The bytes from 0x60 to 0x7f count as letters. The eighth byte never
        // does.
        let others = ((word ^ 0x6060_6060_6060_6060) & 0xe0e0_e0e0_e0e0_e0e0) | 1 << 56;
        let bits = others.trailing_zeros() & !7;
        let name = Self(word & ((1 << bits) - 1));
        (bits > 0).then_some((name, bits as usize / 8))
    }

    /// Appends what is no letter in lower case, or beyond the first seven.
    #[inline(never)]
    fn take_others<'a>(self, input: &'a [u8], letters: &[u8; 256]) -> (Self, &'a [u8]) {
        let (mut name, mut rest) = (self, input);
        while let [byte, after @ ..] = rest
            && letters[usize::from(*byte)] != NONE
        {
            name.push(letters[usize::from(*byte)]);
            rest = after;
        }
        (name, rest)
    }

    /// Appends a byte, even one that would end the name.
    pub(super) fn append(&mut self, byte: u8) {
        self.push(LETTERS[usize::from(byte)]);
    }

    #[inline]
    const fn push(&mut self, letter: u8) {
        const LONG: u64 = 0xff << 56;
        self.0 = if self.0 >> 56 == 0 {
            let length = (u64::BITS - self.0.leading_zeros()).div_ceil(8);
            self.0 | (letter as u64) << (8 * length)
        } else {
            // The shift brings the first letters down: a product passes bits on upwards
            // only, and the uppermost are overwritten.
            (self.0 ^ self.0 >> 29 ^ letter as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | LONG
        };
    }
}

/// A table of values by name. Whether it holds a name takes one comparison.
pub(super) struct NameTable<T> {
    slots: [(Name, T); NUM_SLOTS],
    /// The value of all other names.
    other: T,
}

/// The number of slots in a [`NameTable`], a power of two.
const NUM_SLOTS: usize = 128;

impl<T: Copy> NameTable<T> {
    /// Creates a table at compile time, which fails if two names have the same slot.
    pub(super) const fn of(entries: &[(Name, T)], other: T) -> Self {
        let mut slots = [(Name(0), other); NUM_SLOTS];
        let mut at = 0;
        while at < entries.len() {
            let slot = slot_of(entries[at].0);
            assert!(slots[slot].0.0 == 0);
            slots[slot] = entries[at];
            at += 1;
        }
        Self { slots, other }
    }

    /// Returns the value of this name.
    #[inline(always)]
    pub(super) fn get(&self, name: Name) -> T {
        let (known, value) = self.slots[slot_of(name)];
        if known == name { value } else { self.other }
    }
}

/// Returns the slot of a name: the uppermost bits of a product depend on all letters.
#[inline(always)]
const fn slot_of(name: Name) -> usize {
    (name.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - NUM_SLOTS.ilog2())) as usize
}

/// The entry of a byte that ends a name, in the tables of letters.
pub(super) const NONE: u8 = 0;

/// Table of all bytes in lower case. A NUL would vanish at the beginning of a
/// name; the standard replaces it by U+FFFD.
const LETTERS: [u8; 256] = {
    let mut letters = [0xfd; 256];
    let mut byte = 1;
    while byte < 256 {
        letters[byte] = (byte as u8).to_ascii_lowercase();
        byte += 1;
    }
    letters
};

/// Table of the bytes that a tag name may contain.
pub(super) const TAG: [u8; 256] = {
    let mut letters = LETTERS;
    let mut byte = 0;
    while byte < 256 {
        if is_blank(byte as u8) || matches!(byte as u8, b'/' | b'>') {
            letters[byte] = NONE;
        }
        byte += 1;
    }
    letters
};

/// Table of the bytes that an attribute name may contain behind its first byte.
pub(super) const ATTRIBUTE: [u8; 256] = {
    let mut letters = TAG;
    letters[b'=' as usize] = NONE;
    letters
};

/// Table of the letters of the alphabet.
pub(super) const ALPHABETIC: [u8; 256] = {
    let mut letters = LETTERS;
    let mut byte = 0;
    while byte < 256 {
        if !(byte as u8).is_ascii_alphabetic() {
            letters[byte] = NONE;
        }
        byte += 1;
    }
    letters
};

/// Returns true for a byte that ends a tag name.
pub(super) fn ends_name(byte: u8) -> bool {
    TAG[usize::from(byte)] == NONE
}

/// Returns true for ASCII whitespace, as the HTML standard defines it.
pub(super) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_letter_of_a_long_name_counts() {
        let name = b"plaintext";
        for at in 0..name.len() {
            let mut other = *name;
            other[at] = b'c';
            assert_ne!(Name::of(name), Name::of(&other), "letter {at}");
        }
    }
}
