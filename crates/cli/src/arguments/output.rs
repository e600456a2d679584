//! Flags for the output: format, file, colors and log level.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path, PathBuf};

use anstream::ColorChoice;
use clap::{ArgAction, Args, ValueEnum, ValueHint};
use crawl_core::Options;
use web::select::Selection;

use crate::log::Level;
use crate::output::{Grouping, Locate, OutputSettings, RedirectPolicy};
use crate::parsers;

/// The flags under "Output" that every stage has.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Format of the report
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Write the report to FILE ("-" is stdout), in the format of its extension: .html, .json,
    /// .jsonl, .csv, .md or .sarif. FORMAT:FILE names another one (repeatable)
    #[arg(
        short, long, value_name = "[FORMAT:]FILE", value_hint = ValueHint::FilePath,
        value_parser = Destination::parse
    )]
    output: Vec<Destination>,

    /// Report only broken URLs
    #[arg(long, group = "listed")]
    pub(crate) broken_only: bool,

    /// Error statuses that do not count as broken, like 403,500..=503
    #[arg(
        long, value_name = "CODES", value_delimiter = ',', value_parser = parsers::statuses
    )]
    accept: Vec<RangeInclusive<u16>>,

    /// Add the text of the elements that match a CSS selector to the JSON row of each page,
    /// or with CSS@ATTRIBUTE an attribute of theirs (repeatable)
    #[arg(long, value_name = "NAME=CSS", value_parser = parsers::selection)]
    select: Vec<Selection>,

    /// When to print broken URLs in red
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    color: Color,

    /// Write a step-by-step trace of the crawl to FILE.html (to open in a browser) or
    /// FILE.json (for Perfetto)
    #[arg(long, value_name = "FILE", value_parser = parsers::trace_file)]
    pub(crate) trace: Option<PathBuf>,

    /// Print a line for each URL on stderr; -vv adds attempts and times
    #[arg(short, long, action = ArgAction::Count, group = "level")]
    verbose: u8,

    /// Print only errors, and the reports that --format or --output names
    #[arg(short, long, group = "level")]
    quiet: bool,
}

/// The file of a report, and its format if that is given with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) format: Option<Format>,
    /// The path of the file; "-" is stdout.
    pub(super) file: PathBuf,
}

impl Destination {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (format, file) = match text.split_once(':') {
            Some((name, file)) if name.chars().all(|c| c.is_ascii_alphabetic()) => {
                (Some(Format::named(name, text)?), file)
            }
            _ => (None, text),
        };
        if file.is_empty() {
            return Err("the file name is missing".into());
        }
        Ok(Self { format, file: file.into() })
    }
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Broken links, and the pages that they are on
    Text,
    /// A line for each URL, and statistics
    Chapter,
    /// One JSON object
    Json,
    /// One JSON object a line for each URL, as it finishes
    Jsonl,
    /// A table with a line for each URL, as it finishes
    Csv,
    /// A sitemap of the pages that work
    Sitemap,
    /// JUnit XML, with a test case for each URL
    Junit,
    /// Annotations and a step summary for GitHub Actions
    Github,
    /// Code Quality of GitLab, with an object for each broken link
    Gitlab,
    /// SARIF 2.1.0, with a result for each broken link
    Sarif,
    /// Markdown, for a comment or a summary
    Markdown,
    /// A page for the browser, in one file
    Html,
}

impl Format {
    /// Returns the format before the colon of a value of `--output`.
    ///
    /// # Errors
    /// When the format is unknown. The message suggests the closest one.
    fn named(name: &str, text: &str) -> Result<Self, String> {
        Self::from_str(name, false).map_err(|_| {
            let values = Self::value_variants().iter().filter_map(ValueEnum::to_possible_value);
            let names: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
            let similar = parsers::similar(name, names.iter().map(String::as_str));
            let hint = similar.map_or_else(
                || format!("the formats are {}; a file can be named ./{text}", names.join(", ")),
                |similar| format!("did you mean {similar}?"),
            );
            format!("unknown format '{name}': {hint}")
        })
    }

    /// Returns the format that the name of a file stands for, if it has a usual extension.
    fn of_file(file: &Path) -> Option<Self> {
        let extension = file.extension()?.to_str()?.to_ascii_lowercase();
        Some(match &*extension {
            "html" | "htm" => Self::Html,
            "json" => Self::Json,
            "jsonl" | "ndjson" => Self::Jsonl,
            "csv" => Self::Csv,
            "md" | "markdown" => Self::Markdown,
            "sarif" => Self::Sarif,
            _ => return None,
        })
    }

    pub(super) fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Jsonl)
    }

    pub(super) fn is_sitemap(self) -> bool {
        self == Self::Sitemap
    }
}

/// When there is color.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    pub(crate) fn choice(self) -> ColorChoice {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
    }
}

impl OutputFlags {
    pub(super) fn set(&self, options: &mut Options) {
        options.settings.accept.clone_from(&self.accept);
        options.settings.select.clone_from(&self.select);
    }

