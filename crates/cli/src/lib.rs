//! The command line that the binaries of all stages share: arguments, reports,
//! progress and log. So two stages differ in nothing but how they wait.
//!
//! The rules of this crate:
//!
//! 1. **Results go to stdout, messages to stderr.** A row is written as its URL is
//!    finished; without `-v`, stderr has nothing but what is wrong, and the progress of
//!    a crawl that takes long.
//! 2. **A bad value is refused before the first packet**, with the names of
//!    the flag and the value.
//! 3. **The exit code is the result of a crawl in one number**: nothing broken,
//!    something broken, bad usage, could not run, interrupted.
//! 4. **Nothing from the network reaches a terminal unescaped.** All text goes
//!    out through one function, [`printable`].
//!
//! [`printable`]: parsers::printable

mod arguments;
mod config;
mod cookie_file;
mod for_host;
mod generate;
mod log;
mod output;
pub mod parsers;
mod progress;
mod read_text;
mod replace_file;
mod run;
mod sources;
mod trace_file;
mod trace_page;

#[cfg(feature = "redis")]
pub use arguments::{FrontierAction, FrontierArguments};
pub use log::print;
pub use progress::{Progress, write_under_way};
pub use sources::{FilePaths, Files};
pub use trace_file::TraceFile;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::CommandFactory;
use crawl_core::{CrawlSummary, Options, Sink};

use crate::arguments::{Arguments, Tool, ToolArguments, ToolInvocation};
use crate::output::Locate;
use crate::sources::Sources;

/// Runs the program of one stage: parses the arguments of the process, calls
/// `crawl`, writes the report and returns the exit code.
///
/// `about` is the first line of the help. Exits the process on wrong arguments,
/// and when its output can no longer be written. Raises the soft limit on open
/// files to the hard limit, since each fetch takes a file descriptor.
pub fn main(about: &str, crawl: fn(Options, Sink) -> io::Result<CrawlSummary>) -> ExitCode {
    prepare();
    let definition = Arguments::command().about(about.to_owned());
    let definition = definition.mut_arg("sources", |urls| urls.required(true));
    let arguments: Arguments = arguments::parse_process_args(definition);
    let mut options = arguments.options();
    options.seed = run::new_seed();
    run::run(options, &arguments.output, &arguments.output(), 0, crawl).into()
}

/// The exit code of a program that could not do what was asked.
const COULD_NOT_RUN: u8 = 3;

/// The exit code for a command line that is wrong, the same as that of clap.
const BAD_USAGE: u8 = 2;

const TOOL_ABOUT: &str = "Crawls a website and reports every page, redirect and broken link.";

/// The parsed command line of the tool, which has more than [`Options`].
pub struct Invocation {
    /// Options of the crawl.
    pub options: Options,
    /// Sink for the rows.
    pub sink: Sink,
    /// Path of the journal to keep, or to resume from.
    pub state: Option<PathBuf>,
    /// True if the crawl begins anew and replaces the journal.
    pub is_fresh: bool,
    /// The file with results of other sites, and the age up to which they count.
    pub cache: Option<(PathBuf, Duration)>,
    /// The files to check, if the crawl does not begin with URLs.
    pub files: Option<Files>,
    /// The crawl on many machines to begin, to join or to report.
    #[cfg(feature = "redis")]
    pub frontier: Option<FrontierArguments>,
    /// The progress on the terminal and in the log.
    pub progress: Progress,
    /// Prints a warning on stderr, unless the log level is lower.
    pub warn: Arc<dyn Fn(&str) + Send + Sync>,
    /// File in which the crawl is recorded.
    pub record: Option<PathBuf>,
    /// True if its secrets are recorded, too.
    pub record_secrets: bool,
    /// File of the recorded crawl that is replayed.
    pub replay: Option<PathBuf>,
    /// Arguments that are recorded: those that decide what the crawl does. A flag and
    /// its value are one.
    pub arguments: Vec<String>,
}

/// The part of a record that the command line needs.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Arguments of its command line.
    pub arguments: Vec<String>,
    /// Seed of the crawl.
    pub seed: u64,
}

