//! A parser of sitemaps in plain text, with one URL per line.

use super::document::is_blank;
use super::{Emit, MAX_URL_LEN, SitemapEntry};
use crate::FetchError;

/// A parser of lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// True in a line that is too long: the rest of the line is skipped.
    in_long_line: bool,
}

impl Lines {
    /// Emits the URLs of all complete lines of `text` and returns the number of bytes
    /// consumed.
    pub(super) fn read(
        &mut self,
        text: &str,
        is_last: bool,
        emit: &mut Emit<'_>,
    ) -> Result<usize, FetchError> {
        let consumed = match text.rfind(['\r', '\n']) {
            _ if is_last => text.len(),
            Some(end) => end + 1,
            None => 0,
        };
        for line in text[..consumed].split_terminator(['\r', '\n']) {
            if !std::mem::take(&mut self.in_long_line) {
                emit_line(line, emit)?;
            }
        }
        let begun = &text[consumed..];
        if self.in_long_line || begun.len() > MAX_URL_LEN {
            if !self.in_long_line {
                emit_line(begun, emit)?;
            }
            self.in_long_line = true;
            return Ok(text.len());
        }
        Ok(consumed)
    }
}

/// Emits the URL on a line, if it is one.
fn emit_line(line: &str, emit: &mut Emit<'_>) -> Result<(), FetchError> {
    if line.len() > MAX_URL_LEN {
        return emit(SitemapEntry::TooLong);
    }
    let line = line.trim_matches(is_blank);
    // The response for a missing sitemap is often an error page; its lines are no
    // URLs.
    let is_url = ["http://", "https://"].iter().any(|scheme| {
        line.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    if is_url { emit(SitemapEntry::Page(line)) } else { Ok(()) }
}
