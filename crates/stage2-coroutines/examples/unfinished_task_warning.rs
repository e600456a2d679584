//! All work is done, and the workers still wait for more. Whoever closes the
//! loop now hears of each of them, unless they are cancelled first.
//!
//! `cargo run -p stage2-coroutines --example unfinished_task_warning`
#![allow(clippy::print_stdout, clippy::print_stderr)] // An example may print.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use selector_core::VirtualTime;
use stage2_coroutines::{EventLoop, Future, Task, sleep};
use transport::system_look_up;

/// The simplest thing to take work from; stage 3 has a real queue.
type Urls = Rc<RefCell<Vec<&'static str>>>;

async fn work(event_loop: EventLoop, urls: Urls) {
    loop {
        // The borrow ends with this statement, before anybody else has a turn.
        let url = urls.borrow_mut().pop();
        match url {
            Some(url) => {
                sleep(&event_loop, Duration::from_secs(1)).await;
                println!("  fetched {url}");
            }
            // Somebody would resolve this when there is more to do.
            None => drop(Future::<()>::new(&event_loop).await),
        }
    }
}

/// Two workers, three pages: after ten seconds, all must be fetched.
async fn crawl(event_loop: &EventLoop, cancel_workers: bool) {
    let urls: Urls = Rc::new(RefCell::new(vec!["/c", "/b", "/a"]));
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
        let event_loop = EventLoop::in_world(VirtualTime::new(), Arc::new(system_look_up));
        // A library prints nothing; its user decides who hears of it.
        event_loop.set_exception_handler(|complaint| eprintln!("{complaint}"));
        event_loop.run_until_complete(crawl(&event_loop, cancel_workers))?;
        println!("  {} tasks are pending", event_loop.pending_tasks());
        event_loop.close();
    }
    Ok(())
}
