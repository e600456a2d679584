//! The crawler of this stage: fetching a URL is one function again.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use crawl_core::{
    Completion, Crawl, CrawlSummary, Deadline, ErrorClass, FetchError, Job, Options, Received,
    Sink, Verdict, Visit,
};
use transport::{Candidates, TlsConnector, is_fd_limit, is_tls_error};

use crate::net::time::timeout_at_pinned;
use crate::{
    Connection, Coroutine, Elapsed, EventLoop, Exception, Future, Wait, catch, lookup, read_all,
    sleep, write_all,
};

/// Crawls a site with one coroutine per fetch, and at most `max_tasks` at a
/// time. By default there is no such limit; then the number of connections is
/// limited by the file descriptors of the process.
///
/// # Errors
/// When the event queue of the operating system cannot be opened.
#[cfg(feature = "os")]
pub fn crawl(options: Options, sink: Sink) -> io::Result<CrawlSummary> {
    crawl_on(&EventLoop::new()?, options, sink)
}

/// Crawls a site on a loop of your own, which is closed afterwards.
///
/// # Errors
/// The errors of [`EventLoop::run_until_complete`].
///
/// # Panics
/// When the sink does.
pub fn crawl_on(
    event_loop: &EventLoop,
    options: Options,
    mut sink: Sink,
) -> io::Result<CrawlSummary> {
    let mut crawl = Crawl::new(options.clone());
    let roots = crawl.roots(&mut sink);
    let fetcher = Rc::new(Fetcher {
        event_loop: event_loop.clone(),
        tls_connector: TlsConnector::new(&options.ca_certificates, options.insecure),
        state: RefCell::new(State { urls_todo: VecDeque::new(), crawl, in_flight: 0 }),
        sink: RefCell::new(sink),
        all_done: Future::new(event_loop),
        sink_panic: RefCell::new(None),
        options,
    });
    fetcher.start_fetches(roots);
    let result = event_loop.run_until_complete(fetcher.all_done.clone());
    event_loop.close();
    if let Some(panic) = fetcher.sink_panic.take() {
        resume_unwind(panic);
    }
    // Resolved by the last fetch, and never cancelled.
    let _ = result?;
    let mut state = fetcher.state.borrow_mut();
    let not_started = state.urls_todo.len();
    Ok(state.crawl.end(not_started, fetcher.options.max_tasks.map(|max| max.max(1))))
}

struct Fetcher {
    event_loop: EventLoop,
    options: Options,
    tls_connector: TlsConnector,
    state: RefCell<State>,
    sink: RefCell<Sink>,
    all_done: Future<()>,
    /// The payload of a panic of the sink.
    sink_panic: RefCell<Option<Box<dyn Any + Send>>>,
}

struct State {
    urls_todo: VecDeque<Job>,
    crawl: Crawl,
    in_flight: usize,
}

impl Fetcher {
    /// Adds jobs, and starts a task for each until `max_tasks` are in flight.
    fn start_fetches(self: &Rc<Self>, jobs: Vec<Job>) {
        let mut state = self.state.borrow_mut();
        state.urls_todo.extend(jobs);
        let max_tasks = self.options.max_tasks.unwrap_or(usize::MAX).max(1);
        while state.in_flight < max_tasks
            && let Some(job) = state.urls_todo.pop_front()
        {
            let now = self.event_loop.now();
            let Some(mut visit) = state.crawl.begin(job, now) else {
                continue;
            };
            state.in_flight += 1;
            let fetcher = Rc::clone(self);
            // An `async` block keeps what it captures in one place. An
            // `async fn` would keep its `mut` argument in two.
            self.event_loop.spawn_detached(async move {
                let outcome = catch(pin!(fetch(&fetcher, &mut visit))).await;
                fetcher.fetch_done(visit, outcome);
            });
        }
        if state.in_flight == 0 {
            // Refused only if it is resolved already.
            let _ = self.all_done.set_result(());
        }
    }

