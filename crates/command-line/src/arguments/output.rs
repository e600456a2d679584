//! What is told, where, and in which form.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use crate::log::Level;

/// The flags under "Output" that every stage has.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// A report at the end, or a JSON object for each URL as it is finished
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,

    /// Where to write it; "-" is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,

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
    Text,
    Jsonl,
}

impl OutputFlags {
    pub(crate) fn level(&self) -> Level {
        match (self.quiet, self.verbose) {
            (true, _) => Level::Errors,
            (false, 0) => Level::Warnings,
            (false, 1) => Level::Rows,
            (false, _) => Level::Efforts,
        }
    }
}
