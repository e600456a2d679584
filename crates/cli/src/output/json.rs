//! The JSON format: one object for the whole crawl.

use std::io;
use std::sync::Arc;

use crawl_core::{CrawlSummary, Referrer, Row};
use serde_json::{Map, Value, json};

use super::{End, Out, ReportFormat};

/// Version of the schema. It changes with every change that breaks readers.
const SCHEMA_VERSION: u32 = 1;

/// The JSON format. Rows are written as they come, so that a crawl of a million
/// pages needs no memory for them; the fields known at the end come after them.
#[derive(Default)]
pub(super) struct Json {
    has_rows: bool,
    broken: Vec<Arc<str>>,
}

impl ReportFormat for Json {
    fn begin(&mut self, out: &mut Out) -> io::Result<()> {
        out.write(&format!("{{\"schema_version\":{SCHEMA_VERSION},\n\"rows\":["))
    }

    fn row(&mut self, row: &Row, out: &mut Out) -> io::Result<()> {
        if row.is_broken() {
            self.broken.push(Arc::clone(&row.url));
        }
        let comma = if self.has_rows { "," } else { "" };
        self.has_rows = true;
        out.write(&format!("{comma}\n{}", serde_json::to_string(row)?))
    }

    fn has_error_field(&self) -> bool {
        true
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        self.broken.sort_unstable();
        let stats: Map<String, Value> =
            end.report.counts().map(|(name, count)| (name.to_owned(), count.into())).collect();
        let summary = end.summary.ok();
        let broken: Vec<Value> = self.broken.iter().map(|url| broken(url, summary)).collect();
        let members = [
            ("broken", json!(broken)),
            ("stats", json!(stats)),
            ("total", json!(end.report.total())),
            ("done", json!(summary.map(|summary| summary.done))),
            ("todo", json!(summary.map(|summary| summary.todo))),
            ("too_deep", json!(summary.map(|summary| summary.too_deep))),
            ("nofollow", json!(summary.map(|summary| summary.nofollow))),
            ("warnings", json!(summary.map(|summary| &summary.warnings))),
            ("problem", json!(end.summary.err())),
            ("elapsed_ms", json!(end.elapsed.as_millis() as u64)),
            ("date", json!(super::text::date())),
        ];
        let mut text = String::from("\n]");
        for (name, value) in members {
            text += &format!(",\n\"{name}\":{value}");
        }
        text += "}\n";
        out.write(&text)
    }
}

/// Returns a broken URL with its referrers.
fn broken(url: &str, summary: Option<&CrawlSummary>) -> Value {
    let (referrers, count) =
        summary.map(|summary| super::referrers(url, summary)).unwrap_or_default();
    let referrers: Vec<Value> = referrers.iter().map(referrer).collect();
    json!({"url": url, "referrers": referrers, "referrer_count": count})
}

fn referrer(Referrer { url, context }: &Referrer<'_>) -> Value {
    json!({
        "url": url,
        "line": context.map(|context| context.position.line),
        "column": context.map(|context| context.position.column),
        "element": context.map(|context| context.element.name()),
        "text": context.map(|context| context.text),
    })
}
