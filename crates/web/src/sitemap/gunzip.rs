//! A gzip decoder (RFC 1952) with a small, bounded output per step.

use std::io::Write;

use flate2::write::GzDecoder;

use super::decode_error;
use crate::FetchError;

/// The first byte of gzip data. No text begins with it.
pub(super) const FIRST_BYTE: u8 = 0x1f;

/// The maximum number of bytes that are fed to the library at a time. On an error, it
/// loses the output of the bytes that were fed with it.
const MAX_INPUT: usize = 512;

/// A streaming gzip decoder for one member. A file with several members is an error:
/// such files are rare, and they would be cheap to send and expensive to decompress.
#[derive(Debug)]
pub(super) struct Gunzip(GzDecoder<Vec<u8>>);

impl Default for Gunzip {
    fn default() -> Self {
        Self(GzDecoder::new(Vec::new()))
    }
}

impl Gunzip {
    /// Decompresses the beginning of `compressed`, which must not be empty, and
    /// returns the number of bytes consumed. Appends at most about 32 KiB to
    /// `decompressed`, however high the compression is. The data before an error are
    /// appended as well, except those of the last [`MAX_INPUT`] bytes.
    pub(super) fn feed(
        &mut self,
        compressed: &[u8],
        decompressed: &mut Vec<u8>,
    ) -> Result<usize, FetchError> {
        let result = self.0.write(&compressed[..compressed.len().min(MAX_INPUT)]);
        decompressed.append(self.0.get_mut());
        match result {
            Ok(0) => Err(decode_error("bytes follow the end of the gzip data")),
            Ok(taken) => Ok(taken),
            Err(error) => Err(damaged(&error)),
        }
    }

    /// Appends the rest of the data. Returns an error if the end of the member has not
    /// arrived.
    pub(super) fn finish(&mut self, decompressed: &mut Vec<u8>) -> Result<(), FetchError> {
        let result = self.0.try_finish().map_err(|error| damaged(&error));
        decompressed.append(self.0.get_mut());
        result
    }
}

fn damaged(error: &std::io::Error) -> FetchError {
    decode_error(format!("the gzip data are damaged: {error}"))
}
