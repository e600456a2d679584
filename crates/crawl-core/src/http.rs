//! HTTP/1.1 (RFC 9112) as a pair of pure functions of bytes.
//!
//! 1. [`request()`] makes the bytes to send; a [`ResponseParser`] is fed the bytes
//!    that came, cut anywhere, and tells a [`Sink`] what they mean.
//! 2. What a response means does not depend on how it was cut.
//! 3. Whatever a server sends is an answer or a named error: every length,
//!    count and line here has a limit.
//! 4. Where a message ends is decided by the letter of RFC 9112 section 6, or
//!    refused; how a message looks is read as browsers read it.

mod chunked;
mod framing;
mod head;
mod header;
mod request;
mod response;

pub use head::Head;
pub use header::{BadHeader, Header};
pub use request::{is_header_value, request};
pub use response::{Limits, Method, Progress, ResponseParser, Sink};

use crate::{ErrorClass, FetchError};

/// How many bytes of a server's words an error message repeats.
const PRINTED: usize = 80;

/// Bytes from the network as text that is safe to show: one line of printable
/// ASCII, everything else escaped as in `\x1b`, and nothing after the first 80
/// bytes but an ellipsis.
pub fn printable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().min(PRINTED) + 3);
    for &byte in bytes.iter().take(PRINTED) {
        match byte {
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.extend(byte.escape_ascii().map(char::from)),
        }
    }
    if bytes.len() > PRINTED {
        text.push_str("...");
    }
    text
}

fn protocol(message: impl Into<String>) -> FetchError {
    FetchError::new(ErrorClass::Protocol, message)
}

fn too_large(message: impl Into<String>) -> FetchError {
    FetchError::new(ErrorClass::TooLarge, message)
}

/// The smaller of a number of bytes wanted and one of bytes there are.
fn at_most(wanted: u64, available: usize) -> usize {
    usize::try_from(wanted).map_or(available, |wanted| wanted.min(available))
}
