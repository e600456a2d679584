//! The deflate coding, and the stream that gzip has in common with it.

use flate2::{Decompress, FlushDecompress, Status};

use super::{Codec, Coding, Output, corrupt};
use crate::FetchError;

/// RFC 9110 section 8.4.1.2 means the zlib format (RFC 1950) by "deflate". Some
/// servers took the name for what it says and send the bare stream (RFC 1951).
pub(super) enum Deflate {
    /// Which of the two it is, its first two bytes say.
    Undecided {
        first: Option<u8>,
    },
    Stream(Decompress),
    Ended,
}

impl Deflate {
    pub(super) fn new() -> Self {
        Self::Undecided { first: None }
    }
}

impl Codec for Deflate {
    fn feed(
        &mut self,
        input: &[u8],
        scratch: &mut [u8],
        out: &mut Output<'_>,
    ) -> Result<(), FetchError> {
        match self {
            Self::Undecided { first } => match (*first, input) {
                (_, []) => Ok(()),
                (None, &[byte, ref rest @ ..]) => {
                    *first = Some(byte);
                    self.feed(rest, scratch, out)
                }
                (Some(first), &[second, ..]) => {
                    *self = Self::Stream(Decompress::new(is_zlib_header(first, second)));
                    self.feed(&[first], scratch, out)?;
                    self.feed(input, scratch, out)
                }
            },
            Self::Stream(stream) => {
                if inflate(stream, Coding::Deflate, input, scratch, out)?.is_some() {
                    *self = Self::Ended;
                }
                Ok(())
            }
            Self::Ended => Ok(()),
        }
    }

    fn is_complete(&self) -> bool {
        matches!(self, Self::Ended)
    }
}

/// RFC 1950 section 2.2: the method is 8, and both bytes together are a multiple
/// of 31. A bare stream begins so only if its first block is a stored one, with
/// a bit set in the padding, which no encoder does.
fn is_zlib_header(first: u8, second: u8) -> bool {
    first & 0x0f == 8 && u16::from_be_bytes([first, second]).is_multiple_of(31)
}

/// Decodes `input` up to the end of the stream and gives what lies behind it, or
/// None if the stream goes on.
pub(super) fn inflate<'i>(
    stream: &mut Decompress,
    coding: Coding,
    mut input: &'i [u8],
    scratch: &mut [u8],
    out: &mut Output<'_>,
) -> Result<Option<&'i [u8]>, FetchError> {
    loop {
        let (taken_before, made_before) = (stream.total_in(), stream.total_out());
        let status = stream.decompress(input, scratch, FlushDecompress::None);
        // Neither is more than the length of its slice.
        let taken = (stream.total_in() - taken_before) as usize;
        let made = (stream.total_out() - made_before) as usize;
        input = &input[taken..];
        // What precedes an error is good.
        if made > 0 {
            out(&scratch[..made])?;
        }
        match status.map_err(|_| corrupt(coding))? {
            Status::StreamEnd => return Ok(Some(input)),
            // There is room left, so all that can be decoded was.
            Status::Ok | Status::BufError if made < scratch.len() => return Ok(None),
            Status::Ok | Status::BufError => {}
        }
    }
}
