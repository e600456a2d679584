//! The log: messages on stderr.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};

use crawl_core::{Outcome, Row};
use web::{is_terminal_control, without_os_error};

use crate::parsers::printable;
use crate::progress::with_progress_hidden;

/// A log that prints the messages of its level on stderr.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
    level: Level,
}

/// A log level. Each level prints the messages of those before it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Errors,
    Warnings,
    /// A line for each row.
    Rows,
    /// A line for each row, with its tries and time.
    Verbose,
}

impl Log {
    pub(crate) fn new(level: Level) -> Self {
        Self { level }
    }

    pub(crate) fn error(self, message: &str) {
        print_line("error", message);
    }

    pub(crate) fn warning(self, message: &str) {
        if self.level >= Level::Warnings {
            print_line("warning", message);
        }
    }

    pub(crate) fn info(self, message: &str) {
        if self.level >= Level::Rows {
            print_line("info", message);
        }
    }

    /// Prints the progress, which is asked for if no flag says otherwise.
    pub(crate) fn progress(self, message: &str) {
        print_line("progress", message);
    }

    pub(crate) fn row(self, row: &Row) {
        if self.level >= Level::Rows {
            print_line("info", &line(row, self.level >= Level::Verbose));
        }
    }
}

/// Prints a message as one line: a file name in it may have a line end.
fn print_line(level: &str, message: &str) {
    print(&format!("[{level}] {}\n", without_os_error(message).replace('\n', "\\u000a")));
}

/// Writes lines to stderr, with control characters escaped. Errors are ignored: if
/// stderr is closed or full, there is no other place to report them.
pub fn print(lines: &str) {
    let _ = with_progress_hidden(|| io::stderr().write_all(printable(lines).as_bytes()));
}

/// Installs a panic hook that prints panics in the same way: their messages may
/// contain text from the network.
pub(crate) fn print_panics() {
    panic::set_hook(Box::new(|panic| {
        print_line("error", &describe(panic));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            print(&backtrace.to_string());
        }
    }));
}

/// Returns the message of a panic on one line, so that it cannot look like two
/// messages.
fn describe(panic: &PanicHookInfo<'_>) -> String {
    let message = panic.payload_as_str().unwrap_or("it gave no reason");
    let message = message.replace(is_terminal_control, " ");
    let place = panic.location().map(|place| format!(" at {place}")).unwrap_or_default();
    format!("internal error{place}: {message}")
}

/// Returns the line for a row: `url status result`, and if `with_effort` also its
/// tries and time.
fn line(row: &Row, with_effort: bool) -> String {
    let status = row.status.map_or("-".into(), |status| status.to_string());
    let what = match (&row.error, &row.next_url) {
        (Some(error), _) if row.outcome == Outcome::Skipped => format!("skipped {error}"),
        (Some(error), _) => format!("error {error}"),
        (None, Some(next_url)) => format!("redirect {next_url}"),
        (None, None) => row.size.map_or("ok".into(), |size| format!("{size} bytes")),
    };
    let with_effort = if with_effort {
        format!(" (attempts: {}, {} ms)", row.tries, row.elapsed_ms)
    } else {
        String::new()
    };
    format!("{} {status} {what}{with_effort}", row.url)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn a_panic_is_one_line_without_control_characters() {
        let messages = Arc::new(Mutex::new(Vec::new()));
        let hook = Arc::clone(&messages);
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| hook.lock().unwrap().push(describe(panic))));
        let _ = panic::catch_unwind(|| panic!("no {}", "\u{1b}[2J\n[info] all is well"));
        panic::set_hook(before);
        let messages = messages.lock().unwrap();
        // Other tests may panic in the meantime.
        let line = messages.iter().find(|line| line.contains("well")).unwrap();
        assert!(line.starts_with("internal error at ") && line.contains("src/log.rs:"), "{line}");
        assert!(line.ends_with(": no  [2J [info] all is well"), "{line}");
    }
}
