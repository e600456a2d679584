//! Encoders of bodies in the content codings, and a decoder that takes slices.

use std::io::Write;

use flate2::{Compress, Compression, FlushCompress};
use web::FetchError;
use web::body::{BodyDecoder, Codings};

/// The names of the content codings that the crawler accepts.
pub const CODINGS: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

/// Encodes `text` in a content coding.
///
/// # Panics
/// When there is no such coding.
pub fn encode(coding: &str, text: &[u8]) -> Vec<u8> {
    match coding {
        "gzip" => gzip(text),
        "deflate" => zlib(text),
        "raw deflate" => raw_deflate(text),
        "br" => brotli(text),
        "zstd" => zstd(text),
        _ => panic!("no such coding: {coding}"),
    }
}

/// Encodes in `gzip` (RFC 1952).
pub fn gzip(text: &[u8]) -> Vec<u8> {
    deflated(Compress::new_gzip(Compression::default(), 15), text)
}

/// Encodes in `deflate` as in the standard, with a zlib header (RFC 1950).
pub fn zlib(text: &[u8]) -> Vec<u8> {
    deflated(Compress::new(Compression::default(), true), text)
}

/// Encodes in `deflate` as some servers do, without a header (RFC 1951).
pub fn raw_deflate(text: &[u8]) -> Vec<u8> {
    deflated(Compress::new(Compression::default(), false), text)
}

fn deflated(mut stream: Compress, text: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(text.len() + text.len() / 100 + 200);
    stream.compress_vec(text, &mut encoded, FlushCompress::Finish).unwrap();
    assert_eq!(stream.total_in(), text.len() as u64);
    encoded
}

/// Encodes in `br` (RFC 7932).
pub fn brotli(text: &[u8]) -> Vec<u8> {
    let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 20);
    encoder.write_all(text).unwrap();
    encoder.into_inner()
}

/// Encodes in `zstd` (RFC 8878).
pub fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Parses a `Content-Encoding` field.
pub fn codings(header: &str) -> Codings {
    Codings::parse([header.as_bytes()]).unwrap()
}

/// Decodes a body that arrives in `slices`. Returns the decoded bytes and the
/// result at the end.
pub fn decode_slices<'a>(
    header: &str,
    limit: u64,
    slices: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<u8>, Result<(), FetchError>) {
    let mut decoder = BodyDecoder::new(&codings(header), limit);
    let mut text = Vec::new();
    for slice in slices {
        let fed = decoder.feed(slice, &mut |decoded| {
            assert!((1..=16 * 1024).contains(&decoded.len()) || header.is_empty());
            text.extend_from_slice(decoded);
            Ok(())
        });
        if fed.is_err() {
            return (text, fed);
        }
    }
    (text, decoder.finish())
}

/// Decodes a body that arrives at once, see [`decode_slices`].
pub fn decode(header: &str, limit: u64, body: &[u8]) -> (Vec<u8>, Result<(), FetchError>) {
    decode_slices(header, limit, [body])
}
