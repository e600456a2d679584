//! A decoder of the chunked transfer coding (RFC 9112 section 7.1). It reads the
//! framing byte by byte and passes the data on in slices as large as possible.

use super::{at_most, printable, protocol, too_large};
use crate::FetchError;

/// The maximum number of bytes of chunk extensions, trailers and zeros before a
/// size in one body. They are ignored, but a server could send them for ever.
const MAX_EXTRA_BYTES: usize = 16 * 1024;

/// The state of the decoder of one chunked body.
#[derive(Debug)]
pub(super) struct Chunked {
    state: State,
    /// The size of the current chunk while it is read, then the number of its
    /// bytes that are still to come.
    remaining: u64,
    /// True once the size of the current chunk has a digit.
    has_digit: bool,
    /// The number of bytes counted against [`MAX_EXTRA_BYTES`].
    extra_bytes: usize,
}

/// The position in the grammar of a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In the digits of a chunk's size.
    Size,
    /// After the digits, before the end of the line: blanks or an extension.
    Extension,
    /// After the carriage return of the line of a size.
    SizeEnd,
    /// In the data of a chunk.
    Data,
    /// After the data, before the line end that follows it.
    DataEnd,
    /// After the carriage return behind the data.
    DataLineFeed,
    /// At the beginning of a line of the trailer section.
    Trailer,
    /// After a carriage return at the beginning of a line of the trailer section.
    LastLineFeed,
    /// Within a line of the trailer section.
    TrailerLine,
}

/// The meaning of the first bytes of an input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// One byte of framing, which can be ignored.
    Framing,
    /// The last byte of the line with the size of a chunk: that many bytes of data
    /// follow.
    Size(u64),
    /// The first bytes, this many, are data.
    Data(usize),
    /// The last byte of the body.
    End,
}

impl Chunked {
    /// Creates a decoder at the beginning of a body.
    pub(super) fn new() -> Self {
        Self { state: State::Size, remaining: 0, has_digit: false, extra_bytes: 0 }
    }

    /// Takes one byte of framing, or as much data as there is, from the beginning
    /// of `input` and returns its meaning. Every piece but [`Piece::Data`] is one
    /// byte long.
    pub(super) fn next(&mut self, input: &[u8]) -> Result<Piece, FetchError> {
        let Some(&byte) = input.first() else {
            return Ok(Piece::Data(0));
        };
        self.state = match (self.state, byte) {
            (State::Data, _) => return Ok(Piece::Data(self.take_data(input.len()))),

            (State::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => self.push_digit(byte)?,
            (State::Size, b'\r') if self.has_digit => State::SizeEnd,
            (State::Size, b';' | b' ' | b'\t') if self.has_digit => {
                self.count_extra(State::Extension)?
            }
            (State::Extension, b'\r') => State::SizeEnd,
            // A line may end without its carriage return, as in the head.
            (State::Size, b'\n') if self.has_digit => return Ok(self.begin_chunk()),
            (State::Extension | State::SizeEnd, b'\n') => return Ok(self.begin_chunk()),
            (State::Extension, _) => self.count_extra(State::Extension)?,

            (State::DataEnd, b'\r') => State::DataLineFeed,
            (State::DataEnd | State::DataLineFeed, b'\n') => State::Size,

            (State::Trailer, b'\r') => State::LastLineFeed,
            (State::Trailer | State::LastLineFeed, b'\n') => return Ok(Piece::End),
            (State::TrailerLine, b'\n') => State::Trailer,
            (State::Trailer | State::TrailerLine, _) => self.count_extra(State::TrailerLine)?,

            (state, byte) => return Err(misplaced(state, byte)),
        };
        Ok(Piece::Framing)
    }

    fn take_data(&mut self, available: usize) -> usize {
        let data = at_most(self.remaining, available);
        self.remaining -= data as u64;
        if self.remaining == 0 {
            self.state = State::DataEnd;
        }
        data
    }

    /// Appends a digit to the size of the chunk. A size may have any number of
    /// digits and must not overflow (RFC 9112 section 7.1). Leading zeros are
    /// counted as extra bytes, because they could go on for ever.
    fn push_digit(&mut self, digit: u8) -> Result<State, FetchError> {
        let is_leading_zero = self.has_digit && self.remaining == 0;
        let value = char::from(digit).to_digit(16).unwrap_or_default();
        self.remaining = match self.remaining.checked_mul(16) {
            Some(remaining) => remaining | u64::from(value),
            None => return Err(too_large("a chunk is longer than a length that can be counted")),
        };
        self.has_digit = true;
        if is_leading_zero { self.count_extra(State::Size) } else { Ok(State::Size) }
    }

    /// Counts an ignored byte against [`MAX_EXTRA_BYTES`].
    fn count_extra(&mut self, next: State) -> Result<State, FetchError> {
        self.extra_bytes += 1;
        if self.extra_bytes > MAX_EXTRA_BYTES {
            return Err(too_large(format!(
                "chunk extensions and trailers are longer than {MAX_EXTRA_BYTES} bytes"
            )));
        }
        Ok(next)
    }

    fn begin_chunk(&mut self) -> Piece {
        self.has_digit = false;
        self.state = match self.remaining {
            0 => State::Trailer,
            _ => State::Data,
        };
        Piece::Size(self.remaining)
    }
}

/// Returns the error for a byte that the grammar does not allow in `state`.
fn misplaced(state: State, byte: u8) -> FetchError {
    let expected = match state {
        State::Size => "where a chunk size should be",
        State::SizeEnd | State::Extension => "where the line of a chunk size should end",
        State::DataEnd | State::DataLineFeed => "where a chunk should end",
        _ => "where the trailer section should end",
    };
    protocol(format!("'{}' {expected}", printable(&[byte])))
}
