//! Flags for the output: format, file, colors and log level.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path, PathBuf};

use anstream::ColorChoice;
use clap::{ArgAction, Args, ValueEnum};
use crawl_core::Options;

use crate::log::Level;
use crate::parsers;

/// The flags under "Output" that every stage has.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// In which form to tell what was found
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,

    /// Where to write it; "-" is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,

    /// Tell of what is broken only
    #[arg(long)]
    pub(crate) broken_only: bool,

    /// Error statuses that are not broken, like 403,500..=503
    #[arg(
        long, value_name = "CODES", value_delimiter = ',', value_parser = parsers::statuses
    )]
    accept: Vec<RangeInclusive<u16>>,

    /// When to show what is broken in red
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,

    /// Write what the crawl did, step by step, to FILE.html (a page that shows it) or
    /// FILE.json (for Perfetto)
    #[arg(long, value_name = "FILE", value_parser = parsers::trace_file)]
    pub(crate) trace: Option<PathBuf>,

    /// Say on stderr what was fetched; -vv with tries and times
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,

    /// Say nothing on stderr but errors
    #[arg(short, long)]
    quiet: bool,
}

/// In which form the result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A report for people, at the end
    Text,
    /// One JSON object
    Json,
    /// A JSON object for each URL, as it is finished
    Jsonl,
    /// A table with a line for each URL, as it is finished
    Csv,
    /// A sitemap of the pages that are fine
    Sitemap,
}

impl Format {
    pub(super) fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Jsonl)
    }
}

/// When there is color.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR says otherwise
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
        options.accept.clone_from(&self.accept);
    }

    /// Returns true if the output goes to this file, or the messages do. Files are
    /// compared by device and inode, since one file may have several names.
    pub(super) fn goes_to(&self, file: &Path) -> bool {
        let is_stdout = self.output == Path::new("-");
        let ids = [
            if is_stdout { id_of_stream(&io::stdout()) } else { id(fs::metadata(&self.output)) },
            id_of_stream(&io::stderr()),
        ];
        let file_id = id(fs::metadata(file));
        if file_id.is_some() {
            return ids.contains(&file_id);
        }
        // One that does not exist yet can be compared by its path only.
        !is_stdout && resolved(&self.output) == resolved(file)
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
