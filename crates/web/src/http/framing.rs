//! The framing of a response: the end of its body (RFC 9112 section 6.3) and
//! whether the connection persists after it (section 9.3).

use super::head::Head;
use super::request::Method;
use super::{printable, protocol};
use crate::FetchError;

/// The delimiter of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// A length in bytes, possibly 0.
    Length(u64),
    /// The chunked transfer coding: each chunk has its length before it.
    Chunked,
    /// The end of the connection.
    UntilEnd,
}

/// Returns the framing of the response to a request of `method`, and whether the
/// connection may be used for another request afterwards (keep-alive).
pub(super) fn framing(method: Method, head: &Head<'_>) -> Result<(Framing, bool), FetchError> {
    let persistent = is_persistent(head);
    if method == Method::Head || matches!(head.status, 204 | 304) {
        return Ok((Framing::Length(0), persistent));
    }
    let has_coding = head.get("transfer-encoding").is_some();
    if has_coding && is_chunked(head)? {
        // A proxy in between may use the length instead, or a version of HTTP
        // without transfer codings. Then later bytes on this connection cannot be
        // trusted (RFC 9112 section 6.1).
        let unambiguous = head.get("content-length").is_none() && head.minor_version >= 1;
        return Ok((Framing::Chunked, persistent && unambiguous));
    }
    Ok(match content_length(head)? {
        Some(length) => (Framing::Length(length), persistent && !has_coding),
        None => (Framing::UntilEnd, false),
    })
}

/// Returns true if the head allows another request on the connection.
fn is_persistent(head: &Head<'_>) -> bool {
    let has_option =
        |option: &[u8]| head.list("connection").any(|element| element.eq_ignore_ascii_case(option));
    !has_option(b"close") && (head.minor_version >= 1 || has_option(b"keep-alive"))
}

/// Returns true if the transfer coding is `chunked`. The only other one that is
/// accepted is the obsolete `identity`, which changes nothing.
fn is_chunked(head: &Head<'_>) -> Result<bool, FetchError> {
    let mut chunked = false;
    for coding in head.list("transfer-encoding") {
        if coding.eq_ignore_ascii_case(b"identity") {
            continue;
        }
        // Chunked must be the last coding, and may be applied only once.
        if chunked || !coding.eq_ignore_ascii_case(b"chunked") {
            return Err(protocol(format!(
                "Transfer-Encoding has '{}', which the request did not accept",
                printable(coding)
            )));
        }
        chunked = true;
    }
    Ok(chunked)
}

/// Returns the value of `Content-Length`, if there is one. It may be repeated,
/// but only with the same value (RFC 9110 section 8.6).
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
                return Err(protocol(format!(
                    "Content-Length '{value}' contradicts another Content-Length"
                )));
            }
            length = Some(next);
        }
    }
    Ok(length)
}

/// Parses one or more decimal digits, without a sign or a blank. A number that
/// does not fit is valid as well (RFC 9110 section 8.6): it saturates.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, byte| {
        let digit = char::from(*byte).to_digit(10)?;
        Some(value.saturating_mul(10).saturating_add(u64::from(digit)))
    })
}
