//! Crawls a site, the way people keep.

mod signals;

use std::io;
use std::process::ExitCode;

use command_line::{Assignment, Progress};
use crawl_core::Ending;
use stage2_coroutines::EventLoop;
use stage3_queue::Crawler;

fn main() -> ExitCode {
    command_line::main_of_tool(crawl)
}

fn crawl(assignment: Assignment) -> io::Result<Ending> {
    let event_loop = EventLoop::new()?;
    event_loop.speak_through(command_line::tell)?;
    let mut crawler =
        Crawler::builder(assignment.options).on_row(assignment.sink).on_warning(assignment.warn);
    if let Some(path) = assignment.state {
        crawler = crawler.journal(path);
    }
    if assignment.is_fresh {
        crawler = crawler.fresh();
    }
    if let Some(mut progress) = assignment.progress {
        crawler = crawler.watch(Progress::INTERVAL, move |standing| progress.show(standing));
    }
    let _heeded = signals::stop(crawler.stopper())?;
    crawler.run_on(&event_loop)
}
