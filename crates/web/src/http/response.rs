//! A streaming parser of responses. The bytes may arrive in slices of any size.

use super::chunked::{Chunked, Piece};
use super::framing::{Framing, framing};
use super::head::{self, Head};
use super::request::Method;
use super::{at_most, printable, protocol, too_large};
use crate::{ErrorClass, FetchError};

/// The first bytes of every HTTP/1 response.
const PREFIX: &[u8] = b"HTTP/1.";

/// The maximum number of provisional (informational, 1xx) responses before the
/// final one. Servers that work for a long time send one every few seconds (102 Processing).
const MAX_PROVISIONAL: u8 = 100;

/// The length of the longest file that an operating system can have, in bytes. A
/// longer body is nonsense, whatever becomes of it.
const MAX_FILE_LEN: u64 = i64::MAX as u64;

/// The limits of a response. Crossing one of them is an error of class
/// [`ErrorClass::TooLarge`] that names the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of all heads together, in bytes, those of provisional
    /// responses included.
    pub head: usize,
    /// The maximum number of headers in one head; values above 256 count as 256.
    pub headers: usize,
    /// The maximum size of the body in bytes, after the transfer coding is decoded,
    /// unless [`Sink::has_body_limit`] returns false.
    pub body: u64,
}

impl Default for Limits {
    /// Returns 64 KiB of head, 128 headers and 10 MiB of body.
    fn default() -> Self {
        Self { head: 64 * 1024, headers: 128, body: 10 * 1024 * 1024 }
    }
}

/// A receiver of the parts of a response, which a [`ResponseParser`] calls in
/// their order. An error from a sink ends the response, and
/// [`ResponseParser::feed`] returns it.
pub trait Sink {
    /// Receives the head of the final response. Called once, before any body.
    ///
    /// # Errors
    /// Returns an error to refuse the rest of the response.
    fn head(&mut self, head: &Head<'_>) -> Result<(), FetchError>;

    /// Returns false if the body may have any length, because the sink ends it where
    /// it has enough. Asked once, after the head.
    fn has_body_limit(&self) -> bool {
        true
    }

    /// Receives the next bytes of the body, at least one. The division of the body
    /// into calls means nothing.
    ///
    /// # Errors
    /// Returns an error to refuse the rest of the response.
    fn body(&mut self, bytes: &[u8]) -> Result<(), FetchError>;
}

/// The progress of a response after some bytes were fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The response is not complete: more bytes, or the end of the connection,
    /// must follow.
    NeedMore,
    /// The response is complete.
    Complete {
        /// The number of bytes just fed that lie behind the end of the response.
        /// They belong to no request, so if there are any, the connection must not
        /// be used again.
        unread: usize,
    },
}

/// A streaming parser of one response. It keeps no bytes, except those of a head
/// that arrives in pieces, until the head is complete.
#[derive(Debug)]
pub struct ResponseParser {
    method: Method,
    limits: Limits,
    state: State,
    /// The beginning of a head whose end has not arrived yet.
    partial: Vec<u8>,
    /// The number of bytes of heads that have been read, without `partial`.
    head_bytes: usize,
    /// The number of bytes of the body that have been read.
    body_bytes: u64,
    /// The number of provisional responses that have been read.
    provisional: u8,
    /// True once any byte has arrived.
    begun: bool,
    /// True if the head allows another request on the connection, and nothing has
    /// been found to the contrary.
    keep_alive: bool,
}

/// The part of the response that comes next.
#[derive(Debug)]
enum State {
    /// A head, provisional or final.
    Head,
    /// A body of a known length.
    Length { expected: u64 },
    /// A body in chunks.
    Chunked(Chunked),
    /// A body that ends with the connection.
    UntilEnd,
    /// Nothing: the response is complete.
    Complete,
    /// Nothing: an error has ended the response.
    Failed,
}

impl ResponseParser {
    /// Creates a parser for the response to one request of `method`.
    pub fn new(method: Method, limits: Limits) -> Self {
        Self {
            method,
            limits,
            state: State::Head,
            partial: Vec::new(),
            head_bytes: 0,
            body_bytes: 0,
            provisional: 0,
            begun: false,
            keep_alive: false,
        }
    }

