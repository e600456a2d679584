//! The br coding: Brotli (RFC 7932).

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};

use super::{Codec, Coding, Output, corrupt};
use crate::FetchError;

type State = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

pub(super) struct Brotli {
    state: State,
    ended: bool,
}

impl Brotli {
    pub(super) fn new() -> Self {
        let alloc = StandardAlloc::default();
        // Strictly what RFC 7932 has, without the extension to larger windows.
        Self { state: State::new_strict(alloc, alloc, alloc), ended: false }
    }
}

impl Codec for Brotli {
    fn feed(
        &mut self,
        input: &[u8],
        scratch: &mut [u8],
        out: &mut Output<'_>,
    ) -> Result<(), FetchError> {
        let (mut left, mut position) = (input.len(), 0);
        while !self.ended {
            let (mut room, mut made, mut total) = (scratch.len(), 0, 0);
            let result = BrotliDecompressStream(
                &mut left,
                &mut position,
                input,
                &mut room,
                &mut made,
                scratch,
                &mut total,
                &mut self.state,
            );
            if made > 0 {
                out(&scratch[..made])?;
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
}
