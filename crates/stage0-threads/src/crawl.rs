//! The crawl: its threads, and the state that they share.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, Scope, scope};
use std::time::Instant;

use crawl_core::{Completion, Crawl, CrawlSummary, Job, Options, Sink, Visit};
use transport::{LookupFn, system_lookup};

use crate::connector::Connector;
use crate::fetch::Client;
use crate::lock;
use crate::traced::traced;

/// The default maximum number of threads.
const MAX_TASKS: usize = 10;

/// A function that fetches the URL of a visit, on any thread.
type Fetch = dyn Fn(&mut Visit) + Sync;

/// Crawls a site and returns when nothing is left to fetch. The calling thread
/// is one of the `max_tasks`, which are 10 by default.
///
/// # Errors
/// None in this stage: if the system refuses more threads, the crawl continues
/// with those it has.
///
/// # Panics
/// When `sink` panics; the other threads finish the crawl first.
pub fn crawl(options: Options, sink: Sink) -> io::Result<CrawlSummary> {
    crawl_with(Arc::new(system_lookup), options, sink)
}

/// Crawls like [`crawl`], with another lookup of names.
///
/// # Errors
/// As for [`crawl`].
///
/// # Panics
/// As for [`crawl`].
pub fn crawl_with(lookup: Arc<LookupFn>, options: Options, sink: Sink) -> io::Result<CrawlSummary> {
    let max_tasks = options.max_tasks.unwrap_or(MAX_TASKS).max(1);
    let connector = Connector::new(&options, lookup);
    let client = Client { options: options.clone(), connector };
    let fetch = traced(move |visit| client.fetch(visit));
    Ok(crawl_on_threads(options, max_tasks, sink, &fetch))
}

/// Crawls with up to `max_tasks` threads, the caller's included. Each visit is
/// passed to `fetch` on one of them.
fn crawl_on_threads(
    options: Options,
    max_tasks: usize,
    mut sink: Sink,
    fetch: &Fetch,
) -> CrawlSummary {
    let mut crawl = Crawl::new(options);
    let threads = Threads {
        state: Mutex::new(State {
            urls_todo: crawl.roots(&mut sink).into(),
            crawl,
            in_flight: 0,
            idle: 0,
            threads: 1,
            max_threads: max_tasks,
        }),
        changed: Condvar::new(),
        sink: Mutex::new(sink),
        fetch,
    };
    scope(|scope| threads.work(scope));
    let mut state = lock(&threads.state);
    let num_todo = state.urls_todo.len();
    state.crawl.end(num_todo, Some(max_tasks))
}

/// The threads of a crawl.
struct Threads<'a> {
    state: Mutex<State>,
    /// Notified when an idle thread may take a job, and when no job is left.
    changed: Condvar,
    /// Under a lock of its own, because it may be slow.
    sink: Mutex<Sink>,
    fetch: &'a Fetch,
}

// ANCHOR: state
struct State {
    urls_todo: VecDeque<Job>,
    crawl: Crawl,
    /// The number of visits under way. They may still add jobs.
    in_flight: usize,
    /// The number of threads that wait for a job.
    idle: usize,
    threads: usize,
    max_threads: usize,
}
// ANCHOR_END: state