    /// Parses the next bytes and calls `sink` with the head and the body in them,
    /// which borrow from `input`. The work is proportional to the length of
    /// `input`.
    ///
    /// # Errors
    /// Returns [`ErrorClass::Protocol`] if the bytes are not a response as RFC 9112
    /// defines it, [`ErrorClass::TooLarge`] if the response crosses a limit, and
    /// any error of `sink`. An error ends the response, and the connection must not
    /// be used again.
    pub fn feed(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<Progress, FetchError> {
        self.begun |= !input.is_empty();
        let progress = self.advance(input, sink);
        match progress {
            Ok(Progress::Complete { unread: 1.. }) => self.keep_alive = false,
            Ok(_) => {}
            Err(_) => {
                self.partial = Vec::new();
                self.state = State::Failed;
            }
        }
        progress
    }

    /// Handles the end of the connection. Returns `Ok` if the response is complete;
    /// a body without a length is complete now.
    ///
    /// # Errors
    /// Returns [`ErrorClass::Closed`] if nothing of the response has arrived,
    /// [`ErrorClass::Truncated`] if only a part of it has, and [`ErrorClass::Protocol`]
    /// after an error of [`ResponseParser::feed`].
    pub fn end(&mut self) -> Result<(), FetchError> {
        let arrived = self.body_bytes;
        let message = match &self.state {
            State::Complete => return Ok(()),
            State::UntilEnd => {
                self.state = State::Complete;
                return Ok(());
            }
            State::Head if !self.begun => {
                let message = "the connection was closed before a response began";
                return Err(FetchError::new(ErrorClass::Closed, message));
            }
            State::Head => {
                let bytes = self.head_bytes + self.partial.len();
                format!("the connection was closed after {bytes} bytes of the head")
            }
            State::Length { expected } => {
                format!("the connection was closed after {arrived} of {expected} bytes of the body")
            }
            State::Chunked(_) => {
                format!(
                    "the connection was closed after {arrived} bytes of a chunked body, before its end"
                )
            }
            State::Failed => return Err(already_failed()),
        };
        Err(FetchError::new(ErrorClass::Truncated, message))
    }

    /// Returns true if another request may be sent on this connection: the response
    /// is complete, its end is unambiguous, no bytes came after it, and the server
    /// has not announced that it closes the connection (RFC 9112 section 9.3).
    pub fn keep_alive(&self) -> bool {
        self.keep_alive && matches!(self.state, State::Complete)
    }

    /// Returns true if the head has arrived, and the body ends with the connection.
    pub fn ends_with_connection(&self) -> bool {
        matches!(self.state, State::UntilEnd)
    }

    /// Returns the length of the body that is arriving, if the head gives it.
    pub fn content_length(&self) -> Option<u64> {
        match self.state {
            State::Length { expected } => Some(expected),
            _ => None,
        }
    }

    /// Returns true once any byte of the response has arrived.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Moves from state to state until the input is used up.
    fn advance(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<Progress, FetchError> {
        let mut rest = input;
        loop {
            rest = match &mut self.state {
                State::Complete => return Ok(Progress::Complete { unread: rest.len() }),
                State::Failed => return Err(already_failed()),
                _ if rest.is_empty() => return Ok(Progress::NeedMore),
                State::Head => self.take_head(rest, sink)?,
                State::Length { expected } => {
                    let remaining = *expected - self.body_bytes;
                    let data = at_most(remaining, rest.len());
                    if data as u64 == remaining {
                        self.state = State::Complete;
                    }
                    self.take_body(rest, data, sink)?
                }
                State::Chunked(chunked) => match chunked.next(rest)? {
                    Piece::Data(data) => self.take_body(rest, data, sink)?,
                    Piece::Size(size) => {
                        self.check_body(self.body_bytes.saturating_add(size))?;
                        &rest[1..]
                    }
                    Piece::Framing => &rest[1..],
                    Piece::End => {
                        self.state = State::Complete;
                        &rest[1..]
                    }
                },
                State::UntilEnd => {
                    // The sink receives all that the limit allows before the
                    // error, however the bytes were cut.
                    let room = self.limits.body - self.body_bytes;
                    let data = at_most(room, rest.len());
                    let excess = self.take_body(rest, data, sink)?;
                    self.check_body(self.body_bytes.saturating_add(excess.len() as u64))?;
                    excess
                }
            };
        }
    }

    /// Passes the first `data` bytes of `input` to the sink and returns the others.
    fn take_body<'i>(
        &mut self,
        input: &'i [u8],
        data: usize,
        sink: &mut impl Sink,
    ) -> Result<&'i [u8], FetchError> {
        let (data, rest) = input.split_at(data);
        self.body_bytes += data.len() as u64;
        if !data.is_empty() {
            sink.body(data)?;
        }
        Ok(rest)
    }

