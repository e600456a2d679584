//! Sitemaps in plain text: a URL on each line, and nothing else.

use super::{Entry, Give, LONGEST_URL};
use crate::FetchError;

/// Reads lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// What comes next is the rest of a line that was too long to be held.
    in_long_line: bool,
}

impl Lines {
    /// Gives the URLs of all lines of `text` that are whole, and says how much
    /// of `text` is done with.
    pub(super) fn read(
        &mut self,
        text: &str,
        is_last: bool,
        give: &mut Give<'_>,
    ) -> Result<usize, FetchError> {
        let whole = match text.rfind(['\r', '\n']) {
            _ if is_last => text.len(),
            Some(end) => end + 1,
            None => 0,
        };
        for line in text[..whole].split_terminator(['\r', '\n']) {
            if !std::mem::take(&mut self.in_long_line) {
                give_line(line, give)?;
            }
        }
        let begun = &text[whole..];
        if self.in_long_line || begun.len() > LONGEST_URL {
            if !self.in_long_line {
                give_line(begun, give)?;
            }
            self.in_long_line = true;
            return Ok(text.len());
        }
        Ok(whole)
    }
}

fn give_line(line: &str, give: &mut Give<'_>) -> Result<(), FetchError> {
    if line.len() > LONGEST_URL {
        return give(Entry::TooLong);
    }
    let line = line.trim();
    // A sitemap that is not there is often a page that says so.
    let is_url = ["http://", "https://"].iter().any(|scheme| {
        line.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    if is_url { give(Entry::Page(line)) } else { Ok(()) }
}
