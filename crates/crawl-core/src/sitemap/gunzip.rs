//! Undoes gzip (RFC 1952), as much of it at a time as fits into the pocket.

use std::io::Write;

use flate2::write::GzDecoder;

use super::decode_error;
use crate::FetchError;

/// What gzip data begin with, and no text does.
pub(super) const FIRST_BYTE: u8 = 0x1f;

/// The library forgets what came with the bytes in which it meets an error.
const AT_A_TIME: usize = 512;

/// Data that are being unpacked: one member. Several in one file are as rare
/// as they are cheap to send and dear to unpack.
#[derive(Debug)]
pub(super) struct Gunzip(GzDecoder<Vec<u8>>);

impl Default for Gunzip {
    fn default() -> Self {
        Self(GzDecoder::new(Vec::new()))
    }
}

impl Gunzip {
    /// Takes the beginning of `packed`, which is not empty, and says how much
    /// that was. It gives about 32 KiB to `unpacked` at most, however small it
    /// was packed. What came before an error is given, too, but for the last
    /// [`AT_A_TIME`] bytes of it.
    pub(super) fn take(
        &mut self,
        packed: &[u8],
        unpacked: &mut Vec<u8>,
    ) -> Result<usize, FetchError> {
        let result = self.0.write(&packed[..packed.len().min(AT_A_TIME)]);
        unpacked.append(self.0.get_mut());
        match result {
            Ok(0) => Err(decode_error("bytes follow the end of the gzip data")),
            Ok(taken) => Ok(taken),
            Err(error) => Err(damaged(&error)),
        }
    }

    /// Gives the rest, and says whether it was all.
    pub(super) fn finish(&mut self, unpacked: &mut Vec<u8>) -> Result<(), FetchError> {
        let result = self.0.try_finish().map_err(|error| damaged(&error));
        unpacked.append(self.0.get_mut());
        result
    }
}

fn damaged(error: &std::io::Error) -> FetchError {
    decode_error(format!("the gzip data are damaged: {error}"))
}
