//! A decoder of the gzip coding (RFC 1952).

use flate2::{Crc, Decompress};

use super::deflate::inflate;
use super::{Codec, Coding, Output, corrupt};
use crate::FetchError;

/// The first bytes of every member.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The only method of compression.
const DEFLATE: u8 = 8;

/// The length of the checksum and the size behind the data of a member.
const TRAILER_LEN: usize = 8;

/// A streaming gzip decoder, for any number of members one after the other.
pub(super) enum Gzip {
    /// In the header of a member.
    Header(Header),
    /// In the data of a member.
    Data(Decompress, Crc),
    /// Behind the data of a member, in its checksum and its size.
    Trailer {
        expected: [u8; TRAILER_LEN],
        /// The number of bytes that have arrived.
        arrived: usize,
    },
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
        Self::Header(Header::default())
    }
}

impl Codec for Gzip {
    fn feed(
        &mut self,
        mut input: &[u8],
        scratch: &mut [u8],
        out: &mut Output<'_>,
    ) -> Result<(), FetchError> {
        while let Some((&byte, rest)) = input.split_first() {
            match self {
                Self::Header(header) => {
                    input = rest;
                    if header.take(byte)? {
                        *self = Self::Data(Decompress::new(false), Crc::new());
                    }
                }
                Self::Data(stream, crc) => {
                    let mut checked = |decoded: &[u8]| {
                        crc.update(decoded);
                        out(decoded)
                    };
                    let rest = inflate(stream, Coding::Gzip, input, scratch, &mut checked)?;
                    let Some(rest) = rest else { return Ok(()) };
                    input = rest;
                    let mut expected = [0; TRAILER_LEN];
                    expected[..4].copy_from_slice(&crc.sum().to_le_bytes());
                    expected[4..].copy_from_slice(&crc.amount().to_le_bytes());
                    *self = Self::Trailer { expected, arrived: 0 };
                }
                Self::Trailer { expected, arrived } => {
                    if expected[*arrived] != byte {
                        return Err(corrupt(Coding::Gzip));
                    }
                    input = rest;
                    *arrived += 1;
                    if *arrived == TRAILER_LEN {
                        *self = Self::Between { begun: false };
                    }
                }
                Self::Between { begun: false } if byte == MAGIC[0] => {
                    input = rest;
                    *self = Self::Between { begun: true };
                }
                Self::Between { begun: true } if byte == MAGIC[1] => {
                    let mut header = Header::default();
                    header.take(MAGIC[0])?;
                    *self = Self::Header(header);
                }
                Self::Between { .. } => *self = Self::Ended,
                Self::Ended => return Ok(()),
            }
        }
        Ok(())
    }

    /// Browsers accept a member without its trailer, and some servers send none.
    fn is_complete(&self) -> bool {
        !matches!(self, Self::Header(_) | Self::Data(..))
    }

    fn has_checksum(&self) -> bool {
        matches!(self, Self::Between { .. } | Self::Ended)
    }

    fn window_size(&self) -> usize {
        32 << 10
    }
}

/// The header of a member, as far as it has arrived (section 2.3).
#[derive(Default)]
pub(super) struct Header {
    field: Field,
    /// The number of bytes of the field that have arrived.
    arrived: usize,
    flags: u8,
    extra_len: u16,
}

/// A field of a header. All but the first are optional.
#[derive(Clone, Copy, Default)]
enum Field {
    #[default]
    Fixed,
    ExtraLen,
    Extra,
    Name,
    Comment,
    Checksum,
}

impl Field {
    /// The optional fields in their order, each with its flag.
    const OPTIONAL: [(Self, u8); 5] = [
        (Self::ExtraLen, 4),
        (Self::Extra, 4),
        (Self::Name, 8),
        (Self::Comment, 16),
        (Self::Checksum, 2),
    ];
}

impl Header {
    /// Takes the next byte. Returns true if it is the last one of the header.
    fn take(&mut self, byte: u8) -> Result<bool, FetchError> {
        let at = self.arrived;
        self.arrived += 1;
        let is_last = match self.field {
            Field::Fixed => {
                let is_valid = match at {
                    0 | 1 => byte == MAGIC[at],
                    2 => byte == DEFLATE,
                    // The flags from 32 on are reserved.
                    3 => byte < 32,
                    _ => true,
                };
                if !is_valid {
                    return Err(corrupt(Coding::Gzip));
                }
                if at == 3 {
                    self.flags = byte;
                }
                at == 9
            }
            Field::ExtraLen => {
                self.extra_len |= u16::from(byte) << (8 * at);
                at == 1
            }
            Field::Extra => at + 1 == usize::from(self.extra_len),
            Field::Name | Field::Comment => byte == 0,
            Field::Checksum => at == 1,
        };
        Ok(is_last && !self.begin_next_field())
    }

    /// Goes on to the next field that the header has. Returns false if there is none.
    fn begin_next_field(&mut self) -> bool {
        let behind = self.field as usize;
        self.arrived = 0;
        for (field, flag) in &Field::OPTIONAL[behind..] {
            let is_empty = matches!(field, Field::Extra) && self.extra_len == 0;
            if self.flags & flag != 0 && !is_empty {
                self.field = *field;
                return true;
            }
        }
        false
    }
}
