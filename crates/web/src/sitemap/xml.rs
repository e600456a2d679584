//! A tokenizer of sitemaps in XML, which splits them into tags and text.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::charset::BYTE_ORDER_MARK;
use super::document::{Document, is_blank};
use super::{Emit, MAX_PIECE_LEN, decode_error, too_large};
use crate::FetchError;
use crate::html::decode_attribute;

/// A streaming XML reader.
///
/// The library needs a complete tag. So an error of the library may only mean that
/// the rest of a tag has not arrived. It counts as an error at the end of the sitemap,
/// or when the tag is too long.
#[derive(Debug, Default)]
pub(super) struct Xml {
    document: Document,
}

impl Xml {
    /// Handles the complete tags and texts in `text` and returns the number of bytes
    /// consumed.
    pub(super) fn read(
        &mut self,
        text: &str,
        is_last: bool,
        emit: &mut Emit<'_>,
    ) -> Result<usize, FetchError> {
        // The reader skips a byte order mark without counting it in its position.
        let readable = text.trim_start_matches(BYTE_ORDER_MARK);
        let mut reader = reader(readable);
        let skipped = text.len() - readable.len();
        let mut consumed = skipped;
        loop {
            let event = reader.read_event();
            let end =
                usize::try_from(reader.buffer_position()).map_or(text.len(), |at| skipped + at);
            match event {
                Ok(Event::Eof) => break,
                Ok(Event::Text(part)) => {
                    // Of blanks before text, or before a tag, there may be any number.
                    let (blanks, rest) = split_blanks(&part);
                    // Text at the end may continue: for example, an ampersand may be the
                    // beginning of a reference.
                    if end == text.len() && !is_last {
                        self.document.text(blanks)?;
                        consumed += blanks.len();
                        break;
                    }
                    check_piece_len(rest.len())?;
                    self.document.text(&part)?;
                    consumed = end;
                }
                Ok(event) => {
                    check_piece_len(end - consumed)?;
                    self.handle(&event, emit)?;
                    consumed = end;
                }
                Err(error) if is_last => return Err(decode_error(format!("XML: {error}"))),
                Err(_) => break,
            }
        }
        check_piece_len(text.len() - consumed)?;
        if is_last {
            self.document.finish()?;
        }
        Ok(consumed)
    }

    fn start_tag(&mut self, tag: &BytesStart<'_>, emit: &mut Emit<'_>) -> Result<(), FetchError> {
        self.document.start_tag(tag.name().as_ref())?;
        if tag.local_name().as_ref() != "link" {
            return Ok(());
        }
        // A tag that is wrong after its `href` is not worth an error.
        let mut href = tag.html_attributes().flatten().filter(|it| it.key.as_ref() == "href");
        match href.next() {
            Some(href) => {
                let mut text = String::new();
                decode_attribute(href.value.as_bytes(), &mut text);
                self.document.link(&text, emit)
            }
            None => Ok(()),
        }
    }

    /// Passes an event of the library that is no text on to the document.
    fn handle(&mut self, event: &Event<'_>, emit: &mut Emit<'_>) -> Result<(), FetchError> {
        match event {
            Event::Start(tag) => self.start_tag(tag, emit),
            Event::End(tag) => self.document.end_tag(tag.name().as_ref(), emit),
            Event::Empty(tag) => {
                self.start_tag(tag, emit)?;
                self.document.end_tag(tag.name().as_ref(), emit)
            }
            Event::CData(text) => self.document.text(text),
            Event::GeneralRef(reference) => self.document.text(&resolve(reference)),
            Event::Text(_) | Event::Eof => Ok(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => Ok(()),
        }
    }
}

/// Splits a text into the blanks at its beginning and the rest.
fn split_blanks(text: &str) -> (&str, &str) {
    text.split_at(text.len() - text.trim_start_matches(is_blank).len())
}

/// Creates a lenient reader.
fn reader(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    // Many sites write URLs into XML without escaping the ampersands.
    config.allow_dangling_amp = true;
    // Each reader sees only a part; the document knows the open elements.
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    reader
}

/// Returns the text of a reference. Only character references and the predefined
/// entities are resolved. Entities that a sitemap declares stay as they are, so a
/// small sitemap cannot grow (as in the "billion laughs" attack).
fn resolve(reference: &BytesRef<'_>) -> String {
    match (resolve_predefined_entity(reference), reference.resolve_char_ref()) {
        (Some(text), _) => text.to_owned(),
        (None, Ok(Some(character))) => character.to_string(),
        _ => format!("&{};", &**reference),
    }
}

/// Returns an error if a tag, comment or text is longer than [`MAX_PIECE_LEN`].
fn check_piece_len(bytes: usize) -> Result<(), FetchError> {
    if bytes > MAX_PIECE_LEN {
        let message = format!("XML: more than {MAX_PIECE_LEN} bytes without the end of a tag");
        return Err(too_large(message));
    }
    Ok(())
}
