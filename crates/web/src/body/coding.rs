//! Decoders of content codings (RFC 9110 section 8.4): gzip, deflate, br and zstd.
//!
//! 1. The bytes may be cut anywhere. The output, and the error if there is one, do
//!    not depend on the cuts. (One exception: a broken br stream may give less
//!    output before the error if it was cut less.)
//! 2. Every layer of coding has the limit of the whole body. So the work is
//!    proportional to the length of the input plus the limit, even for a
//!    decompression bomb.
//! 3. A wrong checksum is an error, and so is an early end of the data. Bytes
//!    behind the end of a stream are ignored, as browsers do. The exception is
//!    zstd, where only another frame may follow. The checksum and the size at the end
//!    of gzip may be missing, as in browsers.
//!
//! A decoder allocates nothing before the first byte. Then each layer needs:
//!
//! | coding | at most | for |
//! |---|---|---|
//! | gzip, deflate | 50 KiB | a window of 32 KiB (RFC 1951) and tables |
//! | br | 28 MiB | a window of up to 16 MiB (RFC 7932; no larger ones), of which a part is held twice while it grows, and tables; usually less than 2 MiB |
//! | zstd | 28 MiB | a window of up to 8 MiB (RFC 9659), which may be rounded up and is held twice while it grows, and one block; usually less than 9 MiB |
//!
//! A window grows with the text. From its second frame on, zstd reserves the window that
//! a frame announces, but does not touch it before there is text.

#[cfg(feature = "tables")]
mod brotli;
mod deflate;
mod gzip;
#[cfg(feature = "tables")]
mod zstd;

use std::fmt;

use crate::encoding::Encoding;
use crate::http::printable;
use crate::{ErrorClass, FetchError};

/// The value of an `Accept-Encoding` header with all codings that can be decoded.
pub const ACCEPT_ENCODING: &str =
    if cfg!(feature = "tables") { "gzip, deflate, br, zstd" } else { "gzip, deflate" };

/// The maximum number of codings that are applied one after the other. Two are
/// accepted because some servers compress a page twice by mistake.
const MAX_CODINGS: usize = 2;

/// The maximum length of a decoded slice.
const MAX_SLICE: usize = 16 * 1024;

/// The receiver of the decoded bytes of a layer.
type Output<'o> = dyn FnMut(&[u8]) -> Result<(), FetchError> + 'o;

/// A streaming decoder of one content coding.
trait Codec: Send {
    /// Decodes all bytes of `input` that belong to the stream and passes the output
    /// to `out`, in slices of `scratch`.
    fn feed(
        &mut self,
        input: &[u8],
        scratch: &mut [u8],
        out: &mut Output<'_>,
    ) -> Result<(), FetchError>;

    /// Returns true if the stream may end here.
    fn is_complete(&self) -> bool;

    /// Returns true if the stream has ended with a checksum, and that holds.
    fn has_checksum(&self) -> bool {
        false
    }

    /// Returns the approximate memory of the window, in bytes.
    fn window_size(&self) -> usize;
}

/// A content coding that can be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    #[cfg(feature = "tables")]
    Brotli,
    #[cfg(feature = "tables")]
    Zstd,
}

impl Coding {
    /// Returns the coding of that name, in upper or lower case. `x-gzip` is an alias
    /// (RFC 9110 section 8.4.1.3).
    fn of(name: &[u8]) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_slice() {
            b"gzip" | b"x-gzip" => Self::Gzip,
            b"deflate" => Self::Deflate,
            #[cfg(feature = "tables")]
            b"br" => Self::Brotli,
            #[cfg(feature = "tables")]
            b"zstd" => Self::Zstd,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            #[cfg(feature = "tables")]
            Self::Brotli => "br",
            #[cfg(feature = "tables")]
            Self::Zstd => "zstd",
        }
    }

    fn codec(self) -> Box<dyn Codec> {
        match self {
            Self::Gzip => Box::new(gzip::Gzip::new()),
            Self::Deflate => Box::new(deflate::Deflate::new()),
            #[cfg(feature = "tables")]
            Self::Brotli => Box::new(brotli::Brotli::new()),
            #[cfg(feature = "tables")]
            Self::Zstd => Box::new(zstd::Zstd::new()),
        }
    }
}

/// The codings of a body, as its `Content-Encoding` headers list them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Codings(Vec<Coding>);

