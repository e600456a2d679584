//! Crawls a site, the way people keep.

use std::io;
use std::process::ExitCode;

use crawl_core::{Ending, Options, Sink};
use stage2_coroutines::EventLoop;
use stage3_queue::crawl_on;

fn main() -> ExitCode {
    let about = "Crawls a website and reports every page, redirect and broken link.";
    command_line::main_of_tool(about, crawl)
}

fn crawl(options: Options, sink: Sink) -> io::Result<Ending> {
    let event_loop = EventLoop::new()?;
    event_loop.speak_through(command_line::tell)?;
    crawl_on(&event_loop, options, sink)
}
