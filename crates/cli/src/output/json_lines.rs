//! The JSON Lines format: an object for each URL, on a line of its own.

use std::io;

use crawl_core::Row;

use super::{Out, ReportFormat};

pub(super) struct JsonLines;

impl ReportFormat for JsonLines {
    fn row(&mut self, row: &Row, _: bool, out: &mut Out) -> io::Result<()> {
        let mut line = serde_json::to_string(row)?;
        line.push('\n');
        out.write(&line)
    }
}
