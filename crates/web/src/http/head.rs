//! The head of a response: status line and headers, as views of the bytes.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use httparse::{Error, Header, ParserConfig, Response, Status};
use memchr::{memchr, memchr_iter};

use super::{printable, protocol, too_large};
use crate::FetchError;

/// The maximum value of [`Limits::headers`](super::Limits).
const MAX_HEADERS: usize = 256;

/// The head of the final response. It borrows the bytes that were fed, and lives
/// as long as the call of [`Sink::head`](super::Sink::head).
#[derive(Debug)]
pub struct Head<'a> {
    /// The status code: three digits, never 1xx.
    pub status: u16,
    /// The minor version: 0 for HTTP/1.0, 1 for HTTP/1.1.
    pub(super) minor_version: u8,
    headers: &'a [Header<'a>],
}

impl<'a> Head<'a> {
    /// Returns the value of the first header called `name`, in upper or lower
    /// case: the bytes that the server sent, without the blanks around them.
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.get_all(name).next()
    }

    /// Returns the values of all headers called `name`, in upper or lower case, in
    /// their order.
    pub fn get_all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.headers
            .iter()
            .filter(move |header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value)
    }

    /// Returns the elements of a header that is a comma-separated list, from all
    /// its lines, without empty ones (RFC 9110 section 5.6.1).
    pub(super) fn list(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.get_all(name)
            .flat_map(|value| value.split(|&byte| byte == b','))
            .map(<[u8]>::trim_ascii)
            .filter(|element| !element.is_empty())
    }
}

/// Parses `bytes`, which end with the empty line that ends a head, and calls
/// `then` with the head.
///
/// Parses as leniently as browsers do: a line may end without a carriage return,
/// and a line that is no header is skipped, unless it would have decided where the
/// body ends. That is safe, because the parsed bytes are not sent on to another
/// program that could read them differently (request smuggling).
pub(super) fn parse<T>(
    bytes: &[u8],
    max_headers: usize,
    then: impl FnOnce(&Head<'_>) -> Result<T, FetchError>,
) -> Result<T, FetchError> {
    let mut slots = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let max_headers = max_headers.min(MAX_HEADERS);
    let sent = bytes;
    let bytes = &*with_readable_status_line(sent);
    let mut response = Response::new(&mut []);
    let parsed = ParserConfig::default()
        .allow_multiple_spaces_in_response_status_delimiters(true)
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .ignore_invalid_headers_in_responses(true)
        .parse_response_with_uninit_headers(&mut response, bytes, &mut slots[..max_headers]);
    match parsed {
        Ok(Status::Complete(_)) if lost_framing_header(bytes, response.headers) => {
            Err(protocol("a header that gives the length of the body cannot be understood"))
        }
        Ok(Status::Complete(_)) => then(&Head {
            status: response.code.unwrap_or_default(),
            minor_version: response.version.unwrap_or_default(),
            headers: response.headers,
        }),
        Ok(Status::Partial) => Err(protocol("the head of the response is incomplete")),
        Err(Error::TooManyHeaders) => {
            Err(too_large(format!("the response has more than {max_headers} headers")))
        }
        Err(error @ (Error::Version | Error::Status)) => {
            Err(protocol(format!("{error} in the status line '{}'", printable(first_line(sent)))))
        }
        Err(error) => Err(protocol(format!("{error} in the head of the response"))),
    }
}

/// Makes the status line one that the parser accepts: replaces an unknown higher minor
/// version by the highest known one, 1 (RFC 9110 section 2.5), and control characters in
/// the reason phrase, which means nothing, by blanks (as RFC 9112 section 2.2 allows for
/// a bare carriage return).
fn with_readable_status_line(bytes: &[u8]) -> Cow<'_, [u8]> {
    const MINOR: usize = "HTTP/1.".len();
    const REASON: usize = "HTTP/1.1 200 ".len();
    let mut readable = Cow::Borrowed(bytes);
    if matches!(bytes.get(MINOR), Some(b'2'..=b'9')) {
        readable.to_mut()[MINOR] = b'1';
    }
    let line_end = memchr(b'\n', bytes).unwrap_or(bytes.len());
    let line_end = line_end - usize::from(bytes[..line_end].ends_with(b"\r"));
    let reason = REASON..line_end.max(REASON);
    if bytes.get(reason.clone()).is_some_and(|reason| reason.iter().any(u8::is_ascii_control)) {
        for byte in &mut readable.to_mut()[reason] {
            *byte = if byte.is_ascii_control() { b' ' } else { *byte };
        }
    }
    readable
}

/// Returns true if one of the skipped lines has the name of a header on which the
/// framing depends.
fn lost_framing_header(bytes: &[u8], headers: &[Header<'_>]) -> bool {
    // No line was skipped if there is a line for each header, and two more: the
    // status line and the empty line.
    if memchr_iter(b'\n', bytes).count() == headers.len() + 2 {
        return false;
    }
    ["transfer-encoding", "content-length"].iter().any(|name| {
        let has_name = |line: &&[u8]| {
            let (start, rest) = line.split_at_checked(name.len()).unwrap_or_default();
            let is_longer = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
            start.eq_ignore_ascii_case(name.as_bytes()) && !rest.first().is_some_and(is_longer)
        };
        let lines = bytes.split(|&byte| byte == b'\n').filter(has_name).count();
        lines != headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name)).count()
    })
}

fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii_end()
}
