//! The plan of a crawl in another process, a page that is completed there by several
//! messages, and a worker that is killed between two of them: another one must find
//! what the first would have found.

use std::cell::RefCell;
use std::rc::Rc;

use stage2_coroutines::{EventLoop, Runtime, Task, system_runtime, yield_now};

/// The pages of the site.
const PAGES: usize = 4;

fn links_of(page: &str) -> &'static [&'static str] {
    match page {
        "/" => &["/a", "/b"],
        "/a" => &["/c"],
        _ => &[],
    }
}

/// The plan: what is known, what is to be done, what a worker has, and what is done.
#[derive(Default)]
struct Plan {
    known: Vec<&'static str>,
    queued: Vec<&'static str>,
    leased: Vec<&'static str>,
    done: Vec<&'static str>,
}

impl Plan {
    fn put(&mut self, page: &'static str) {
        if !self.known.contains(&page) {
            self.known.push(page);
            self.queued.push(page);
        }
    }

    fn claim(&mut self) -> Option<&'static str> {
        let page = self.queued.pop()?;
        self.leased.push(page);
        Some(page)
    }

    fn complete(&mut self, page: &'static str) {
        self.leased.retain(|leased| *leased != page);
        self.done.push(page);
    }
}

#[derive(Clone)]
struct Worker {
    event_loop: EventLoop,
    plan: Rc<RefCell<Plan>>,
}

impl Worker {
    /// Sends a message to the plan. The worker may be killed before its next one.
    async fn send<T>(&self, message: impl FnOnce(&mut Plan) -> T) -> T {
        let reply = message(&mut self.plan.borrow_mut());
        yield_now(&self.event_loop).await;
        reply
    }

    async fn work(self) {
        while let Some(page) = self.send(Plan::claim).await {
            for link in links_of(page) {
                self.send(|plan| plan.put(link)).await;
            }
            self.send(|plan| plan.complete(page)).await;
        }
    }
}

/// Crawls with a worker that is killed after so many messages, and then with another one.
/// Returns the number of pages that are done.
fn crawl(runtime: &Runtime, messages: usize) -> std::io::Result<usize> {
    let event_loop = runtime.event_loop();
    let worker = Worker { event_loop: event_loop.clone(), plan: Rc::default() };
    worker.plan.borrow_mut().put("/");
    let killed = Task::spawn(event_loop, worker.clone().work());
    runtime.run_until_complete(async {
        // Its first message comes before the first step of this coroutine.
        for _ in 1..messages {
            yield_now(event_loop).await;
        }
        killed.cancel();
    })?;
    // Its lease ends.
    let mut plan = worker.plan.borrow_mut();
    let leased = std::mem::take(&mut plan.leased);
    plan.queued.extend(leased);
    drop(plan);
    runtime.run_until_complete(worker.clone().work())?;
    Ok(worker.plan.borrow().done.len())
}

pub(crate) fn run() -> crate::Outcome {
    let runtime = system_runtime()?;
    let mut all_well = true;
    for messages in 1..=12 {
        let done = crawl(&runtime, messages)?;
        all_well &= done == PAGES;
        println!("killed after message {messages:2}: {done} of {PAGES} pages are done");
    }
    Ok(all_well)
}