    /// Returns an error if a body of this many bytes is above the limit.
    fn check_body(&self, bytes: u64) -> Result<(), FetchError> {
        let limit = self.limits.body;
        if bytes > limit {
            return Err(too_large(format!("the body is longer than {limit} bytes")));
        }
        Ok(())
    }

    /// Reads a head, or as much of it as has arrived, from the beginning of `input`
    /// and returns the bytes behind it.
    fn take_head<'i>(
        &mut self,
        input: &'i [u8],
        sink: &mut impl Sink,
    ) -> Result<&'i [u8], FetchError> {
        let mut input = input;
        if self.partial.is_empty() {
            // Some servers send an extra empty line after a body; it arrives before
            // the next head.
            let blank = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            self.head_bytes += blank;
            input = &input[blank..];
        }
        let room = self.limits.head.saturating_sub(self.head_bytes);
        let searched = self.partial.len();
        let window = &input[..input.len().min(room.saturating_sub(searched))];
        if searched == 0
            && let Some(end) = end_of_head(window, 0)
        {
            // The usual case: the head is in one slice and is parsed in place.
            self.accept_head(&window[..end], sink)?;
            return Ok(&input[end..]);
        }
        self.partial.extend_from_slice(window);
        check_prefix(&self.partial)?;
        if let Some(end) = end_of_head(&self.partial, searched) {
            let head = std::mem::take(&mut self.partial);
            self.accept_head(&head[..end], sink)?;
            return Ok(&input[end - searched..]);
        }
        if self.partial.len() >= room {
            let limit = self.limits.head;
            return Err(too_large(format!("the head is longer than {limit} bytes")));
        }
        Ok(&[])
    }

    /// Parses a complete head and sets the state for the part that follows it.
    fn accept_head(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<(), FetchError> {
        self.head_bytes += bytes.len();
        head::parse(bytes, self.limits.headers, |head| match head.status {
            101 => Err(protocol("101 Switching Protocols, which the request did not offer")),
            100..=199 => {
                self.provisional += 1;
                if self.provisional > MAX_PROVISIONAL {
                    return Err(protocol(format!(
                        "more than {MAX_PROVISIONAL} provisional responses"
                    )));
                }
                Ok(())
            }
            _ => {
                let (framing, keep_alive) = framing(self.method, head)?;
                self.keep_alive = keep_alive;
                sink.head(head)?;
                if !sink.has_body_limit() {
                    self.limits.body = MAX_FILE_LEN;
                }
                self.state = match framing {
                    Framing::Length(0) => State::Complete,
                    Framing::Length(expected) => {
                        self.check_body(expected)?;
                        State::Length { expected }
                    }
                    Framing::Chunked => State::Chunked(Chunked::new()),
                    Framing::UntilEnd => State::UntilEnd,
                };
                Ok(())
            }
        })
    }
}

/// Returns an error if the first bytes are not those of a response. So another
/// protocol is refused without waiting for the end of its line.
fn check_prefix(bytes: &[u8]) -> Result<(), FetchError> {
    let length = bytes.len().min(PREFIX.len());
    if bytes[..length] == PREFIX[..length] {
        return Ok(());
    }
    Err(protocol(format!("the response begins with '{}', not with HTTP/1", printable(bytes))))
}

/// Returns the end of the head: the position behind its first empty line. The
/// first `searched` bytes are known to contain none.
fn end_of_head(bytes: &[u8], searched: usize) -> Option<usize> {
    // An empty line may begin in the last two bytes that were searched before.
    let mut from = searched.saturating_sub(2);
    loop {
        let line_feed = from + bytes.get(from..)?.iter().position(|&byte| byte == b'\n')?;
        match bytes.get(line_feed + 1..) {
            Some([b'\n', ..]) => return Some(line_feed + 2),
            Some([b'\r', b'\n', ..]) => return Some(line_feed + 3),
            _ => from = line_feed + 1,
        }
    }
}

fn already_failed() -> FetchError {
    protocol("the response has failed before")
}
