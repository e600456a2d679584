//! What servers do to a body before they send it.
#![allow(dead_code)]

use std::io::Write;

use crawl_core::FetchError;
use crawl_core::content::{BodyDecoder, Codings};
use flate2::{Compress, Compression, FlushCompress};

pub(crate) const CODINGS: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

pub(crate) fn encode(coding: &str, text: &[u8]) -> Vec<u8> {
    match coding {
        "gzip" => gzip(text),
        "deflate" => zlib(text),
        "raw deflate" => raw_deflate(text),
        "br" => brotli(text),
        "zstd" => zstd(text),
        _ => panic!("no such coding: {coding}"),
    }
}

pub(crate) fn gzip(text: &[u8]) -> Vec<u8> {
    deflated(Compress::new_gzip(Compression::default(), 15), text)
}

pub(crate) fn zlib(text: &[u8]) -> Vec<u8> {
    deflated(Compress::new(Compression::default(), true), text)
}

pub(crate) fn raw_deflate(text: &[u8]) -> Vec<u8> {
    deflated(Compress::new(Compression::default(), false), text)
}

fn deflated(mut stream: Compress, text: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(text.len() + text.len() / 100 + 200);
    stream.compress_vec(text, &mut encoded, FlushCompress::Finish).unwrap();
    assert_eq!(stream.total_in(), text.len() as u64);
    encoded
}

pub(crate) fn brotli(text: &[u8]) -> Vec<u8> {
    let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 20);
    encoder.write_all(text).unwrap();
    encoder.into_inner()
}

pub(crate) fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

pub(crate) fn codings(header: &str) -> Codings {
    Codings::parse([header.as_bytes()]).unwrap()
}

/// All that comes of a body that arrives in `slices`, and how it ends.
pub(crate) fn decode_slices<'a>(
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

/// The same of a body that arrives at once.
pub(crate) fn decode(header: &str, limit: u64, body: &[u8]) -> (Vec<u8>, Result<(), FetchError>) {
    decode_slices(header, limit, [body])
}