    /// Completes a fetch whose task is about to end: reports its rows and starts
    /// the fetches of its links.
    fn fetch_done(self: &Rc<Self>, visit: Visit, outcome: Result<(), Exception>) {
        let job = visit.job().clone();
        let now = self.event_loop.now();
        let complete = AssertUnwindSafe(|| self.state.borrow_mut().crawl.complete(visit, now));
        let completion = outcome
            .and_then(|()| catch_unwind(complete).map_err(|panic| Exception::panicked(&*panic)));
        let completion = completion.unwrap_or_else(|error| {
            let error = FetchError::new(ErrorClass::Panic, error.to_string());
            self.state.borrow_mut().crawl.abandon(&job, error)
        });
        self.state.borrow_mut().in_flight -= 1;
        let Completion { row, others, jobs, .. } = completion;
        let rows = others.into_iter().chain([row]);
        let report = AssertUnwindSafe(|| rows.for_each(&mut *self.sink.borrow_mut()));
        match catch_unwind(report) {
            Ok(()) => self.start_fetches(jobs),
            Err(panic) => {
                self.sink_panic.replace(Some(panic));
                // Refused if an earlier panic has resolved it.
                let _ = self.all_done.set_result(());
            }
        }
    }
}

// ANCHOR: fetch
fn fetch(fetcher: &Fetcher, visit: &mut Visit) -> impl Coroutine<Output = ()> {
    let Fetcher { event_loop, options, .. } = fetcher;
    with_retries(event_loop, options, visit, async move |visit, deadline| {
        let Fetcher { event_loop, tls_connector, .. } = fetcher;
        let mut connection = open(event_loop, tls_connector, visit, deadline, || false).await?;
        let reusable = exchange(&mut connection, &fetcher.options, visit, deadline, false).await;
        reusable.map(|_| ())
    })
}
// ANCHOR_END: fetch

// ANCHOR: with_retries
/// Makes one attempt after another, each with a deadline of its own, until the
/// visit is finished. Between two attempts it sleeps (backoff).
#[expect(clippy::manual_async_fn, reason = "an async fn keeps each argument twice")]
pub fn with_retries(
    event_loop: &EventLoop,
    options: &Options,
    visit: &mut Visit,
    attempt: impl AsyncFn(&mut Visit, &Deadline) -> Result<(), FetchError>,
) -> impl Coroutine<Output = ()> {
    async move {
        loop {
            let deadline = Deadline::new(options, event_loop.now());
            let expires = || deadline.at();
            let result =
                timeout_at_pinned(event_loop, expires, pin!(attempt(visit, &deadline))).await;
            let result = result.unwrap_or_else(|Elapsed| Err(deadline.timeout_error()));
            match visit.judge(result) {
                Verdict::TryAgain(backoff) => sleep(event_loop, backoff).await,
                Verdict::Finished => return,
            }
        }
    }
}
// ANCHOR_END: with_retries

/// Connects to the host of a visit. The addresses of the host are tried one
/// after another, until one accepts.
///
/// It is no error when the process has no descriptor left. Then `make_room` may
/// close an idle connection and return true. Otherwise this waits until a
/// connection of the loop is closed, if there is one.
///
/// Its frame is no larger than that of waiting for a response, so it need not
/// be boxed. Thousands of boxes at a time would leave a fragmented heap.
///
/// # Errors
/// When the host has no address, or when none of its addresses can be
/// connected to.
#[expect(clippy::manual_async_fn, reason = "an async fn keeps each argument twice")]
pub fn open(
    event_loop: &EventLoop,
    tls_connector: &TlsConnector,
    visit: &Visit,
    deadline: &Deadline,
    make_room: impl Fn() -> bool,
) -> impl Coroutine<Output = Result<Connection, FetchError>> {
    async move {
        let (host, port) = visit.host_and_port();
        let addresses = lookup(event_loop, host, port)
            .await
            .map_err(|error| FetchError::new(ErrorClass::Dns, error.to_string()))?;
        let mut candidates = Candidates::new(addresses);
        while let Some(address) = candidates.current() {
            // Called only if the fetch has to wait for the permit.
            let wake_at = |at| {
                deadline.pause(event_loop.now());
                deadline.pause_until(at);
            };
            let permit = event_loop.acquire_connect_permit(address, wake_at).await;
            deadline.resume(event_loop.now());
            let begun = begin(event_loop, tls_connector, visit, deadline, &candidates);
            let error = match until_connected(begun, deadline).await {
                Ok(mut connection) => {
                    connection.permit = Some(permit);
                    deadline.progress(event_loop.now());
                    return Ok(connection);
                }
                Err(error) => error,
            };
            if is_tls_error(&error) {
                return Err(FetchError::new(ErrorClass::Tls, error.to_string()));
            }
            let is_fd_limit = is_fd_limit(&error);
            if is_fd_limit && make_room() {
                continue;
            }
            if is_fd_limit && event_loop.connections() > 0 {
                deadline.pause(event_loop.now());
                Box::pin(event_loop.fd_freed()).await;
                deadline.resume(event_loop.now());
                continue;
            }
            event_loop.wake_fd_waiter();
            candidates.failed(&error);
        }
        Err(FetchError::new(ErrorClass::Connect, candidates.failure()))
    }
}