    /// Returns the formats and files of all reports. `default` is the format where
    /// none is given.
    fn reports(&self, default: Format) -> Vec<(Format, PathBuf)> {
        let format = self.format.unwrap_or(default);
        let of = |to: &Destination| {
            to.format.or(self.format).or_else(|| Format::of_file(&to.file)).unwrap_or(default)
        };
        let mut reports: Vec<_> = self.output.iter().map(|to| (of(to), to.file.clone())).collect();
        let has_plain_file = self.output.iter().any(|to| to.format.is_none());
        let is_asked_for = match self.format {
            Some(_) => !has_plain_file,
            None => self.output.is_empty() && !self.quiet,
        };
        if is_asked_for {
            reports.push((format, "-".into()));
        }
        reports
    }

    /// Returns the settings of the output for a program with this default format.
    pub(crate) fn settings(&self, default: Format) -> OutputSettings {
        OutputSettings {
            reports: self.reports(default),
            broken_only: self.broken_only,
            color: self.color.choice(),
            is_quiet: self.quiet,
            redirects: RedirectPolicy::Ok,
            lists_all: false,
            grouping: Grouping::default(),
            has_referrers: false,
            title: String::new(),
            command: String::new(),
            baseline: None,
            writes_more: self.trace.is_some(),
            locate: Locate::default(),
        }
    }

    /// Returns a message if two flags contradict each other.
    pub(super) fn contradiction(&self, default: Format) -> Option<String> {
        let reports = self.reports(default);
        let is_xml = |to: &&Destination| {
            to.format.or(self.format).is_none()
                && to.file.extension().is_some_and(|extension| extension == "xml")
        };
        if let Some(xml) = self.output.iter().find(is_xml) {
            let file = xml.file.display();
            return Some(format!(
                "--output {file} has no format: write junit:{file} or sitemap:{file}"
            ));
        }
        if self.broken_only && self.has_format(default, Format::is_sitemap) {
            let lost =
                "--broken-only leaves nothing for the sitemap that --format or --output names";
            return Some(lost.into());
        }
        let is_twice = |n: usize| {
            reports
                .get(n + 1..)
                .unwrap_or_default()
                .iter()
                .any(|(_, file)| is_same_file(file, &reports[n].1))
        };
        let is_any_twice = (0..reports.len()).any(is_twice);
        is_any_twice
            .then(|| "two reports would go to the same file: check --output and --format".into())
    }

    /// Returns a message if something is selected, and no report has JSON rows to show it.
    pub(super) fn lost_selections(&self, default: Format) -> Option<String> {
        if self.select.is_empty() || self.has_format(default, Format::is_json) {
            return None;
        }
        Some("--select needs --format json or jsonl: it adds fields to JSON rows".into())
    }

    /// Returns true if a report has such a format.
    pub(super) fn has_format(&self, default: Format, is_such: fn(Format) -> bool) -> bool {
        self.reports(default).iter().any(|(format, _)| is_such(*format))
    }

    /// Returns true if `--output` names this file. Where stdout goes is not asked.
    pub(super) fn names(&self, file: &Path) -> bool {
        let named = self.output.iter().map(|to| to.file.as_path());
        named.filter(|to| *to != Path::new("-")).any(|to| is_same_file(to, file))
    }

    /// Returns true if a report goes to this file, or the messages do.
    pub(super) fn goes_to(&self, file: &Path) -> bool {
        // A file can have the name that stands for stdout here.
        let Ok(file) = path::absolute(file) else { return false };
        // The sum of a report in a file goes to stdout.
        let mut reports = self.output.iter().map(|to| to.file.as_path()).chain([Path::new("-")]);
        let is_stderr = id_of(&file).is_some_and(|id| id_of_stream(&io::stderr()) == Some(id));
        is_stderr || reports.any(|report| is_same_file(report, &file))
    }

    pub(crate) fn level(&self) -> Level {
        match (self.quiet, self.verbose) {
            (true, _) => Level::Errors,
            (false, 0) => Level::Warnings,
            (false, 1) => Level::Rows,
            (false, _) => Level::Verbose,
        }
    }
}

/// Returns true if two paths name the same file, where "-" is stdout. Files are
/// compared by device and inode, since one file may have several names.
pub(super) fn is_same_file(a: &Path, b: &Path) -> bool {
    let stdout = Path::new("-");
    match (id_of(a), id_of(b)) {
        (Some(a), Some(b)) => a == b,
        // One that does not exist yet can be compared by its path only.
        _ => a == b || a != stdout && b != stdout && resolved(a) == resolved(b),
    }
}

fn id_of(file: &Path) -> Option<(u64, u64)> {
    if file == Path::new("-") { id_of_stream(&io::stdout()) } else { id(fs::metadata(file)) }
}

/// Returns the device and the inode of an ordinary file.
fn id(metadata: io::Result<Metadata>) -> Option<(u64, u64)> {
    let metadata = metadata.ok().filter(Metadata::is_file)?;
    Some((metadata.dev(), metadata.ino()))
}

fn id_of_stream(stream: &impl AsFd) -> Option<(u64, u64)> {
    id(stream.as_fd().try_clone_to_owned().map(File::from).and_then(|file| file.metadata()))
}

/// Returns the path of a file that does not exist yet, without symbolic links.
fn resolved(file: &Path) -> Option<PathBuf> {
    let absolute = path::absolute(file).ok()?;
    let folder = absolute.parent().and_then(|folder| folder.canonicalize().ok());
    Some(match folder {
        Some(folder) => folder.join(absolute.file_name().unwrap_or(OsStr::new(""))),
        None => absolute,
    })
}
