//! Every stage crawls the same site; one table comes out.
//!
//! The rules of this program:
//!
//! 1. **A process each.** A stage starts with nothing: its memory is its own,
//!    and so are its threads. The site has a process to itself as well.
//! 2. **The same site, the same questions.** Stages differ in how they wait,
//!    so how many fetches each may have at a time is part of the table.
//! 3. **Fast and wrong is wrong.** Every row of every stage is compared with
//!    the others', and one difference is a failure.

mod arguments;
mod child;
mod contest;
mod findings;
mod load;
mod progress;
mod site;
mod stages;
mod table;

use std::io::{self, ErrorKind};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::arguments::{Arguments, Role};
use crate::contest::Entrant;
use crate::site::Site;
use crate::stages::Stage;
use crate::table::thousands;

/// Exit codes as those of the stages: 1 is a difference, 3 could not run.
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let agreed = match arguments.role {
        Some(Role::Crawl { stage, tasks, url, first_pages }) => {
            child::crawl(stage, tasks, &url, first_pages).map(|()| true)
        }
        Some(Role::Serve { pages, delay_ms, plain, hold }) => {
            site::serve(pages, Duration::from_millis(delay_ms), plain, hold).map(|()| true)
        }
        None if arguments.load => load::bear(&arguments.stages),
        None => replay(&arguments),
    };
    match agreed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        // A reader who has gone away (`| head`) has read what he wanted.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            command_line::tell(&format!("[error] {error}\n"));
            ExitCode::from(3)
        }
    }
}

/// Whether all stages have found the same.
fn replay(arguments: &Arguments) -> io::Result<bool> {
    let entrants = |tasks: fn(&Stage) -> usize| -> Vec<Entrant> {
        let tasks = |stage| arguments.tasks.unwrap_or_else(|| tasks(stage));
        arguments.stages.iter().map(|stage| (*stage, tasks(stage))).collect()
    };
    if let Some(url) = &arguments.url {
        return contest::hold(url, url, &entrants(|_| 10));
    }
    let (fast, slow, delay) = (arguments.pages, arguments.slow_pages, arguments.delay);

    let site = Site::start(fast, Duration::ZERO, false)?;
    let pages = thousands(fast.into());
    let title = format!("Fast pages: {pages} of 8 KB, answered at once");
    let fast_agreed = contest::hold(&title, site.root(), &entrants(|_| 100))?;
    drop(site);

    let site = Site::start(slow, delay, false)?;
    let pages = thousands(slow.into());
    let title = format!("Slow pages: {pages} of 8 KB, each answered after {delay:?}");
    let slow_agreed = contest::hold(&title, site.root(), &entrants(|stage| stage.natural_tasks))?;
    Ok(fast_agreed && slow_agreed)
}
