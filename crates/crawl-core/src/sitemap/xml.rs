//! Sitemaps in XML, cut into tags and text.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};

use super::document::Document;
use super::{Give, LONGEST_PIECE, decode_error, too_large};
use crate::FetchError;

/// The library wants to see a tag as a whole. So what it calls an error may
/// only be a tag of which more is to come: it is one when nothing comes, or too
/// much.
#[derive(Debug, Default)]
pub(super) struct Xml {
    document: Document,
}

impl Xml {
    /// Reads what is whole in `text`, and says how much that was.
    pub(super) fn read(
        &mut self,
        text: &str,
        is_last: bool,
        give: &mut Give<'_>,
    ) -> Result<usize, FetchError> {
        // The reader would pass over one of them, and not count it.
        let readable = text.trim_start_matches(BYTE_ORDER_MARK);
        let mut reader = reader(readable);
        let passed = text.len() - readable.len();
        let mut whole = passed;
        loop {
            let event = reader.read_event();
            let end =
                usize::try_from(reader.buffer_position()).map_or(text.len(), |at| passed + at);
            match event {
                Ok(Event::Eof) => break,
                // An ampersand at its end may be half of a reference.
                Ok(Event::Text(_)) if end == text.len() && !is_last => break,
                Ok(event) => {
                    at_most_a_piece(end - whole)?;
                    self.take(&event, give)?;
                    whole = end;
                }
                Err(error) if is_last => return Err(decode_error(format!("XML: {error}"))),
                Err(_) => break,
            }
        }
        at_most_a_piece(text.len() - whole)?;
        if is_last {
            self.document.end()?;
        }
        Ok(whole)
    }

    fn take(&mut self, event: &Event<'_>, give: &mut Give<'_>) -> Result<(), FetchError> {
        match event {
            Event::Start(tag) => self.document.enter(tag.name().as_ref()),
            Event::End(tag) => self.document.leave(tag.name().as_ref(), give),
            Event::Empty(tag) => {
                self.document.enter(tag.name().as_ref())?;
                self.document.leave(tag.name().as_ref(), give)
            }
            Event::Text(text) => self.document.text(text),
            Event::CData(text) => self.document.text(text),
            Event::GeneralRef(reference) => self.document.text(&resolved(reference)),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::Eof => {
                Ok(())
            }
        }
    }
}

/// Not a character of any URL.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

fn reader(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    // Whoever writes URLs into XML without escaping them is not alone.
    config.allow_dangling_amp = true;
    // Each reader sees a part only; the document knows which elements are open.
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    reader
}

/// What a reference stands for. Only those of XML itself are known: entities
/// that a sitemap declares stay as they are, and so nothing ever grows.
fn resolved(reference: &BytesRef<'_>) -> String {
    match (resolve_predefined_entity(reference), reference.resolve_char_ref()) {
        (Some(text), _) => text.to_owned(),
        (None, Ok(Some(character))) => character.to_string(),
        _ => format!("&{};", &**reference),
    }
}

fn at_most_a_piece(bytes: usize) -> Result<(), FetchError> {
    if bytes > LONGEST_PIECE {
        let message = format!("XML: more than {LONGEST_PIECE} bytes without the end of a tag");
        return Err(too_large(message));
    }
    Ok(())
}
