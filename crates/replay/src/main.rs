//! A comparison of the stages: each crawls the same site, and a table shows the
//! results.
//!
//! The rules of this program:
//!
//! 1. **One process per stage.** No stage inherits memory or threads of another.
//!    The site has a process of its own, too.
//! 2. **The same site and the same options for all.** Only the number of
//!    concurrent fetches may differ from stage to stage, because the stages
//!    differ in how they wait. So that number is in the table.
//! 3. **Speed counts only with correct results.** Every row of every stage is
//!    compared with those of the others, and one difference is a failure.

mod arguments;
mod comparison;
mod findings;
mod load;
mod progress;
mod site;
mod stages;
mod table;
mod worker_process;

use std::io::{self, ErrorKind};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::arguments::{Arguments, Role};
use crate::comparison::StageTasks;
use crate::site::Site;
use crate::stages::Stage;
use crate::table::thousands;

/// Runs one of the roles. The exit codes are those of the stages: 1 for a
/// difference, 3 for a program that could not run.
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let agreed = match arguments.role {
        Some(Role::Crawl { stage, tasks, url, first_pages }) => {
            worker_process::crawl(stage, tasks, &url, first_pages).map(|()| true)
        }
        Some(Role::Serve { pages, delay_ms, plain, hold }) => {
            site::serve(pages, Duration::from_millis(delay_ms), plain, hold).map(|()| true)
        }
        None if arguments.load => load::load_test(&arguments.stages),
        None => compare_stages(&arguments),
    };
    match agreed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        // A reader that has closed the pipe (`| head`) wants no more.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            cli::print(&format!("[error] {error}\n"));
            ExitCode::from(3)
        }
    }
}

/// Compares the stages on a fast and on a slow demo site, or on the site of the
/// user. Returns true if all stages have found the same.
fn compare_stages(arguments: &Arguments) -> io::Result<bool> {
    let stages = |tasks: fn(&Stage) -> usize| -> Vec<StageTasks> {
        let tasks = |stage| arguments.tasks.unwrap_or_else(|| tasks(stage));
        arguments.stages.iter().map(|stage| (*stage, tasks(stage))).collect()
    };
    if let Some(url) = &arguments.url {
        return comparison::compare(url, url, &stages(|_| 10));
    }
    let (fast, slow, delay) = (arguments.pages, arguments.slow_pages, arguments.delay);

    let site = Site::start(fast, Duration::ZERO, false)?;
    let pages = thousands(fast.into());
    let title = format!("Fast pages: {pages} of 8 KB, answered at once");
    let fast_agreed = comparison::compare(&title, site.root(), &stages(|_| 100))?;
    drop(site);

    let site = Site::start(slow, delay, false)?;
    let pages = thousands(slow.into());
    let title = format!("Slow pages: {pages} of 8 KB, each answered after {delay:?}");
    let slow_agreed =
        comparison::compare(&title, site.root(), &stages(|stage| stage.natural_tasks))?;
    Ok(fast_agreed && slow_agreed)
}
