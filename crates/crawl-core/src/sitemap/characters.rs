//! The characters that the bytes of a sitemap stand for.

use encoding_rs::{Decoder, Encoding, UTF_8};
use quick_xml::Reader;
use quick_xml::events::Event;

/// An XML declaration is looked for in this many bytes.
const DECLARATION: usize = 256;

/// Sitemaps must be in UTF-8. A byte order mark, or else an XML declaration,
/// may say that this one is not. Malformed bytes become U+FFFD.
#[derive(Default)]
pub(super) struct Characters {
    /// The bytes before the encoding is known.
    beginning: Vec<u8>,
    decoder: Option<Decoder>,
}

impl std::fmt::Debug for Characters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let encoding = self.decoder.as_ref().map(|decoder| decoder.encoding().name());
        f.debug_struct("Characters").field("encoding", &encoding).finish_non_exhaustive()
    }
}

impl Characters {
    /// Adds to `text` what `bytes` stand for.
    pub(super) fn decode(&mut self, bytes: &[u8], text: &mut String) {
        if self.decoder.is_some() {
            return self.decode_known(bytes, false, text);
        }
        self.beginning.extend_from_slice(bytes);
        if self.beginning.len() >= DECLARATION || self.beginning.contains(&b'>') {
            self.begin(false, text);
        }
    }

    /// There are no more bytes.
    pub(super) fn finish(&mut self, text: &mut String) {
        match self.decoder {
            Some(_) => self.decode_known(&[], true, text),
            None => self.begin(true, text),
        }
    }

    fn begin(&mut self, is_last: bool, text: &mut String) {
        let beginning = std::mem::take(&mut self.beginning);
        self.decoder = Some(declared(&beginning).unwrap_or(UTF_8).new_decoder());
        self.decode_known(&beginning, is_last, text);
    }

    fn decode_known(&mut self, bytes: &[u8], is_last: bool, text: &mut String) {
        let Some(decoder) = &mut self.decoder else { return };
        // With enough room there is nothing left to decode afterwards.
        text.reserve(decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(0));
        let _ = decoder.decode_to_string(bytes, text, is_last);
    }
}

/// The encoding that an XML declaration names (XML 1.0, section 2.8).
fn declared(beginning: &[u8]) -> Option<&'static Encoding> {
    let start = &beginning[..beginning.len().min(DECLARATION)];
    // What lies behind may not have come yet.
    let tag = start.split_inclusive(|&byte| byte == b'>').next().unwrap_or_default();
    let ascii: String = tag.iter().map(|&byte| char::from(byte)).collect();
    let Ok(Event::Decl(declaration)) = Reader::from_str(&ascii).read_event() else {
        return None;
    };
    let label = declaration.encoding()?.ok()?;
    // Had it been UTF-16, nobody could have read that it says so.
    Encoding::for_label_no_replacement(label.as_bytes()).filter(|e| e.is_ascii_compatible())
}
