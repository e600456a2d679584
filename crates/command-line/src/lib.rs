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
//!    broken, something broken, bad usage, could not run.
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
use std::process::ExitCode;

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

/// The same for the last stage, which understands more.
///
/// If there is a line of progress to be shown, `crawl` is given it.
pub fn main_of_tool(
    about: &str,
    crawl: fn(Options, Sink, Option<Progress>) -> io::Result<Ending>,
) -> ExitCode {
    prepare();
    let arguments: ToolArguments = arguments::of_process(about);
    let progress = arguments.wants_progress().then(Progress::on_terminal).flatten();
    let crawl = |options, sink| crawl(options, sink, progress);
    run::run(arguments.options(), &arguments.common.output, crawl).into()
}

fn prepare() {
    log::say_panics();
    // Where it cannot be raised, fetches wait for each other's descriptors.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
}
