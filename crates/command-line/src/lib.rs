//! The command line that the binaries of all stages share, so that two stages
//! differ in nothing but how they wait.
//!
//! The rules of this crate:
//!
//! 1. **What was asked for goes to stdout, what is said about it to stderr.**
//!    A row is written as its URL is finished; without `-v`, stderr stays
//!    empty unless something is wrong.
//! 2. **A bad value is refused before the first packet**, with the names of
//!    the flag and the value.
//! 3. **The exit code is the answer of a crawl in one number**: nothing
//!    broken, something broken, bad usage, could not run, interrupted.
//! 4. **Nothing from the network reaches a terminal unescaped.** All text goes
//!    out through one function, [`printable`].
//!
//! [`printable`]: values::printable

mod arguments;
mod log;
mod output;
mod progress;
mod run;
pub mod values;

pub use log::tell;
pub use progress::Progress;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::CommandFactory;
use crawl_core::{Ending, Options, Sink};

use crate::arguments::{Arguments, ToolArguments};

/// Does what the process's arguments say, with the `crawl` of one stage.
///
/// `about` is the first line of the help. With wrong arguments, or when output
/// is no longer wanted, the process ends in here. Its soft limit on open files
/// is raised to the hard one: each fetch takes a descriptor.
pub fn main(about: &str, crawl: fn(Options, Sink) -> io::Result<Ending>) -> ExitCode {
    prepare();
    let arguments: Arguments = arguments::of_process(about);
    run::run(arguments.options(), &arguments.output, crawl).into()
}

const ABOUT_TOOL: &str = "Crawls a website and reports every page, redirect and broken link.";

/// What the last stage is asked to do, which is more than [`Options`] has.
pub struct Assignment {
    /// What to crawl.
    pub options: Options,
    /// Who takes the rows.
    pub sink: Sink,
    /// The journal to keep, or to go on from.
    pub state: Option<PathBuf>,
    /// Whether to begin anew nevertheless.
    pub is_fresh: bool,
    /// The line of progress, if there is one to be shown.
    pub progress: Option<Progress>,
    /// Says on stderr what is wrong and yet no error, if the user wants to hear
    /// of it.
    pub warn: Box<dyn Fn(&str)>,
}

/// The same for the last stage, which understands more.
pub fn main_of_tool(crawl: fn(Assignment) -> io::Result<Ending>) -> ExitCode {
    prepare();
    let arguments: ToolArguments = arguments::of_process(ABOUT_TOOL);
    let progress = arguments.wants_progress().then(Progress::on_terminal).flatten();
    let (state, is_fresh) = (arguments.tool.state.clone(), arguments.tool.fresh);
    let log = log::Log::new(arguments.common.output.level());
    let warn = Box::new(move |message: &str| log.warning(message));
    run::run(arguments.options(), &arguments.common.output, |options, sink| {
        crawl(Assignment { options, sink, state, is_fresh, warn, progress })
    })
    .into()
}

/// The command line of the last stage, to make manuals and completions of.
pub fn command_of_tool() -> clap::Command {
    ToolArguments::command().name("crawl").about(ABOUT_TOOL)
}

fn prepare() {
    log::say_panics();
    // Where it cannot be raised, fetches wait for each other's descriptors.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
}
