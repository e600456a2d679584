//! The fuzz target of character encodings.

use encoding_rs::{Encoding, UTF_8};
use web::body::TextDecoder;

use crate::slices::in_any_slices;
use crate::split_line;

/// Decodes a page. The first line of the input is the label in its header, or empty; the
/// rest is the page. Asserts that the text is the same in any slices, and the same as
/// `encoding_rs` returns for the detected encoding.
pub fn text(input: &[u8]) {
    let (label, page) = split_line(input);
    let label = str::from_utf8(label).ok().filter(|label| !label.is_empty());
    let (text, encoding) = in_any_slices(page, |slices| decode(label, slices));
    let (expected, _) = encoding.decode_with_bom_removal(page);
    assert_eq!(String::from_utf8_lossy(&text), expected, "as {}", encoding.name());
    assert!(encoding == UTF_8 || str::from_utf8(&text).is_ok(), "malformed text");
}

fn decode(label: Option<&str>, slices: &[&[u8]]) -> (Vec<u8>, &'static Encoding) {
    let mut decoder = TextDecoder::new(label, Some("de"));
    let mut text = Vec::new();
    let mut out = |piece: &[u8]| {
        assert!(!piece.is_empty());
        text.extend_from_slice(piece);
    };
    slices.iter().for_each(|slice| decoder.feed(slice, &mut out));
    let encoding = decoder.finish(&mut out);
    (text, encoding)
}
