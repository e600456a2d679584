//! The text format: a report for people. It lists the broken URLs and ends with
//! one sentence.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::sync::Arc;

use crawl_core::{ErrorClass, Outcome, Row, UncheckedReason};
use web::cut;

use super::broken::{Broken, Place, places, sentence, what};
use super::findings::{Finding, findings, in_layout};
use super::{End, Grouping, MAX_TEXT_LEN, Out, ReportFormat, ShownRow};
use crate::parsers::printable;

/// The text format. It keeps a line for each URL only if all are listed.
pub(super) struct Text {
    grouping: Grouping,
    has_color: bool,
    /// The URL and the line of every row, if all are listed.
    all: Option<Vec<(Arc<str>, String)>>,
}

const INDENT: &str = "    ";

impl Text {
    pub(super) fn new(grouping: Grouping, lists_all: bool, has_color: bool) -> Self {
        Self { grouping, has_color, all: lists_all.then(Vec::new) }
    }

    fn write_heading(&self, text: &str, out: &mut Out) -> io::Result<()> {
        if self.has_color { out.write_red(text) } else { out.write(&format!("{text}\n")) }
    }

    pub(super) fn write_by_target(
        &self,
        listed: &[Broken],
        end: &End<'_>,
        out: &mut Out,
    ) -> io::Result<()> {
        for finding in findings(listed, end) {
            let heading = format!("{}  {}", finding.cause(), finding.subject());
            self.write_heading(&heading, out)?;
            let lines = match (finding.shared, finding.urls.first()) {
                (None, Some(broken)) => self.places_lines(broken, end),
                _ => self.urls_lines(&finding, end),
            };
            out.write(&(lines + "\n"))?;
        }
        Ok(())
    }

    /// Returns the lines about the links to a broken URL.
    fn places_lines(&self, broken: &Broken, end: &End<'_>) -> String {
        let places = places(broken, end);
        let mut lines = message(broken);
        if let Some((spread, first)) = in_layout(&places, self.grouping, end) {
            lines += &format!("{INDENT}{spread}, first {}\n", on_page(first));
            return lines;
        }
        let shown = places.iter().take(self.grouping.max_referrers);
        lines.extend(shown.map(|place| format!("{INDENT}{}\n", on_page(place))));
        if places.is_empty() {
            lines += &format!("{INDENT}{}\n", origin(broken, end));
        }
        lines + &more(places.len().saturating_sub(self.grouping.max_referrers))
    }

    /// Returns the lines about URLs that share a host or a page: one for each, with the first
    /// link to it.
    fn urls_lines(&self, finding: &Finding<'_>, end: &End<'_>) -> String {
        let mut lines = String::new();
        if let Some(message) = finding.message() {
            lines += &format!("{INDENT}{message}\n");
        }
        for broken in finding.urls.iter().take(self.grouping.max_referrers) {
            let places = places(broken, end);
            let place = match (in_layout(&places, self.grouping, end), places.as_slice()) {
                (Some((spread, _)), _) => spread,
                (None, []) => origin(broken, end).to_owned(),
                (None, [place]) => on_page(place),
                (None, [place, rest @ ..]) => {
                    format!("{} and {} more", on_page(place), rest.len())
                }
            };
            let _ = writeln!(lines, "{INDENT}{}  {place}", finding.name(broken));
        }
        lines + &more(finding.urls.len().saturating_sub(self.grouping.max_referrers))
    }

