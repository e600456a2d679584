//! Politeness: the layer between the queue and the workers that decides what is
//! requested from a host, when, and how much at a time.
//!
//! For each job it checks whether its host may be asked now. If not, the job
//! waits in its host's queue and not in a worker, and comes back through the
//! queue of the crawl. The rules of a host come from its robots.txt (RFC 9309),
//! which is fetched once per origin before anything else, and from its responses:
//! with 429, or 503 with `Retry-After`, the host throttles the crawler, which
//! then backs off. The user can set a rate limit, too.

mod dispatch;
mod host_queues;
mod rate_limit;
mod retry_after;
mod robots;
mod sitemaps;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};

use crawl_core::{ErrorClass, FetchError, Job, Options, SiteFile};
use stage2_coroutines::{Coroutine, EventLoop, Future, catch, timeout_at, yield_now};
use url::{Position, Url};
use web::robots::MAX_BYTES;

use self::host_queues::{HostId, HostQueues};
use self::robots::Rules;
use crate::fetch::{Client, FileError};
use crate::{Item, JoinableQueue};

pub(crate) use self::dispatch::Dispatch;
pub(crate) use self::sitemaps::{SitemapResult, read_sitemaps};

/// Number of jobs that a worker takes in one poll without dispatching one, before
/// it yields to other tasks.
const JOBS_PER_POLL: u32 = 64;

/// The dispatcher between the queue and the workers: hands out the jobs whose
/// hosts may be asked now.
pub(crate) struct Politeness {
    event_loop: EventLoop,
    client: Rc<Client>,
    q: JoinableQueue<Job>,
    host_queues: RefCell<HostQueues<Item<Job>>>,
    /// Number of times that each unfinished URL was deferred.
    deferrals: RefCell<HashMap<Arc<str>, u32>>,
    /// Set when no more jobs are handed out.
    is_stopped: Cell<bool>,
    /// Number of jobs that were taken from the queue since then and dropped.
    discarded: Cell<usize>,
    /// Resolved when there is a deadline earlier than `next_timer`, or on a stop.
    timer_changed: RefCell<Future<()>>,
    /// Deadline until which [`Politeness::run_timers`] sleeps.
    next_timer: Cell<Option<Instant>>,
    /// Tasks that wait until some robots.txt is known.
    robots_waiters: RefCell<Vec<Future<()>>>,
}

/// Returns the pause between two requests to one host that the options ask for,
/// as a delay or as a rate limit.
fn interval(options: &Options) -> Duration {
    let of_rate = options.rate_limit.map(|rate| Duration::from_secs(1) / rate.max(1));
    options.delay.max(of_rate.unwrap_or_default())
}

impl Politeness {
    /// Creates the dispatcher for a queue from which `max_tasks` workers take.
    pub(crate) fn new(client: &Rc<Client>, q: &JoinableQueue<Job>, max_tasks: usize) -> Rc<Self> {
        let event_loop = &client.event_loop;
        Rc::new(Self {
            event_loop: event_loop.clone(),
            client: Rc::clone(client),
            q: q.clone(),
            host_queues: RefCell::new(HostQueues::new(max_tasks, interval(&client.options))),
            deferrals: RefCell::default(),
            is_stopped: Cell::new(false),
            discarded: Cell::new(0),
            timer_changed: RefCell::new(Future::new(event_loop)),
            next_timer: Cell::new(None),
            robots_waiters: RefCell::default(),
        })
    }

    /// Puts a job into the queue.
    pub(crate) fn put(&self, job: Job) {
        self.with_host_queues(|host_queues| {
            let id = host_queues.id(job.address().authority());
            host_queues.add_work(id);
        });
        self.q.put_nowait(job);
    }

    /// Waits for a job whose host may be asked now, or never again, and takes it
    /// out of the queue.
    pub(crate) async fn next(self: &Rc<Self>) -> Dispatch {
        let mut in_a_row = 0;
        loop {
            let item = self.q.get().await;
            if self.is_stopped() {
                self.discarded.update(|discarded| discarded + 1);
                drop(item);
            } else {
                match self.try_dispatch(item) {
                    Some(dispatch) if dispatch.needs_robots => {
                        // Boxed: it runs once per origin, and its state would
                        // make every worker larger.
                        Box::pin(self.fetch_robots(dispatch)).await;
                    }
                    Some(dispatch) => return dispatch,
                    None => {}
                }
            }
            in_a_row += 1;
            if in_a_row == JOBS_PER_POLL {
                in_a_row = 0;
                yield_now(&self.event_loop).await;
            }
        }
    }

