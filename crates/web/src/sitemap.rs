//! A streaming parser of sitemaps: the lists of its pages that a site publishes (the
//! protocol of sitemaps.org).
//!
//! A sitemap is fed in slices, as it arrives, and its URLs are passed on as soon as
//! they are complete. Only the incomplete rest is buffered. A sitemap is XML or plain
//! text, compressed with gzip or not. The format is detected from the bytes alone,
//! because headers and file names are not reliable.
//!
//! The URLs before an error are passed on. In gzip data that are damaged, those of the
//! last 512 bytes before the damage are lost.

mod charset;
mod document;
mod gunzip;
mod lines;
mod xml;

use url::{ParseError, Url};

use self::charset::Charset;
use self::document::is_blank;
use self::gunzip::Gunzip;
use self::lines::Lines;
use self::xml::Xml;
use crate::{ErrorClass, FetchError};

/// The maximum length of a URL in bytes; a longer one is left out. The limit of the
/// protocol is 2,048 already, but sites count and escape in different ways.
pub const MAX_URL_LEN: usize = 8 * 1024;

/// The maximum nesting depth of the elements of a sitemap. The protocol and its
/// extensions need about six levels.
pub const MAX_NESTED: usize = 16;

/// The maximum length of a tag, a comment or a piece of text, in bytes. Blanks before text
/// do not count.
pub const MAX_PIECE_LEN: usize = 32 * 1024;

/// The message of the error for a document in XML that is something else.
pub const NO_SITEMAP: &str = "it has neither a urlset nor a sitemapindex";

/// Returns true for an entry that is relative, which the protocol does not allow.
pub fn is_relative(entry: &str) -> bool {
    Url::parse(entry) == Err(ParseError::RelativeUrlWithoutBase)
}

/// Returns the warning for a sitemap with so many relative entries.
pub fn relative_entries(sitemap: &str, number: u64) -> String {
    let entries = if number == 1 { "1 entry is".into() } else { format!("{number} entries are") };
    format!("sitemap {sitemap}: {entries} relative, and most crawlers ignore such")
}

/// The limits of a sitemap that a caller can set. The others are constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of URLs.
    pub entries: usize,
    /// The maximum number of bytes after decompression.
    pub bytes: usize,
}

impl Default for Limits {
    /// Returns the limits of the protocol: 50,000 URLs and 50 MiB.
    fn default() -> Self {
        Self { entries: 50_000, bytes: 50 << 20 }
    }
}

/// The maximum number of bytes that are decoded at a time, however long a slice is.
const MAX_CHUNK: usize = 16 * 1024;

