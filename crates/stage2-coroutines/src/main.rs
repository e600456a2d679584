//! The program of stage 2: crawls a site with coroutines on the runtime of
//! this crate.

use std::io;
use std::process::ExitCode;

use crawl_core::{CrawlSummary, Options, Sink};
use stage2_coroutines::{Inspect, crawl_on, system_runtime};

fn main() -> ExitCode {
    let about = "Crawls a website with one coroutine per fetch, on one thread.";
    cli::main(about, crawl)
}

fn crawl(options: Options, sink: Sink) -> io::Result<CrawlSummary> {
    let runtime = system_runtime()?;
    runtime.event_loop().report_to(cli::print)?;
    crawl_on(runtime, options, sink)
}
