//! What is written on stdout or to a file.

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
use crawl_core::{Ending, Report, Row};

use self::csv::Csv;
use self::json::Json;
use self::json_lines::JsonLines;
use self::sitemap::Sitemap;
use self::text::Text;
use crate::arguments::{Format, OutputFlags};
use crate::progress::undisturbed;
use crate::values::printable;

/// Writes rows as they come, or a report of them at the end.
pub(crate) struct Output {
    form: Box<dyn Form>,
    out: Out,
    report: Report,
    broken_only: bool,
    has_begun: bool,
}

/// How it is written.
trait Form: Send {
    /// Before the first row.
    fn begin(&mut self, _out: &mut Out) -> io::Result<()> {
        Ok(())
    }

    /// One URL is finished.
    fn row(&mut self, row: &Row, out: &mut Out) -> io::Result<()>;

    /// There will be no more rows.
    fn end(&mut self, _end: &End<'_>, _out: &mut Out) -> io::Result<()> {
        Ok(())
    }

    /// Whether it has a place for the reason why nothing could be told.
    fn says_why(&self) -> bool {
        false
    }

    /// What else there is to say, to the user rather than to a program.
    fn warning(&self) -> Option<String> {
        None
    }
}

/// What is known at the end.
struct End<'a> {
    report: &'a Report,
    /// How the crawl ended; nothing, when it could not go on.
    ending: Result<&'a Ending, &'a str>,
    elapsed: Duration,
}

impl Output {
    /// Opens the file that the flags name, where "-" is stdout. It is written
    /// anew when there is something to write, and not before.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub(crate) fn open(flags: &OutputFlags) -> io::Result<Self> {
        let is_stdout = flags.output == Path::new("-");
        let out = if is_stdout {
            Out::Stream(Box::new(io::stdout()))
        } else {
            // As it was, until there is something to write.
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
        let form: Box<dyn Form> = match flags.format {
            Format::Text => Box::new(Text::new(flags.broken_only, has_color)),
            Format::Json => Box::new(Json::default()),
            Format::Jsonl => Box::new(JsonLines),
            Format::Csv => Box::new(Csv),
            Format::Sitemap => Box::new(Sitemap::default()),
        };
        let (report, broken_only) = (Report::new(), flags.broken_only);
        Ok(Self { form, out, report, broken_only, has_begun: false })
    }

    /// Takes a row. Where the form allows it, it is written out at once, so
    /// that whoever reads along sees it, and nothing is lost when the process
    /// is killed.
    pub(crate) fn row(&mut self, row: &Row) -> io::Result<()> {
        self.report.count(row);
        if self.broken_only && !row.is_broken() {
            return Ok(());
        }
        self.begin()?;
        self.form.row(row, &mut self.out)
    }

    fn begin(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.form.begin(&mut self.out)?;
        }
        Ok(())
    }

    /// Takes the end of the crawl: how it ended, or why it could not go on. If it
    /// could not even begin, a file keeps what an earlier run has told.
    pub(crate) fn end(
        &mut self,
        ending: Result<&Ending, &str>,
        elapsed: Duration,
    ) -> io::Result<()> {
        if ending.is_err() && self.report.total() == 0 && !self.form.says_why() {
            return Ok(());
        }
        self.begin()?;
        self.form.end(&End { report: &self.report, ending, elapsed }, &mut self.out)
    }

    /// What the rows add up to.
    pub(crate) fn report(&self) -> &Report {
        &self.report
    }

    /// What the user should know about what was written.
    pub(crate) fn warning(&self) -> Option<String> {
        self.form.warning()
    }
}

/// Where it is written to. Nothing gets there that a terminal could take for
/// a command.
enum Out {
    /// A file, with what an earlier run has left in it.
    Untouched(File),
    Stream(Box<dyn Write + Send>),
}

impl Out {
    /// Writes text, and does not keep it waiting.
    fn write(&mut self, text: &str) -> io::Result<()> {
        let stream = self.stream()?;
        undisturbed(|| {
            stream.write_all(printable(text).as_bytes())?;
            stream.flush()
        })
    }

    /// Writes a line in red.
    fn write_red(&mut self, text: &str) -> io::Result<()> {
        let (stream, text) = (self.stream()?, printable(text));
        undisturbed(|| writeln!(stream, "\u{1b}[31m{}\u{1b}[0m", text.trim_end_matches('\n')))
    }

    fn stream(&mut self) -> io::Result<&mut (dyn Write + Send)> {
        if let Self::Untouched(file) = self {
            // A pipe or a device has nothing in it.
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
