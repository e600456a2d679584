//! The Markdown format: what is broken, for a comment or the summary of a CI job.

use std::collections::BTreeMap;
use std::io;
use std::mem;

use super::broken::{Broken, Place, places, sentence};
use super::findings::{Finding, findings, in_layout};
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

    /// Returns the items of a finding: a URL with the links to it, or a host or a page with its
    /// URLs.
    fn finding(&self, finding: &Finding<'_>, end: &End<'_>) -> String {
        if let (None, [broken]) = (finding.shared, finding.urls.as_slice()) {
            return self.target(broken, end);
        }
        let mut text = format!("- {} {}\n", bold(&finding.problem()), subject(finding));
        for broken in finding.urls.iter().take(self.grouping.max_referrers) {
            let places = places(broken, end);
            let more = match places.len() {
                0 | 1 => String::new(),
                n => format!(" and {} more", n - 1),
            };
            let place = places.first().map(|place| format!(" {}{more}", on_page(place)));
            text += &format!("  - {}{}\n", url(finding.name(broken)), place.unwrap_or_default());
        }
        text + &more(finding.urls.len(), self.grouping)
    }

    fn target(&self, broken: &Broken, end: &End<'_>) -> String {
        let mut text = format!("- {} {}\n", bold(&broken.problem()), url(&broken.url));
        let places = places(broken, end);
        if let Some((spread, first)) = in_layout(&places, self.grouping, end) {
            return text + &format!("  - {spread}, first {}\n", on_page(first));
        }
        for place in places.iter().take(self.grouping.max_referrers) {
            text += &format!("  - {}\n", on_page(place));
        }
        text + &more(places.len(), self.grouping)
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

/// Writes items of at most `left` bytes, and how many more there are of `what`. Returns the
/// number of bytes that are left.
fn write_items<T>(
    items: &[T],
    number: fn(&T) -> usize,
    what: &str,
    text: impl Fn(&T) -> String,
    mut left: usize,
    out: &mut Out,
) -> io::Result<usize> {
    for (n, item) in items.iter().enumerate() {
        // Escaped, it is longer.
        let item = text(item);
        let item = printable(&item);
        if item.len() > left {
            let rest: usize = items[n..].iter().map(number).sum();
            out.write(&format!("- and {rest} more {what}\n"))?;
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
        let text = |finding: &Finding<'_>| self.finding(finding, end);
        let number = |finding: &Finding<'_>| finding.urls.len();
        if !end.broken.is_empty() {
            out.write("\n")?;
            left = if self.grouping.by_page {
                write_items(&Self::links(end), |_| 1, "links", String::clone, left, out)?
            } else {
                let findings = findings(end.broken, end);
                write_items(&findings, number, "broken URLs", text, left, out)?
            };
        }
        if !end.moved.is_empty() {
            out.write(MOVED)?;
            write_items(&findings(end.moved, end), number, "redirects", text, left, out)?;
        }
        Ok(())
    }
}

/// Returns the place of a link in words.
fn on_page(place: &Place<'_>) -> String {
    let line = place.line().map(|line| format!(", line {line}")).unwrap_or_default();
    let words = escape(&place.text());
    let words = if words.is_empty() { words } else { format!(": {words}") };
    format!("on {}{line}{words}{}", url(&place.page), via(place))
}

/// Returns the host or the page that URLs share, and their number.
fn subject(finding: &Finding<'_>) -> String {
    let shared = finding.shared.unwrap_or_default();
    format!("{}: {}", url(shared), finding.size())
}

/// Returns the item that says how many more there are.
fn more(number: usize, grouping: Grouping) -> String {
    match number.saturating_sub(grouping.max_referrers) {
        0 => String::new(),
        more => format!("  - and {more} more\n"),
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
/// that is not a URL, is text.
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
