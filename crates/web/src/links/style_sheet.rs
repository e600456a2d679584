//! Reader of the links in a CSS file, and of those in the prolog of an XML file.

use super::css;
use super::page_links::{Element, PageLinks};
use super::position::LineCounter;
use crate::encoding::{Encoding, UTF_8};
use crate::html::decode_attribute;

/// The part of a style sheet that is searched for addresses, in bytes.
pub(super) const MAX_STYLE_SHEET_LEN: usize = 1024 * 1024;

/// A CSS file, as far as it has arrived and is searched: its first MiB.
#[derive(Debug, Default)]
pub struct StyleSheet {
    css: Vec<u8>,
    charset: Option<String>,
    /// Links have their positions.
    has_positions: bool,
}

impl StyleSheet {
    /// Creates the reader of a file with this label of its encoding in the header
    /// `Content-Type`. Its links have their positions if that is wanted.
    pub fn new(charset: Option<&str>, has_positions: bool) -> Self {
        Self { css: Vec::new(), charset: charset.map(str::to_owned), has_positions }
    }

    /// Reads the next bytes, cut anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        let room = MAX_STYLE_SHEET_LEN - self.css.len();
        self.css.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Returns the memory of what has arrived, in bytes.
    pub fn memory(&self) -> usize {
        self.css.len()
    }

    /// Ends the file and returns its links. If it `is_cut`, the last one may be incomplete.
    pub fn finish(self, is_cut: bool) -> PageLinks {
        // CSS Syntax Module Level 3, section 3.2; a byte order mark goes before all.
        let of_header = self.charset.and_then(|label| Encoding::for_label(label.as_bytes()));
        let encoding = of_header.or_else(|| declared(&self.css)).unwrap_or(UTF_8);
        let (css, ..) = encoding.decode(&self.css);
        let mut links = PageLinks::default();
        let mut lines = LineCounter::new();
        let is_cut = is_cut || self.css.len() == MAX_STYLE_SHEET_LEN;
        for (offset, url) in css::urls_with_offsets(&css, is_cut) {
            let position = || lines.position(css.as_bytes(), 0, offset as u64);
            links.push(Element::Css, &url, self.has_positions.then(position));
        }
        links
    }
}

/// Returns the encoding of an `@charset` at the beginning of a file. It was read as ASCII,
/// so that it cannot be UTF-16, which stands for UTF-8 there.
fn declared(css: &[u8]) -> Option<&'static Encoding> {
    let label = css.strip_prefix(b"@charset \"")?;
    let end = label.iter().position(|byte| *byte == b'"')?;
    Some(Encoding::for_label(label.get(..end)?)?.output_encoding())
}

/// Returns the addresses of the style sheets that the prolog of an XML file names
/// (Associating Style Sheets with XML documents, section 4), but for those in comments.
pub fn style_sheets_of_prolog(prolog: &str) -> impl Iterator<Item = String> {
    let (before, comments) = prolog.split_once("<!--").unwrap_or((prolog, ""));
    let behind = comments.split("<!--").filter_map(|comment| comment.split_once("-->"));
    let parts = [before].into_iter().chain(behind.map(|(_, after)| after));
    let instructions = parts.flat_map(|part| part.split("<?xml-stylesheet").skip(1));
    instructions.filter_map(|rest| {
        let (instruction, _) = rest.split_once("?>")?;
        let (_, value) = instruction.split_once("href=")?;
        let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        let mut href = String::new();
        decode_attribute(value[1..].split(quote).next()?.as_bytes(), &mut href);
        (!href.is_empty()).then_some(href)
    })
}