impl Threads<'_> {
    // ANCHOR: work
    /// The main loop of each thread: works until no job is left.
    fn work<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let _notify_on_exit = NotifyOnExit(&self.changed);
        while let Some(visit) = self.take() {
            self.start_fetches(scope);
            let completion = self.fetch_catching_panic(visit);
            self.fetch_done(completion);
        }
    }
    // ANCHOR_END: work

    // ANCHOR: take
    /// Takes the next job, and waits for one as long as there may be one. `None`
    /// means that the crawl is over.
    fn take(&self) -> Option<Visit> {
        let mut state = lock(&self.state);
        loop {
            while let Some(job) = state.urls_todo.pop_front() {
                if let Some(visit) = state.crawl.begin(job, Instant::now()) {
                    state.in_flight += 1;
                    return Some(visit);
                }
            }
            if state.in_flight == 0 {
                return None;
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
    // ANCHOR_END: take

    // ANCHOR: start_fetches
    /// Wakes or starts one thread if there is another job. That thread does the
    /// same for the next job, so hardly any thread is woken without a job.
    fn start_fetches<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let mut state = lock(&self.state);
        if state.urls_todo.is_empty() {
            return;
        }
        if state.idle > 0 {
            self.changed.notify_one();
        } else if state.threads < state.max_threads {
            state.threads += 1;
            drop(state);
            let thread = Builder::new().name("fetcher".into());
            if thread.spawn_scoped(scope, || self.work(scope)).is_err() {
                // The system refuses more threads: continue with those we have.
                let mut state = lock(&self.state);
                state.threads -= 1;
                state.max_threads = state.threads;
            }
        }
    }

    // ANCHOR_END: start_fetches

    /// Fetches, and catches a panic: then the URL still ends as a row.
    fn fetch_catching_panic(&self, mut visit: Visit) -> Completion {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            (self.fetch)(&mut visit);
            // Here selections read the page, which must not hold up other threads.
            let finished = visit.finish(Instant::now());
            lock(&self.state).crawl.settle(visit.as_ref(), finished)
        }));
        caught.unwrap_or_else(|panic| lock(&self.state).crawl.abandon(&visit, message_of(&*panic)))
    }

    // ANCHOR: fetch_done
    /// Ends a visit and adds the jobs that it has found, both under one lock.
    /// Otherwise another thread could see an empty list with no visit under way,
    /// and end too early. Then reports its rows.
    fn fetch_done(&self, mut completion: Completion) {
        let mut state = lock(&self.state);
        state.urls_todo.extend(mem::take(&mut completion.jobs));
        state.in_flight -= 1;
        drop(state);
        completion.rows().for_each(&mut *lock(&self.sink));
    }
    // ANCHOR_END: fetch_done
}

/// A guard that wakes the other threads when its thread ends. They find that
/// no job is left, or, if the thread ends because `sink` has panicked, they take
/// its next jobs.
struct NotifyOnExit<'a>(&'a Condvar);

impl Drop for NotifyOnExit<'_> {
    fn drop(&mut self) {
        self.0.notify_all();
    }
}

