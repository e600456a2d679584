//! The format of the chapter's program: a line for each URL, and statistics.

use std::io;
use std::sync::Arc;

use crawl_core::{CrawlSummary, LinkContext, Outcome, Referrer, Row, UncheckedReason};
use web::cut;
use web::links::Element;

use super::{End, MAX_TEXT_LEN, Out, ReportFormat, ShownRow, date};

/// The format of the chapter. Keeps a line for each URL until the end, to write
/// them in alphabetical order, as the original program does.
pub(super) struct Chapter {
    lines: Vec<Line>,
    /// Texts of the lines after the URL, all in one string: so each of a million
    /// lines costs its text and little more.
    texts: String,
    has_color: bool,
    broken_only: bool,
}

struct Line {
    url: Arc<str>,
    /// Offset of its text in [`Chapter::texts`].
    start: usize,
    length: u32,
    is_broken: bool,
}

impl Chapter {
    pub(super) fn new(broken_only: bool, has_color: bool) -> Self {
        Self { lines: Vec::new(), texts: String::new(), has_color, broken_only }
    }

    fn line(&self, line: &Line) -> String {
        let end = line.start + line.length as usize;
        format!("{} {}\n", line.url, self.texts.get(line.start..end).unwrap_or_default())
    }

    fn write(&self, line: &Line, out: &mut Out) -> io::Result<()> {
        if line.is_broken && self.has_color {
            out.write_red(&self.line(line))
        } else {
            out.write(&self.line(line))
        }
    }

    fn write_broken(&self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        let broken: Vec<&Line> = self.lines.iter().filter(|line| line.is_broken).collect();
        if broken.is_empty() {
            return Ok(());
        }
        out.write(&format!("\n*** Broken: {} ***\n", broken.len()))?;
        for line in broken {
            self.write(line, out)?;
            if let Ok(summary) = end.summary {
                out.write(&referrers(&line.url, summary))?;
            }
        }
        Ok(())
    }
}

impl ReportFormat for Chapter {
    fn row(&mut self, row: &ShownRow<'_>, _: &mut Out) -> io::Result<()> {
        let mut text = text(row);
        cut(&mut text, MAX_TEXT_LEN);
        let start = self.texts.len();
        self.texts.push_str(&text);
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.lines.push(Line {
            url: Arc::clone(&row.url),
            start,
            length,
            is_broken: row.is_broken,
        });
        Ok(())
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        self.lines.sort_unstable_by(|a, b| a.url.cmp(&b.url));
        if !self.broken_only {
            out.write("*** Report ***\n")?;
            self.lines.iter().try_for_each(|line| self.write(line, out))?;
        }
        out.write(&statistics(end))?;
        self.write_broken(end, out)
    }
}

/// Returns the statistics that the original program prints, and some more.
fn statistics(end: &End<'_>) -> String {
    let total = end.report.total();
    let seconds = end.elapsed.as_secs_f64();
    let max_tasks = end.summary.ok().and_then(|summary| summary.max_tasks);
    let tasks = max_tasks.map_or("none".into(), |n| n.to_string());
    // Without a limit, the peak number of fetches takes its place.
    let reached = end.summary.map_or(1, |summary| summary.peak_in_flight.max(1));
    let divisor = max_tasks.map_or(reached as f64, |n| n as f64);
    let speed = total as f64 / seconds.max(1e-9) / divisor;
    let mut text = format!(
        "Finished {total} urls in {seconds:.3} secs (max_tasks={tasks}) ({speed:.3} urls/sec/task)\n"
    );
    for (name, count) in end.report.counts() {
        text += &format!("{count:>11} {name}\n");
    }
    match end.summary {
        Ok(summary) => {
            text += &format!("Todo: {}\nDone: {}\n", summary.todo, summary.done);
            let left_out = [
                ("Too deep", summary.too_deep),
                ("Nofollow", summary.unchecked.count(UncheckedReason::Nofollow)),
                ("Unchecked fragments", summary.unchecked_fragments),
            ];
            for (what, count) in left_out {
                if count > 0 {
                    text += &format!("{what}: {count}\n");
                }
            }
        }
        Err(problem) => text += &format!("Not finished: {problem}\n"),
    }
    text + &format!("Date: {}\n", date::http(std::time::SystemTime::now()))
}

/// Limit on the referrers of one URL or redirect that are listed.
const MAX_REFERRERS: usize = 10;

/// Limit on the lines about the referrers of one URL.
const MAX_PLACES: usize = 20;

/// Returns the referrers of a URL with their places. Indented below a referrer that
/// redirects to the URL are its own referrers.
fn referrers(url: &str, summary: &CrawlSummary) -> String {
    let (mut text, mut shown) = (String::new(), Vec::new());
    write_referrers(url, summary, &mut shown, 1, &mut text);
    text
}

fn write_referrers<'e>(
    url: &str,
    summary: &'e CrawlSummary,
    shown: &mut Vec<&'e str>,
    depth: usize,
    text: &mut String,
) {
    const INDENT: &str = "    ";
    let (mut referrers, count) = summary.admission.referrers(url);
    // The order in which they were found depends on that of the responses.
    referrers.sort_by_key(|referrer| referrer.url);
    referrers.truncate(MAX_REFERRERS);
    for Referrer { url, context } in &referrers {
        if shown.len() == MAX_PLACES {
            return;
        }
        *text += &format!("{}found on {url}", INDENT.repeat(depth));
        let is_new = !shown.contains(url);
        shown.push(url);
        if let Some(LinkContext { position, element, text: words }) = context {
            *text += &format!(", line {}", position.line);
            if *element != Element::A {
                *text += &format!(", {}", element.name());
            }
            if !words.is_empty() {
                *text += &format!(": {words}");
            }
        }
        text.push('\n');
        // A redirect has no place for a link; its referrers are listed instead.
        if context.is_none() && is_new {
            write_referrers(url, summary, shown, depth + 1, text);
        }
    }
    let more = u64::from(count) - referrers.len() as u64;
    if more > 0 {
        *text += &format!("{}and {more} times more\n", INDENT.repeat(depth));
    }
}

/// Returns the text that the original program prints after the URL of a row.
fn text(row: &Row) -> String {
    let status = row.status.map_or("-".into(), |status| status.to_string());
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".into());
    let content_type = or_none(&row.content_type);
    let encoding = or_none(&row.encoding);
    let size = row.size.map_or("-".into(), |size| size.to_string());
    match (row.outcome, &row.error, &row.next_url) {
        (Outcome::Skipped, Some(error), _) => format!("{status} skipped {error}"),
        (_, Some(error), _) => format!("{status} error {error}"),
        (_, None, Some(next_url)) => format!("{status} redirect {next_url}"),
        (Outcome::Page, None, None) => {
            let (new, all) = (row.num_new_urls, row.num_urls);
            format!("{status} {content_type} {encoding} {size} {new}/{all}")
        }
        _ => format!("{status} {content_type} {encoding} {size}"),
    }
}
