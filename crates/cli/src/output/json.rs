//! The JSON format: one object for the whole crawl.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use crawl_core::{Admission, CrawlSummary, Referrer, StopReason, UncheckedReason};
use serde_json::{Map, Value, json};

use super::broken::{Broken, MAX_VIA};
use super::{End, Locate, Out, ReportFormat, ShownRow, date};

/// Version of the schema. It changes with every change that breaks readers.
const SCHEMA_VERSION: u32 = 1;

/// The JSON format. Rows are written as they come, so that a crawl of a million
/// pages needs no memory for them; the fields known at the end come after them.
#[derive(Default)]
pub(super) struct Json {
    has_rows: bool,
}

impl ReportFormat for Json {
    fn begin(&mut self, out: &mut Out) -> io::Result<()> {
        out.write(&format!("{{\"schema_version\":{SCHEMA_VERSION},\n\"rows\":["))
    }

    fn row(&mut self, row: &ShownRow<'_>, out: &mut Out) -> io::Result<()> {
        let comma = if self.has_rows { "," } else { "" };
        self.has_rows = true;
        out.write(&format!("{comma}\n{}", serde_json::to_string(row.row)?))
    }

    fn has_error_field(&self) -> bool {
        true
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        let stats: Map<String, Value> =
            end.report.counts().map(|(name, count)| (name.to_owned(), count.into())).collect();
        let summary = end.summary.ok();
        out.write("\n]")?;
        write_list("broken", end.broken, end, out)?;
        write_list("moved", end.moved, end, out)?;
        match summary {
            Some(summary) => write_unchecked(summary, end.locate, out)?,
            None => out.write(",\n\"unchecked\":null")?,
        }
        let members = [
            ("stats", json!(stats)),
            ("total", json!(end.report.total())),
            ("done", json!(summary.map(|summary| summary.done))),
            ("todo", json!(summary.map(|summary| summary.todo))),
            ("too_deep", json!(summary.map(|summary| summary.too_deep))),
            ("nofollow", json!(summary.map(|it| it.unchecked.count(UncheckedReason::Nofollow)))),
            ("unchecked_fragments", json!(summary.map(|summary| summary.unchecked_fragments))),
            ("warnings", json!(summary.map(|summary| &summary.warnings))),
            ("problem", json!(end.summary.err().or(end.problem))),
            ("stopped", json!(summary.and_then(stopped))),
            ("known_broken", json!(end.known.map(|known| known.still))),
            ("left_out", json!(summary.and_then(CrawlSummary::left_out))),
            ("elapsed_ms", json!(end.elapsed.as_millis() as u64)),
            ("date", json!(date::http(end.date))),
        ];
        let mut text = String::new();
        for (name, value) in members {
            text += &format!(",\n\"{name}\":{value}");
        }
        text += "}\n";
        out.write(&text)
    }
}

/// Writes a member that is a list of URLs. Each is written as it is made, since there may
/// be many, and an object takes kilobytes.
fn write_list(name: &str, listed: &[Broken], end: &End<'_>, out: &mut Out) -> io::Result<()> {
    out.write(&format!(",\n\"{name}\":["))?;
    for (n, broken) in listed.iter().enumerate() {
        let comma = if n > 0 { "," } else { "" };
        out.write(&format!("{comma}{}", object(broken, end)))?;
    }
    out.write("]")
}

/// Writes the URLs that were not checked, by their reasons.
fn write_unchecked(summary: &CrawlSummary, locate: &Locate, out: &mut Out) -> io::Result<()> {
    out.write(",\n\"unchecked\":{")?;
    for (n, reason) in UncheckedReason::ALL.into_iter().enumerate() {
        let count = match reason {
            UncheckedReason::Depth => summary.too_deep,
            UncheckedReason::Limit => summary.todo,
            _ => summary.unchecked.count(reason),
        };
        let comma = if n > 0 { "," } else { "" };
        out.write(&format!("{comma}\n\"{}\":{{\"count\":{count},\"urls\":[", reason.name()))?;
        let mut urls: Vec<&str> =
            summary.unchecked().filter(|(why, _)| *why == reason).map(|(_, url)| url).collect();
        urls.sort_unstable();
        for (n, url) in urls.into_iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            out.write(&format!("{comma}{}", json!(locate.shown(url))))?;
        }
        out.write("]}")?;
    }
    out.write("}")
}

/// Returns the limit or the event that ended the crawl early, in one word.
fn stopped(summary: &CrawlSummary) -> Option<&'static str> {
    match summary.stopped {
        Some(StopReason::MaxTime) => Some("max_time"),
        Some(StopReason::Signal(_)) => Some("signal"),
        Some(StopReason::Journal(_)) => Some("journal"),
        Some(StopReason::Frontier(_)) => Some("frontier"),
        Some(StopReason::UnderWay) => Some("under_way"),
        None if !summary.busy_hosts.is_empty() => Some("busy_hosts"),
        None => (summary.todo > 0).then_some("max_pages"),
    }
}

/// Returns a broken URL with its referrers.
fn object(broken: &Broken, end: &End<'_>) -> Value {
    let Broken { url, asked, referrer, status, error, moved_to, is_root: _, circle } = broken;
    let (mut referrers, mut count) = referrers_of(asked, circle, end);
    if let Some(referrer) = referrer
        && referrers.is_empty()
        && circle.is_empty()
    {
        // One of many processes knows the first page alone.
        referrers.push(json!({
            "url": referrer, "line": null, "column": null, "element": null, "text": null,
        }));
        count = count.max(1);
    }
    let mut object = json!({
        "url": url, "status": status, "error": error,
        "referrers": null, "referrer_count": count,
    });
    object["referrers"] = Value::Array(referrers);
    if let Some(moved_to) = moved_to {
        object["next_url"] = json!(moved_to);
    }
    object
}

/// Returns the referrers of a URL and their number, without the redirects in `circle`.
pub(super) fn referrers_of(url: &str, circle: &[Arc<str>], end: &End<'_>) -> (Vec<Value>, u32) {
    let Ok(CrawlSummary { admission, .. }) = end.summary else { return (Vec::new(), 0) };
    let (mut found, count) = admission.referrers(url);
    let num_found = found.len();
    found.retain(|referrer| circle.iter().all(|redirect| **redirect != *referrer.url));
    let in_circle = (num_found - found.len()) as u32;
    let objects = objects(found, admission, end.locate, &mut HashSet::new(), MAX_VIA);
    (objects, count.saturating_sub(in_circle))
}

/// Returns referrers in the order of their URLs. One that redirects has its own
/// referrers in it, unless they are in `redirects` and so are listed already, or the way
/// has `room` for no more redirects.
fn objects<'a>(
    mut found: Vec<Referrer<'a>>,
    admission: &'a Admission,
    locate: &Locate,
    redirects: &mut HashSet<&'a str>,
    room: usize,
) -> Vec<Value> {
    found.sort_by_key(|referrer| (referrer.url, referrer.context.map(|c| c.position.line)));
    let objects = found.into_iter().map(|Referrer { url, context }| {
        let mut object = json!({
            "url": locate.shown(url),
            "line": context.map(|context| context.position.line),
            "column": context.map(|context| context.position.column),
            "element": context.map(|context| context.element.name()),
            "text": context.map(|context| context.text),
        });
        let is_redirect = context.is_none() && !admission.is_fine(url);
        if is_redirect && room > 0 && redirects.insert(url) {
            let before = admission.referrers(url).0;
            let before = self::objects(before, admission, locate, redirects, room - 1);
            object["referrers"] = Value::Array(before);
        }
        object
    });
    objects.collect()
}
