//! Where the body of a response ends (RFC 9112 section 6.3), and whether the
//! connection outlives it (section 9.3).

use super::head::Head;
use super::response::Method;
use super::{printable, protocol};
use crate::FetchError;

/// How a body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// This many bytes, possibly none.
    Length(u64),
    /// Chunks, each with its length before it.
    Chunked,
    /// All bytes until the connection ends.
    UntilEnd,
}

/// The framing of the response to a request of `method`, and whether another
/// response can follow it on the same connection.
pub(super) fn framing(method: Method, head: &Head<'_>) -> Result<(Framing, bool), FetchError> {
    let persistent = is_persistent(head);
    if method == Method::Head || matches!(head.status, 204 | 304) {
        return Ok((Framing::Length(0), persistent));
    }
    let coded = head.get("transfer-encoding").is_some();
    if coded && is_chunked(head)? {
        // Someone between the server and us may believe a length instead, or
        // speak a version that has no transfer codings: whatever follows on
        // this connection is not to be trusted (RFC 9112 section 6.1).
        let unambiguous = head.get("content-length").is_none() && head.minor_version >= 1;
        return Ok((Framing::Chunked, persistent && unambiguous));
    }
    Ok(match content_length(head)? {
        Some(length) => (Framing::Length(length), persistent && !coded),
        None => (Framing::UntilEnd, false),
    })
}

fn is_persistent(head: &Head<'_>) -> bool {
    let says =
        |option: &[u8]| head.list("connection").any(|element| element.eq_ignore_ascii_case(option));
    !says(b"close") && (head.minor_version >= 1 || says(b"keep-alive"))
}

/// Whether the transfer coding is `chunked`; the only other one understood is
/// the old `identity`, which says nothing.
fn is_chunked(head: &Head<'_>) -> Result<bool, FetchError> {
    let mut chunked = false;
    for coding in head.list("transfer-encoding") {
        if coding.eq_ignore_ascii_case(b"identity") {
            continue;
        }
        // Chunked must be the last coding, and may be applied only once.
        if chunked || !coding.eq_ignore_ascii_case(b"chunked") {
            return Err(protocol(format!(
                "Transfer-Encoding has '{}', which was not asked for",
                printable(coding)
            )));
        }
        chunked = true;
    }
    Ok(chunked)
}

/// The value of `Content-Length`, if there is one. It may be repeated, but not
/// contradicted (RFC 9110 section 8.6).
fn content_length(head: &Head<'_>) -> Result<Option<u64>, FetchError> {
    let mut length = None;
    for value in head.get_all("content-length") {
        for element in value.split(|&byte| byte == b',') {
            let next = decimal(element.trim_ascii()).ok_or_else(|| {
                let value = printable(value);
                protocol(format!("Content-Length '{value}' is not a length"))
            })?;
            if length.is_some_and(|length| length != next) {
                let value = printable(value);
                return Err(protocol(format!("Content-Length '{value}' contradicts another")));
            }
            length = Some(next);
        }
    }
    Ok(length)
}

/// One or more digits, and nothing else: no sign, no blank. A number beyond all
/// limits is one still (RFC 9110 section 8.6), and as good as the largest.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, byte| {
        let digit = char::from(*byte).to_digit(10)?;
        Some(value.saturating_mul(10).saturating_add(u64::from(digit)))
    })
}
