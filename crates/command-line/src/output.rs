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
    /// Opens the file that the flags name, where "-" is stdout, and begins.
    ///
    /// # Errors
    /// When the file cannot be created, or not be written.
    pub(crate) fn open(flags: &OutputFlags) -> io::Result<Self> {
        let is_stdout = flags.output == Path::new("-");
        let out: Box<dyn Write + Send> =
            if is_stdout { Box::new(io::stdout()) } else { Box::new(File::create(&flags.output)?) };
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
        let out = Out(out);
        let mut output = Self { form, out, report: Report::new(), broken_only: flags.broken_only };
        output.form.begin(&mut output.out)?;
        Ok(output)
    }

    /// Takes a row. Where the form allows it, it is written out at once, so
    /// that whoever reads along sees it, and nothing is lost when the process
    /// is killed.
    pub(crate) fn row(&mut self, row: &Row) -> io::Result<()> {
        self.report.count(row);
        if self.broken_only && !row.is_broken() {
            return Ok(());
        }
        self.form.row(row, &mut self.out)
    }

    /// Takes the end of the crawl: how it ended, or why it could not go on.
    pub(crate) fn end(
        &mut self,
        ending: Result<&Ending, &str>,
        elapsed: Duration,
    ) -> io::Result<()> {
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
struct Out(Box<dyn Write + Send>);

impl Out {
    /// Writes text, and does not keep it waiting.
    fn write(&mut self, text: &str) -> io::Result<()> {
        undisturbed(|| {
            self.0.write_all(printable(text).as_bytes())?;
            self.0.flush()
        })
    }

    /// Writes a line in red.
    fn write_red(&mut self, text: &str) -> io::Result<()> {
        let text = printable(text);
        undisturbed(|| writeln!(self.0, "\u{1b}[31m{}\u{1b}[0m", text.trim_end_matches('\n')))
    }
}
