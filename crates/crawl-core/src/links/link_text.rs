//! What a reader sees of a link.

use crate::html::decode_text;

/// How many characters are kept.
const LONGEST: usize = 80;

/// How many bytes of one run of text are looked at: those of [`LONGEST`]
/// characters, written as the longest of references.
const LONGEST_RUN: usize = LONGEST * 32;

/// The text of a link, as it goes by.
#[derive(Debug)]
pub(super) struct LinkText {
    /// Of which link.
    index: usize,
    text: String,
    length: usize,
    /// Whether a blank comes before the next word.
    blank: bool,
    /// The text since the last tag, as it is written.
    run: Vec<u8>,
}

impl LinkText {
    pub(super) fn of(index: usize) -> Self {
        // Few are longer, and few have characters of more than a byte.
        let text = String::with_capacity(LONGEST);
        Self { index, text, length: 0, blank: false, run: Vec::new() }
    }

    /// Takes text between two tags, cut anywhere.
    pub(super) fn feed(&mut self, text: &[u8]) {
        let room = if self.length < LONGEST { LONGEST_RUN - self.run.len() } else { 0 };
        self.run.extend_from_slice(&text[..text.len().min(room)]);
    }

    /// A tag has come.
    pub(super) fn end_of_run(&mut self) {
        if !self.run.is_empty() {
            let mut text = String::with_capacity(self.run.len());
            decode_text(&self.run, &mut text);
            self.run.clear();
            self.add(&text);
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

    /// The index of the link, and its text.
    pub(super) fn finish(mut self) -> (usize, String) {
        self.end_of_run();
        (self.index, self.text)
    }
}
