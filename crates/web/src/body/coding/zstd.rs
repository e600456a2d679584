//! A decoder of the zstd coding: Zstandard (RFC 8878, with the window size of RFC
//! 9659).

use std::io::Read;

use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::{Codec, Coding, Output, corrupt, decode_error};
use crate::FetchError;

/// The maximum window size of this content coding (RFC 9659 section 3).
const MAX_WINDOW: u64 = 8 * 1024 * 1024;

/// The maximum size of a block (RFC 8878 section 3.1.1.2.4).
const MAX_BLOCK: usize = 128 * 1024;

/// The length of the magic number of a frame (section 3.1.1) and its descriptor,
/// from which the length of the rest of the header follows.
const FRAME_START: usize = 5;

/// The length of the header of a skippable frame: its magic number and its size
/// (section 3.1.2).
const SKIPPABLE_HEADER: usize = 8;

/// The length of the header of a block (section 3.1.1.2).
const BLOCK_HEADER: usize = 3;

/// The length of the checksum at the end of a frame (section 3.1.1).
const CHECKSUM: usize = 4;

/// A streaming zstd decoder, for any number of frames one after the other.
///
/// The library cannot continue after an incomplete read. So this decoder buffers a
/// part (the header of a frame, or one of its blocks) until it is complete.
pub(super) struct Zstd {
    decoder: FrameDecoder,
    /// The part that comes next.
    next: Part,
    /// The beginning of a part whose end has not arrived yet.
    partial: Vec<u8>,
    /// The number of bytes decoded in the current frame.
    decoded: u64,
    /// The number of those that were passed on.
    passed_on: u64,
}

/// A part of a stream that is decoded as a whole.
#[derive(Clone, Copy)]
enum Part {
    /// The header of a frame, or of a skippable frame.
    FrameHeader,
    /// A block. The checksum, if the frame has one, belongs to the last block.
    Block { has_checksum: bool },
    /// The rest of a skippable frame, which is ignored.
    Skipped { remaining: usize },
}

impl Zstd {
    pub(super) fn new() -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Self { decoder, next: Part::FrameHeader, partial: Vec::new(), decoded: 0, passed_on: 0 }
    }

    /// Decodes a complete part.
    fn decode_part(
        &mut self,
        part: &[u8],
        scratch: &mut [u8],
        out: &mut Output<'_>,
    ) -> Result<(), FetchError> {
        self.next = match (self.next, part) {
            (Part::FrameHeader, &[first, 0x2a, 0x4d, 0x18, a, b, c, d]) if is_skippable(first) => {
                Part::Skipped { remaining: u32::from_le_bytes([a, b, c, d]) as usize }
            }
            (Part::FrameHeader, header) => {
                self.decoder.reset(header).map_err(frame_error)?;
                Part::Block { has_checksum: header.get(4).is_some_and(|byte| byte & 4 != 0) }
            }
            (block, bytes) => {
                let one_block = BlockDecodingStrategy::UptoBlocks(1);
                // The library does not count the literals behind the last sequence.
                let literals = literals_len(bytes);
                if literals > MAX_BLOCK {
                    return Err(corrupt(Coding::Zstd));
                }
                self.decoded += (MAX_BLOCK + literals) as u64;
                let was_last = self.decoder.decode_blocks(bytes, one_block).map_err(frame_error)?;
                self.drain(scratch, out)?;
                if was_last {
                    self.verify_checksum()?;
                    (self.decoded, self.passed_on) = (0, 0);
                    Part::FrameHeader
                } else {
                    block
                }
            }
        };
        Ok(())
    }

    /// Passes on the decoded bytes that no later block can refer to.
    fn drain(&mut self, scratch: &mut [u8], out: &mut Output<'_>) -> Result<(), FetchError> {
        loop {
            let written = self.decoder.read(scratch).map_err(|_| corrupt(Coding::Zstd))?;
            if written == 0 {
                return Ok(());
            }
            self.passed_on += written as u64;
            out(&scratch[..written])?;
        }
    }

    /// Compares the checksums at the end of a frame.
    fn verify_checksum(&self) -> Result<(), FetchError> {
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
            if let Part::Skipped { remaining } = &mut self.next {
                let skipped = (*remaining).min(input.len());
                *remaining -= skipped;
                input = &input[skipped..];
                if *remaining == 0 {
                    self.next = Part::FrameHeader;
                }
                continue;
            }
            if self.partial.is_empty() {
                // The usual case, if a block is smaller than a slice: it is decoded
                // in place.
                let length = part_len(self.next, input)?;
                if let Some((part, rest)) = input.split_at_checked(length) {
                    self.decode_part(part, scratch, out)?;
                    input = rest;
                    continue;
                }
            }
            let length = part_len(self.next, &self.partial)?;
            let missing = length.saturating_sub(self.partial.len()).min(input.len());
            let (more, rest) = input.split_at(missing);
            self.partial.extend_from_slice(more);
            input = rest;
            // With these bytes, a longer length may be known.
            if self.partial.len() == part_len(self.next, &self.partial)? {
                let part = std::mem::take(&mut self.partial);
                self.decode_part(&part, scratch, out)?;
            }
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        let is_between = matches!(self.next, Part::FrameHeader | Part::Skipped { remaining: 0 });
        is_between && self.partial.is_empty()
    }

    fn window_size(&self) -> usize {
        // Blocks may be smaller than they can be, so this is an upper limit.
        let held = self.decoded.saturating_sub(self.passed_on).min(MAX_WINDOW);
        usize::try_from(held).unwrap_or(usize::MAX) + self.partial.len()
    }
}

