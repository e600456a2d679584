//! What is said on stderr.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};

use crawl_core::{Outcome, Row, is_command};

use crate::progress::undisturbed;
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

fn say(level: &str, message: &str) {
    tell(&format!("[{level}] {message}\n"));
}

/// Writes lines on stderr, as far as they may be shown on a terminal. Nothing
/// can be done about a stderr that is closed or full.
pub fn tell(lines: &str) {
    let _ = undisturbed(|| io::stderr().write_all(printable(lines).as_bytes()));
}

/// From now on panics, too, are told of in this way: what they say may repeat
/// what came from the network.
pub(crate) fn say_panics() {
    panic::set_hook(Box::new(|panic| {
        say("error", &describe(panic));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            tell(&backtrace.to_string());
        }
    }));
}

/// On one line, so that no message looks like two.
fn describe(panic: &PanicHookInfo<'_>) -> String {
    let message = panic.payload_as_str().unwrap_or("it gave no reason");
    let message = message.replace(is_command, " ");
    let place = panic.location().map(|place| format!(" at {place}")).unwrap_or_default();
    format!("internal error{place}: {message}")
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn a_panic_is_one_line_without_commands() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hook = Arc::clone(&heard);
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| hook.lock().unwrap().push(describe(panic))));
        let _ = panic::catch_unwind(|| panic!("no {}", "\u{1b}[2J\n[info] all is well"));
        panic::set_hook(before);
        let heard = heard.lock().unwrap();
        // Other tests may panic in the meantime.
        let line = heard.iter().find(|line| line.contains("well")).unwrap();
        assert!(line.starts_with("internal error at ") && line.contains("src/log.rs:"), "{line}");
        assert!(line.ends_with(": no  [2J [info] all is well"), "{line}");
    }
}