/// Returns the message of a panic, for the row.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let message = match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(message), _) => message.as_str(),
        (None, Some(message)) => message,
        (None, None) => "it gave no reason",
    };
    format!("the crawler failed: {}", message.escape_debug())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    use crawl_core::{ErrorClass, Row};

    use super::*;

    /// A time after which a test counts as hanging.
    const WATCHDOG: Duration = Duration::from_secs(20);

    fn options() -> Options {
        Options::new(vec!["http://site.test/".parse().unwrap()])
    }

    /// Crawls on another thread, so that a crawl that hangs is an error.
    fn crawl_with_watchdog<F>(
        max_tasks: usize,
        sink: Sink,
        fetch: F,
    ) -> thread::Result<CrawlSummary>
    where
        F: Fn(&mut Visit) + Send + Sync + 'static,
    {
        let (sender, summary) = channel();
        let crawling = thread::spawn(move || {
            let crawl = || crawl_on_threads(options(), max_tasks, sink, &fetch);
            let _ = sender.send(catch_unwind(AssertUnwindSafe(crawl)));
        });
        let summary = summary.recv_timeout(WATCHDOG).expect("the crawl hangs");
        crawling.join().unwrap();
        summary
    }

    fn collect() -> (Sink, Receiver<Row>) {
        let (sender, rows) = channel();
        let sink = Box::new(move |row| sender.send(row).unwrap());
        (sink, rows)
    }

    /// Completes a visit with a page that has these links.
    fn page(visit: &mut Visit, links: &[String]) {
        let html: String = links.iter().map(|link| format!("<a href={link}>")).collect();
        let length = html.len();
        let response = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n{html}"
        );
        visit.request(&options(), false);
        assert!(visit.receive(response.as_bytes()).is_break());
        visit.judge(Ok(()));
    }

    /// Completes a visit: the root links to `/0`, `/1` and so on.
    fn fan(visit: &mut Visit, width: usize) {
        let links = match visit.url().path() {
            "/" => (0..width).map(|n| format!("/{n}")).collect(),
            _ => Vec::new(),
        };
        page(visit, &links);
    }

    #[test]
    fn threads_are_started_on_demand() {
        let (sink, _rows) = collect();
        let threads = Arc::new(Mutex::new(Vec::<ThreadId>::new()));
        let thread_ids = Arc::clone(&threads);
        let summary = crawl_with_watchdog(8, sink, move |visit| {
            thread_ids.lock().unwrap().push(thread::current().id());
            let next: u32 = visit.url().path()[1..].parse().unwrap_or(0) + 1;
            let links = if next <= 50 { vec![format!("/{next}")] } else { Vec::new() };
            page(visit, &links);
        });
        assert_eq!(summary.unwrap().done, 51);
        let threads = threads.lock().unwrap();
        assert!(threads.iter().all(|id| *id == threads[0]), "one job at a time, one thread");
    }

    #[test]
    fn as_many_fetches_as_allowed_are_under_way() {
        let (sink, rows) = collect();
        let (arrived, all_there) = (Mutex::new(0), Condvar::new());
        let summary = crawl_with_watchdog(5, sink, move |visit| {
            if visit.url().path() != "/" {
                // No fetch returns before five have arrived.
                let mut arrived = arrived.lock().unwrap();
                *arrived += 1;
                all_there.notify_all();
                let few = |arrived: &mut u32| *arrived < 5;
                drop(all_there.wait_timeout_while(arrived, WATCHDOG, few).unwrap());
            }
            fan(visit, 20)
        });
        let summary = summary.unwrap();
        assert_eq!((summary.done, summary.todo), (21, 0));
        assert_eq!(summary.peak_in_flight, 5);
        assert_eq!(summary.max_tasks, Some(5));
        assert_eq!(rows.iter().count(), 21);
    }

    #[test]
    fn rows_are_delivered_while_the_crawl_goes_on() {
        let (sink, rows) = collect();
        let rows = Mutex::new(rows);
        let summary = crawl_with_watchdog(2, sink, move |visit| {
            if visit.url().path() == "/0" {
                let root = rows.lock().unwrap().recv_timeout(WATCHDOG).unwrap();
                assert_eq!(&*root.url, "http://site.test/");
            }
            fan(visit, 1)
        });
        assert_eq!(summary.unwrap().done, 2);
    }

    #[test]
    fn a_panic_in_a_fetch_is_a_row() {
        for max_tasks in [1, 4] {
            let (sink, rows) = collect();
            let summary = crawl_with_watchdog(max_tasks, sink, |visit| {
                assert_ne!(visit.url().path(), "/3", "\u{1b}[31mred");
                fan(visit, 10)
            });
            assert_eq!(summary.unwrap().done, 11);
            let failed: Vec<Row> = rows.iter().filter(|row| row.error.is_some()).collect();
            assert_eq!(failed.len(), 1);
            assert_eq!(&*failed[0].url, "http://site.test/3");
            let error = failed[0].error.as_ref().unwrap();
            assert_eq!(error.class, ErrorClass::Panic);
            assert!(!error.message.contains('\u{1b}'), "{}", error.message);
        }
    }

    #[test]
    fn a_panic_in_the_sink_reaches_the_caller() {
        for max_tasks in [1, 4] {
            let sink = Box::new(|row: Row| assert_ne!(&*row.url, "http://site.test/3"));
            assert!(crawl_with_watchdog(max_tasks, sink, |visit| fan(visit, 10)).is_err());
            let sink = Box::new(|_| panic!("never again"));
            assert!(crawl_with_watchdog(max_tasks, sink, |visit| fan(visit, 10)).is_err());
        }
    }
}
