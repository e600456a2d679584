//! Content codings (RFC 9110 section 8.4) undone.
//!
//! 1. Bytes go in as they arrived, cut anywhere; what comes out, and whether it
//!    ends in an error, does not depend on how they were cut. (Only of a broken
//!    br stream, less may come out before the error when it was cut less.)
//! 2. Every layer of coding has the limit of the whole: whatever a few bytes
//!    unpack to, the work is proportional to what came in plus the limit.
//! 3. What the checksums of a coding deny is an error, and so is an end that
//!    comes too early. What follows a proper end is not looked at, as browsers
//!    have it, but for zstd, where only another frame may follow.
//!
//! A decoder owns nothing before the first byte. Then each layer takes:
//!
//! | coding | at most | for |
//! |---|---|---|
//! | gzip, deflate | 50 KiB | a window of 32 KiB (RFC 1951) and tables |
//! | br | 28 MiB | a window of up to 16 MiB (RFC 7932; no larger ones), held twice, in part, while it grows, and tables; mostly it is less than 2 MiB |
//! | zstd | 28 MiB | a window of up to 8 MiB (RFC 9659), which may be rounded up and is held twice while it grows, and one block; mostly it is less than 9 MiB |
//!
//! A window grows with the text; what a stream announces only is not touched.

mod brotli;
mod deflate;
mod gzip;
mod zstd;

use std::fmt;

use encoding_rs::Encoding;

use crate::http::printable;
use crate::{ErrorClass, FetchError};

/// The value of an `Accept-Encoding` header that asks for all that can be
/// undone here.
pub const ACCEPT_ENCODING: &str = "gzip, deflate, br, zstd";

/// How many codings may be applied one after the other. Nobody means to send
/// even two; what is sent twice compressed by mistake is still a page.
const MOST_CODINGS: usize = 2;

/// The most bytes handed on at once.
const SLICE: usize = 16 * 1024;

/// Where a layer puts what it decoded.
type Output<'o> = dyn FnMut(&[u8]) -> Result<(), FetchError> + 'o;

/// One stream of a coding that is being undone.
trait Codec: Send {
    /// Decodes all of `input`, as far as it belongs to the stream, by way of
    /// `scratch`.
    fn feed(
        &mut self,
        input: &[u8],
        scratch: &mut [u8],
        out: &mut Output<'_>,
    ) -> Result<(), FetchError>;

    /// Whether the stream may end here.
    fn is_complete(&self) -> bool;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    /// The coding of that name, in any case. RFC 9110 section 8.4.1.3 wants
    /// `x-gzip` to be understood.
    fn of(name: &[u8]) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_slice() {
            b"gzip" | b"x-gzip" => Self::Gzip,
            b"deflate" => Self::Deflate,
            b"br" => Self::Brotli,
            b"zstd" => Self::Zstd,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    fn codec(self) -> Box<dyn Codec> {
        match self {
            Self::Gzip => Box::new(gzip::Gzip::new()),
            Self::Deflate => Box::new(deflate::Deflate::new()),
            Self::Brotli => Box::new(brotli::Brotli::new()),
            Self::Zstd => Box::new(zstd::Zstd::new()),
        }
    }
}

/// The codings of a body, as its `Content-Encoding` headers list them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Codings(Vec<Coding>);

impl Codings {
    /// Reads the values of all `Content-Encoding` headers of a response, in
    /// their order. `identity` and empty elements mean nothing, and so does what
    /// servers put there by mistake: `none`, or the label of a character encoding.
    ///
    /// # Errors
    /// [`ErrorClass::Decode`] when there is a coding that is not one of
    /// [`ACCEPT_ENCODING`], or more than two. Who does not need to understand
    /// the body takes its bytes as they are then.
    pub fn parse<'v>(values: impl IntoIterator<Item = &'v [u8]>) -> Result<Self, FetchError> {
        let mut codings = Vec::new();
        let names = values.into_iter().flat_map(|value| value.split(|&byte| byte == b','));
        for name in names.map(<[u8]>::trim_ascii) {
            if is_none(name) {
                continue;
            }
            let coding = Coding::of(name).ok_or_else(|| {
                decode(format!(
                    "the body is encoded as '{}', which is none of {ACCEPT_ENCODING}",
                    printable(name)
                ))
            })?;
            if codings.len() == MOST_CODINGS {
                return Err(decode(format!("the body is encoded more than {MOST_CODINGS} times")));
            }
            codings.push(coding);
        }
        Ok(Self(codings))
    }

