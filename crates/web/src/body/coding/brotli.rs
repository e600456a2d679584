//! A decoder of the br coding: Brotli (RFC 7932).

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};

use super::{Codec, Coding, Output, corrupt};
use crate::FetchError;

type State = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

/// A streaming Brotli decoder.
pub(super) struct Brotli {
    state: State,
    /// True after the end of the stream.
    ended: bool,
    /// The number of bytes decoded.
    decoded: usize,
}

/// The maximum size of a window (RFC 7932 section 9.1).
const MAX_WINDOW: usize = 16 << 20;

impl Brotli {
    pub(super) fn new() -> Self {
        let alloc = StandardAlloc::default();
        // Strict: RFC 7932 only, without the extension to larger windows.
        Self { state: State::new_strict(alloc, alloc, alloc), ended: false, decoded: 0 }
    }
}

impl Codec for Brotli {
    fn feed(
        &mut self,
        input: &[u8],
        scratch: &mut [u8],
        out: &mut Output<'_>,
    ) -> Result<(), FetchError> {
        let (mut remaining, mut position) = (input.len(), 0);
        while !self.ended {
            let (mut room, mut written, mut total) = (scratch.len(), 0, 0);
            let result = BrotliDecompressStream(
                &mut remaining,
                &mut position,
                input,
                &mut room,
                &mut written,
                scratch,
                &mut total,
                &mut self.state,
            );
            self.decoded += written;
            if written > 0 {
                out(&scratch[..written])?;
            }
            match result {
                BrotliResult::ResultSuccess => self.ended = true,
                BrotliResult::NeedsMoreOutput => {}
                BrotliResult::NeedsMoreInput => break,
                BrotliResult::ResultFailure => return Err(corrupt(Coding::Brotli)),
            }
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.ended
    }

    fn window_size(&self) -> usize {
        self.decoded.min(MAX_WINDOW)
    }
}