    fn write_by_page(&self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        let mut pages: BTreeMap<String, Vec<(Place<'_>, &Broken)>> = BTreeMap::new();
        let mut unlinked = Vec::new();
        for broken in end.broken {
            let places = places(broken, end);
            if places.is_empty() {
                unlinked.push(broken);
            }
            for place in places {
                pages.entry(place.page.to_string()).or_default().push((place, broken));
            }
        }
        for (page, mut links) in pages {
            links.sort_by_key(|(place, _)| (place.line(), place.column()));
            let mut lines = page + "\n";
            for (place, broken) in links {
                let line = place.line().map(|line| format!("line {line}: ")).unwrap_or_default();
                let (problem, url) = (broken.problem(), &broken.url);
                let text = in_parentheses(&place.text());
                let _ = writeln!(lines, "{INDENT}{line}{problem}  {url}{text}{}", via(&place));
            }
            out.write(&(lines + "\n"))?;
        }
        for broken in unlinked {
            self.write_heading(&format!("{}  {}", broken.problem_kind(), broken.url), out)?;
            out.write(&format!("{}{INDENT}{}\n\n", message(broken), origin(broken, end)))?;
        }
        Ok(())
    }
}

impl ReportFormat for Text {
    fn row(&mut self, row: &ShownRow<'_>, _: &mut Out) -> io::Result<()> {
        if let Some(all) = &mut self.all {
            all.push((Arc::clone(&row.url), line(row)));
        }
        Ok(())
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        if let Some(all) = &mut self.all {
            if let Ok(summary) = end.summary {
                let unchecked = summary.unchecked();
                all.extend(
                    unchecked.map(|(reason, url)| unchecked_line(reason, &end.locate.shown(url))),
                );
            }
            all.sort_unstable();
            all.iter().try_for_each(|(_, line)| out.write(line))?;
            out.write("\n")?;
        }
        if self.grouping.by_page {
            self.write_by_page(end, out)?;
        } else {
            self.write_by_target(end.broken, end, out)?;
        }
        self.write_by_target(end.moved, end, out)?;
        out.write(&format!("{}\n", sentence(end)))
    }
}

/// The sum alone, for the terminal while reports go to files.
pub(super) struct Sentence;

impl ReportFormat for Sentence {
    fn row(&mut self, _: &ShownRow<'_>, _: &mut Out) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        out.write(&format!("{}\n", sentence(end)))
    }
}

/// Returns the line of a row among all rows.
fn line(row: &Row) -> String {
    let status = row.status.map_or("-".to_owned(), |status| status.to_string());
    let is_loop = row.error.as_ref().is_some_and(|error| error.class == ErrorClass::RedirectLoop);
    let mut result = match (&row.error, &row.next_url) {
        // Which redirect of a circle has the error depends on the order of the responses.
        (Some(_), Some(next_url)) if is_loop && **next_url != *row.url => {
            format!(" -> {next_url}")
        }
        (Some(error), _) if row.outcome == Outcome::Skipped && row.verdict.is_none() => {
            format!("  skipped: {error}")
        }
        (Some(error), _) => format!("  {error}"),
        (None, Some(next_url)) => format!(" -> {next_url}"),
        (None, None) => String::new(),
    };
    cut(&mut result, MAX_TEXT_LEN);
    if let Some(verdict) = row.verdict {
        let _ = write!(result, " ({})", verdict.name());
    }
    format!("{status:>3}  {}{result}\n", row.url)
}

/// Returns the line of a URL that was not checked, among all rows.
fn unchecked_line(reason: UncheckedReason, url: &str) -> (Arc<str>, String) {
    let mut shown = url.to_owned();
    cut(&mut shown, MAX_TEXT_LEN);
    (url.into(), format!("  -  {}  not checked: {}\n", printable(&shown), what(reason)))
}

/// Returns the line with the message of an error, if there is one.
fn message(broken: &Broken) -> String {
    broken.message().map(|message| format!("{INDENT}{message}\n")).unwrap_or_default()
}

/// Returns the place of a link in words.
fn on_page(place: &Place<'_>) -> String {
    let line = place.line().map(|line| format!(", line {line}")).unwrap_or_default();
    let text = place.text();
    let text = if text.is_empty() { text } else { format!(": {text}") };
    format!("on {}{line}{text}{}", place.page, via(place))
}

/// Returns the redirects between a link and the broken URL, in words.
fn via(place: &Place<'_>) -> String {
    if place.via.is_empty() {
        String::new()
    } else {
        format!(" (redirected by {})", place.via.join(", "))
    }
}

fn in_parentheses(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}

/// Returns the words for a URL to which no page links.
fn origin(broken: &Broken, end: &End<'_>) -> &'static str {
    match end.summary {
        Ok(_) if end.locate.file(&broken.asked).is_some() => "one of the files to check",
        Ok(_) if broken.is_root => "start URL",
        Ok(_) => "a sitemap lists it",
        Err(_) => "the crawl did not finish",
    }
}

fn more(number: usize) -> String {
    if number == 0 {
        String::new()
    } else {
        format!("{INDENT}and {number} more (--referrers all lists them)\n")
    }
}