    /// Runs `coroutine`, and meanwhile releases deferred jobs when their time has
    /// come.
    pub(crate) async fn run_timers_until<T>(&self, coroutine: impl Coroutine<Output = T>) -> T {
        let (mut coroutine, mut timers) = (pin!(coroutine), pin!(self.run_timers()));
        poll_fn(|context| {
            // The timers never finish.
            let _ = timers.as_mut().poll(context);
            coroutine.as_mut().poll(context)
        })
        .await
    }

    /// Sleeps until the next deadline of a host and releases its jobs, for ever.
    async fn run_timers(&self) -> Infallible {
        loop {
            let timer_changed = Future::new(&self.event_loop);
            self.timer_changed.replace(timer_changed.clone());
            let next_timer = self.host_queues.borrow().next_timer();
            self.next_timer.set(next_timer);
            // Only this coroutine could cancel it.
            let _ = match next_timer {
                Some(at) => timeout_at(&self.event_loop, || at, timer_changed).await.ok(),
                None => Some(timer_changed.await),
            };
            let now = self.event_loop.now();
            self.with_host_queues(|host_queues| host_queues.wake(now));
        }
    }

    /// Runs `coroutine` until it is done or the crawl is stopped. The stop wakes
    /// it through [`Politeness::run_timers_until`], which must be polled in the
    /// same task.
    async fn unless_stopped(&self, coroutine: impl Coroutine<Output = ()>) {
        let mut coroutine = pin!(coroutine);
        poll_fn(|context| match self.is_stopped() {
            true => Poll::Ready(()),
            false => coroutine.as_mut().poll(context),
        })
        .await;
    }

    /// Stops handing out jobs. Those in the queue and in the hosts' queues are
    /// dropped, and count as left to do.
    pub(crate) fn stop(&self) {
        self.is_stopped.set(true);
        self.with_host_queues(HostQueues::release_all);
        // Wakes the task of the timers, and with it the coroutine beside them.
        // Fails if that wake-up is pending already.
        let _ = self.timer_changed.borrow().set_result(());
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.get()
    }

    /// Returns the number of jobs that were dropped without being handed out.
    pub(crate) fn discarded(&self) -> usize {
        self.discarded.get()
    }

    /// Returns the number of jobs that wait, in the queue or in the hosts' queues.
    pub(crate) fn queued(&self) -> usize {
        self.q.len() + self.host_queues.borrow().deferred()
    }

    /// Calls `change` with the host queues. Jobs that this releases are put back
    /// into the queue.
    fn with_host_queues<R>(&self, change: impl FnOnce(&mut HostQueues<Item<Job>>) -> R) -> R {
        let mut host_queues = self.host_queues.borrow_mut();
        let result = change(&mut host_queues);
        let (released, timer) = (host_queues.take_released(), host_queues.next_timer());
        drop(host_queues);
        for item in released.into_iter().rev() {
            self.q.put_back(item);
        }
        if timer.is_some_and(|at| self.next_timer.get().is_none_or(|next| at < next)) {
            self.next_timer.set(timer);
            // Fails if that wake-up is pending already.
            let _ = self.timer_changed.borrow().set_result(());
        }
        result
    }

    // ANCHOR: try_dispatch
    /// Dispatches a job, or defers it to its host's queue and returns `None`.
    fn try_dispatch(self: &Rc<Self>, item: Item<Job>) -> Option<Dispatch> {
        let now = self.event_loop.now();
        self.with_host_queues(|host_queues| {
            let address = item.address();
            let (authority, is_secure) = (address.authority(), address.is_secure());
            let id = host_queues.id(authority);
            host_queues.arrived(id);
            let host = host_queues.host(id);
            let rules = host.rules(is_secure);
            let refusal = if host.rate_limit.is_abandoned() {
                let message = format!("{authority} had no time again and again");
                Some(FetchError::new(ErrorClass::RateLimited, message).into())
            } else {
                rules.refusal(&item.url).map(Box::new)
            };
            let mut needs_robots = false;
            if refusal.is_none() {
                if matches!(rules, Rules::Pending) || !host_queues.start(id, now) {
                    host_queues.defer(id, item, now);
                    return None;
                }
                let rules = host_queues.host(id).rules(is_secure);
                needs_robots = self.client.options.robots && matches!(rules, Rules::Unknown);
                if needs_robots {
                    host_queues.set_rules(id, is_secure, Rules::Pending);
                }
            }
            let (politeness, is_deferred) = (Rc::clone(self), Cell::new(false));
            Some(Dispatch { politeness, id, item: Some(item), refusal, needs_robots, is_deferred })
        })
    }
    // ANCHOR_END: try_dispatch

