//! The hash of what a reader sees of a page.

/// Limit on the text that is hashed, in bytes. It holds the title and the heading, in
/// which pages differ.
const MAX_HASHED: usize = 1024;

/// A hash of the visible text of a page, without markup and addresses (FNV-1a, 64
/// bits): of its beginning, and of its length. It does not depend on the slices in
/// which the page arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContentHash {
    hash: u64,
    length: usize,
}

impl Default for ContentHash {
    fn default() -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, length: 0 }
    }
}

impl ContentHash {
    /// Adds the text that follows.
    #[inline]
    pub(super) fn add(&mut self, text: &[u8]) {
        let room = MAX_HASHED.saturating_sub(self.length);
        self.length += text.len();
        for byte in text.iter().take(room) {
            self.add_word(u64::from(*byte));
        }
    }

    #[inline]
    fn add_word(&mut self, word: u64) {
        self.hash = (self.hash ^ word).wrapping_mul(0x0100_0000_01b3);
    }

    /// Returns the hash of all text.
    pub(super) fn finish(mut self) -> u64 {
        self.add_word(self.length as u64);
        self.hash
    }
}
