//! Names of tags and attributes, packed into numbers.

/// The name of a tag or an attribute, in lower case.
///
/// Up to eight bytes are packed into a number, so that comparing names is
/// comparing numbers. For a longer name, the number is a hash. A page may be
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

    /// Appends the bytes of `input` from `at` on, up to a byte for which
    /// `letters` has no letter. Returns the name so far and the index of that
    /// byte.
    #[inline]
    pub(super) fn take(self, input: &[u8], at: usize, letters: &[u8; 256]) -> (Self, usize) {
        let (name, at) = if self.0 == 0 { Self::first(input, at) } else { (self, at) };
        match input.get(at) {
            Some(&byte) if letters[usize::from(byte)] != NONE => name.rest(input, at, letters),
            _ => (name, at),
        }
    }

    /// Reads up to seven lower-case letters at once. Nearly all names consist of
    /// so few.
    #[inline]
    fn first(input: &[u8], at: usize) -> (Self, usize) {
        let first = input.get(at..).and_then(|rest| rest.first_chunk());
        let first = u64::from_le_bytes(*first.unwrap_or(&[0; 8]));
        // The bytes from 0x60 to 0x7f count as letters. The eighth byte never
        // does.
        let others = ((first ^ 0x6060_6060_6060_6060) & 0xe0e0_e0e0_e0e0_e0e0) | 1 << 56;
        let bits = others.trailing_zeros() & !7;
        (Self(first.swap_bytes() >> 8 >> (56 - bits)), at + bits as usize / 8)
    }

    #[inline(never)]
    fn rest(self, input: &[u8], at: usize, letters: &[u8; 256]) -> (Self, usize) {
        let (mut name, mut end) = (self, at);
        while let Some(&byte) = input.get(end)
            && letters[usize::from(byte)] != NONE
        {
            name.push(letters[usize::from(byte)]);
            end += 1;
        }
        (name, end)
    }

    /// Appends a byte, even one that would end the name.
    pub(super) fn append(&mut self, byte: u8) {
        self.push(LETTERS[usize::from(byte)]);
    }

    #[inline]
    const fn push(&mut self, letter: u8) {
        const LONG: u64 = 0xff << 56;
        self.0 = if self.0 >> 56 == 0 {
            self.0 << 8 | letter as u64
        } else {
            // The shift brings the first letters down: a product passes bits on upwards
            // only, and the uppermost are overwritten.
            (self.0 ^ self.0 >> 29 ^ letter as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | LONG
        };
    }
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
