//! Names as numbers.

/// The name of a tag or an attribute, in lower case.
///
/// Up to eight bytes are packed into a number, so that comparing names is
/// comparing numbers. Of a longer one, the number is a hash. Two names could be
/// confused, by somebody who spends effort on it; he could as well write the
/// other name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Name(u64);

impl Name {
    /// The name that a tag spells like this.
    pub const fn of(spelling: &[u8]) -> Self {
        let mut name = Self(0);
        let mut at = 0;
        while at < spelling.len() {
            name.push(LETTERS[spelling[at] as usize]);
            at += 1;
        }
        name
    }

    /// The names that tags spell like these.
    pub(crate) const fn all<const N: usize>(spellings: [&str; N]) -> [Self; N] {
        let mut names = [Self(0); N];
        let mut at = 0;
        while at < N {
            names[at] = Self::of(spellings[at].as_bytes());
            at += 1;
        }
        names
    }

    /// Goes on with what `input` holds from `at` on, up to a byte that `letters`
    /// has no letter for. Returns the name so far, and where that is.
    #[inline]
    pub(super) fn take(self, input: &[u8], at: usize, letters: &[u8; 256]) -> (Self, usize) {
        let (name, at) = if self.0 == 0 { Self::first(input, at) } else { (self, at) };
        match input.get(at) {
            Some(&byte) if letters[usize::from(byte)] != NONE => name.rest(input, at, letters),
            _ => (name, at),
        }
    }

    /// Takes up to seven lower-case letters at once, which nearly all names
    /// consist of.
    #[inline]
    fn first(input: &[u8], at: usize) -> (Self, usize) {
        let first = input.get(at..).and_then(|rest| rest.first_chunk());
        let first = u64::from_le_bytes(*first.unwrap_or(&[0; 8]));
        // Letters, and what counts as one, are the bytes from 0x60 to 0x7f. The
        // last byte is taken for something else.
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

    /// Appends a byte, whatever it is.
    pub(super) fn append(&mut self, byte: u8) {
        self.push(LETTERS[usize::from(byte)]);
    }

    #[inline]
    const fn push(&mut self, letter: u8) {
        const LONG: u64 = 0xff << 56;
        self.0 = if self.0 >> 56 == 0 {
            self.0 << 8 | letter as u64
        } else {
            (self.0 ^ letter as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | LONG
        };
    }
}

/// No letter: what ends a name.
pub(super) const NONE: u8 = 0;

/// The bytes in lower case. A NUL would vanish at the beginning of a name; the
/// standard has a U+FFFD for it.
const LETTERS: [u8; 256] = {
    let mut letters = [0xfd; 256];
    let mut byte = 1;
    while byte < 256 {
        letters[byte] = (byte as u8).to_ascii_lowercase();
        byte += 1;
    }
    letters
};

/// The letters of the names of tags.
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

/// The letters of the names of attributes, but for their first.
pub(super) const ATTRIBUTE: [u8; 256] = {
    let mut letters = TAG;
    letters[b'=' as usize] = NONE;
    letters
};

/// The letters of the alphabet only.
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

/// What ends the name of a tag.
pub(super) fn ends_name(byte: u8) -> bool {
    TAG[usize::from(byte)] == NONE
}

/// What the HTML standard calls whitespace.
pub(super) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}
