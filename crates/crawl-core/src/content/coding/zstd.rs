//! The zstd coding: Zstandard (RFC 8878, with the window of RFC 9659).

use std::io::Read;

use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::{Codec, Coding, Output, corrupt, decode};
use crate::FetchError;

/// RFC 9659 section 3: no sender of this coding may need more.
const MOST_WINDOW: u64 = 8 * 1024 * 1024;

/// RFC 8878 section 3.1.1.2.4.
const MOST_BLOCK: usize = 128 * 1024;

/// The magic number of a frame (section 3.1.1) and its descriptor, which says
/// how long the rest of its header is.
const FRAME_START: usize = 5;

/// The magic number of a skippable frame and its length (section 3.1.2).
const SKIPPABLE_HEADER: usize = 8;

/// Section 3.1.1.2.
const BLOCK_HEADER: usize = 3;

/// Section 3.1.1.
const CHECKSUM: usize = 4;

/// Any number of frames, one after the other.
///
/// The library reads from a source that must not run dry, so it gets whole
/// parts: the header of a frame, then each of its blocks.
pub(super) struct Zstd {
    decoder: FrameDecoder,
    next: Part,
    /// The beginning of a part whose end has not come yet.
    partial: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Part {
    FrameHeader,
    /// A block; behind the last one is the checksum, if the frame has one.
    Block {
        has_checksum: bool,
    },
    /// The rest of a skippable frame.
    Skipped {
        left: usize,
    },
}

impl Zstd {
    pub(super) fn new() -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MOST_WINDOW);
        Self { decoder, next: Part::FrameHeader, partial: Vec::new() }
    }

    /// Takes a part, which is whole.
    fn take(
        &mut self,
        part: &[u8],
        scratch: &mut [u8],
        out: &mut Output<'_>,
    ) -> Result<(), FetchError> {
        self.next = match (self.next, part) {
            (Part::FrameHeader, &[first, 0x2a, 0x4d, 0x18, a, b, c, d]) if is_skippable(first) => {
                Part::Skipped { left: u32::from_le_bytes([a, b, c, d]) as usize }
            }
            (Part::FrameHeader, header) => {
                self.decoder.reset(header).map_err(unusable)?;
                Part::Block { has_checksum: header.get(4).is_some_and(|byte| byte & 4 != 0) }
            }
            (block, bytes) => {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let was_last = self.decoder.decode_blocks(bytes, one).map_err(unusable)?;
                self.drain(scratch, out)?;
                if was_last {
                    self.check()?;
                    Part::FrameHeader
                } else {
                    block
                }
            }
        };
        Ok(())
    }

    /// Hands on what no later block can refer to.
    fn drain(&mut self, scratch: &mut [u8], out: &mut Output<'_>) -> Result<(), FetchError> {
        loop {
            let made = self.decoder.read(scratch).map_err(|_| corrupt(Coding::Zstd))?;
            if made == 0 {
                return Ok(());
            }
            out(&scratch[..made])?;
        }
    }

    /// Compares the checksums, at the end of a frame.
    fn check(&self) -> Result<(), FetchError> {
        let sent = self.decoder.get_checksum_from_data();
        if sent.is_some() && sent != self.decoder.get_calculated_checksum() {
            return Err(corrupt(Coding::Zstd));
        }
        Ok(())
    }
}

impl Codec for Zstd {
    fn feed(
        &mut self,
        mut input: &[u8],
        scratch: &mut [u8],
        out: &mut Output<'_>,
    ) -> Result<(), FetchError> {
        while !input.is_empty() {
            if let Part::Skipped { left } = &mut self.next {
                let skipped = (*left).min(input.len());
                *left -= skipped;
                input = &input[skipped..];
                if *left == 0 {
                    self.next = Part::FrameHeader;
                }
                continue;
            }
            if self.partial.is_empty() {
                // The usual case, once a block is smaller than a slice: it is
                // decoded where it lies.
                let length = length_of(self.next, input)?;
                if let Some((part, rest)) = input.split_at_checked(length) {
                    self.take(part, scratch, out)?;
                    input = rest;
                    continue;
                }
            }
            let length = length_of(self.next, &self.partial)?;
            let missing = length.saturating_sub(self.partial.len()).min(input.len());
            let (more, rest) = input.split_at(missing);
            self.partial.extend_from_slice(more);
            input = rest;
            // With these bytes it may turn out to be longer.
            if self.partial.len() == length_of(self.next, &self.partial)? {
                let part = std::mem::take(&mut self.partial);
                self.take(&part, scratch, out)?;
            }
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        matches!(self.next, Part::FrameHeader) && self.partial.is_empty()
    }
}

/// How long a part is that starts with `start`; if that is not enough to know,
/// how much of it is needed to know more.
fn length_of(part: Part, start: &[u8]) -> Result<usize, FetchError> {
    match (part, start) {
        (Part::FrameHeader, &[first, 0x2a, 0x4d, 0x18, _, ..]) if is_skippable(first) => {
            Ok(SKIPPABLE_HEADER)
        }
        (Part::FrameHeader, &[0x28, 0xb5, 0x2f, 0xfd, descriptor, ..]) => {
            Ok(FRAME_START + length_behind(descriptor))
        }
        (Part::FrameHeader, &[_, _, _, _, _, ..]) => Err(corrupt(Coding::Zstd)),
        (Part::FrameHeader, _) => Ok(FRAME_START),
        (Part::Block { has_checksum }, &[a, b, c, ..]) => {
            let header = u32::from_le_bytes([a, b, c, 0]);
            let (is_last, kind, size) = (header & 1 == 1, header >> 1 & 3, (header >> 3) as usize);
            if size > MOST_BLOCK {
                return Err(corrupt(Coding::Zstd));
            }
            // A block of one byte repeated has that byte only.
            let content = if kind == 1 { 1 } else { size };
            let checksum = if is_last && has_checksum { CHECKSUM } else { 0 };
            Ok(BLOCK_HEADER + content + checksum)
        }
        (Part::Block { .. }, _) => Ok(BLOCK_HEADER),
        (Part::Skipped { left }, _) => Ok(left),
    }
}

fn is_skippable(first: u8) -> bool {
    first & 0xf0 == 0x50
}

/// How long the header of a frame is behind its descriptor (section 3.1.1.1):
/// window, dictionary and size of the content.
fn length_behind(descriptor: u8) -> usize {
    let is_single_segment = descriptor & 0x20 != 0;
    let window = usize::from(!is_single_segment);
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = match descriptor >> 6 {
        0 => usize::from(is_single_segment),
        flag => 1 << flag,
    };
    window + dictionary + size
}

fn unusable(error: FrameDecoderError) -> FetchError {
    match error {
        FrameDecoderError::WindowSizeTooBig { .. } => decode(format!(
            "the body, encoded as zstd, needs more than {MOST_WINDOW} bytes of window"
        )),
        _ => corrupt(Coding::Zstd),
    }
}
