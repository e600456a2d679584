//! Crawls a site, the way people keep.

use std::io;
use std::process::ExitCode;
use std::rc::Rc;

use command_line::Progress;
use crawl_core::{Ending, Options, Sink};
use stage2_coroutines::{EventLoop, Task, sleep};
use stage3_queue::Crawler;

fn main() -> ExitCode {
    let about = "Crawls a website and reports every page, redirect and broken link.";
    command_line::main_of_tool(about, crawl)
}

fn crawl(options: Options, sink: Sink, progress: Option<Progress>) -> io::Result<Ending> {
    let event_loop = EventLoop::new()?;
    event_loop.speak_through(command_line::tell)?;
    let crawler = Crawler::new(&event_loop, options, sink);
    let shown = progress.map(|progress| {
        Task::spawn(&event_loop, show(event_loop.clone(), Rc::clone(&crawler), progress))
    });
    let ending = event_loop.run_until_complete(crawler.crawl());
    if let Some(shown) = shown {
        shown.cancel();
    }
    event_loop.close();
    ending
}

async fn show(event_loop: EventLoop, crawler: Rc<Crawler>, mut progress: Progress) {
    loop {
        progress.show(&crawler.standing());
        sleep(&event_loop, Progress::INTERVAL).await;
    }
}
