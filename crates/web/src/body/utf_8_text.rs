//! A decoder of the text of a page, in a build without the feature `tables`: of UTF-8.

use crate::encoding::{Decoder, Encoding, UTF_8};

/// A streaming decoder from the bytes of one page to well-formed UTF-8. It takes every
/// page for UTF-8.
#[derive(Debug)]
pub struct TextDecoder(Decoder);

impl TextDecoder {
    /// Creates a decoder. The label of the encoding and the top-level domain are of no
    /// use to it.
    pub fn new(_label: Option<&str>, _tld: Option<&str>) -> Self {
        Self(UTF_8.new_decoder())
    }

    /// Decodes the next bytes of the page and calls `out` with the text that is
    /// certain by now, never with an empty slice.
    pub fn feed(&mut self, bytes: &[u8], out: &mut impl FnMut(&[u8])) {
        self.decode(bytes, false, out);
    }

    /// Ends the page: calls `out` with the rest of its text and returns its
    /// encoding.
    pub fn finish(mut self, out: &mut impl FnMut(&[u8])) -> &'static Encoding {
        self.decode(b"", true, out);
        UTF_8
    }

    fn decode(&mut self, bytes: &[u8], is_last: bool, out: &mut impl FnMut(&[u8])) {
        let mut text = String::new();
        self.0.decode_to_string(bytes, &mut text, is_last);
        if !text.is_empty() {
            out(text.as_bytes());
        }
    }
}