/// Runs the tool: the same as [`main`], with the flags that only the tool has. What
/// `recorded` says of the file of `--replay` goes before the arguments of the process;
/// if it cannot be replayed, the process exits with the message. `locate` returns the
/// path of the file that a URL leads to, if it leads to one. `manage` shows the state of a
/// crawl on many machines, or deletes it, and returns what is to be printed.
pub fn tool_main(
    recorded: fn(&Path) -> Result<Recorded, String>,
    crawl: fn(Invocation) -> io::Result<CrawlSummary>,
    locate: fn(&Files, &str) -> Option<String>,
    #[cfg(feature = "redis")] manage: fn(&FrontierArguments, &Options) -> io::Result<String>,
) -> ExitCode {
    prepare();
    let invocation = arguments::parse_tool_args(tool_command(), recorded);
    let ToolInvocation { arguments, seed, config, .. } = invocation;
    let mut recorded_arguments = invocation.recordable;
    let log = log::Log::new(arguments.common.output.level());
    for file in invocation.passed_over {
        log.warning(&format!(
            "{} belongs to another user and is not read (--config reads it)",
            file.display(),
        ));
    }
    if let Some(generated) = arguments.tool.generate {
        return printed(generated.write(tool_command(), &mut io::stdout()));
    }
    if arguments.tool.print_config {
        return printed(io::stdout().write_all(parsers::printable(&config).as_bytes()));
    }
    #[cfg(feature = "redis")]
    let frontier = arguments.redis.frontier();
    #[cfg(feature = "redis")]
    if let Some(frontier) = frontier.as_ref().filter(|frontier| !frontier.action.has_rows()) {
        let state = manage(frontier, &arguments.options(Vec::new()));
        return run::print(state, arguments.common.output.level()).into();
    }
    let progress = Progress::new(log, arguments.wants_progress());
    let warn = Arc::new(move |message: &str| log.warning(message));
    let read = || -> Result<_, String> {
        Ok((arguments.sources()?, arguments.output()?, arguments.tool.proxies()?))
    };
    let (sources, mut output, proxies) = match read() {
        Ok(read) => read,
        Err(error) => {
            log.error(&error);
            return ExitCode::from(BAD_USAGE);
        }
    };
    output.title = sources.title();
    if let Some(warning) = sources.warning() {
        log.warning(&warning);
    }
    #[cfg(feature = "redis")]
    let joins = frontier.is_some();
    #[cfg(not(feature = "redis"))]
    let joins = false;
    if sources.is_empty() && !joins {
        log.warning("the list is empty, so there is nothing to check");
        return ExitCode::SUCCESS;
    }
    let Sources { roots, files, .. } = sources;
    if let Some(files) = files.clone() {
        output.locate = Locate::new(move |url| locate(&files, url));
    }
    output.command = shown_command(&recorded_arguments, &output.title);
    recorded_arguments.extend(roots.iter().map(ToString::to_string));
    let variables = arguments.tool.proxy_variables();
    let variables = variables.iter().map(|(name, value)| format!("--proxy-env={name}={value}"));
    recorded_arguments.extend(variables);
    let mut options = Options { proxies, ..arguments.options(roots) };
    options.seed = seed.unwrap_or_else(run::new_seed);
    #[cfg(feature = "redis")]
    let min_roots = frontier.as_ref().map_or(0, |frontier| frontier.min_roots(&options));
    #[cfg(not(feature = "redis"))]
    let min_roots = 0;
    let cache = arguments.tool.cache.map(|path| (path, arguments.tool.cache_age));
    let Tool { state, fresh, record, record_secrets, replay, cookie_jar, .. } = arguments.tool;
    output.writes_more |= record.is_some() || cache.is_some() || cookie_jar.is_some();
    let exit = run::run(options, &arguments.common.output, &output, min_roots, |options, sink| {
        crawl(Invocation {
            options,
            sink,
            state,
            is_fresh: fresh,
            cache,
            files,
            #[cfg(feature = "redis")]
            frontier,
            progress,
            warn,
            record,
            record_secrets,
            replay,
            arguments: recorded_arguments,
        })
    });
    if let Some(Err(error)) = cookie_jar.map(|file| file.write()) {
        log.error(&format!("the --cookie-jar file cannot be written: {error}"));
        return ExitCode::from(COULD_NOT_RUN);
    }
    exit.into()
}

/// Returns the command for a crawl as reports show it: what decides its result, without secrets.
fn shown_command(arguments: &[String], title: &str) -> String {
    let quoted = |word: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+%@~".contains(c);
        if word.chars().all(is_plain) {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let flag = |argument: &String| {
        let argument = argument.trim_start_matches("--");
        match argument.split_once('=') {
            // A setting of a host may be a header.
            Some(("for-host", setting)) if setting.contains("header=") => None,
            Some((key, value)) => {
                Some(quoted(&format!("--{key}={}", config::without_secret(key, value))))
            }
            None => Some(format!("--{argument}")),
        }
    };
    let words = ["crawl".to_owned()].into_iter().chain(arguments.iter().filter_map(flag));
    let words = words.chain(title.split(", ").map(quoted));
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the exit code after something was printed, instead of a crawl.
fn printed(result: io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            log::Log::new(log::Level::Errors).error(&format!("stdout: {error}"));
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}

/// Returns the definition of the command line of the tool, with its own defaults in the
/// help.
fn tool_command() -> clap::Command {
    let with_default = |text: &'static str| move |argument: clap::Arg| argument.help(text);
    ToolArguments::command()
        .name("crawl")
        .about(TOOL_ABOUT)
        .after_help(arguments::EXIT_CODES_OF_TOOL)
        .mut_arg("sources", |sources| {
            let sources = sources.required_unless_present_any(["input", "print_config", "replay"]);
            sources.help(
                "What to check: URLs, a folder, files, or - to read them from stdin. A URL without a \
                 scheme gets https:// (http:// for localhost and IP addresses).",
            )
        })
        .mut_arg(
            "max_tasks",
            with_default(
                "Maximum number of fetches at a time, up to 100000; sitemaps come on top [default: 10]",
            ),
        )
        .mut_arg(
            "check",
            with_default(
                "What to check besides links, separated by commas: images, scripts, styles, frames, \
                 refresh, relations, media, fragments, all or none. +KIND and -KIND change the \
                 default [default: all except fragments]",
            ),
        )
        .mut_arg("format", with_default("Format of the report [default: text]"))
}

/// Installs the panic hook and raises the limit on open files.
fn prepare() {
    log::print_panics();
    // If it cannot be raised, fetches wait until others free their descriptors.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
}
