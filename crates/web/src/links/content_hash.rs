//! The hash of what a reader sees of a page.

/// Limit on the text that is hashed, in bytes. It holds the title and the heading, in
/// which pages differ.
const MAX_HASHED: usize = 1024;

/// The length of a word, in bytes.
const WORD_LEN: usize = 16;

/// A hash of the visible text of a page, without markup and addresses: of its beginning,
/// and of its length. It does not depend on the slices in which the page arrives.
#[derive(Debug, Default)]
pub(super) struct ContentHash {
    /// The beginning of the text. It is hashed as a whole, since most slices of a text
    /// are shorter than a word.
    begin: Vec<u8>,
    length: usize,
}

impl ContentHash {
    /// Adds the text that follows.
    #[inline]
    pub(super) fn add(&mut self, text: &[u8]) {
        if self.begin.len() < MAX_HASHED {
            self.add_begin(text);
        }
        self.length += text.len();
    }

    fn add_begin(&mut self, text: &[u8]) {
        let room = MAX_HASHED - self.begin.len();
        self.begin.reserve_exact(room);
        self.begin.extend_from_slice(&text[..text.len().min(room)]);
    }

    /// Returns the hash of all text.
    ///
    /// The halves of each word are multiplied, and both halves of the product count, as
    /// in wyhash. Each word has a key of its own and the products are summed up, so that
    /// a processor multiplies several words at the same time.
    pub(super) fn finish(&self) -> u64 {
        let (words, rest) = self.begin.as_chunks::<WORD_LEN>();
        let mut last = [0; WORD_LEN];
        last[..rest.len()].copy_from_slice(rest);
        let (mut key, mut sum) = (0_u64, 0_u64);
        let mut add = |word: u128| {
            // A Weyl sequence.
            key = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let (low, high) = (word as u64 ^ key, (word >> 64) as u64 ^ key.rotate_left(32));
            let product = u128::from(low) * u128::from(high);
            sum = sum.wrapping_add(product as u64 ^ (product >> 64) as u64);
        };
        words.iter().for_each(|word| add(u128::from_le_bytes(*word)));
        add(u128::from_le_bytes(last));
        add(self.length as u128);
        sum
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
