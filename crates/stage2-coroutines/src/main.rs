//! Crawls a site with hand-made coroutines.

use std::io;
use std::process::ExitCode;

use crawl_core::{Ending, Options, Sink};
use stage2_coroutines::{EventLoop, crawl_on};

fn main() -> ExitCode {
    let about = "Crawls a website with one coroutine per fetch, on one thread.";
    command_line::main(about, crawl)
}

fn crawl(options: Options, sink: Sink) -> io::Result<Ending> {
    let event_loop = EventLoop::new()?;
    event_loop.speak_through(command_line::tell)?;
    crawl_on(&event_loop, options, sink)
}
