//! The text of a link, as a reader sees it.

use crate::html::{decode_text, is_plain};

/// The longest text of a link, in characters. The rest is cut off.
const MAX_LEN: usize = 80;

/// The part of one run of text that is decoded, in bytes: enough for [`MAX_LEN`]
/// characters, each written as one of the longest references.
const MAX_RUN_LEN: usize = MAX_LEN * 32;

/// Collector of the text of one link after the other, in the same buffers.
#[derive(Debug, Default)]
pub(super) struct LinkText {
    /// The index of the open link, if one is open.
    index: Option<usize>,
    text: String,
    /// The length of `text`, in characters.
    length: usize,
    /// True if a blank comes before the next word.
    blank: bool,
    /// The text since the last tag, not decoded yet.
    run: Vec<u8>,
}

impl LinkText {
    /// Begins the text of the link with this index.
    pub(super) fn begin(&mut self, index: usize) {
        self.index = Some(index);
        self.text.clear();
        self.text.reserve(MAX_LEN);
        self.run.reserve(MAX_LEN);
        (self.length, self.blank) = (0, false);
    }

    /// Returns true while a link is open.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.index.is_some()
    }

    /// Takes a piece of the text between two tags, cut anywhere.
    pub(super) fn feed(&mut self, text: &[u8]) {
        let room = if self.length < MAX_LEN { MAX_RUN_LEN - self.run.len() } else { 0 };
        self.run.extend_from_slice(&text[..text.len().min(room)]);
    }

    /// Ends a run of text, because of a tag.
    pub(super) fn end_run(&mut self) {
        if self.run.is_empty() {
            return;
        }
        let mut run = std::mem::take(&mut self.run);
        match std::str::from_utf8(&run) {
            Ok(text) if is_plain(&run) => self.add(text),
            _ => {
                let mut decoded = String::new();
                decode_text(&run, &mut decoded);
                self.add(&decoded);
            }
        }
        run.clear();
        self.run = run;
    }

    /// Adds decoded text, with single blanks between words.
    pub(super) fn add(&mut self, text: &str) {
        // Most links have one short text.
        if self.length == 0 && text.len() <= MAX_LEN && is_tidy(text) {
            self.text.push_str(text);
            self.length = text.len();
            return;
        }
        for character in text.chars() {
            if self.length == MAX_LEN {
                return;
            }
            if character.is_whitespace() {
                self.blank = self.length > 0;
                continue;
            }
            if std::mem::take(&mut self.blank) {
                self.text.push(' ');
                self.length += 1;
            }
            if self.length < MAX_LEN {
                self.text.push(character);
                self.length += 1;
            }
        }
    }

    /// Ends the open link, if one is open. Returns its index and its text.
    pub(super) fn end(&mut self) -> Option<(usize, &str)> {
        self.end_run();
        Some((self.index.take()?, &self.text))
    }
}

/// Returns true for printable ASCII with single blanks between words, and none at the
/// ends.
fn is_tidy(text: &str) -> bool {
    let mut before = b' ';
    for byte in text.bytes() {
        if !matches!(byte, b' '..=b'~') || (byte == b' ' && before == b' ') {
            return false;
        }
        before = byte;
    }
    before != b' '
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A text has single blanks between its words, whether or not it arrives in pieces.
        #[test]
        fn texts_have_single_blanks(pieces in prop::collection::vec("[ab~ \t\n\u{a0}\u{e4}]{0,50}", 0..4)) {
            let mut link_text = LinkText::default();
            link_text.begin(0);
            pieces.iter().for_each(|piece| link_text.add(piece));
            let words: Vec<_> = pieces.concat().split_whitespace().map(str::to_owned).collect();
            let expected: String = words.join(" ").chars().take(MAX_LEN).collect();
            prop_assert_eq!(link_text.end(), Some((0, expected.as_str())));
        }
    }
}
