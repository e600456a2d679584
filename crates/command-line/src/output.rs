//! What is written on stdout or to a file.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crawl_core::{Ending, Report, Row};

use crate::arguments::Format;
use crate::values::printable;

/// Writes rows as they come, or a report of them at the end.
pub(crate) struct Output {
    format: Format,
    out: Box<dyn Write + Send>,
    report: Report,
}

impl Output {
    /// Opens `path`, where "-" is stdout.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub(crate) fn open(format: Format, path: &Path) -> io::Result<Self> {
        let out: Box<dyn Write + Send> = if path == Path::new("-") {
            Box::new(io::stdout())
        } else {
            Box::new(File::create(path)?)
        };
        Ok(Self::new(format, out))
    }

    fn new(format: Format, out: Box<dyn Write + Send>) -> Self {
        let report = Report::new();
        Self { format, out, report }
    }

    /// Takes a row. As JSON it is written out at once, so that whoever reads
    /// along sees it, and nothing is lost when the process is killed.
    pub(crate) fn row(&mut self, row: Row) -> io::Result<()> {
        match self.format {
            Format::Text => self.report.keep(row),
            Format::Jsonl => {
                self.report.count(&row);
                let mut line = serde_json::to_string(&row)?;
                line.push('\n');
                self.write(&line)?;
            }
        }
        Ok(())
    }

    /// Takes the end of the crawl.
    pub(crate) fn end(&mut self, ending: &Ending, elapsed: Duration) -> io::Result<()> {
        if self.format == Format::Text {
            let date = httpdate::fmt_http_date(SystemTime::now());
            let mut text = Vec::new();
            self.report.write_text(&mut text, ending, elapsed, &date)?;
            self.write(&String::from_utf8_lossy(&text))?;
        }
        Ok(())
    }

    /// What the rows add up to.
    pub(crate) fn report(&self) -> &Report {
        &self.report
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(printable(text).as_bytes())?;
        self.out.flush()
    }
}
