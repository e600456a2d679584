//! One JSON object for the whole crawl.

use std::io;
use std::sync::Arc;

use crawl_core::{Ending, Referrer, Row};
use serde_json::{Map, Value, json};

use super::{End, Form, Out};

/// What its readers may rely on. A change that breaks them has another number.
const SCHEMA_VERSION: u32 = 1;

/// The rows are written as they come, so that a crawl of a million pages needs
/// no memory for them; what is known in the end comes after them.
#[derive(Default)]
pub(super) struct Json {
    has_rows: bool,
    broken: Vec<Arc<str>>,
}

impl Form for Json {
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

    fn says_why(&self) -> bool {
        true
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        self.broken.sort_unstable();
        let stats: Map<String, Value> =
            end.report.counts().map(|(name, count)| (name.to_owned(), count.into())).collect();
        let ending = end.ending.ok();
        let broken: Vec<Value> = self.broken.iter().map(|url| broken(url, ending)).collect();
        let members = [
            ("broken", json!(broken)),
            ("stats", json!(stats)),
            ("total", json!(end.report.total())),
            ("done", json!(ending.map(|ending| ending.done))),
            ("todo", json!(ending.map(|ending| ending.todo))),
            ("too_deep", json!(ending.map(|ending| ending.too_deep))),
            ("nofollow", json!(ending.map(|ending| ending.nofollow))),
            ("warnings", json!(ending.map(|ending| &ending.warnings))),
            ("problem", json!(end.ending.err())),
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

/// A broken URL, and who leads to it.
fn broken(url: &str, ending: Option<&Ending>) -> Value {
    let (referrers, count) =
        ending.map(|ending| ending.admission.referrers(url)).unwrap_or_default();
    let referrers: Vec<Value> = referrers.iter().map(referrer).collect();
    json!({"url": url, "referrers": referrers, "referrer_count": count})
}

fn referrer(Referrer { url, mention }: &Referrer<'_>) -> Value {
    json!({
        "url": url,
        "line": mention.map(|mention| mention.place.line),
        "column": mention.map(|mention| mention.place.column),
        "element": mention.map(|mention| mention.element.name()),
        "text": mention.map(|mention| mention.text),
    })
}
