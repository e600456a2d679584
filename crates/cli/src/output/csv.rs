//! The CSV format: a table with a line for each URL, as in RFC 4180 but with plain
//! line ends.

use std::io;

use crawl_core::Row;

use super::broken::places_of;
use super::{End, Out, ReportFormat, ShownRow};

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

type Cells = [String; COLUMNS.len()];

pub(super) struct Csv {
    /// The number of pages with links that a broken URL has in a further column, if there
    /// is one: then its line comes at the end.
    pub(super) max_referrers: Option<usize>,
}

impl Csv {
    /// Writes a line; `referrers` is the cell in the further column.
    fn write(&self, cells: Cells, referrers: &str, out: &mut Out) -> io::Result<()> {
        let further = self.max_referrers.map(|_| referrers.to_owned());
        out.write(&line(cells.into_iter().chain(further))?)
    }

    fn write_row(&self, row: &Row, referrers: &str, out: &mut Out) -> io::Result<()> {
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
        self.write(cells.map(escape_formula), referrers, out)
    }
}

impl ReportFormat for Csv {
    fn begin(&mut self, out: &mut Out) -> io::Result<()> {
        self.write(COLUMNS.map(str::to_owned), "referrers", out)
    }

    fn row(&mut self, row: &ShownRow<'_>, out: &mut Out) -> io::Result<()> {
        if row.is_broken && self.max_referrers.is_some() {
            return Ok(());
        }
        self.write_row(row, "", out)
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        let Some(max_referrers) = self.max_referrers else { return Ok(()) };
        end.held_back.iter().try_for_each(|(row, asked)| {
            // A URL has no blanks, but the path of a file may have.
            let places = places_of(asked, &[], end).into_iter();
            let mut pages: Vec<_> = places.map(|place| place.page.replace(' ', "%20")).collect();
            pages.dedup();
            pages.truncate(max_referrers);
            self.write_row(row, &escape_formula(pages.join(" ")), out)
        })
    }
}

fn line(cells: impl Iterator<Item = String>) -> io::Result<String> {
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
        let line = line(cells.into_iter()).unwrap();
        assert!(line.starts_with("\"a,b\",\"say \"\"a\"\"\nb\",'=cmd|' /C calc'!A0,next_url,"));
        assert!(line.ends_with(",referrer\n"));
    }
}
