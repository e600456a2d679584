//! Crawls that are recorded, and crawls that are replayed.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cli::{Invocation, Recorded};
use crawl::{Builder, ShutdownHandle};
use crawl_core::{CrawlSummary, StopReason};
use percent_encoding::percent_decode_str;
use recording::{Header, Player, Record, Recorder, redacted_credentials, redacted_header};
use selector_core::{Backend, OsBackend};
use signal_hook::consts::SIGUSR1;
use signal_hook::flag;
use stage2_coroutines::{Inspect, runtime_on};
use transport::{TapeGuard, system_lookup};

use crate::signals;

/// Reads what the recorded crawl says of itself.
pub(crate) fn read(path: &Path) -> Result<Recorded, String> {
    let header =
        Record::open(path).map_err(|error| web::without_os_error(&error.to_string()))?.header;
    Ok(Recorded { arguments: header.arguments, seed: header.seed })
}

/// A crawl that is recorded.
pub(crate) struct Recording(Recorder);

impl Recording {
    /// Creates the file, if the crawl is to be recorded.
    ///
    /// # Errors
    /// When the file cannot be created, with its name.
    pub(crate) fn begin(invocation: &Invocation) -> io::Result<Option<Self>> {
        let Some(path) = &invocation.record else { return Ok(None) };
        let has_secrets = invocation.record_secrets;
        let arguments = invocation.arguments.iter();
        let arguments = match has_secrets {
            true => arguments.cloned().collect(),
            false => arguments.map(|argument| redacted(argument)).collect(),
        };
        let program = concat!("crawl ", env!("CARGO_PKG_VERSION")).to_owned();
        let seed = invocation.options.seed;
        let header = Header { program, arguments, seed, has_secrets };
        let with_path = |error: io::Error| {
            io::Error::new(error.kind(), format!("the record {}: {error}", path.display()))
        };
        Recorder::create(path, &header).map(|recorder| Some(Self(recorder))).map_err(with_path)
    }

    /// Runs the crawl.
    ///
    /// A record that cannot be written is a problem of the crawl, whose report is there.
    ///
    /// # Errors
    /// Those of the crawl.
    pub(crate) fn run(
        self,
        crawler: Builder<'_>,
        max_time: Option<Duration>,
        warn: Arc<dyn Fn(&str) + Send + Sync>,
    ) -> io::Result<CrawlSummary> {
        let Self(recorder) = self;
        let shutdown = crawler.shutdown_handle();
        let backend = OsBackend::new()?;
        let external = recorder.external(backend.notifier());
        let backend = recorder.backend(backend, stop_on(shutdown));
        let lookup = recorder.lookup(Arc::new(system_lookup));
        let runtime = runtime_on(backend, lookup);
        let event_loop = runtime.event_loop().clone();
        event_loop.set_exception_handler(|error| cli::print(&format!("{error}\n")));
        ignore_questions()?;
        let stop = move |reason| {
            if let StopReason::Signal(number) = reason {
                external.send(number);
            }
        };
        let _guard = signals::watch(max_time, stop, warn)?;
        let tape = TapeGuard::enter(recorder.tape());
        let summary = crawler.run_on(runtime);
        drop((event_loop, tape));
        let recorded = recorder.finish();
        let mut summary = summary?;
        match recorded {
            Ok(true) => {}
            Ok(false) => {
                let warning = "the crawl is too long for its record, so its end cannot be replayed";
                summary.warnings.push(warning.to_owned());
            }
            Err(error) => {
                let problem = format!("the record cannot be written: {error}");
                match summary.problem {
                    Some(_) => summary.warnings.push(problem),
                    None => summary.problem = Some(problem),
                }
            }
        }
        Ok(summary)
    }
}

/// A crawl that is replayed.
pub(crate) struct Replay(Player);

impl Replay {
    /// Reads the record, if there is one to be replayed.
    ///
    /// # Errors
    /// When the file cannot be replayed.
    pub(crate) fn begin(invocation: &Invocation) -> io::Result<Option<Self>> {
        let Some(path) = &invocation.replay else { return Ok(None) };
        let record = Record::open(path).map_err(io::Error::other)?;
        Ok(Some(Self(Player::new(record))))
    }

    /// Runs the crawl. A signal ends it at once, with a report of what it has done so far.
    ///
    /// # Errors
    /// Those of the crawl, and the first difference from the record.
    pub(crate) fn run(
        self,
        crawler: Builder<'_>,
        warn: Arc<dyn Fn(&str) + Send + Sync>,
    ) -> io::Result<CrawlSummary> {
        let Self(player) = self;
        ignore_questions()?;
        let interrupted = player.clone();
        let stop = move |reason| {
            if let StopReason::Signal(number) = reason {
                interrupted.interrupt(number);
            }
        };
        // Nothing is under way that could have time.
        let _guard = signals::watch(None, stop, Arc::new(move |_: &str| warn("stopping")))?;
        let backend = player.backend(stop_on(crawler.shutdown_handle()));
        let runtime = runtime_on(backend, player.lookup());
        let event_loop = runtime.event_loop().clone();
        event_loop.set_exception_handler(|error| cli::print(&format!("{error}\n")));
        let tape = TapeGuard::enter(player.tape());
        let summary = crawler.run_on(runtime);
        drop((event_loop, tape));
        match player.departure() {
            Some(departure) => Err(io::Error::other(departure)),
            None => summary,
        }
    }
}

/// Has SIGUSR1 do nothing: a question about the tasks would be part of the run, so it is
/// not answered, and it must not end the program.
fn ignore_questions() -> io::Result<()> {
    flag::register(SIGUSR1, Arc::new(AtomicBool::new(false))).map(drop)
}

/// Returns a function that stops the crawl for the signal with a number.
fn stop_on(shutdown: ShutdownHandle) -> Box<dyn FnMut(u8)> {
    Box::new(move |number| shutdown.stop(StopReason::Signal(number)))
}

/// Returns an argument of the command line without the secret in it.
fn redacted(argument: &str) -> String {
    match argument.split_once('=') {
        Some(("--header", header)) => format!("--header={}", redacted_header(header)),
        Some(("--for-host", setting)) => match setting.split_once("header=") {
            Some((host, header)) => format!("--for-host={host}header={}", redacted_header(header)),
            None => argument.to_owned(),
        },
        Some(("--proxy", proxy)) => format!("--proxy={}", redacted_proxy(proxy)),
        Some(("--proxy-env", variable)) => match variable.split_once('=') {
            Some((name, value)) => format!("--proxy-env={name}={}", redacted_proxy(value)),
            None => argument.to_owned(),
        },
        Some(("--user", credentials)) => format!("--user={}", redacted_credentials(credentials)),
        _ => argument.to_owned(),
    }
}

/// Returns the URL of a proxy without its password, which is as long as it was.
fn redacted_proxy(proxy: &str) -> String {
    let begin = proxy.find("://").map_or(0, |scheme| scheme + "://".len());
    let Some((credentials, host)) = proxy[begin..].rsplit_once('@') else {
        return proxy.to_owned();
    };
    // The name stays as it is written: it may have a colon or a slash, which is encoded.
    let name_end = credentials.find(':').unwrap_or(credentials.len());
    let (name, password) = credentials.split_at(name_end);
    let password = percent_decode_str(password).decode_utf8_lossy();
    format!("{}{name}{}@{host}", &proxy[..begin], redacted_credentials(&password))
}
