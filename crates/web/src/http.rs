//! HTTP/1.1 (RFC 9112): a request writer and a streaming response parser, both
//! without IO.
//!
//! 1. [`request()`] returns the bytes to send. A [`ResponseParser`] takes the bytes
//!    received, cut anywhere, and calls a [`Sink`] with the head and the body.
//! 2. The result does not depend on how the response was cut.
//! 3. Every input ends in a response or in a named error: every length, count and
//!    line has a limit.
//! 4. The end of a message is decided strictly by RFC 9112 section 6, or the
//!    message is refused. The syntax of a head is read as leniently as browsers
//!    read it.

mod chunked;
mod framing;
mod head;
mod header;
mod request;
mod response;
mod retry_after;

pub use head::Head;
pub use header::{BadHeader, Header, is_header_value};
pub use request::{Method, request};
pub use response::{Limits, Progress, ResponseParser, Sink};
pub use retry_after::retry_after;

use std::borrow::Cow;

use percent_encoding::{AsciiSet, percent_encode};

use crate::{ErrorClass, FetchError};

/// The maximum number of received bytes that an error message quotes.
const MAX_PRINTED: usize = 80;

/// Returns bytes from the network as text that is safe to show: one line of
/// printable ASCII. Other bytes are escaped as in `\x1b`, and an ellipsis stands
/// for all that follows the first 80 bytes.
pub fn printable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().min(MAX_PRINTED) + 3);
    for &byte in bytes.iter().take(MAX_PRINTED) {
        match byte {
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.extend(byte.escape_ascii().map(char::from)),
        }
    }
    if bytes.len() > MAX_PRINTED {
        text.push_str("...");
    }
    text
}

/// Returns the value of a header as text, for the URLs in it. If it is not UTF-8, its bytes
/// that are not ASCII are percent-encoded, as browsers do: `/caf\xe9` is `/caf%E9`.
pub fn text_of_header(value: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(value) {
        Ok(text) => text.into(),
        Err(_) => percent_encode(value, &AsciiSet::EMPTY).into(),
    }
}

fn protocol(message: impl Into<String>) -> FetchError {
    FetchError::new(ErrorClass::Protocol, message)
}

fn too_large(message: impl Into<String>) -> FetchError {
    FetchError::new(ErrorClass::TooLarge, message)
}

/// Returns the smaller of two numbers of bytes, of which only the second one is
/// known to fit into a `usize`.
fn at_most(wanted: u64, available: usize) -> usize {
    usize::try_from(wanted).map_or(available, |wanted| wanted.min(available))
}
