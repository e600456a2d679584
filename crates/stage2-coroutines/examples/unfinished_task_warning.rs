//! Unfinished tasks: all work is done, and the workers still wait for more. When
//! the loop is closed, the exception handler is called for each of them, unless
//! they are cancelled first.
//!
//! `cargo run -p stage2-coroutines --example unfinished_task_warning`
#![allow(clippy::print_stdout, clippy::print_stderr)] // An example may print.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use stage2_coroutines::{EventLoop, Future, Inspect, InspectTask, Task, sleep, virtual_runtime};

/// The simplest work queue; stage 3 has a real one.
type UrlsTodo = Rc<RefCell<Vec<&'static str>>>;

async fn work(event_loop: EventLoop, urls: UrlsTodo) {
    loop {
        // The borrow ends with this statement, before another task runs.
        let url = urls.borrow_mut().pop();
        match url {
            Some(url) => {
                sleep(&event_loop, Duration::from_secs(1)).await;
                println!("  fetched {url}");
            }
            // A real queue would resolve this future when there is more work.
            None => drop(Future::<()>::new(&event_loop).await),
        }
    }
}

/// Two workers, three pages: after ten seconds, all must be fetched.
async fn crawl(event_loop: &EventLoop, cancel_workers: bool) {
    let urls: UrlsTodo = Rc::new(RefCell::new(vec!["/c", "/b", "/a"]));
    let workers = ["left", "right"].map(|name| {
        let worker = work(event_loop.clone(), Rc::clone(&urls));
        Task::spawn(event_loop, worker).named(name)
    });
    sleep(event_loop, Duration::from_secs(10)).await;
    if cancel_workers {
        for worker in workers {
            worker.cancel();
        }
    }
}

fn main() -> io::Result<()> {
    for cancel_workers in [false, true] {
        println!("the workers are cancelled: {cancel_workers}");
        // In virtual time: the ten seconds cost nothing.
        let runtime = virtual_runtime();
        let event_loop = runtime.event_loop();
        // A library prints nothing: the program sets a handler that does.
        event_loop.set_exception_handler(|error| eprintln!("{error}"));
        runtime.run_until_complete(crawl(event_loop, cancel_workers))?;
        println!("  {} tasks are pending", event_loop.pending_tasks());
        drop(runtime);
    }
    Ok(())
}