/// Returns the length of the part that starts with `start`. If `start` is too short
/// to know the length, returns the number of bytes that are needed to know more.
fn part_len(part: Part, start: &[u8]) -> Result<usize, FetchError> {
    match (part, start) {
        (Part::FrameHeader, &[first, 0x2a, 0x4d, 0x18, _, ..]) if is_skippable(first) => {
            Ok(SKIPPABLE_HEADER)
        }
        (Part::FrameHeader, &[0x28, 0xb5, 0x2f, 0xfd, descriptor, ..]) => {
            Ok(FRAME_START + len_behind(descriptor))
        }
        (Part::FrameHeader, &[_, _, _, _, _, ..]) => Err(corrupt(Coding::Zstd)),
        (Part::FrameHeader, _) => Ok(FRAME_START),
        (Part::Block { has_checksum }, &[a, b, c, ..]) => {
            let header = u32::from_le_bytes([a, b, c, 0]);
            let (is_last, kind, size) = (header & 1 == 1, header >> 1 & 3, (header >> 3) as usize);
            if size > MAX_BLOCK {
                return Err(corrupt(Coding::Zstd));
            }
            // A block of one repeated byte (RLE) contains that byte only once.
            let stored = if kind == 1 { 1 } else { size };
            let checksum = if is_last && has_checksum { CHECKSUM } else { 0 };
            Ok(BLOCK_HEADER + stored + checksum)
        }
        (Part::Block { .. }, _) => Ok(BLOCK_HEADER),
        (Part::Skipped { remaining }, _) => Ok(remaining),
    }
}

/// Returns the length of the literals of a block, if it is a compressed one: they may be
/// one repeated byte, or compressed themselves (section 3.1.1.3.1.1).
fn literals_len(block: &[u8]) -> usize {
    const COMPRESSED: u8 = 2;
    let &[header, _, _, ref content @ ..] = block else { return 0 };
    if header >> 1 & 3 != COMPRESSED {
        return 0;
    }
    let byte = |n: usize| content.get(n).map_or(0, |byte| usize::from(*byte));
    let (first, second, third) = (byte(0), byte(1), byte(2));
    let (is_huffman, format) = (first & 2 != 0, first >> 2 & 3);
    match (is_huffman, format) {
        (false, 0 | 2) => first >> 3,
        (false, 1) => first >> 4 | second << 4,
        (false, _) => first >> 4 | second << 4 | third << 12,
        (true, 0 | 1) => first >> 4 | (second & 0x3f) << 4,
        (true, 2) => first >> 4 | second << 4 | (third & 0x3) << 12,
        (true, _) => first >> 4 | second << 4 | (third & 0x3f) << 12,
    }
}

fn is_skippable(first: u8) -> bool {
    first & 0xf0 == 0x50
}

/// Returns the length of the header of a frame behind its descriptor (section
/// 3.1.1.1): window, dictionary ID and size of the content.
fn len_behind(descriptor: u8) -> usize {
    let is_single_segment = descriptor & 0x20 != 0;
    let window = usize::from(!is_single_segment);
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = match descriptor >> 6 {
        0 => usize::from(is_single_segment),
        flag => 1 << flag,
    };
    window + dictionary + size
}

fn frame_error(error: FrameDecoderError) -> FetchError {
    match error {
        FrameDecoderError::WindowSizeTooBig { .. } => decode_error(format!(
            "the body, encoded as zstd, needs more than {MAX_WINDOW} bytes of window"
        )),
        _ => corrupt(Coding::Zstd),
    }
}
