//! The crawl: the state that its fetches share, and the start of each fetch.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::rc::Rc;

use crawl_core::{Crawl, CrawlSummary, Job, Options, Sink, Visit};

use crate::fetch::Client;
#[cfg(feature = "os")]
use crate::system_runtime;
use crate::{Connector, EventLoop, Exception, Future, Runtime, catch};

/// Crawls a site with one coroutine per fetch, and at most `max_tasks` at a
/// time. By default there is no such limit; then the number of connections is
/// limited by the file descriptors of the process.
///
/// # Errors
/// The errors of [`crawl_on`]; and when the event queue of the operating system cannot
/// be opened.
///
/// # Panics
/// When the sink does.
#[cfg(feature = "os")]
pub fn crawl(options: Options, sink: Sink) -> io::Result<CrawlSummary> {
    crawl_on(system_runtime()?, options, sink)
}

/// Crawls a site on a loop of your own, which is closed afterwards.
///
/// # Errors
/// The errors of [`Runtime::run_until_complete`].
///
/// # Panics
/// When the sink does.
pub fn crawl_on(runtime: Runtime, options: Options, sink: Sink) -> io::Result<CrawlSummary> {
    let max_tasks = options.max_tasks.map(|max| max.max(1));
    let crawl_state = CrawlState::new(runtime.event_loop(), options, sink);
    crawl_state.start_fetches(Vec::new());
    let result = runtime.run_until_complete(crawl_state.all_done.clone());
    drop(runtime);
    if let Some(panic) = crawl_state.sink_panic.take() {
        resume_unwind(panic);
    }
    // Resolved by the last fetch, and never cancelled.
    let _ = result?;
    let mut state = crawl_state.state.borrow_mut();
    let num_todo = state.urls_todo.len();
    Ok(state.crawl.end(num_todo, max_tasks))
}

/// The state of the crawl.
struct CrawlState {
    client: Client,
    state: RefCell<State>,
    sink: RefCell<Sink>,
    all_done: Future<()>,
    /// The payload of a panic of the sink.
    sink_panic: RefCell<Option<Box<dyn Any + Send>>>,
}

// ANCHOR: state
/// The URLs to fetch, and the number of fetches under way.
struct State {
    urls_todo: VecDeque<Job>,
    crawl: Crawl,
    in_flight: usize,
}
// ANCHOR_END: state

impl CrawlState {
    fn new(event_loop: &EventLoop, options: Options, mut sink: Sink) -> Rc<Self> {
        let mut crawl = Crawl::new(options.clone());
        let urls_todo = crawl.roots(&mut sink).into();
        let connector = Connector::new(event_loop, &options, || false);
        Rc::new(Self {
            client: Client { event_loop: event_loop.clone(), options, connector },
            state: RefCell::new(State { urls_todo, crawl, in_flight: 0 }),
            sink: RefCell::new(sink),
            all_done: Future::new(event_loop),
            sink_panic: RefCell::new(None),
        })
    }

    // ANCHOR: start_fetches
    /// Adds jobs, starts a task for each of as many fetches as `max_tasks` allows,
    /// and resolves `all_done` when nothing is left.
    fn start_fetches(self: &Rc<Self>, jobs: Vec<Job>) {
        let Client { event_loop, options, .. } = &self.client;
        let mut state = self.state.borrow_mut();
        state.urls_todo.extend(jobs);
        let max_tasks = options.max_tasks.unwrap_or(usize::MAX).max(1);
        while state.in_flight < max_tasks
            && let Some(job) = state.urls_todo.pop_front()
        {
            if let Some(mut visit) = state.crawl.begin(job, event_loop.now()) {
                state.in_flight += 1;
                let crawl_state = Rc::clone(self);
                event_loop.spawn_detached(async move {
                    trace::fetch_begin(&visit);
                    let outcome = catch(pin!(crawl_state.client.fetch(&mut visit))).await;
                    crawl_state.fetch_done(&mut visit, outcome);
                });
            }
        }
        if state.in_flight == 0 {
            // Refused only if it is resolved already.
            let _ = self.all_done.set_result(());
        }
    }
    // ANCHOR_END: start_fetches

    // ANCHOR: fetch_done
    /// Ends a fetch: reports its rows and starts the jobs that it has found. A
    /// fetch that has panicked ends as a row, too.
    fn fetch_done(self: &Rc<Self>, visit: &mut Visit, outcome: Result<(), Exception>) {
        let now = self.client.event_loop.now();
        let mut state = self.state.borrow_mut();
        let complete = || state.crawl.complete(visit, now);
        let completion = outcome.and_then(|()| {
            let caught = catch_unwind(AssertUnwindSafe(complete));
            caught.map_err(|panic| Exception::panicked(&*panic))
        });
        let mut completion = completion
            .unwrap_or_else(|exception| state.crawl.abandon(visit, exception.to_string()));
        state.in_flight -= 1;
        drop(state);
        let jobs = mem::take(&mut completion.jobs);
        let mut rows = completion.rows();
        let report = || rows.by_ref().for_each(&mut *self.sink.borrow_mut());
        match catch_unwind(AssertUnwindSafe(report)) {
            Ok(()) => self.start_fetches(jobs),
            Err(panic) => {
                self.sink_panic.replace(Some(panic));
                // Refused if an earlier panic has resolved it.
                let _ = self.all_done.set_result(());
            }
        }
    }
    // ANCHOR_END: fetch_done
}
