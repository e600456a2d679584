//! The JSON Lines format: an object for each URL, on a line of its own.

use std::io;

use crawl_core::Row;
use serde::Serialize;
use serde_json::Value;

use super::json::referrers_of;
use super::{End, Out, ReportFormat, ShownRow};

pub(super) struct JsonLines {
    /// The number of referrers that a broken URL has, if it has them: then its line comes
    /// at the end.
    pub(super) max_referrers: Option<usize>,
}

/// The row of a broken URL with its referrers.
#[derive(Serialize)]
struct WithReferrers<'a> {
    #[serde(flatten)]
    row: &'a Row,
    referrers: Vec<Value>,
    referrer_count: u32,
}

impl ReportFormat for JsonLines {
    fn row(&mut self, row: &ShownRow<'_>, out: &mut Out) -> io::Result<()> {
        if row.is_broken && self.max_referrers.is_some() { Ok(()) } else { write(row.row, out) }
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        let Some(max_referrers) = self.max_referrers else { return Ok(()) };
        end.held_back.iter().try_for_each(|(row, asked)| {
            let (mut referrers, referrer_count) = referrers_of(asked, &[], end);
            referrers.truncate(max_referrers);
            write(&WithReferrers { row, referrers, referrer_count }, out)
        })
    }
}

fn write(row: &impl Serialize, out: &mut Out) -> io::Result<()> {
    out.write(&(serde_json::to_string(row)? + "\n"))
}
