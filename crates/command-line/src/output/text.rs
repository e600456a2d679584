//! The report that people read.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use crawl_core::links::Element;
use crawl_core::{Ending, Mention, Outcome, Referrer, Row};

use super::{End, Form, Out};

/// Keeps a line for each URL until the end: they are told in the order of the
/// alphabet, as the original program does.
pub(super) struct Text {
    lines: Vec<Line>,
    /// What the lines say after the URL, all in one: a line of a million costs
    /// its text and little more.
    texts: String,
    has_color: bool,
    broken_only: bool,
}

struct Line {
    url: Arc<str>,
    /// Where its text begins.
    start: usize,
    length: u32,
    is_broken: bool,
}

impl Text {
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
        if end.report.broken() == 0 {
            return Ok(());
        }
        out.write(&format!("\n*** Broken: {} ***\n", end.report.broken()))?;
        for line in self.lines.iter().filter(|line| line.is_broken) {
            self.write(line, out)?;
            if let Ok(ending) = end.ending {
                out.write(&referrers(&line.url, ending))?;
            }
        }
        Ok(())
    }
}

impl Form for Text {
    fn row(&mut self, row: &Row, _: &mut Out) -> io::Result<()> {
        let text = text(row);
        let (start, is_broken) = (self.texts.len(), row.is_broken());
        self.texts.push_str(&text);
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.lines.push(Line { url: Arc::clone(&row.url), start, length, is_broken });
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

/// What the original program counts, and what it could not say.
fn statistics(end: &End<'_>) -> String {
    let total = end.report.total();
    let seconds = end.elapsed.as_secs_f64();
    let max_tasks = end.ending.ok().and_then(|ending| ending.max_tasks);
    let tasks = max_tasks.map_or("none".into(), |n| n.to_string());
    // Without a limit, what was reached stands for it.
    let reached = end.ending.map_or(1, |ending| ending.peak_in_flight.max(1));
    let divisor = max_tasks.map_or(reached as f64, |n| n as f64);
    let speed = total as f64 / seconds.max(1e-9) / divisor;
    let mut text = format!(
        "Finished {total} urls in {seconds:.3} secs (max_tasks={tasks}) ({speed:.3} urls/sec/task)\n"
    );
    for (name, count) in end.report.counts() {
        text += &format!("{count:>11} {name}\n");
    }
    match end.ending {
        Ok(ending) => {
            text += &format!("Todo: {}\nDone: {}\n", ending.todo, ending.done);
            for (what, count) in [("Too deep", ending.too_deep), ("Nofollow", ending.nofollow)] {
                if count > 0 {
                    text += &format!("{what}: {count}\n");
                }
            }
        }
        Err(problem) => text += &format!("Not finished: {problem}\n"),
    }
    text + &format!("Date: {}\n", date())
}

pub(super) fn date() -> String {
    httpdate::fmt_http_date(SystemTime::now())
}

/// How many lines there are at most about who leads to one URL.
const MOST_PLACES: usize = 20;

/// Who leads to a URL, and where; and, further in, who leads to those of them
/// that redirect to it.
fn referrers(url: &str, ending: &Ending) -> String {
    let (mut text, mut shown) = (String::new(), Vec::new());
    write_referrers(url, ending, &mut shown, 1, &mut text);
    text
}

fn write_referrers<'e>(
    url: &str,
    ending: &'e Ending,
    shown: &mut Vec<&'e str>,
    depth: usize,
    text: &mut String,
) {
    const INDENT: &str = "    ";
    let (referrers, count) = ending.admission.referrers(url);
    for Referrer { url, mention } in &referrers {
        if shown.len() == MOST_PLACES {
            return;
        }
        *text += &format!("{}found on {url}", INDENT.repeat(depth));
        let is_new = !shown.contains(url);
        shown.push(url);
        if let Some(Mention { place, element, text: words }) = mention {
            *text += &format!(", line {}", place.line);
            if *element != Element::A {
                *text += &format!(", {}", element.name());
            }
            if !words.is_empty() {
                *text += &format!(": {words}");
            }
        }
        text.push('\n');
        // A redirect has no lines of its own.
        if mention.is_none() && is_new {
            write_referrers(url, ending, shown, depth + 1, text);
        }
    }
    let more = u64::from(count) - referrers.len() as u64;
    if more > 0 {
        *text += &format!("{}and {more} times more\n", INDENT.repeat(depth));
    }
}

/// What the original prints of a row after its URL.
fn text(row: &Row) -> String {
    let status = row.status.map_or("-".into(), |status| status.to_string());
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".into());
    let content_type = or_none(&row.content_type);
    let encoding = or_none(&row.encoding);
    let size = row.size;
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
