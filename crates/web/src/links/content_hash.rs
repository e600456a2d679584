//! The hash of what a reader sees of a page.

/// Limit on the text that is hashed, in bytes. It holds the title and the heading, in
/// which pages differ.
const MAX_HASHED: usize = 1024;

/// A hash of the visible text of a page, without markup and addresses: of its beginning,
/// and of its length. It does not depend on the slices in which the page arrives.
///
/// A word is multiplied, and both halves of the product count, as in wyhash. A byte after
/// the other would take as long as finding the links of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ContentHash {
    hash: u64,
    /// The bytes that do not fill a word yet.
    word: u64,
    length: usize,
}

impl ContentHash {
    /// Adds the text that follows.
    #[inline]
    pub(super) fn add(&mut self, text: &[u8]) {
        let length = self.length + text.len();
        let hashed = &text[..text.len().min(MAX_HASHED.saturating_sub(self.length))];
        let missing = self.length.wrapping_neg() % 8;
        let (begin, rest) = hashed.split_at(hashed.len().min(missing));
        let (words, end) = rest.as_chunks();
        self.add_bytes(begin);
        words.iter().for_each(|word| self.add_word(u64::from_le_bytes(*word)));
        self.add_bytes(end);
        self.length = length;
    }

    /// Adds less than a word.
    #[inline]
    fn add_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.word = self.word << 8 | u64::from(*byte);
            self.length += 1;
            if self.length.is_multiple_of(8) {
                let word = std::mem::take(&mut self.word);
                self.add_word(word.swap_bytes());
            }
        }
    }

    #[inline]
    fn add_word(&mut self, word: u64) {
        let product = u128::from(self.hash ^ word ^ 0x2d35_8dcc_aa6c_78a5)
            * u128::from(0x8bb8_4b93_962e_acc9_u64);
        self.hash = product as u64 ^ (product >> 64) as u64;
    }

    /// Returns the hash of all text.
    pub(super) fn finish(mut self) -> u64 {
        self.add_word(self.word);
        self.add_word(self.length as u64);
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_of(parts: &[&[u8]]) -> u64 {
        let mut hash = ContentHash::default();
        parts.iter().for_each(|part| hash.add(part));
        hash.finish()
    }

    #[test]
    fn cuts_do_not_count_and_each_byte_does() {
        let text: Vec<u8> = (0..2 * MAX_HASHED).map(|n| (n * 7 % 251) as u8).collect();
        for length in [0, 1, 7, 8, 9, 30, MAX_HASHED - 1, MAX_HASHED, MAX_HASHED + 5] {
            let text = &text[..length];
            let whole = hash_of(&[text]);
            for at in 0..=length {
                assert_eq!(hash_of(&[&text[..at], &text[at..]]), whole, "{length}, cut at {at}");
            }
            assert_eq!(hash_of(&text.chunks(1).collect::<Vec<_>>()), whole, "{length}");
            for at in 0..length.min(MAX_HASHED) {
                let mut other = text.to_vec();
                other[at] ^= 1;
                assert_ne!(hash_of(&[&other]), whole, "{length}, byte {at}");
            }
        }
        assert_ne!(hash_of(&[b"a"]), hash_of(&[b"a\0"]));
    }
}
