//! The fuzz target of content codings.

use crawl_core::{ErrorClass, FetchError};
use web::body::{BodyDecoder, Codings};

use crate::slices::in_any_slices_by;
use crate::{assert_documented, split_line};

/// The maximum number of bytes that are decoded.
const LIMIT: u64 = 50_000;

/// The maximum length of a slice that a decoder passes on.
const MAX_SLICE: usize = 16 * 1024;

/// Decodes a body. The first line of the input is the value of its `Content-Encoding`
/// header, the rest is the body. Asserts that the output is within the limit, and the
/// same in any slices.
pub fn content(input: &[u8]) {
    let (header, body) = split_line(input);
    let codings = match Codings::parse([header]) {
        Ok(codings) => codings,
        Err(error) => return assert_documented(&error, &[ErrorClass::Decode]),
    };
    let has_brotli = header.windows(2).any(|name| name.eq_ignore_ascii_case(b"br"));
    let (decoded, end) = in_any_slices_by(
        body,
        |slices| decode(&codings, slices),
        |one, other| one == other || (has_brotli && is_equivalent_failure(one, other)),
    );
    assert!(decoded.len() as u64 <= LIMIT || codings.is_identity());
    if let Err(error) = &end {
        assert_documented(error, &[ErrorClass::Decode, ErrorClass::TooLarge]);
    }
}

/// The decoded bytes and the result of decoding.
type Decoded = (Vec<u8>, Result<(), FetchError>);

fn decode(codings: &Codings, slices: &[&[u8]]) -> Decoded {
    let mut decoder = BodyDecoder::new(codings, LIMIT);
    let mut decoded = Vec::new();
    let mut out = |bytes: &[u8]| {
        assert!((1..=MAX_SLICE).contains(&bytes.len()) || codings.is_identity());
        decoded.extend_from_slice(bytes);
        Ok(())
    };
    let fed = slices.iter().try_for_each(|slice| decoder.feed(slice, &mut out));
    (decoded, fed.and_then(|()| decoder.finish()))
}

/// Returns true if both failed, and one output is the beginning of the other. For a
/// broken Brotli stream, the library may give more or less output before the error.
fn is_equivalent_failure(one: &Decoded, other: &Decoded) -> bool {
    let (short, long) = if one.0.len() < other.0.len() { (one, other) } else { (other, one) };
    short.1.is_err() && long.1.is_err() && long.0.starts_with(&short.0)
}
