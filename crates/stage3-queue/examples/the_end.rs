//! The end of a crawl: two workers, a queue, and the mistake of handing old work
//! back before new work is put in.
#![allow(clippy::print_stdout)]

use std::io;
use std::time::{Duration, Instant};

use stage2_coroutines::{EventLoop, Task, sleep, virtual_runtime};
use stage3_queue::JoinableQueue;

type Queue = JoinableQueue<&'static str>;

/// Returns the links on a page. Every page takes a second.
fn links_of(page: &str) -> &'static [&'static str] {
    match page {
        "/" => &["/a"],
        "/a" => &["/b", "/c", "/d"],
        _ => &[],
    }
}

// ANCHOR: work
async fn work(q: Queue, log: Log, worker: usize, hands_back_early: bool) {
    loop {
        let item = q.get().await;
        let page = *item;
        log.print(&q, &format!("worker {worker} takes {page}"));
        sleep(&log.event_loop, Duration::from_secs(1)).await;

        let item = if hands_back_early {
            item.task_done();
            None
        } else {
            Some(item)
        };
        for link in links_of(page) {
            q.put_nowait(link);
        }
        drop(item);
        log.print(&q, &format!("worker {worker} has done {page}"));
    }
}
// ANCHOR_END: work

// ANCHOR: crawl
fn crawl(hands_back_early: bool) -> io::Result<()> {
    // In virtual time, seconds take no time.
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let log = Log { begun: event_loop.now(), event_loop: event_loop.clone() };
    let q = Queue::new(&event_loop);
    q.put_nowait("/");
    let worker = |n| work(q.clone(), log.clone(), n, hands_back_early);
    let workers = [1, 2].map(|n| Task::spawn(&event_loop, worker(n)));
    runtime.run_until_complete(q.join())?;
    log.print(&q, "join returns");
    for worker in &workers {
        worker.cancel();
    }
    Ok(())
}
// ANCHOR_END: crawl

#[derive(Clone)]
struct Log {
    event_loop: EventLoop,
    begun: Instant,
}

impl Log {
    /// Prints an event with its time and the state of the queue.
    fn print(&self, q: &Queue, what: &str) {
        let seconds = (self.event_loop.now() - self.begun).as_secs();
        let (waiting, unfinished) = (q.len(), q.unfinished());
        println!("{seconds}s  {what:20} in the queue {waiting}, unfinished {unfinished}");
    }
}

fn main() -> io::Result<()> {
    println!("new work is put in before old work is handed back:");
    crawl(false)?;
    println!("the other way round:");
    crawl(true)
}