    /// Fetches the robots.txt of a job's origin, and then puts the job back.
    async fn fetch_robots(&self, dispatch: Dispatch) {
        dispatch.is_deferred.set(true);
        let begun = self.event_loop.now();
        let rules = match Url::parse(&dispatch.url) {
            // Cannot happen: only valid URLs are admitted.
            Err(_) => Rules::Unknown,
            Ok(url) => {
                let should_defer = |file: &SiteFile| {
                    dispatch.should_defer(begun, file.status, file.retry_after.as_deref())
                };
                self.fetch_rules(&url, &|| dispatch.next_start(), should_defer).await
            }
        };
        let is_secure = dispatch.address().is_secure();
        self.with_host_queues(|host_queues| host_queues.set_rules(dispatch.id, is_secure, rules));
        drop(dispatch);
        self.wake_robots_waiters();
    }

    /// Fetches the robots.txt of this URL's origin and returns its rules; they
    /// stay unknown if the host throttles the request.
    async fn fetch_rules(
        &self,
        url: &Url,
        next_start: &impl Fn() -> Instant,
        should_defer: impl FnOnce(&SiteFile) -> bool,
    ) -> Rules {
        let url = site_file(url, "/robots.txt");
        let request = self.client.fetch_file(&url, MAX_BYTES + 1, next_start);
        let response = catch(pin!(request)).await.unwrap_or_else(|exception| {
            let error = FetchError::new(ErrorClass::Panic, exception.to_string());
            Err(FileError { error, host_answered: true })
        });
        match &response {
            Ok(file) if should_defer(file) => Rules::Unknown,
            response => Rules::of_response(&url, response, &self.client.options.user_agent),
        }
    }

    /// Returns the time at which the next request to a host may start, and counts
    /// that request as started.
    fn next_start(&self, id: HostId) -> Instant {
        self.host_queues.borrow_mut().host_mut(id).rate_limit.start(self.event_loop.now())
    }

    /// Records the response of a host to a request that began at `begun`, and
    /// returns true if the host throttles the crawler and is to be asked later.
    /// Returns false for an abandoned host.
    fn is_throttled(
        &self,
        id: HostId,
        begun: Instant,
        status: u16,
        retry_after: Option<&[u8]>,
    ) -> bool {
        let pause = retry_after.and_then(|value| retry_after::parse(value, SystemTime::now()));
        let is_throttled = status == 429 || (status == 503 && pause.is_some());
        let mut host_queues = self.host_queues.borrow_mut();
        let in_flight = host_queues.in_flight(id);
        let rate_limit = &mut host_queues.host_mut(id).rate_limit;
        if !is_throttled {
            rate_limit.answered(begun);
            return false;
        }
        rate_limit.refused(begun, in_flight, pause, self.event_loop.now());
        !rate_limit.is_abandoned()
    }

    fn wake_robots_waiters(&self) {
        for waiter in self.robots_waiters.take() {
            // Fails if the waiting task was cancelled.
            let _ = waiter.set_result(());
        }
    }
}

/// Returns the host and port of a URL; the default port of the scheme is left
/// out.
fn authority(url: &Url) -> &str {
    &url[Position::BeforeHost..Position::AfterPort]
}

/// Returns the URL of the file with this path at the origin of `url`.
fn site_file(url: &Url, path: &str) -> Url {
    let mut file = url.clone();
    // Fails for URLs without a host only, which are never crawled.
    let _ = file.set_username("").and_then(|()| file.set_password(None));
    file.set_path(path);
    file.set_query(None);
    file.set_fragment(None);
    file
}
