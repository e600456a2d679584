//! The program `crawl`: the crawler of stage 3 with all its flags.

#[cfg(feature = "redis")]
mod many_machines;
mod recorded;
mod signals;

use std::io;
use std::process::ExitCode;

use cli::{Invocation, Progress};
use crawl::{Builder, Crawler};
use crawl_core::CrawlSummary;
use stage2_coroutines::EventLoop;

use crate::recorded::{Recording, Replay};

fn main() -> ExitCode {
    cli::tool_main(
        recorded::read,
        crawl,
        #[cfg(feature = "redis")]
        many_machines::manage,
    )
}

fn crawl(invocation: Invocation) -> io::Result<CrawlSummary> {
    #[cfg(feature = "redis")]
    if let Some(frontier) = invocation.frontier.clone() {
        return many_machines::crawl(&frontier, invocation);
    }
    let recording = Recording::begin(&invocation)?;
    let replay = Replay::begin(&invocation)?;
    let max_time = invocation.options.max_time;
    let crawler = builder(invocation);
    if let Some(recording) = recording {
        return recording.run(crawler, max_time);
    }
    if let Some(replay) = replay {
        return replay.run(crawler);
    }
    let event_loop = EventLoop::new()?;
    event_loop.report_to(cli::print)?;
    let stopper = crawler.stopper();
    let _guard = signals::watch(max_time, move |reason| stopper.stop(reason))?;
    crawler.run_on(&event_loop)
}

/// Prepares the crawl that the command line asks for.
fn builder(invocation: Invocation) -> Builder<'static> {
    let mut crawler =
        Crawler::builder(invocation.options).on_row(invocation.sink).on_warning(invocation.warn);
    if let Some(path) = invocation.state {
        crawler = crawler.journal(path);
    }
    if invocation.is_fresh {
        crawler = crawler.fresh();
    }
    let mut progress = invocation.progress;
    crawler.watch(Progress::INTERVAL, move |counts| progress.show(counts))
}
