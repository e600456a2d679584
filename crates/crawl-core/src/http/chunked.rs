//! The chunked transfer coding (RFC 9112 section 7.1), one byte of framing at
//! a time and the data in the largest slices there are.

use super::{at_most, printable, protocol, too_large};
use crate::FetchError;

/// How many bytes of chunk extensions and trailers one body may carry in all,
/// zeros before a size included. Nobody uses them here, but a server could send
/// them for ever.
const MOST_EXTRAS: usize = 16 * 1024;

/// Where in a chunked body the decoder stands.
#[derive(Debug)]
pub(super) struct Chunked {
    state: State,
    /// The size of the current chunk while it is read, then what is left of it.
    left: u64,
    /// Whether its size has a digit yet.
    has_size: bool,
    extras: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In the digits of a chunk's size.
    Size,
    /// Between them and the end of the line: blanks or an extension.
    Extension,
    /// After the carriage return of that line.
    SizeEnd,
    Data,
    /// After the data, before its line end.
    DataEnd,
    /// After the carriage return behind the data.
    DataLineFeed,
    /// At the beginning of a line of the trailer section.
    Trailer,
    /// After a carriage return at the beginning of such a line.
    LastLineFeed,
    /// Within such a line.
    TrailerLine,
}

/// What the decoder makes of the beginning of its input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// It was framing; nothing comes of it.
    Framing,
    /// A chunk of this size begins.
    Size(u64),
    /// This many bytes from here on are data.
    Data(usize),
    /// The body ended with it.
    End,
}

impl Chunked {
    pub(super) fn new() -> Self {
        Self { state: State::Size, left: 0, has_size: false, extras: 0 }
    }

    /// Takes the beginning of `input` and says what it was: one byte of framing,
    /// or as much data as there is. All pieces but [`Piece::Data`] are one byte.
    pub(super) fn next(&mut self, input: &[u8]) -> Result<Piece, FetchError> {
        let Some(&byte) = input.first() else {
            return Ok(Piece::Data(0));
        };
        self.state = match (self.state, byte) {
            (State::Data, _) => return Ok(Piece::Data(self.take_data(input.len()))),

            (State::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => self.push_digit(byte)?,
            (State::Size, b'\r') if self.has_size => State::SizeEnd,
            (State::Size, b';' | b' ' | b'\t') if self.has_size => self.extra(State::Extension)?,
            (State::Extension, b'\r') => State::SizeEnd,
            // A line may end without its carriage return, as in the head.
            (State::Size, b'\n') if self.has_size => return Ok(self.begin_chunk()),
            (State::Extension | State::SizeEnd, b'\n') => return Ok(self.begin_chunk()),
            (State::Extension, _) => self.extra(State::Extension)?,

            (State::DataEnd, b'\r') => State::DataLineFeed,
            (State::DataEnd | State::DataLineFeed, b'\n') => State::Size,

            (State::Trailer, b'\r') => State::LastLineFeed,
            (State::Trailer | State::LastLineFeed, b'\n') => return Ok(Piece::End),
            (State::TrailerLine, b'\n') => State::Trailer,
            (State::Trailer | State::TrailerLine, _) => self.extra(State::TrailerLine)?,

            (state, byte) => return Err(misplaced(state, byte)),
        };
        Ok(Piece::Framing)
    }

    fn take_data(&mut self, available: usize) -> usize {
        let data = at_most(self.left, available);
        self.left -= data as u64;
        if self.left == 0 {
            self.state = State::DataEnd;
        }
        data
    }

    /// A size may have any number of digits, and must not overflow (RFC 9112
    /// section 7.1). Zeros in front of it could go on for ever.
    fn push_digit(&mut self, digit: u8) -> Result<State, FetchError> {
        let is_leading_zero = self.has_size && self.left == 0;
        let value = char::from(digit).to_digit(16).unwrap_or_default();
        self.left = match self.left.checked_mul(16) {
            Some(left) => left | u64::from(value),
            None => return Err(too_large("a chunk is longer than anything that can be counted")),
        };
        self.has_size = true;
        if is_leading_zero { self.extra(State::Size) } else { Ok(State::Size) }
    }

    fn extra(&mut self, next: State) -> Result<State, FetchError> {
        self.extras += 1;
        if self.extras > MOST_EXTRAS {
            return Err(too_large(format!(
                "chunk extensions and trailers are longer than {MOST_EXTRAS} bytes"
            )));
        }
        Ok(next)
    }

    fn begin_chunk(&mut self) -> Piece {
        self.has_size = false;
        self.state = match self.left {
            0 => State::Trailer,
            _ => State::Data,
        };
        Piece::Size(self.left)
    }
}

fn misplaced(state: State, byte: u8) -> FetchError {
    let place = match state {
        State::Size => "where a chunk size should be",
        State::SizeEnd | State::Extension => "where the line of a chunk size should end",
        State::DataEnd | State::DataLineFeed => "where a chunk should end",
        _ => "where the trailer section should end",
    };
    protocol(format!("'{}' {place}", printable(&[byte])))
}
