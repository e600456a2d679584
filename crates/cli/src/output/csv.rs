//! The CSV format: a table with a line for each URL (RFC 4180).

use std::io;

use crawl_core::Row;

use super::{Out, ReportFormat};

const COLUMNS: [&str; 15] = [
    "url",
    "status",
    "outcome",
    "next_url",
    "error_class",
    "error_message",
    "content_type",
    "encoding",
    "size",
    "num_urls",
    "num_new_urls",
    "depth",
    "tries",
    "elapsed_ms",
    "referrer",
];

pub(super) struct Csv;

impl ReportFormat for Csv {
    fn begin(&mut self, out: &mut Out) -> io::Result<()> {
        out.write(&line(COLUMNS.map(str::to_owned))?)
    }

    fn row(&mut self, row: &Row, _: bool, out: &mut Out) -> io::Result<()> {
        let or_nothing = |text: &Option<String>| text.clone().unwrap_or_default();
        let error = row.error.as_ref();
        let cells = [
            row.url.to_string(),
            row.status.map(|status| status.to_string()).unwrap_or_default(),
            row.outcome.name().to_owned(),
            or_nothing(&row.next_url),
            error.map(|error| error.class.name().to_owned()).unwrap_or_default(),
            error.map(|error| error.message.clone()).unwrap_or_default(),
            or_nothing(&row.content_type),
            or_nothing(&row.encoding),
            row.size.map(|size| size.to_string()).unwrap_or_default(),
            row.num_urls.to_string(),
            row.num_new_urls.to_string(),
            row.depth.to_string(),
            row.tries.to_string(),
            row.elapsed_ms.to_string(),
            or_nothing(&row.referrer),
        ];
        out.write(&line(cells.map(escape_formula))?)
    }
}

fn line(cells: [String; COLUMNS.len()]) -> io::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(cells)?;
    let bytes = writer.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns a cell that no spreadsheet takes for a formula (CSV injection): text from
/// a server could otherwise run when a user opens the table. An apostrophe in front
/// marks it as text.
fn escape_formula(cell: String) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{cell}") } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_formulas_are_escaped() {
        let mut cells = COLUMNS.map(str::to_owned);
        cells[0] = "a,b".into();
        cells[1] = "say \"a\"\nb".into();
        cells[2] = escape_formula("=cmd|' /C calc'!A0".into());
        let line = line(cells).unwrap();
        assert!(line.starts_with("\"a,b\",\"say \"\"a\"\"\nb\",'=cmd|' /C calc'!A0,next_url,"));
        assert!(line.ends_with(",referrer\n"));
    }
}
