//! The Markdown format: what is broken, for a comment or the summary of a CI job.

use std::collections::BTreeMap;
use std::io;
use std::mem;

use super::broken::{Broken, Place, places, sentence};
use super::{End, Grouping, Out, ReportFormat, ShownRow};
use crate::parsers::printable;

pub(super) struct Markdown {
    grouping: Grouping,
    /// Limit on the length, in bytes.
    max_len: usize,
}

/// Limit of GitHub on the summary of a step: 1 MiB.
pub(super) const MAX_SUMMARY: usize = 1024 * 1024;

/// The heading before the permanent redirects.
const MOVED: &str = "\n## Permanent redirects\n\n";

impl Markdown {
    pub(super) fn new(grouping: Grouping, max_len: usize) -> Self {
        Self { grouping, max_len }
    }

    fn target(&self, broken: &Broken, end: &End<'_>) -> String {
        let mut text = format!("- {} {}\n", bold(&broken.problem()), url(&broken.url));
        let places = places(broken, end);
        for place in places.iter().take(self.grouping.max_referrers) {
            let line = place.line().map(|line| format!(", line {line}")).unwrap_or_default();
            let words = escape(&place.text());
            let words = if words.is_empty() { words } else { format!(": {words}") };
            text += &format!("  - on {}{line}{words}{}\n", url(&place.page), via(place));
        }
        let more = places.len().saturating_sub(self.grouping.max_referrers);
        if more > 0 {
            text += &format!("  - and {more} more\n");
        }
        text
    }

    /// Returns an item for each link to a broken URL, by its page: the first one of a page
    /// has the heading. Those to which no page links come last.
    fn links(end: &End<'_>) -> Vec<String> {
        let mut pages: BTreeMap<String, Vec<(Option<u32>, String)>> = BTreeMap::new();
        let mut unlinked = Vec::new();
        for broken in end.broken {
            let (problem, to) = (bold(&broken.problem()), url(&broken.url));
            let places = places(broken, end);
            if places.is_empty() {
                unlinked.push(format!("- {problem} {to}\n"));
            }
            for place in places {
                let line = place.line().map(|line| format!("line {line}: ")).unwrap_or_default();
                let item = format!("- {line}{problem} {to}{}\n", via(&place));
                pages.entry(place.page.to_string()).or_default().push((place.line(), item));
            }
        }
        let mut links = Vec::new();
        for (page, mut items) in pages {
            items.sort();
            let mut before = format!("## {}\n\n", url(&page));
            links.extend(items.into_iter().map(|(_, item)| mem::take(&mut before) + &item));
            if let Some(last) = links.last_mut() {
                last.push('\n');
            }
        }
        let mut before = "## No page links to these\n\n".to_owned();
        links.extend(unlinked.into_iter().map(|item| mem::take(&mut before) + &item));
        links
    }
}

/// Writes items of at most `left` bytes, and how many more there are of `what`. Returns
/// the number of bytes that are left.
fn write_items(
    mut items: impl ExactSizeIterator<Item = String>,
    what: &str,
    mut left: usize,
    out: &mut Out,
) -> io::Result<usize> {
    while let Some(item) = items.next() {
        // Escaped, it is longer.
        let item = printable(&item);
        if item.len() > left {
            out.write(&format!("- and {} more {what}\n", items.len() + 1))?;
            return Ok(0);
        }
        left -= item.len();
        out.write(&item)?;
    }
    Ok(left)
}

impl ReportFormat for Markdown {
    fn row(&mut self, _: &ShownRow<'_>, _: &mut Out) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        let heading = format!("# Links\n\n{}\n", escape(&sentence(end)));
        out.write(&heading)?;
        // There is room for the lines that tell of the rest.
        let mut left = self.max_len.saturating_sub(heading.len() + MOVED.len() + 200);
        let target = |broken: &Broken| self.target(broken, end);
        if !end.broken.is_empty() {
            out.write("\n")?;
            left = if self.grouping.by_page {
                write_items(Self::links(end).into_iter(), "links", left, out)?
            } else {
                write_items(end.broken.iter().map(target), "broken URLs", left, out)?
            };
        }
        if !end.moved.is_empty() {
            out.write(MOVED)?;
            write_items(end.moved.iter().map(target), "redirects", left, out)?;
        }
        Ok(())
    }
}

fn via(place: &Place<'_>) -> String {
    let redirects: Vec<String> = place.via.iter().map(|redirect| url(redirect)).collect();
    if redirects.is_empty() {
        String::new()
    } else {
        format!(" (redirected by {})", redirects.join(", "))
    }
}

fn bold(text: &str) -> String {
    format!("**{}**", escape(text))
}

/// Returns a URL as an autolink (CommonMark, section 6.5). The path of a file, or a link
/// that is no URL, is text.
fn url(url: &str) -> String {
    let has_scheme = url.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme));
    let is_autolink = has_scheme && !url.contains([' ', '<', '>']);
    if is_autolink { format!("<{url}>") } else { escape(url) }
}

/// Returns true for the scheme of an autolink. Text before a colon may be anything else.
fn is_scheme(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic());
    begins && (2..=32).contains(&text.len()) && text.bytes().all(is_allowed)
}

/// Escapes the ASCII punctuation that has a meaning in Markdown (CommonMark, section
/// 2.4).
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\`*_{}[]<>()#|~&!".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
