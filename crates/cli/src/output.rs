//! The output: rows and reports on stdout or in a file, in the chosen format.

mod csv;
mod json;
mod json_lines;
mod sitemap;
mod text;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use crawl_core::{CrawlSummary, Referrer, Report, Row};

use self::csv::Csv;
use self::json::Json;
use self::json_lines::JsonLines;
use self::sitemap::Sitemap;
use self::text::Text;
use crate::arguments::{Format, OutputFlags};
use crate::parsers::printable;
use crate::progress::with_progress_hidden;

/// An output that writes rows as they come, or a report at the end.
pub(crate) struct Output {
    format: Box<dyn ReportFormat>,
    out: Out,
    report: Report,
    broken_only: bool,
    has_begun: bool,
}

/// A format of the output.
trait ReportFormat: Send {
    /// Writes the beginning, before the first row.
    fn begin(&mut self, _out: &mut Out) -> io::Result<()> {
        Ok(())
    }

    /// Takes the row of a finished URL.
    fn row(&mut self, row: &Row, out: &mut Out) -> io::Result<()>;

    /// Writes the end, after the last row.
    fn end(&mut self, _end: &End<'_>, _out: &mut Out) -> io::Result<()> {
        Ok(())
    }

    /// Returns true if the format has a field for the reason why the crawl could not
    /// run.
    fn has_error_field(&self) -> bool {
        false
    }

    /// Returns a warning for the user, which is not part of the output.
    fn warning(&self) -> Option<String> {
        None
    }
}

/// The results that are known at the end.
struct End<'a> {
    report: &'a Report,
    /// Summary of the crawl, or the error message if it could not run.
    summary: Result<&'a CrawlSummary, &'a str>,
    elapsed: Duration,
}

impl Output {
    /// Opens the file that the flags name, where "-" is stdout. Its old contents are
    /// replaced at the first write, and not before.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub(crate) fn open(flags: &OutputFlags) -> io::Result<Self> {
        let is_stdout = flags.output == Path::new("-");
        let out = if is_stdout {
            Out::Stream(Box::new(io::stdout()))
        } else {
            // Not truncated until the first write.
            Out::Untouched(
                File::options().create(true).write(true).truncate(false).open(&flags.output)?,
            )
        };
        let has_color = match flags.color.choice() {
            ColorChoice::Auto => {
                is_stdout && AutoStream::choice(&io::stdout()) != ColorChoice::Never
            }
            choice => choice != ColorChoice::Never,
        };
        let format: Box<dyn ReportFormat> = match flags.format {
            Format::Text => Box::new(Text::new(flags.broken_only, has_color)),
            Format::Json => Box::new(Json::default()),
            Format::Jsonl => Box::new(JsonLines),
            Format::Csv => Box::new(Csv),
            Format::Sitemap => Box::new(Sitemap::default()),
        };
        let (report, broken_only) = (Report::new(), flags.broken_only);
        Ok(Self { format, out, report, broken_only, has_begun: false })
    }

    /// Takes a row. Formats of one line per row write it at once, so that a reader
    /// sees it while the crawl runs, and no row is lost when the process is killed.
    pub(crate) fn row(&mut self, row: &Row) -> io::Result<()> {
        self.report.count(row);
        if self.broken_only && !row.is_broken() {
            return Ok(());
        }
        self.begin()?;
        self.format.row(row, &mut self.out)
    }

    fn begin(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.format.begin(&mut self.out)?;
        }
        Ok(())
    }

    /// Takes the end of the crawl: its summary, or the error message. If the crawl
    /// could not even begin, the file keeps the output of an earlier run.
    pub(crate) fn end(
        &mut self,
        summary: Result<&CrawlSummary, &str>,
        elapsed: Duration,
    ) -> io::Result<()> {
        if summary.is_err() && self.report.total() == 0 && !self.format.has_error_field() {
            return Ok(());
        }
        self.begin()?;
        self.format.end(&End { report: &self.report, summary, elapsed }, &mut self.out)
    }

    /// Returns the report: the statistics of all rows.
    pub(crate) fn report(&self) -> &Report {
        &self.report
    }

    /// Returns a warning for the user about the output.
    pub(crate) fn warning(&self) -> Option<String> {
        self.format.warning()
    }
}

/// Returns the stored referrers of a URL, the smallest first, and the number of all its
/// referrers. The order in which they were found depends on that of the responses.
fn referrers<'e>(url: &str, summary: &'e CrawlSummary) -> (Vec<Referrer<'e>>, u32) {
    let (mut referrers, count) = summary.admission.referrers(url);
    referrers.sort_by_key(|referrer| referrer.url);
    (referrers, count)
}

/// The stream of the output. All text is escaped, so that a terminal finds no
/// control characters in it.
enum Out {
    /// A file that still has the output of an earlier run.
    Untouched(File),
    Stream(Box<dyn Write + Send>),
}

impl Out {
    /// Writes text and flushes it.
    fn write(&mut self, text: &str) -> io::Result<()> {
        let stream = self.stream()?;
        with_progress_hidden(|| {
            stream.write_all(printable(text).as_bytes())?;
            stream.flush()
        })
    }

    /// Writes a line in red.
    fn write_red(&mut self, text: &str) -> io::Result<()> {
        let (stream, text) = (self.stream()?, printable(text));
        with_progress_hidden(|| {
            writeln!(stream, "\u{1b}[31m{}\u{1b}[0m", text.trim_end_matches('\n'))
        })
    }

    fn stream(&mut self) -> io::Result<&mut (dyn Write + Send)> {
        if let Self::Untouched(file) = self {
            // Pipes and devices have no contents to truncate.
            if file.metadata()?.is_file() {
                file.set_len(0)?;
            }
            *self = Self::Stream(Box::new(file.try_clone()?));
        }
        match self {
            Self::Stream(stream) => Ok(stream),
            Self::Untouched(file) => Ok(file),
        }
    }
}
