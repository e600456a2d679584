//! The text that fills a page up to its size.

use crate::mix::{below, mix};

/// The length of every paragraph in bytes, tags included. As all are of the same
/// length, the text of a page can begin at any paragraph of the pool.
const PARAGRAPH: usize = 512;
/// The number of paragraphs in the pool.
const PARAGRAPHS: u32 = 128;
const OPEN: &[u8] = b"<p>";
const CLOSE: &[u8] = b"</p>\n";

const WORDS: &[&str] = &[
    "a", "about", "above", "all", "and", "around", "before", "behind", "below", "between", "boat",
    "bridge", "bright", "by", "candle", "carries", "city", "cloud", "comes", "cold", "door",
    "early", "every", "far", "field", "finds", "follows", "for", "forest", "from", "garden",
    "grows", "harbour", "he", "her", "hill", "holds", "house", "in", "into", "island", "it",
    "keeps", "lantern", "late", "letter", "light", "long", "looks", "market", "meadow", "morning",
    "mountain", "near", "never", "north", "of", "old", "on", "only", "over", "path", "quiet",
    "rain", "reaches", "returns", "river", "road", "sea", "she", "sleeps", "slow", "small", "snow",
    "some", "south", "station", "stone", "street", "summer", "the", "their", "then", "they",
    "through", "to", "tower", "train", "under", "valley", "village", "waits", "walks", "wall",
    "water", "we", "white", "wind", "window", "winter", "with", "without", "writes",
];

/// A pool of paragraphs shared by all pages.
#[derive(Debug)]
pub(crate) struct Prose {
    seed: u64,
    /// `PARAGRAPHS` paragraphs of `PARAGRAPH` bytes.
    pool: Vec<u8>,
    /// Text without tags, for the end of a page where no whole paragraph fits.
    rest: Vec<u8>,
}

impl Prose {
    pub(crate) fn new(seed: u64) -> Self {
        let mut pool = Vec::with_capacity(PARAGRAPH * PARAGRAPHS as usize);
        for number in 0..PARAGRAPHS {
            pool.extend_from_slice(OPEN);
            push_text(
                &mut pool,
                mix(&[seed, u64::from(number)]),
                PARAGRAPH - OPEN.len() - CLOSE.len(),
            );
            pool.extend_from_slice(CLOSE);
        }
        let mut rest = Vec::with_capacity(PARAGRAPH);
        push_text(&mut rest, mix(&[seed, u64::from(PARAGRAPHS)]), PARAGRAPH);
        Self { seed, pool, rest }
    }

    /// Appends `range` of the text of `page`, which has `length` bytes. The part
    /// of the range beyond `length` is ignored.
    pub(crate) fn push(
        &self,
        page: u32,
        length: usize,
        range: std::ops::Range<usize>,
        out: &mut Vec<u8>,
    ) {
        let whole = length - length % PARAGRAPH;
        let first = below(mix(&[self.seed, u64::from(page)]), PARAGRAPHS) as usize * PARAGRAPH;
        let mut at = range.start;
        let end = range.end.min(length);
        while at < end {
            let source = if at < whole {
                let from = (first + at) % self.pool.len();
                let room = (end.min(whole) - at).min(self.pool.len() - from);
                &self.pool[from..from + room]
            } else {
                &self.rest[at - whole..end - whole]
            };
            out.extend_from_slice(source);
            at += source.len();
        }
    }
}

/// Appends sentences with a total of `length` bytes.
fn push_text(out: &mut Vec<u8>, seed: u64, length: usize) {
    let end = out.len() + length;
    let mut words_left = 0;
    for index in 0.. {
        let random = mix(&[seed, index]);
        let word = WORDS[below(random, WORDS.len() as u32) as usize].as_bytes();
        let start = out.len();
        out.extend_from_slice(word);
        if words_left == 0 {
            words_left = 5 + (random & 0b111);
            out[start].make_ascii_uppercase();
        }
        words_left -= 1;
        out.extend_from_slice(if words_left == 0 { b". " } else { b" " });
        if out.len() >= end {
            out.truncate(end);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(prose: &Prose, page: u32, length: usize, range: std::ops::Range<usize>) -> Vec<u8> {
        let mut out = Vec::new();
        prose.push(page, length, range, &mut out);
        out
    }

    proptest! {
        #[test]
        fn the_pieces_of_a_text_make_up_the_whole(page: u32, length in 0..200_000_usize, cut in 0..200_000_usize) {
            let prose = Prose::new(5);
            let whole = text(&prose, page, length, 0..usize::MAX);
            prop_assert_eq!(whole.len(), length);
            let mut pieces = text(&prose, page, length, 0..cut);
            pieces.extend(text(&prose, page, length, cut..usize::MAX));
            prop_assert_eq!(pieces, whole);
        }
    }

    #[test]
    fn a_text_contains_whole_paragraphs_only() {
        let prose = Prose::new(1);
        for length in [0, 511, 512, 5000, 100_000] {
            let text = String::from_utf8(text(&prose, 9, length, 0..length)).unwrap();
            assert_eq!(text.matches("<p>").count(), length / PARAGRAPH);
            assert_eq!(text.matches("</p>").count(), length / PARAGRAPH);
        }
    }

    #[test]
    fn the_text_depends_on_the_seed_alone() {
        let text = |seed| text(&Prose::new(seed), 0, 2000, 0..2000);
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
    }
}
