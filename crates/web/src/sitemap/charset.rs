//! A decoder of the character encoding of a sitemap.

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::encoding::{Decoder, Encoding, UTF_8};

/// The byte order mark (BOM). It is not a character of any URL.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// The number of bytes that are searched for an XML declaration.
const MAX_DECLARATION_LEN: usize = 256;

/// A streaming decoder to UTF-8.
///
/// Sitemaps must be in UTF-8, but a byte order mark, or else an XML declaration, may
/// name another encoding. Malformed bytes become U+FFFD.
#[derive(Default)]
pub(super) struct Charset {
    /// The first bytes, which are collected until the encoding is known.
    beginning: Vec<u8>,
    /// The decoder, once the encoding is known.
    decoder: Option<Decoder>,
}

impl std::fmt::Debug for Charset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let encoding = self.decoder.as_ref().map(|decoder| decoder.encoding().name());
        f.debug_struct("Characters").field("encoding", &encoding).finish_non_exhaustive()
    }
}

impl Charset {
    /// Decodes `bytes` and appends the characters to `text`.
    pub(super) fn decode(&mut self, bytes: &[u8], text: &mut String) {
        if self.decoder.is_some() {
            return self.decode_known(bytes, false, text);
        }
        self.beginning.extend_from_slice(bytes);
        if self.beginning.len() >= MAX_DECLARATION_LEN || self.beginning.contains(&b'>') {
            self.detect(false, text);
        }
    }

    /// Ends the decoding and appends the remaining characters to `text`.
    pub(super) fn finish(&mut self, text: &mut String) {
        match self.decoder {
            Some(_) => self.decode_known(&[], true, text),
            None => self.detect(true, text),
        }
    }

    /// Detects the encoding from the first bytes, and decodes these.
    fn detect(&mut self, is_last: bool, text: &mut String) {
        let beginning = std::mem::take(&mut self.beginning);
        self.decoder = Some(declared_encoding(&beginning).unwrap_or(UTF_8).new_decoder());
        self.decode_known(&beginning, is_last, text);
    }

    /// Decodes bytes in the encoding that was detected.
    fn decode_known(&mut self, bytes: &[u8], is_last: bool, text: &mut String) {
        let Some(decoder) = &mut self.decoder else { return };
        // With this capacity, a single call decodes all bytes.
        text.reserve(decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(0));
        let _ = decoder.decode_to_string(bytes, text, is_last);
    }
}

/// Returns the encoding that an XML declaration names (XML 1.0, section 2.8).
fn declared_encoding(beginning: &[u8]) -> Option<&'static Encoding> {
    let start = &beginning[..beginning.len().min(MAX_DECLARATION_LEN)];
    // The bytes after the tag are ignored, because they may arrive earlier or later.
    let tag = start.split_inclusive(|&byte| byte == b'>').next().unwrap_or_default();
    let ascii: String = tag.iter().map(|&byte| char::from(byte)).collect();
    let Ok(Event::Decl(declaration)) = Reader::from_str(&ascii).read_event() else {
        return None;
    };
    let label = declaration.encoding()?.ok()?;
    // A declaration that could be read as ASCII is not in UTF-16.
    Encoding::for_label_no_replacement(label.as_bytes()).filter(|e| e.is_ascii_compatible())
}
