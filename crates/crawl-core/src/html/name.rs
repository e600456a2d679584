//! Names as numbers.

/// The name of a tag or an attribute, in lower case.
///
/// Up to 16 bytes are packed into a number, so that comparing names is
/// comparing numbers. All longer names are one, [`Name::LONG`]: no name that
/// means anything to a crawler is as long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Name(u128);

impl Name {
    /// Any name of more than 16 bytes.
    pub const LONG: Self = Self(u128::MAX);

    /// The name that a tag spells like this.
    pub const fn of(spelling: &[u8]) -> Self {
        let mut name = Self(0);
        let mut at = 0;
        while at < spelling.len() {
            name.push(spelling[at]);
            at += 1;
        }
        name
    }

    /// Appends a byte.
    pub(super) const fn push(&mut self, byte: u8) {
        self.0 = if self.0 >> 120 == 0 {
            self.0 << 8 | LETTERS[byte as usize] as u128
        } else {
            u128::MAX
        };
    }

    /// Appends bytes.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        if self.0 != 0 || bytes.len() > 8 {
            bytes.iter().for_each(|&byte| self.push(byte));
            return;
        }
        // Nearly all names are short, and come in one piece.
        let pack = |name: u64, &byte: &u8| name << 8 | u64::from(LETTERS[usize::from(byte)]);
        self.0 = u128::from(bytes.iter().fold(0, pack));
    }

    /// Hands its spelling to `read`: in lower case, and empty for
    /// [`Name::LONG`].
    pub(crate) fn spelled<T>(self, read: impl FnOnce(&[u8]) -> T) -> T {
        if self == Self::LONG {
            return read(b"");
        }
        let padded = self.0.to_be_bytes();
        read(&padded[self.0.leading_zeros() as usize / 8..])
    }
}

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

/// What ends a name, outside of attributes.
pub(super) fn ends_name(byte: u8) -> bool {
    const ENDS: [bool; 256] = {
        let mut ends = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            ends[byte] = is_blank(byte as u8) || matches!(byte as u8, b'/' | b'>');
            byte += 1;
        }
        ends
    };
    ENDS[usize::from(byte)]
}

/// What the HTML standard calls whitespace.
pub(super) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}
