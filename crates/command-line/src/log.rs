//! What is said on stderr.

use std::io::{self, Write};

use crawl_core::{Outcome, Row};

use crate::values::printable;

/// Says as much on stderr as the user wants to hear.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
    level: Level,
}

/// How much that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Errors,
    Warnings,
    /// A line for each row.
    Rows,
    /// And how hard it was to get.
    Efforts,
}

impl Log {
    pub(crate) fn new(level: Level) -> Self {
        Self { level }
    }

    pub(crate) fn error(self, message: &str) {
        say("error", message);
    }

    pub(crate) fn warning(self, message: &str) {
        if self.level >= Level::Warnings {
            say("warning", message);
        }
    }

    pub(crate) fn info(self, message: &str) {
        if self.level >= Level::Rows {
            say("info", message);
        }
    }

    pub(crate) fn row(self, row: &Row) {
        if self.level >= Level::Rows {
            say("info", &line(row, self.level >= Level::Efforts));
        }
    }
}

/// Nothing can be done about a stderr that is closed or full.
fn say(level: &str, message: &str) {
    let line = format!("[{level}] {message}\n");
    let _ = io::stderr().write_all(printable(&line).as_bytes());
}

/// `url status what-came`, and with `efforts` what it took.
fn line(row: &Row, efforts: bool) -> String {
    let status = row.status.map_or("-".into(), |status| status.to_string());
    let what = match (&row.error, &row.next_url) {
        (Some(error), _) if row.outcome == Outcome::Skipped => format!("skipped {error}"),
        (Some(error), _) => format!("error {error}"),
        (None, Some(next_url)) => format!("redirect {next_url}"),
        (None, None) => format!("{} bytes", row.size),
    };
    let efforts = if efforts {
        format!(" (tries: {}, {} ms)", row.tries, row.elapsed_ms)
    } else {
        String::new()
    };
    format!("{} {status} {what}{efforts}", row.url)
}
