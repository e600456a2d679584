//! The threads, and what they share.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, scope};
use std::time::Instant;

use crawl_core::{Conclusion, Crawl, Ending, ErrorClass, FetchError, Job, Options, Sink, Visit};

/// Takes a visit to its end, on whatever thread.
pub(crate) type Fetch = dyn Fn(Visit) -> Visit + Sync;

/// Crawls with up to `max_tasks` threads, of which the caller's is one. Each
/// visit goes through `fetch` on one of them.
pub(crate) fn crawl(options: Options, max_tasks: usize, mut sink: Sink, fetch: &Fetch) -> Ending {
    let mut crawl = Crawl::new(options);
    let pool = Pool {
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
    scope(|scope| pool.work(scope));
    let mut state = lock(&pool.state);
    let untaken = state.urls_todo.len();
    state.crawl.end(untaken, Some(max_tasks))
}

struct Pool<'a> {
    state: Mutex<State>,
    /// There is a job for somebody idle, or nothing left for anybody.
    changed: Condvar,
    /// Under a lock of its own, since it may take its time.
    sink: Mutex<Sink>,
    fetch: &'a Fetch,
}

// ANCHOR: state
struct State {
    urls_todo: VecDeque<Job>,
    crawl: Crawl,
    /// How many visits are under way. They may still find jobs.
    in_flight: usize,
    /// How many threads wait for a job.
    idle: usize,
    threads: usize,
    max_threads: usize,
}
// ANCHOR_END: state

impl Pool<'_> {
    // ANCHOR: work
    /// What each thread does, until there is nothing left to do.
    fn work<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let _leaving = Leaving(&self.changed);
        while let Some((job, visit)) = self.take() {
            self.call_another(scope);
            let Conclusion { row, others, jobs, .. } = self.survive(&job, visit);
            self.put(jobs);
            let mut sink = lock(&self.sink);
            others.into_iter().chain([row]).for_each(&mut *sink);
        }
    }
    // ANCHOR_END: work

    // ANCHOR: take
    /// Takes up the next job; waits for one as long as there may be one.
    fn take(&self) -> Option<(Job, Visit)> {
        let mut state = lock(&self.state);
        loop {
            while let Some(job) = state.urls_todo.pop_front() {
                if let Some(visit) = state.crawl.begin(job.clone(), Instant::now()) {
                    state.in_flight += 1;
                    return Some((job, visit));
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

    /// If there is another job, wakes or starts a thread for it, which will do
    /// the same for the next one. So nobody is woken for nothing.
    fn call_another<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
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
                // The system has no more; those there are will do.
                let mut state = lock(&self.state);
                state.threads -= 1;
                state.max_threads = state.threads;
            }
        }
    }

    /// Fetches. Should that fail with a panic, the URL ends as a row like any
    /// other.
    fn survive(&self, job: &Job, visit: Visit) -> Conclusion {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let visit = (self.fetch)(visit);
            lock(&self.state).crawl.conclude(visit, Instant::now())
        }));
        caught.unwrap_or_else(|panic| lock(&self.state).crawl.abandon(job, bug(&*panic)))
    }

    // ANCHOR: put
    /// Ends a visit. What it has led to is put on the list in the same moment,
    /// so that nobody ever sees an empty list and nobody at work too early.
    fn put(&self, jobs: Vec<Job>) {
        let mut state = lock(&self.state);
        state.urls_todo.extend(jobs);
        state.in_flight -= 1;
    }
    // ANCHOR_END: put
}

/// A thread that leaves wakes the others: they find that nothing is left to do,
/// or, if it leaves because `sink` has failed, what it would have done next.
struct Leaving<'a>(&'a Condvar);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.notify_all();
    }
}

fn bug(panic: &(dyn Any + Send)) -> FetchError {
    let message = match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(message), _) => message.as_str(),
        (None, Some(message)) => message,
        (None, None) => "it gave no reason",
    };
    let message = format!("the crawler failed: {}", message.escape_debug());
    FetchError::new(ErrorClass::Panic, message)
}

