//! Reading a response from bytes that arrive in any slices.

use super::chunked::{Chunked, Piece};
use super::framing::{Framing, framing};
use super::head::{self, Head};
use super::{at_most, printable, protocol, too_large};
use crate::{ErrorClass, FetchError};

/// How every response begins that can be understood here.
const PREFIX: &[u8] = b"HTTP/1.";

/// How many provisional (1xx) responses may come before the final one.
const MOST_PROVISIONAL: u8 = 8;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The response may have a body.
    Get,
    /// The response is a head only, whatever its headers say.
    Head,
}

/// How much of a response is taken. Crossing one of these is an error of class
/// [`ErrorClass::TooLarge`] that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all heads together, those of provisional responses included.
    pub head: usize,
    /// Headers of one head; more than 256 are never taken.
    pub headers: usize,
    /// Bytes of the body, counted after the transfer coding is undone.
    pub body: u64,
}

impl Default for Limits {
    /// 64 KiB of head, 128 headers, 10 MiB of body.
    fn default() -> Self {
        Self { head: 64 * 1024, headers: 128, body: 10 * 1024 * 1024 }
    }
}

/// What a [`ResponseParser`] tells of the response, in its order. An error from
/// a sink ends the response and is returned by [`ResponseParser::feed`].
pub trait Sink {
    /// The head of the final response. Called once, before any body.
    ///
    /// # Errors
    /// When the rest of the response is not wanted.
    fn head(&mut self, head: &Head<'_>) -> Result<(), FetchError>;

    /// The next bytes of the body, never none. How the body is divided into
    /// calls means nothing.
    ///
    /// # Errors
    /// When the rest of the response is not wanted.
    fn body(&mut self, bytes: &[u8]) -> Result<(), FetchError>;
}

/// How far a response has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes, or the end of the connection, have to come.
    NeedMore,
    /// The response is complete.
    Complete {
        /// How many of the bytes just fed lie behind it. Nobody asked for them,
        /// so if there are any, the connection must not be used again.
        unread: usize,
    },
}

/// Reads one response. It keeps no bytes, except those of a head that came in
/// pieces, until the head is whole.
#[derive(Debug)]
pub struct ResponseParser {
    method: Method,
    limits: Limits,
    state: State,
    /// The beginning of a head whose end has not come yet.
    partial: Vec<u8>,
    /// How many bytes of heads have been taken, without `partial`.
    head_bytes: usize,
    body_bytes: u64,
    provisional: u8,
    begun: bool,
    keep_alive: bool,
}

#[derive(Debug)]
enum State {
    Head,
    Length { expected: u64 },
    Chunked(Chunked),
    UntilEnd,
    Complete,
    Failed,
}

impl ResponseParser {
    /// A parser for the response to one request.
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

    /// Takes bytes as they arrived and calls `sink` with what they mean,
    /// borrowing from `input`. The work is proportional to its length.
    ///
    /// # Errors
    /// [`ErrorClass::Protocol`] when this is not a response as RFC 9112 has it,
    /// [`ErrorClass::TooLarge`] when it crosses a limit, and whatever `sink`
    /// returns. The response is over then, and so is the connection.
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

    /// The connection has ended. `Ok` if the response was complete, or is now.
    ///
    /// # Errors
    /// [`ErrorClass::Closed`] when nothing of a response has come,
    /// [`ErrorClass::Truncated`] when some of it has.
    pub fn end(&mut self) -> Result<(), FetchError> {
        let got = self.body_bytes;
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
                format!("the connection was closed after {got} of {expected} bytes of the body")
            }
            State::Chunked(_) => {
                format!(
                    "the connection was closed after {got} bytes of a chunked body, before its end"
                )
            }
            State::Failed => return Err(already_failed()),
        };
        Err(FetchError::new(ErrorClass::Truncated, message))
    }

    /// Whether another request may follow on this connection: the response is
    /// complete, its end was beyond doubt, nothing came after it, and the server
    /// did not say that it would close (RFC 9112 section 9.3).
    pub fn keep_alive(&self) -> bool {
        self.keep_alive && matches!(self.state, State::Complete)
    }

    /// Whether any byte has come.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    fn advance(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<Progress, FetchError> {
        let mut rest = input;
        loop {
            rest = match &mut self.state {
                State::Complete => return Ok(Progress::Complete { unread: rest.len() }),
                State::Failed => return Err(already_failed()),
                _ if rest.is_empty() => return Ok(Progress::NeedMore),
                State::Head => self.take_head(rest, sink)?,
                State::Length { expected } => {
                    let left = *expected - self.body_bytes;
                    let data = at_most(left, rest.len());
                    if data as u64 == left {
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
                    // The sink gets all that is allowed before it gets the
                    // error, however the bytes were cut.
                    let room = self.limits.body - self.body_bytes;
                    let data = at_most(room, rest.len());
                    let after = self.take_body(rest, data, sink)?;
                    self.check_body(self.body_bytes.saturating_add(after.len() as u64))?;
                    after
                }
            };
        }
    }

    /// Hands the first `data` bytes of `input` to the sink; the others remain.
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

    fn check_body(&self, bytes: u64) -> Result<(), FetchError> {
        let limit = self.limits.body;
        if bytes > limit {
            return Err(too_large(format!("the body is longer than {limit} bytes")));
        }
        Ok(())
    }

    /// Takes a head, or as much of it as has come, from the beginning of
    /// `input`; what lies behind it remains.
    fn take_head<'i>(
        &mut self,
        input: &'i [u8],
        sink: &mut impl Sink,
    ) -> Result<&'i [u8], FetchError> {
        let mut input = input;
        if self.partial.is_empty() {
            // Some servers end a body with a line too many, which arrives here.
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
            // The usual case: the head lies in one slice and is read in place.
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

    /// Decides what follows a complete head.
    fn accept_head(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<(), FetchError> {
        self.head_bytes += bytes.len();
        head::parse(bytes, self.limits.headers, |head| match head.status {
            101 => Err(protocol("101 Switching Protocols, which was not asked for")),
            100..=199 => {
                self.provisional += 1;
                if self.provisional > MOST_PROVISIONAL {
                    return Err(protocol(format!(
                        "more than {MOST_PROVISIONAL} provisional responses"
                    )));
                }
                Ok(())
            }
            _ => {
                let (framing, keep_alive) = framing(self.method, head)?;
                self.keep_alive = keep_alive;
                sink.head(head)?;
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

/// The first bytes of a response say whether it is one at all; what says
/// something else is not waited for any longer.
fn check_prefix(bytes: &[u8]) -> Result<(), FetchError> {
    let length = bytes.len().min(PREFIX.len());
    if bytes[..length] == PREFIX[..length] {
        return Ok(());
    }
    Err(protocol(format!("the response begins with '{}', not with HTTP/1", printable(bytes))))
}

/// Where the head ends: behind its first empty line. The first `searched` bytes
/// are known not to hold one.
fn end_of_head(bytes: &[u8], searched: usize) -> Option<usize> {
    // An empty line may have begun in the bytes searched before.
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