/// An entry of a sitemap: a URL, without the blanks around it and with its entities
/// decoded. It should be absolute, but that is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapEntry<'a> {
    /// The URL of a page.
    Page(&'a str),
    /// The URL of another sitemap: this one is a sitemap index.
    Sitemap(&'a str),
    /// The URL of the same page in another language (`xhtml:link` with `hreflang`). It may be
    /// of another host.
    Alternate(&'a str),
    /// The URL of an image of a page (`image:loc`). It may be of another host.
    Image(&'a str),
    /// A URL of more than [`MAX_URL_LEN`] bytes, which is left out.
    TooLong,
}

/// A streaming parser of one sitemap.
///
/// It needs about 100 KiB of memory, and less than 1 MiB in the worst case. The time
/// is linear in the size of the decompressed sitemap, however it is cut.
#[derive(Debug, Default)]
pub struct SitemapParser {
    compression: Compression,
    /// The entries and bytes that may still come.
    remaining: Limits,
    charset: Charset,
    /// The decoded text that is not parsed yet, because its last tag or line is not
    /// complete.
    pending: String,
    /// The length of `pending` at which to try again to parse it.
    retry_len: usize,
    /// The format; `None` before the first character that is not blank.
    format: Option<Format>,
    /// The error that has ended the parsing.
    failure: Option<FetchError>,
}

/// The compression of a sitemap.
#[derive(Debug, Default)]
enum Compression {
    /// Before the first byte.
    #[default]
    Unknown,
    /// None.
    Plain,
    /// Gzip, with its decoder.
    Gzip(Box<Gunzip>),
}

/// The format of a sitemap, with its parser.
#[derive(Debug)]
enum Format {
    /// XML.
    Xml(Xml),
    /// Plain text.
    Lines(Lines),
}

/// The caller's receiver of the entries.
type Sink<'s> = dyn FnMut(SitemapEntry<'_>) + 's;

/// The receiver of the entries inside of the parser, which counts them and passes
/// them to the [`Sink`].
type Emit<'e> = dyn FnMut(SitemapEntry<'_>) -> Result<(), FetchError> + 'e;

impl SitemapParser {
    /// Creates a parser at the beginning of a sitemap.
    pub fn new(limits: Limits) -> Self {
        Self { remaining: limits, ..Self::default() }
    }

    /// Parses the next bytes and calls `sink` with the entries that are complete.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorClass::TooLarge`] or [`ErrorClass::Nesting`] if the sitemap
    /// crosses a limit, and [`ErrorClass::Decode`] if it is not a sitemap, not
    /// well-formed, or damaged. After an error nothing is read any more, and every
    /// call returns the same error.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        sink: &mut dyn FnMut(SitemapEntry<'_>),
    ) -> Result<(), FetchError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let result = self.decompress(bytes, sink);
        self.failure = result.as_ref().err().cloned();
        result
    }

    /// Ends the sitemap and calls `sink` with the remaining entries.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`SitemapParser::feed`]. A sitemap that was cut off is
    /// not well-formed.
    pub fn finish(mut self, sink: &mut dyn FnMut(SitemapEntry<'_>)) -> Result<(), FetchError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let mut damage = Ok(());
        if let Compression::Gzip(gunzip) = &mut self.compression {
            let mut rest = Vec::new();
            damage = gunzip.finish(&mut rest);
            self.read(&rest, sink)?;
        }
        self.charset.finish(&mut self.pending);
        // A damaged sitemap is not well-formed either, but the damage explains more.
        damage.and(self.read_pending(true, sink))
    }

    /// Decompresses the bytes, if they are compressed, and reads them.
    fn decompress(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(), FetchError> {
        if let (Compression::Unknown, Some(&first)) = (&self.compression, bytes.first()) {
            self.compression = match first {
                gunzip::FIRST_BYTE => Compression::Gzip(Box::default()),
                _ => Compression::Plain,
            };
        }
        let mut rest = bytes;
        let mut decompressed = Vec::new();
        while !rest.is_empty() {
            let Compression::Gzip(gunzip) = &mut self.compression else {
                return self.read(rest, sink);
            };
            let taken = gunzip.feed(rest, &mut decompressed);
            self.read(&decompressed, sink)?;
            decompressed.clear();
            match taken {
                Ok(taken) => rest = &rest[taken..],
                Err(damage) => return self.read_pending(false, sink).and(Err(damage)),
            }
        }
        Ok(())
    }

    /// Decodes the characters and parses them, up to the limit of bytes.
    fn read(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(), FetchError> {
        let permitted = bytes.len().min(self.remaining.bytes);
        self.remaining.bytes -= permitted;
        for bytes in bytes[..permitted].chunks(MAX_CHUNK) {
            self.charset.decode(bytes, &mut self.pending);
            if self.pending.len() >= self.retry_len {
                self.read_pending(false, sink)?;
            }
        }
        if permitted < bytes.len() {
            self.read_pending(false, sink)?;
            return Err(too_large("the sitemap is too long"));
        }
        Ok(())
    }

    /// Parses the complete tags or lines of the pending text.
    fn read_pending(&mut self, is_last: bool, sink: &mut Sink<'_>) -> Result<(), FetchError> {
        let format = match &mut self.format {
            Some(format) => format,
            None => match self.pending.trim_start_matches(is_blank).chars().next() {
                Some('<') => self.format.insert(Format::Xml(Xml::default())),
                Some(_) => self.format.insert(Format::Lines(Lines::default())),
                None => {
                    self.pending.clear();
                    return Ok(());
                }
            },
        };
        let remaining = &mut self.remaining.entries;
        let mut emit = |entry: SitemapEntry<'_>| {
            *remaining = remaining
                .checked_sub(1)
                .ok_or_else(|| too_large("the sitemap has too many URLs"))?;
            sink(entry);
            Ok(())
        };
        let consumed = match format {
            Format::Xml(xml) => xml.read(&self.pending, is_last, &mut emit)?,
            Format::Lines(lines) => lines.read(&self.pending, is_last, &mut emit)?,
        };
        self.pending.drain(..consumed);
        // The incomplete rest will be parsed again from its beginning. To wait until
        // it is twice as long keeps the sum of all tries linear.
        self.retry_len = 2 * self.pending.len();
        Ok(())
    }
}

fn too_large(message: impl Into<String>) -> FetchError {
    FetchError::new(ErrorClass::TooLarge, message)
}

fn decode_error(message: impl Into<String>) -> FetchError {
    FetchError::new(ErrorClass::Decode, message)
}