impl Codings {
    /// Parses the values of all `Content-Encoding` headers of a response, in their
    /// order. `identity` and empty elements are ignored, and so are common mistakes
    /// of servers: `none`, the label of a character encoding, or the `aws-chunked` of an
    /// upload.
    ///
    /// # Errors
    /// Returns [`ErrorClass::Decode`] if a coding is not one of [`ACCEPT_ENCODING`],
    /// or if there are more than two. A caller that does not need the text of the
    /// body can then use its bytes undecoded.
    pub fn parse<'v>(values: impl IntoIterator<Item = &'v [u8]>) -> Result<Self, FetchError> {
        let mut codings = Vec::new();
        let names = values.into_iter().flat_map(|value| value.split(|&byte| byte == b','));
        for name in names.map(<[u8]>::trim_ascii) {
            if is_no_coding(name) {
                continue;
            }
            let coding = Coding::of(name).ok_or_else(|| {
                decode_error(format!(
                    "the body is encoded as '{}', not as {ACCEPT_ENCODING}",
                    printable(name)
                ))
            })?;
            if codings.len() == MAX_CODINGS {
                return Err(decode_error(format!(
                    "the body is encoded more than {MAX_CODINGS} times"
                )));
            }
            codings.push(coding);
        }
        Ok(Self(codings))
    }

    /// Returns true if the body has no content coding.
    pub fn is_identity(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns true if this element of the header means "no coding".
fn is_no_coding(name: &[u8]) -> bool {
    name.is_empty()
        || name.eq_ignore_ascii_case(b"identity")
        || name.eq_ignore_ascii_case(b"none")
        || name.eq_ignore_ascii_case(b"aws-chunked")
        || Encoding::for_label(name).is_some()
}

/// A streaming decoder of the content codings of one body.
#[derive(Debug)]
pub struct BodyDecoder {
    /// The layers in the order of decoding: the coding that was applied last comes
    /// first.
    layers: Vec<Layer>,
    /// The maximum number of bytes that a layer may decode.
    limit: u64,
}

impl BodyDecoder {
    /// Creates a decoder for a body with these codings. Each layer decodes at most
    /// `limit` bytes. A body without any coding is passed on unchanged; it is
    /// neither copied nor counted.
    pub fn new(codings: &Codings, limit: u64) -> Self {
        let layers = codings.0.iter().rev().map(|&coding| Layer::new(coding)).collect();
        Self { layers, limit }
    }

    /// Decodes the next bytes and calls `out` with the decoded bytes, in slices of
    /// 1 byte to 16 KiB; without a coding, the slice is passed on as it is. Decoded bytes
    /// are passed on at once. The exception is zstd, which passes on the bytes that have
    /// left its window, and the rest at the end of a frame.
    ///
    /// # Errors
    /// Returns [`ErrorClass::Decode`] if the bytes are not valid in their coding;
    /// [`ErrorClass::TooLarge`] if they decode to more than the limit, after `out`
    /// has received as much as the limit allows; and any error of `out`. The decoder
    /// cannot be used after an error.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        out: &mut impl FnMut(&[u8]) -> Result<(), FetchError>,
    ) -> Result<(), FetchError> {
        if bytes.is_empty() {
            return Ok(());
        }
        feed_layers(&mut self.layers, self.limit, bytes, out)
    }

    /// Returns the approximate memory of the windows, in bytes. They grow with the
    /// text.
    pub fn memory(&self) -> usize {
        let codecs = self.layers.iter().filter_map(|layer| layer.codec.as_ref());
        codecs.map(|codec| codec.window_size()).sum()
    }

    /// Returns the number of bytes to feed at a time, so that [`BodyDecoder::memory`]
    /// can be watched: sixteen bytes of zstd may be four blocks of 128 KiB, or two of twice
    /// that.
    pub fn max_piece(&self) -> usize {
        let is_zstd = |layer: &Layer| layer.coding.name() == "zstd";
        if self.layers.iter().any(is_zstd) { 16 } else { usize::MAX }
    }

    /// Returns true if the body ends here with a checksum that holds: then it is whole,
    /// whatever the length in its head says. Only gzip is known to be sent so.
    pub fn has_checksum(&self) -> bool {
        let codec = self.layers.first().and_then(|layer| layer.codec.as_ref());
        codec.is_some_and(|codec| codec.has_checksum()) && self.finish().is_ok()
    }

    /// Handles the end of the body. An empty body is valid in every coding.
    ///
    /// # Errors
    /// Returns [`ErrorClass::Decode`] if the body has ended within a stream.
    pub fn finish(&self) -> Result<(), FetchError> {
        self.layers.iter().try_for_each(Layer::finish)
    }
}

/// Decodes `bytes` by all `layers`, from the first to the last.
fn feed_layers(
    layers: &mut [Layer],
    limit: u64,
    bytes: &[u8],
    out: &mut Output<'_>,
) -> Result<(), FetchError> {
    match layers {
        [] => out(bytes),
        [layer, inner @ ..] => {
            layer.feed(limit, bytes, &mut |decoded| feed_layers(inner, limit, decoded, out))
        }
    }
}

/// A content coding of a body, with its decoder.
struct Layer {
    coding: Coding,
    /// The decoder; `None` before the first byte.
    codec: Option<Box<dyn Codec>>,
    /// The number of bytes that have been decoded and passed on.
    decoded: u64,
}

impl Layer {
    fn new(coding: Coding) -> Self {
        Self { coding, codec: None, decoded: 0 }
    }

    fn feed(&mut self, limit: u64, bytes: &[u8], out: &mut Output<'_>) -> Result<(), FetchError> {
        let codec = self.codec.get_or_insert_with(|| self.coding.codec());
        codec.feed(bytes, &mut [0; MAX_SLICE], &mut |decoded| {
            let room = usize::try_from(limit - self.decoded).unwrap_or(usize::MAX);
            let (allowed, beyond) = decoded.split_at(decoded.len().min(room));
            self.decoded += allowed.len() as u64;
            if !allowed.is_empty() {
                out(allowed)?;
            }
            if !beyond.is_empty() {
                let message = format!("the body is longer than {limit} bytes once decoded");
                return Err(FetchError::new(ErrorClass::TooLarge, message));
            }
            Ok(())
        })
    }

    fn finish(&self) -> Result<(), FetchError> {
        match &self.codec {
            Some(codec) if !codec.is_complete() => {
                let name = self.coding.name();
                Err(decode_error(format!("the body, encoded as {name}, ends in the middle")))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layer")
            .field("coding", &self.coding)
            .field("decoded", &self.decoded)
            .finish_non_exhaustive()
    }
}

/// Returns the error for bytes that are not valid in `coding`.
fn corrupt(coding: Coding) -> FetchError {
    decode_error(format!("the body is not valid {}", coding.name()))
}

fn decode_error(message: String) -> FetchError {
    FetchError::new(ErrorClass::Decode, message)
}
