//! The program `crawl`: the crawler of stage 3 with all its flags.

mod files;
mod markdown;
mod signals;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use cli::{Invocation, Progress};
use crawl::Crawler;
use crawl_core::CrawlSummary;
use stage2_coroutines::EventLoop;

fn main() -> ExitCode {
    cli::tool_main(crawl, files::locate)
}

fn crawl(mut invocation: Invocation) -> io::Result<CrawlSummary> {
    let event_loop = EventLoop::new()?;
    event_loop.report_to(cli::print)?;
    let warn = Arc::new(invocation.warn);
    let mut crawler = Crawler::builder(invocation.options.clone());
    let guard_warn = Arc::clone(&warn);
    let _guard = signals::watch(crawler.stopper(), move |warning| guard_warn(warning))?;
    if let Some(files) = &invocation.files {
        let stopper = crawler.stopper();
        let (crawl, left) =
            files::check(files, invocation.options, &mut invocation.sink, || stopper.is_stopped())?;
        crawler = crawler.begun(crawl, left);
    }
    let mut crawler = crawler.on_row(invocation.sink).on_warning(|warning| warn(warning));
    if let Some(path) = invocation.state {
        crawler = crawler.journal(path);
    }
    if invocation.is_fresh {
        crawler = crawler.fresh();
    }
    let mut progress = invocation.progress;
    crawler = crawler.watch(Progress::INTERVAL, move |counts| progress.show(counts));
    crawler.run_on(&event_loop)
}
