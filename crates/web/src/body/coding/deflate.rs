//! A decoder of the deflate coding, and the function that inflates a stream, which
//! gzip uses as well.

use flate2::{Decompress, FlushDecompress, Status};

use super::{Codec, Coding, Output, corrupt};
use crate::FetchError;

/// A streaming decoder of the deflate coding.
///
/// By "deflate", RFC 9110 section 8.4.1.2 means the zlib format (RFC 1950). Some
/// servers take the name literally and send a raw deflate stream (RFC 1951). Both
/// are accepted.
pub(super) enum Deflate {
    /// Before the second byte. The first two bytes tell zlib from raw deflate.
    Undecided { first: Option<u8> },
    /// In the stream.
    Stream(Decompress),
    /// After the end of the stream.
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

    fn window_size(&self) -> usize {
        32 << 10
    }
}

/// Returns true if these two bytes are a zlib header: the method is 8, and the two
/// bytes as a number are a multiple of 31 (RFC 1950 section 2.2). A raw stream
/// begins so only if its first block is a stored one with a bit set in its padding,
/// which no encoder does.
fn is_zlib_header(first: u8, second: u8) -> bool {
    first & 0x0f == 8 && u16::from_be_bytes([first, second]).is_multiple_of(31)
}

/// Inflates `input` up to the end of the stream and returns the bytes behind it, or
/// `None` if the stream has not ended.
pub(super) fn inflate<'i>(
    stream: &mut Decompress,
    coding: Coding,
    mut input: &'i [u8],
    scratch: &mut [u8],
    out: &mut Output<'_>,
) -> Result<Option<&'i [u8]>, FetchError> {
    loop {
        let (read_before, written_before) = (stream.total_in(), stream.total_out());
        let status = stream.decompress(input, scratch, FlushDecompress::None);
        // Neither number is larger than the length of its slice.
        let read = (stream.total_in() - read_before) as usize;
        let written = (stream.total_out() - written_before) as usize;
        input = &input[read..];
        // Bytes decoded before an error are valid.
        if written > 0 {
            out(&scratch[..written])?;
        }
        match status.map_err(|_| corrupt(coding))? {
            Status::StreamEnd => return Ok(Some(input)),
            // The output was not filled, so all that can be decoded has been.
            Status::Ok | Status::BufError if written < scratch.len() => return Ok(None),
            Status::Ok | Status::BufError => {}
        }
    }
}
