//! Content codings.

use crawl_core::content::{BodyDecoder, Codings};
use crawl_core::{ErrorClass, FetchError};

use crate::slices::in_slices_alike;
use crate::{assert_documented, split_line};

/// How much is decoded, in bytes.
const LIMIT: u64 = 50_000;

/// The most bytes that a decoder may hand on at once.
const SLICE: usize = 16 * 1024;

/// Decodes a body: the first line is the value of its `Content-Encoding`
/// header, the rest is the body. No more than the limit comes out, and the same
/// in any slices.
pub fn content(input: &[u8]) {
    let (header, body) = split_line(input);
    let codings = match Codings::parse([header]) {
        Ok(codings) => codings,
        Err(error) => return assert_documented(&error, &[ErrorClass::Decode]),
    };
    let has_brotli = header.windows(2).any(|name| name.eq_ignore_ascii_case(b"br"));
    let (decoded, end) = in_slices_alike(
        body,
        |slices| decode(&codings, slices),
        |one, other| one == other || (has_brotli && is_same_failure(one, other)),
    );
    assert!(decoded.len() as u64 <= LIMIT || codings.is_identity());
    if let Err(error) = &end {
        assert_documented(error, &[ErrorClass::Decode, ErrorClass::TooLarge]);
    }
}

type Decoded = (Vec<u8>, Result<(), FetchError>);

fn decode(codings: &Codings, slices: &[&[u8]]) -> Decoded {
    let mut decoder = BodyDecoder::new(codings, LIMIT);
    let mut decoded = Vec::new();
    let mut out = |bytes: &[u8]| {
        assert!((1..=SLICE).contains(&bytes.len()) || codings.is_identity());
        decoded.extend_from_slice(bytes);
        Ok(())
    };
    let fed = slices.iter().try_for_each(|slice| decoder.feed(slice, &mut out));
    (decoded, fed.and_then(|()| decoder.finish()))
}

/// Of a broken stream of Brotli, its library gives more or less before it finds
/// out.
fn is_same_failure(one: &Decoded, other: &Decoded) -> bool {
    let (short, long) = if one.0.len() < other.0.len() { (one, other) } else { (other, one) };
    short.1.is_err() && long.1.is_err() && long.0.starts_with(&short.0)
}
