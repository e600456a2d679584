//! The program `crawl`: the crawler of stage 3 with all its flags.

#[cfg(feature = "redis")]
mod many_machines;
mod signals;

use std::io;
use std::process::ExitCode;

use cli::{Invocation, Progress};
use crawl::Crawler;
use crawl_core::CrawlSummary;
use stage2_coroutines::EventLoop;

fn main() -> ExitCode {
    cli::tool_main(
        crawl,
        #[cfg(feature = "redis")]
        many_machines::manage,
    )
}

fn crawl(invocation: Invocation) -> io::Result<CrawlSummary> {
    let event_loop = EventLoop::new()?;
    event_loop.report_to(cli::print)?;
    #[cfg(feature = "redis")]
    if let Some(frontier) = invocation.frontier.clone() {
        return many_machines::crawl(&event_loop, &frontier, invocation);
    }
    let mut crawler =
        Crawler::builder(invocation.options).on_row(invocation.sink).on_warning(invocation.warn);
    if let Some(path) = invocation.state {
        crawler = crawler.journal(path);
    }
    if invocation.is_fresh {
        crawler = crawler.fresh();
    }
    let mut progress = invocation.progress;
    crawler = crawler.watch(Progress::INTERVAL, move |counts| progress.show(counts));
    let _guard = signals::watch(crawler.stopper())?;
    crawler.run_on(&event_loop)
}