/// A panic under a lock ends as a row, and what lies there is still of use.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    use crawl_core::Row;

    use super::*;

    /// Longer than any of this takes, unless it takes for ever.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn options() -> Options {
        Options::new(vec!["http://site.test/".parse().unwrap()])
    }

    /// Runs on a thread of its own, so that a pool that hangs is an error.
    fn crawl_in_time<F>(max_tasks: usize, sink: Sink, fetch: F) -> thread::Result<Ending>
    where
        F: Fn(Visit) -> Visit + Send + Sync + 'static,
    {
        let (sender, ending) = channel();
        let crawling = thread::spawn(move || {
            let crawl = || crawl(options(), max_tasks, sink, &fetch);
            let _ = sender.send(catch_unwind(AssertUnwindSafe(crawl)));
        });
        let ending = ending.recv_timeout(PATIENCE).expect("the pool hangs");
        crawling.join().unwrap();
        ending
    }

    fn collect() -> (Sink, Receiver<Row>) {
        let (sender, rows) = channel();
        let sink = Box::new(move |row| sender.send(row).unwrap());
        (sink, rows)
    }

    /// The visit of a page that links to these.
    fn page(mut visit: Visit, links: &[String]) -> Visit {
        let html: String = links.iter().map(|link| format!("<a href={link}>")).collect();
        let length = html.len();
        let response = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n{html}"
        );
        visit.request(&options(), false);
        visit.receive(response.as_bytes()).unwrap();
        visit.judge(Ok(()));
        visit
    }

    /// A root that links to `/0`, `/1` and so on.
    fn fan(visit: Visit, width: usize) -> Visit {
        let links = match visit.url().path() {
            "/" => (0..width).map(|n| format!("/{n}")).collect(),
            _ => Vec::new(),
        };
        page(visit, &links)
    }

    #[test]
    fn threads_are_started_on_demand() {
        let (sink, _rows) = collect();
        let threads = Arc::new(Mutex::new(Vec::<ThreadId>::new()));
        let seen = Arc::clone(&threads);
        let ending = crawl_in_time(8, sink, move |visit| {
            seen.lock().unwrap().push(thread::current().id());
            let next: u32 = visit.url().path()[1..].parse().unwrap_or(0) + 1;
            let links = if next <= 50 { vec![format!("/{next}")] } else { Vec::new() };
            page(visit, &links)
        });
        assert_eq!(ending.unwrap().done, 51);
        let threads = threads.lock().unwrap();
        assert!(threads.iter().all(|id| *id == threads[0]), "one job at a time, one thread");
    }

    #[test]
    fn as_many_fetches_as_allowed_are_under_way() {
        let (sink, rows) = collect();
        let (arrived, all_there) = (Mutex::new(0), Condvar::new());
        let ending = crawl_in_time(5, sink, move |visit| {
            if visit.url().path() != "/" {
                // Nobody leaves before five have come.
                let mut arrived = arrived.lock().unwrap();
                *arrived += 1;
                all_there.notify_all();
                let few = |arrived: &mut u32| *arrived < 5;
                drop(all_there.wait_timeout_while(arrived, PATIENCE, few).unwrap());
            }
            fan(visit, 20)
        });
        let ending = ending.unwrap();
        assert_eq!((ending.done, ending.todo), (21, 0));
        assert_eq!(ending.peak_in_flight, 5);
        assert_eq!(ending.max_tasks, Some(5));
        assert_eq!(rows.iter().count(), 21);
    }

    #[test]
    fn rows_are_delivered_while_the_crawl_goes_on() {
        let (sink, rows) = collect();
        let rows = Mutex::new(rows);
        let ending = crawl_in_time(2, sink, move |visit| {
            if visit.url().path() == "/0" {
                let root = rows.lock().unwrap().recv_timeout(PATIENCE).unwrap();
                assert_eq!(&*root.url, "http://site.test/");
            }
            fan(visit, 1)
        });
        assert_eq!(ending.unwrap().done, 2);
    }

    #[test]
    fn a_panic_in_a_fetch_is_a_row() {
        for max_tasks in [1, 4] {
            let (sink, rows) = collect();
            let ending = crawl_in_time(max_tasks, sink, |visit| {
                assert_ne!(visit.url().path(), "/3", "\u{1b}[31mred");
                fan(visit, 10)
            });
            assert_eq!(ending.unwrap().done, 11);
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
            assert!(crawl_in_time(max_tasks, sink, |visit| fan(visit, 10)).is_err());
            let sink = Box::new(|_| panic!("never again"));
            assert!(crawl_in_time(max_tasks, sink, |visit| fan(visit, 10)).is_err());
        }
    }
}
