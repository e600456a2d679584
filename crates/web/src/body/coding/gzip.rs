//! A decoder of the gzip coding (RFC 1952).

use flate2::Decompress;

use super::deflate::inflate;
use super::{Codec, Coding, Output};
use crate::FetchError;

/// The base-2 logarithm of the window size: the largest one, which all streams fit.
const WINDOW_BITS: u8 = 15;

/// The first bytes of every member.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A streaming gzip decoder, for any number of members one after the other.
pub(super) enum Gzip {
    /// In a member, from its header to its checksum.
    Member(Decompress),
    /// After a member. Another member may follow, or padding, which is ignored.
    Between {
        /// True after the first byte of another member.
        begun: bool,
    },
    /// After the last member, in bytes that are ignored.
    Ended,
}

impl Gzip {
    pub(super) fn new() -> Self {
        Self::Member(Decompress::new_gzip(WINDOW_BITS))
    }
}

impl Codec for Gzip {
    fn feed(
        &mut self,
        mut input: &[u8],
        scratch: &mut [u8],
        out: &mut Output<'_>,
    ) -> Result<(), FetchError> {
        while let Some(&byte) = input.first() {
            match self {
                Self::Member(stream) => match inflate(stream, Coding::Gzip, input, scratch, out)? {
                    Some(rest) => {
                        input = rest;
                        *self = Self::Between { begun: false };
                    }
                    None => return Ok(()),
                },
                Self::Between { begun: false } if byte == MAGIC[0] => {
                    input = &input[1..];
                    *self = Self::Between { begun: true };
                }
                Self::Between { begun: true } if byte == MAGIC[1] => {
                    let mut stream = Decompress::new_gzip(WINDOW_BITS);
                    inflate(&mut stream, Coding::Gzip, &MAGIC[..1], scratch, out)?;
                    *self = Self::Member(stream);
                }
                Self::Between { .. } => *self = Self::Ended,
                Self::Ended => return Ok(()),
            }
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        !matches!(self, Self::Member(_))
    }

    fn window_size(&self) -> usize {
        32 << 10
    }
}
