//! Character encodings: those of the WHATWG Encoding Standard. A build without the
//! feature `tables` knows UTF-8 only.

use std::borrow::Cow;

use encoding_rs::EncoderResult;
pub use encoding_rs::{Decoder, Encoding, UTF_8};

/// Returns the bytes of a query in this encoding. A character that the encoding does not have
/// becomes a percent-encoded reference (URL Standard, section 1.3, "percent-encode after
/// encoding"), so that its `&`, `#` and `;` are no syntax of the query.
pub(crate) fn encode_query<'q>(query: &'q str, encoding: &'static Encoding) -> Cow<'q, [u8]> {
    let (bytes, _, lacks_some) = encoding.encode(query);
    if lacks_some { encode_with_references(query, encoding).into() } else { bytes }
}

#[cold]
fn encode_with_references(query: &str, encoding: &'static Encoding) -> Vec<u8> {
    let mut encoder = encoding.new_encoder();
    let (mut rest, mut bytes) = (query, Vec::new());
    loop {
        let room = encoder.max_buffer_length_from_utf8_without_replacement(rest.len());
        bytes.reserve(room.unwrap_or(rest.len()));
        let (result, read) =
            encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => return bytes,
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(c) => {
                bytes.extend_from_slice(format!("%26%23{}%3B", u32::from(c)).as_bytes());
            }
        }
    }
}