    /// Whether the body is what it is, without any coding.
    pub fn is_identity(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether this names no coding at all.
fn is_none(name: &[u8]) -> bool {
    name.is_empty()
        || name.eq_ignore_ascii_case(b"identity")
        || name.eq_ignore_ascii_case(b"none")
        || Encoding::for_label(name).is_some()
}

/// Undoes the content codings of one body.
#[derive(Debug)]
pub struct BodyDecoder {
    /// The coding that was applied last comes first.
    layers: Vec<Layer>,
    limit: u64,
}

impl BodyDecoder {
    /// A decoder for a body with these codings, of which at most `limit` bytes
    /// are decoded, in each layer. A body without any coding is passed on as it
    /// is, without being copied or counted.
    pub fn new(codings: &Codings, limit: u64) -> Self {
        let layers = codings.0.iter().rev().map(|&coding| Layer::new(coding)).collect();
        Self { layers, limit }
    }

    /// Takes bytes as they arrived and calls `out` with what they decode to, in
    /// slices of at most 16 KiB, never empty ones. What has been decoded is not
    /// held back, but for zstd, which hands on what has left its window, and
    /// the rest at the end of a frame.
    ///
    /// # Errors
    /// [`ErrorClass::Decode`] when the bytes are not what their coding is,
    /// [`ErrorClass::TooLarge`] when they decode to more than the limit, once
    /// `out` has got as much as it allows, and whatever `out` returns. The
    /// decoder is of no use then.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        out: &mut impl FnMut(&[u8]) -> Result<(), FetchError>,
    ) -> Result<(), FetchError> {
        if bytes.is_empty() {
            return Ok(());
        }
        pass(&mut self.layers, self.limit, bytes, out)
    }

    /// The body has ended. An empty one is fine under any coding.
    ///
    /// # Errors
    /// [`ErrorClass::Decode`] when it has ended in the middle.
    pub fn finish(&self) -> Result<(), FetchError> {
        self.layers.iter().try_for_each(Layer::finish)
    }
}

/// Passes `bytes` through `layers`, from the first to the last.
fn pass(
    layers: &mut [Layer],
    limit: u64,
    bytes: &[u8],
    out: &mut Output<'_>,
) -> Result<(), FetchError> {
    match layers {
        [] => out(bytes),
        [layer, inner @ ..] => {
            layer.feed(limit, bytes, &mut |decoded| pass(inner, limit, decoded, out))
        }
    }
}

/// One coding, and what it has come to.
struct Layer {
    coding: Coding,
    /// None before the first byte.
    codec: Option<Box<dyn Codec>>,
    /// How many bytes have been decoded and handed on.
    decoded: u64,
}

impl Layer {
    fn new(coding: Coding) -> Self {
        Self { coding, codec: None, decoded: 0 }
    }

    fn feed(&mut self, limit: u64, bytes: &[u8], out: &mut Output<'_>) -> Result<(), FetchError> {
        let codec = self.codec.get_or_insert_with(|| self.coding.codec());
        codec.feed(bytes, &mut [0; SLICE], &mut |decoded| {
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
                Err(decode(format!("the body, encoded as {name}, ends in the middle")))
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

/// The error for bytes that `coding` cannot have made.
fn corrupt(coding: Coding) -> FetchError {
    decode(format!("the body is not valid {}", coding.name()))
}

fn decode(message: String) -> FetchError {
    FetchError::new(ErrorClass::Decode, message)
}
