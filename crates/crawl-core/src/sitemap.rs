//! Sitemaps: the pages a site itself says it has (the protocol of
//! sitemaps.org).
//!
//! A sitemap is fed in slices, as it comes, and its URLs are handed out as soon
//! as they are complete; no more of it is held than it takes to go on. It is
//! XML or plain text, packed with gzip or not; which one is told from the bytes
//! alone, since headers and file names say anything.
//!
//! Whatever goes wrong, what was found before stays found.

mod characters;
mod document;
mod gunzip;
mod lines;
mod xml;

use self::characters::Characters;
use self::gunzip::Gunzip;
use self::lines::Lines;
use self::xml::Xml;
use crate::{ErrorClass, FetchError};

/// A URL of more bytes is left out. The protocol stops at 2,048 already, but
/// not everyone counts, or escapes, alike.
pub const LONGEST_URL: usize = 8 * 1024;

/// How deep the elements of a sitemap may lie in each other. Those of the
/// protocol and its extensions need half a dozen.
pub const MOST_NESTED: usize = 16;

/// How many bytes a single tag, comment or piece of text may have.
pub const LONGEST_PIECE: usize = 32 * 1024;

/// How much of a sitemap is read. The rest of its limits are for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many URLs.
    pub entries: usize,
    /// How many bytes, unpacked.
    pub bytes: usize,
}

impl Default for Limits {
    /// Those of the protocol: 50,000 URLs and 50 MiB.
    fn default() -> Self {
        Self { entries: 50_000, bytes: 50 << 20 }
    }
}

/// However long a slice is, no more of it is worked on at a time.
const AT_A_TIME: usize = 16 * 1024;

/// What a sitemap names: a URL, without the blanks around it and with its
/// entities decoded. It should be absolute, but is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A page.
    Page(&'a str),
    /// Another sitemap: this one is an index.
    Sitemap(&'a str),
    /// A URL of more than [`LONGEST_URL`] bytes, which is left out.
    TooLong,
}

/// Reads one sitemap.
///
/// Holds some 100 KiB, and less than 1 MiB at worst. Takes time linear in the size of the
/// unpacked sitemap, however it is cut.
#[derive(Debug, Default)]
pub struct SitemapParser {
    packing: Packing,
    /// What may still come.
    left: Limits,
    characters: Characters,
    /// Characters that are still to be read, up to the end of what is whole.
    pending: String,
    /// How many of them to wait for before trying once more.
    enough: usize,
    format: Option<Format>,
    failure: Option<FetchError>,
}

#[derive(Debug, Default)]
enum Packing {
    #[default]
    Unknown,
    Plain,
    Gzip(Box<Gunzip>),
}

#[derive(Debug)]
enum Format {
    Xml(Xml),
    Lines(Lines),
}

/// Where the entries go.
type Sink<'s> = dyn FnMut(Entry<'_>) + 's;

/// The way there, on which they are counted.
type Give<'g> = dyn FnMut(Entry<'_>) -> Result<(), FetchError> + 'g;

impl SitemapParser {
    /// A sitemap of which nothing is known yet.
    pub fn new(limits: Limits) -> Self {
        Self { left: limits, ..Self::default() }
    }

    /// Takes the next bytes and hands what is complete with them to `sink`.
    ///
    /// # Errors
    ///
    /// [`ErrorClass::TooLarge`] and [`ErrorClass::Nesting`] when one of the
    /// limits above is crossed, [`ErrorClass::Decode`] when it is not a sitemap
    /// at all, not well-formed, or damaged. Nothing is read after an error; it
    /// is only repeated.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        sink: &mut dyn FnMut(Entry<'_>),
    ) -> Result<(), FetchError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let result = self.unpack(bytes, sink);
        self.failure = result.as_ref().err().cloned();
        result
    }

    /// There are no more bytes: what is left is handed out.
    ///
    /// # Errors
    ///
    /// As [`SitemapParser::feed`]; a sitemap that was cut off is not
    /// well-formed.
    pub fn finish(mut self, sink: &mut dyn FnMut(Entry<'_>)) -> Result<(), FetchError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let mut damage = Ok(());
        if let Packing::Gzip(gunzip) = &mut self.packing {
            let mut rest = Vec::new();
            damage = gunzip.finish(&mut rest);
            self.read(&rest, sink)?;
        }
        self.characters.finish(&mut self.pending);
        // What is damaged is not well-formed either, but that explains less.
        damage.and(self.read_pending(true, sink))
    }

    fn unpack(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(), FetchError> {
        if let (Packing::Unknown, Some(&first)) = (&self.packing, bytes.first()) {
            self.packing = match first {
                gunzip::FIRST_BYTE => Packing::Gzip(Box::default()),
                _ => Packing::Plain,
            };
        }
        let mut rest = bytes;
        let mut unpacked = Vec::new();
        while !rest.is_empty() {
            let Packing::Gzip(gunzip) = &mut self.packing else {
                return self.read(rest, sink);
            };
            let taken = gunzip.take(rest, &mut unpacked);
            self.read(&unpacked, sink)?;
            unpacked.clear();
            match taken {
                Ok(taken) => rest = &rest[taken..],
                Err(damage) => return self.read_pending(false, sink).and(Err(damage)),
            }
        }
        Ok(())
    }

    fn read(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(), FetchError> {
        let permitted = bytes.len().min(self.left.bytes);
        self.left.bytes -= permitted;
        for bytes in bytes[..permitted].chunks(AT_A_TIME) {
            self.characters.decode(bytes, &mut self.pending);
            if self.pending.len() >= self.enough {
                self.read_pending(false, sink)?;
            }
        }
        if permitted < bytes.len() {
            self.read_pending(false, sink)?;
            return Err(too_large("the sitemap is too long"));
        }
        Ok(())
    }

    fn read_pending(&mut self, is_last: bool, sink: &mut Sink<'_>) -> Result<(), FetchError> {
        let format = match &mut self.format {
            Some(format) => format,
            None => match self.pending.trim_start().chars().next() {
                Some('<') => self.format.insert(Format::Xml(Xml::default())),
                Some(_) => self.format.insert(Format::Lines(Lines::default())),
                None => {
                    self.pending.clear();
                    return Ok(());
                }
            },
        };
        let left = &mut self.left.entries;
        let mut give = |entry: Entry<'_>| {
            *left =
                left.checked_sub(1).ok_or_else(|| too_large("the sitemap has too many URLs"))?;
            sink(entry);
            Ok(())
        };
        let whole = match format {
            Format::Xml(xml) => xml.read(&self.pending, is_last, &mut give)?,
            Format::Lines(lines) => lines.read(&self.pending, is_last, &mut give)?,
        };
        self.pending.drain(..whole);
        // What is not whole now is read again from its beginning. Waiting until
        // there is twice as much of it keeps the sum of all tries linear.
        self.enough = 2 * self.pending.len();
        Ok(())
    }
}

fn too_large(message: impl Into<String>) -> FetchError {
    FetchError::new(ErrorClass::TooLarge, message)
}

fn decode_error(message: impl Into<String>) -> FetchError {
    FetchError::new(ErrorClass::Decode, message)
}
