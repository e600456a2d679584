//! Character encodings in a build without the feature `tables`: UTF-8.

use std::borrow::Cow;

/// The byte order mark (BOM).
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A character encoding. There is one.
#[derive(Debug, PartialEq, Eq)]
pub struct Encoding(());

/// The encoding UTF-8.
pub static UTF_8: &Encoding = &Encoding(());

impl Encoding {
    /// Returns the encoding with this label, in upper or lower case.
    pub fn for_label(label: &[u8]) -> Option<&'static Self> {
        let label = label.trim_ascii();
        let is_known = [&b"utf-8"[..], b"utf8"].iter().any(|l| l.eq_ignore_ascii_case(label));
        is_known.then_some(UTF_8)
    }

    /// Returns the same as [`for_label`](Self::for_label).
    pub fn for_label_no_replacement(label: &[u8]) -> Option<&'static Self> {
        Self::for_label(label)
    }

    /// Returns the name of the encoding.
    pub fn name(&self) -> &'static str {
        "UTF-8"
    }

    /// Returns true: ASCII is a part of UTF-8.
    pub fn is_ascii_compatible(&self) -> bool {
        true
    }

    /// Returns the encoding itself, in which a page can be answered.
    pub fn output_encoding(&'static self) -> &'static Self {
        self
    }

    /// Returns the text of bytes, without a byte order mark; the encoding; and true if
    /// something was malformed.
    pub fn decode<'b>(&'static self, bytes: &'b [u8]) -> (Cow<'b, str>, &'static Self, bool) {
        let mark = BYTE_ORDER_MARK.len_utf8();
        let is_marked =
            String::from_utf8_lossy(&bytes[..bytes.len().min(mark)]).starts_with(BYTE_ORDER_MARK);
        let text = String::from_utf8_lossy(&bytes[if is_marked { mark } else { 0 }..]);
        let is_malformed = matches!(text, Cow::Owned(_));
        (text, self, is_malformed)
    }

    /// Creates a streaming decoder.
    pub fn new_decoder(&'static self) -> Decoder {
        Decoder::default()
    }
}

/// Returns the bytes of a query.
pub(crate) fn encode_query<'q>(query: &'q str, _: &'static Encoding) -> Cow<'q, [u8]> {
    query.as_bytes().into()
}

/// A streaming decoder, which leaves a byte order mark out.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The beginning of a character that is cut, at most 3 bytes.
    held: Vec<u8>,
    /// True after the first character.
    has_begun: bool,
}

impl Decoder {
    /// Returns the encoding.
    pub fn encoding(&self) -> &'static Encoding {
        UTF_8
    }

    /// Returns the most bytes of text that so many bytes decode to.
    pub fn max_utf8_buffer_length(&self, length: usize) -> Option<usize> {
        // Each malformed byte becomes U+FFFD.
        length.checked_add(self.held.len())?.checked_mul(char::REPLACEMENT_CHARACTER.len_utf8())
    }

    /// Decodes bytes, cut anywhere, and appends the characters to `text`. Returns true
    /// if some were malformed, which become U+FFFD.
    pub fn decode_to_string(&mut self, bytes: &[u8], text: &mut String, is_last: bool) -> bool {
        self.held.extend_from_slice(bytes);
        let held = std::mem::take(&mut self.held);
        let mut is_malformed = false;
        let mut chunks = held.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            let valid = chunk.valid();
            let valid = match valid.strip_prefix(BYTE_ORDER_MARK) {
                Some(rest) if !self.has_begun => rest,
                _ => valid,
            };
            self.has_begun |= !chunk.valid().is_empty();
            text.push_str(valid);
            let rest = chunk.invalid();
            let is_cut = str::from_utf8(rest).is_err_and(|error| error.error_len().is_none());
            if is_cut && !is_last && chunks.peek().is_none() {
                self.held.extend_from_slice(rest);
            } else if !rest.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
                (is_malformed, self.has_begun) = (true, true);
            }
        }
        is_malformed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_however_it_is_cut() {
        let bytes = b"\xef\xbb\xbfa \xe2\x82\xac \xff \xe2\x82b\xf0\x9f";
        let (whole, _, is_malformed) = UTF_8.decode(bytes);
        assert!(is_malformed);
        assert_eq!(whole, "a € \u{fffd} \u{fffd}b\u{fffd}");
        for size in 1..=bytes.len() {
            let mut decoder = UTF_8.new_decoder();
            let mut text = String::new();
            for part in bytes.chunks(size) {
                decoder.decode_to_string(part, &mut text, false);
            }
            decoder.decode_to_string(b"", &mut text, true);
            assert_eq!(text, whole, "{size}");
        }
    }

    #[test]
    fn other_labels_are_unknown() {
        assert_eq!(Encoding::for_label(b" UTF-8 "), Some(UTF_8));
        assert_eq!(Encoding::for_label(b"utf8"), Some(UTF_8));
        assert_eq!(Encoding::for_label_no_replacement(b"shift_jis"), None);
    }
}
