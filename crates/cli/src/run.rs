//! The run of a program: crawls, writes the report, and finds the exit code.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{self, ExitCode};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crawl_core::{CrawlSummary, Options, Report, Sink, StopReason};
use transport::trust_warning;
use web::without_os_error;

use crate::arguments::OutputFlags;
use crate::log::Log;
use crate::output::{Output, OutputSettings};
use crate::trace_file::TraceFile;

/// The result of the process. Bad usage is not here: clap exits with code 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    NothingBroken,
    SomethingBroken,
    CouldNotRun,
    /// Stopped by the signal with this number.
    Interrupted(u8),
}

impl Exit {
    /// Returns the exit code. After a signal it is the one that a shell reports for
    /// a process killed by that signal.
    fn code(self) -> u8 {
        match self {
            Self::NothingBroken => 0,
            Self::SomethingBroken => 1,
            Self::CouldNotRun => 3,
            Self::Interrupted(signal) => 128 | signal,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Returns a seed for jitter: with different seeds, crawlers that failed together do
/// not retry at the same moments.
pub(crate) fn new_seed() -> u64 {
    RandomState::new().hash_one(0)
}

/// Prints a text, or the error instead of it.
#[cfg(feature = "redis")]
pub(crate) fn print(text: io::Result<String>, level: crate::log::Level) -> Exit {
    use std::io::Write;

    let log = Log::new(level);
    match text {
        Ok(text) => match io::stdout().write_all(crate::parsers::printable(&text).as_bytes()) {
            Ok(()) => Exit::NothingBroken,
            Err(error) => unwritable(log, UNWRITABLE, &error),
        },
        Err(error) => {
            log.error(&error.to_string());
            Exit::CouldNotRun
        }
    }
}

/// Crawls as the options say, and writes the report. If it has fewer than `min_roots`, other
/// workers may have crawled other roots.
pub(crate) fn run(
    options: Options,
    flags: &OutputFlags,
    settings: &OutputSettings,
    min_roots: u64,
    crawl: impl FnOnce(Options, Sink) -> io::Result<CrawlSummary>,
) -> Exit {
    let log = Log::new(flags.level());
    let output = match Output::open(settings) {
        Ok(output) => Arc::new(Mutex::new(output)),
        Err((file, error)) => {
            return unwritable(log, &format!("{} cannot be created", file.display()), &error);
        }
    };
    let trace = match flags.trace.as_deref().map(TraceFile::create).transpose() {
        Ok(trace) => trace,
        Err(error) => return unwritable(log, "the --trace file cannot be created", &error),
    };
    for root in options.settings.roots.iter() {
        if options.settings.exclude.iter().any(|exclude| exclude.is_match(root.as_str())) {
            log.warning(&format!("--exclude matches the start URL {root}, so it is skipped"));
        }
    }
    let started = Instant::now();
    let traced = trace.as_ref().map(TraceFile::begin);
    let caught = catch_unwind(AssertUnwindSafe(|| crawl(options, sink(log, Arc::clone(&output)))));
    drop(traced);
    let elapsed = started.elapsed();
    let summary = match caught {
        Ok(Ok(summary)) => Ok(summary),
        Ok(Err(error)) => Err(without_os_error(&error.to_string())),
        // The panic hook has printed the message.
        Err(_panic) => Err("internal error".to_owned()),
    };
    let mut output = lock(&output);
    let problem = problem(summary.as_ref().map_err(String::as_str), output.report(), min_roots);
    let ended = output.end(summary.as_ref().map_err(String::as_str), problem.as_deref(), elapsed);
    let trace = trace.map_or(Ok(()), TraceFile::write);
    if let Err(error) = ended {
        return unwritable(log, UNWRITABLE, &error);
    }
    if let Err(error) = trace {
        return unwritable(log, "the trace cannot be written", &error);
    }
    output.warnings().for_each(|warning| log.warning(&warning));
    if let Ok(summary) = &summary {
        for warning in summary.warnings.iter().chain(&trust_warning()) {
            log.warning(warning);
        }
        let (total, broken) = (output.report().total(), output.broken());
        log.info(&format!(
            "finished {total} URLs in {:.3} s, {broken} broken, {} left to do, {} too deep",
            elapsed.as_secs_f64(),
            summary.todo,
            summary.too_deep,
        ));
        if let Some(left_out) = summary.left_out() {
            log.warning(&left_out);
        }
        let signal = match summary.stopped {
            Some(StopReason::Signal(signal)) => Some(signal),
            _ => None,
        };
        // Another reason for the exit code would hide it.
        if let Some(other) = &summary.problem
            && (signal.is_some() || problem.as_ref() != Some(other))
        {
            log.error(other);
        }
        if let Some(signal) = signal {
            return Exit::Interrupted(signal);
        }
    }
    match problem {
        Some(problem) => {
            log.error(&problem);
            Exit::CouldNotRun
        }
        None if output.broken() > 0 => Exit::SomethingBroken,
        None => Exit::NothingBroken,
    }
}

/// Returns the reason for which a crawl could not do what was asked, as a sentence
/// without its full stop.
fn problem(
    summary: Result<&CrawlSummary, &str>,
    report: &Report,
    min_roots: u64,
) -> Option<String> {
    let summary = match summary {
        Ok(summary) => summary,
        Err(error) => return Some(error.to_owned()),
    };
    if let Some(StopReason::Journal(error) | StopReason::Frontier(error)) = &summary.stopped {
        Some(error.to_string())
    } else if report.every_root_failed()
        && report.roots() >= min_roots
        // The others may yet be crawled.
        && !matches!(summary.stopped, Some(StopReason::UnderWay))
    {
        // Roots that are excluded have no row.
        let is_excluded = report.total() == 0 && summary.todo == 0 && summary.stopped.is_none();
        let none =
            if is_excluded { "--exclude matches all of them" } else { "none finished in time" };
        Some(format!(
            "no start URL could be crawled: {}",
            report.why_a_root_failed().unwrap_or(none)
        ))
    } else if let Some(problem) = &summary.problem {
        Some(problem.clone())
    } else if !summary.busy_hosts.is_empty() {
        Some("some hosts stayed busy, so URLs of theirs are left to do".into())
    } else {
        None
    }
}

/// Returns a sink that writes rows to the log and the output. Exits the process
/// when the output cannot be written, since the crawl would be useless.
fn sink(log: Log, output: Arc<Mutex<Output>>) -> Sink {
    Box::new(move |row| {
        let mut output = lock(&output);
        log.row(&output.shown(&row));
        if let Err(error) = output.row(&row) {
            process::exit(unwritable(log, UNWRITABLE, &error).code().into());
        }
    })
}

const UNWRITABLE: &str = "the output cannot be written";

/// Logs a failed write and returns its exit code. A broken pipe is no error: a
/// reader like `head` has read all that it wants.
fn unwritable(log: Log, what: &str, error: &io::Error) -> Exit {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Exit::NothingBroken;
    }
    log.error(&format!("{what}: {error}"));
    Exit::CouldNotRun
}

/// Locks the output. A panic leaves it usable, so poisoning is ignored.
fn lock(output: &Mutex<Output>) -> MutexGuard<'_, Output> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use crawl_core::{Crawl, ErrorClass, FetchError, Row};

    use super::*;
    use crate::arguments::Arguments;

    fn run_with(crawl: fn(Options, Sink) -> io::Result<CrawlSummary>) -> Exit {
        let words = ["crawl", "-q", "-o", "/dev/null", "http://a.test", "http://b.test"];
        let arguments = Arguments::try_parse_from(words).unwrap();
        run(arguments.options(), &arguments.output, &arguments.output(), 0, crawl)
    }

    fn roots_fail(options: Options, sink: &mut dyn FnMut(Row)) -> io::Result<CrawlSummary> {
        let mut crawl = Crawl::new(options);
        for root in crawl.roots(sink) {
            let error = FetchError::new(ErrorClass::Dns, "no such host");
            sink(crawl.refuse(&root, error).row);
        }
        Ok(crawl.end(0, None))
    }

    #[test]
    fn a_crawl_that_fails_could_not_run() {
        let exit = run_with(|_, _| Err(io::Error::other("no event queue")));
        assert_eq!(exit, Exit::CouldNotRun);
        let exit = run_with(|_, _| panic!("a bug"));
        assert_eq!(exit, Exit::CouldNotRun);
        let exit = run_with(|options, mut sink| roots_fail(options, &mut *sink));
        assert_eq!(exit, Exit::CouldNotRun);
    }

    /// Nothing is known yet of roots that are under way.
    #[test]
    fn a_crawl_that_goes_on_may_crawl_its_other_roots() {
        let exit = run_with(|options, mut sink| {
            let summary = roots_fail(options, &mut *sink)?;
            Ok(CrawlSummary { stopped: Some(StopReason::UnderWay), ..summary })
        });
        assert_eq!(exit, Exit::SomethingBroken);
    }

    #[test]
    fn exit_codes_are_those_of_the_help() {
        assert_eq!(Exit::NothingBroken.code(), 0);
        assert_eq!(Exit::SomethingBroken.code(), 1);
        assert_eq!(Exit::CouldNotRun.code(), 3);
        assert_eq!(Exit::Interrupted(2).code(), 130);
        assert_eq!(Exit::Interrupted(15).code(), 143);
    }
}