/// Starts to connect to the current candidate.
fn begin(
    event_loop: &EventLoop,
    tls_connector: &TlsConnector,
    visit: &Visit,
    deadline: &Deadline,
    candidates: &Candidates,
) -> io::Result<Connection> {
    let address = candidates.current().ok_or(ErrorKind::AddrNotAvailable)?;
    deadline.start_address(event_loop.now(), candidates.left());
    let layer = tls_connector.layer(visit.secure_host())?;
    Connection::begin(event_loop, address, layer)
}

/// Waits until a connection is made, or until the address has used up its share
/// of the time. In the second case the timer of the whole attempt wakes the
/// task; there is no timer for one address.
fn until_connected(
    begun: io::Result<Connection>,
    deadline: &Deadline,
) -> impl Coroutine<Output = io::Result<Connection>> {
    let (at, mut since, mut begun) = (Location::caller(), None, Some(begun));
    poll_fn(move |context| {
        if let Some(Ok(connection)) = &mut begun {
            match connection.poll_connected(context) {
                Poll::Ready(connected) => connected?,
                Poll::Pending => {
                    let event_loop = connection.event_loop();
                    event_loop.set_wait(Wait::Connect(connection.key), Some(at), &mut since);
                    if deadline.address_timed_out(event_loop.now()) {
                        return Poll::Ready(Err(ErrorKind::TimedOut.into()));
                    }
                    return Poll::Pending;
                }
            }
        }
        begun.take().map_or(Poll::Pending, Poll::Ready)
    })
}

// ANCHOR: exchange
/// Sends the request and reads the response to its end. Returns true if the
/// connection can carry another request.
///
/// # Errors
/// When no complete, valid response comes.
#[expect(clippy::manual_async_fn, reason = "an async fn keeps each argument twice")]
pub fn exchange(
    connection: &mut Connection,
    options: &Options,
    visit: &mut Visit,
    deadline: &Deadline,
    keep_alive: bool,
) -> impl Coroutine<Output = Result<bool, FetchError>> {
    async move {
        // The request is dropped once it is sent: the frame does not hold it
        // while it waits for the response.
        let sent = write_all(connection, &visit.request(options, keep_alive)).await;
        sent.map_err(|error| failure(visit, &error))?;
        let event_loop = connection.event_loop().clone();
        let response = read_all(connection, |bytes| {
            deadline.progress(event_loop.now());
            match visit.receive(bytes) {
                Ok(Received::More) => ControlFlow::Continue(()),
                Ok(Received::Complete { reusable }) => ControlFlow::Break(Ok(reusable)),
                Err(error) => ControlFlow::Break(Err(error)),
            }
        });
        match response.await {
            Ok(Some(complete)) => complete,
            Ok(None) => visit.receive_end().map(|()| false),
            Err(error) => Err(failure(visit, &error)),
        }
    }
}
// ANCHOR_END: exchange

/// Returns the fetch error for a failed read or write, which depends on how far
/// the visit is.
fn failure(visit: &Visit, error: &io::Error) -> FetchError {
    if is_tls_error(error) {
        return FetchError::new(ErrorClass::Tls, error.to_string());
    }
    visit.interrupted(error)
}
