//! What a reader sees of a link.

use crate::html::decode_text;

/// How many characters are kept.
const LONGEST: usize = 80;

/// How many bytes of one run of text are looked at: those of [`LONGEST`]
/// characters, written as the longest of references.
const LONGEST_RUN: usize = LONGEST * 32;

/// The text of a link, as it goes by; one after the other, in the same memory.
#[derive(Debug, Default)]
pub(super) struct LinkText {
    /// Of which link, if of any.
    index: Option<usize>,
    text: String,
    length: usize,
    /// Whether a blank comes before the next word.
    blank: bool,
    /// The text since the last tag, as it is written.
    run: Vec<u8>,
    /// And as it is meant.
    decoded: String,
}

impl LinkText {
    /// Begins with a link, which is the only one until its end.
    pub(super) fn begin(&mut self, index: usize) {
        self.index = Some(index);
        self.text.clear();
        (self.length, self.blank) = (0, false);
    }

    /// Whether a link has begun and not ended.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.index.is_some()
    }

    /// Takes text between two tags, cut anywhere.
    pub(super) fn feed(&mut self, text: &[u8]) {
        let room = if self.length < LONGEST { LONGEST_RUN - self.run.len() } else { 0 };
        self.run.extend_from_slice(&text[..text.len().min(room)]);
    }

    /// A tag has come.
    pub(super) fn end_of_run(&mut self) {
        if !self.run.is_empty() {
            let mut decoded = std::mem::take(&mut self.decoded);
            decode_text(&self.run, &mut decoded);
            self.add(&decoded);
            self.run.clear();
            decoded.clear();
            self.decoded = decoded;
        }
    }

    /// Adds text as it is meant.
    pub(super) fn add(&mut self, text: &str) {
        for character in text.chars() {
            if self.length == LONGEST {
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
            if self.length < LONGEST {
                self.text.push(character);
                self.length += 1;
            }
        }
    }

    /// The link that has begun, if any, has ended: its index and its text.
    pub(super) fn end(&mut self) -> Option<(usize, &str)> {
        self.end_of_run();
        Some((self.index.take()?, &self.text))
    }
}
