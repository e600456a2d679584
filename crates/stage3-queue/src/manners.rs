//! Being a good guest: what is asked of a host, when, and how much at a time.
//!
//! Between the queue and the workers stands one question: may this host be
//! asked now? If not, the job waits with its host and not with a worker, and
//! comes back through the queue. What a host wants is learnt from its
//! robots.txt (RFC 9309), asked for once per origin before anything else, and
//! from its answers: 429, or 503 with `Retry-After`.

mod hosts;
mod pace;
mod retry_after;
mod robots;
mod sitemaps;
mod turn;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};

use crawl_core::robots::MOST_BYTES;
use crawl_core::{ErrorClass, FetchError, File, Job, Options};
use stage2_coroutines::{Coroutine, EventLoop, Future, catch, within, yield_now};
use url::{Position, Url};

use self::hosts::{HostId, Hosts};
use self::robots::Rules;
use crate::client::{Client, NoFile};
use crate::{Item, JoinableQueue};

pub(crate) use self::sitemaps::{Named, read_sitemaps};
pub(crate) use self::turn::Turn;

/// After so many jobs whose hosts have no time, others have a turn.
const JOBS_PER_TURN: u32 = 64;

/// The keeper of good manners: between a queue and those who take from it.
pub(crate) struct Manners {
    event_loop: EventLoop,
    client: Rc<Client>,
    q: JoinableQueue<Job>,
    hosts: RefCell<Hosts<Item<Job>>>,
    /// How often each of those URLs was put off that are not done.
    put_offs: RefCell<HashMap<Arc<str>, u32>>,
    /// Whether no more jobs are handed out, and how many were not.
    is_stopped: Cell<bool>,
    left: Cell<usize>,
    /// Resolved when there is an alarm earlier than `watched`.
    news: RefCell<Future<()>>,
    watched: Cell<Option<Instant>>,
    /// Who waits for some robots.txt.
    curious: RefCell<Vec<Future<()>>>,
}

/// The pause between two requests to one host that the user wants.
fn interval(options: &Options) -> Duration {
    let of_rate = options.rate_limit.map(|rate| Duration::from_secs(1) / rate.max(1));
    options.delay.max(of_rate.unwrap_or_default())
}

impl Manners {
    /// For a queue from which so many workers take.
    pub(crate) fn new(client: &Rc<Client>, q: &JoinableQueue<Job>, max_tasks: usize) -> Rc<Self> {
        let event_loop = &client.event_loop;
        Rc::new(Self {
            event_loop: event_loop.clone(),
            client: Rc::clone(client),
            q: q.clone(),
            hosts: RefCell::new(Hosts::new(max_tasks, interval(&client.options))),
            put_offs: RefCell::default(),
            is_stopped: Cell::new(false),
            left: Cell::new(0),
            news: RefCell::new(Future::new(event_loop)),
            watched: Cell::new(None),
            curious: RefCell::default(),
        })
    }

    /// Puts a job into the queue.
    pub(crate) fn put(&self, job: Job) {
        self.hosts(|hosts| {
            let id = hosts.id(job.address().authority());
            hosts.add_work(id);
        });
        self.q.put_nowait(job);
    }

    /// Takes a job out of the queue whose host may be asked now, or will never
    /// be.
    pub(crate) async fn next(self: &Rc<Self>) -> Turn {
        let mut in_a_row = 0;
        loop {
            let item = self.q.get().await;
            if self.is_stopped() {
                self.left.update(|left| left + 1);
                drop(item);
            } else {
                match self.take_up(item) {
                    Some(turn) if turn.asks_robots => {
                        // Once for each origin: no worker keeps room for it.
                        Box::pin(self.ask_robots(turn)).await;
                    }
                    Some(turn) => return turn,
                    None => {}
                }
            }
            in_a_row += 1;
            if in_a_row == JOBS_PER_TURN {
                in_a_row = 0;
                yield_now(&self.event_loop).await;
            }
        }
    }

    /// Calls jobs when their moment has come, for as long as `coroutine` runs.
    pub(crate) async fn keep_time_until<T>(&self, coroutine: impl Coroutine<Output = T>) -> T {
        let (mut coroutine, mut time) = (pin!(coroutine), pin!(self.keep_time()));
        poll_fn(|context| {
            // The time has no end.
            let _ = time.as_mut().poll(context);
            coroutine.as_mut().poll(context)
        })
        .await
    }

    async fn keep_time(&self) -> Infallible {
        loop {
            let news = Future::new(&self.event_loop);
            self.news.replace(news.clone());
            let alarm = self.hosts.borrow().next_alarm();
            self.watched.set(alarm);
            // Nobody but this coroutine could cancel it.
            let _ = match alarm {
                Some(alarm) => within(&self.event_loop, || alarm, news).await.ok(),
                None => Some(news.await),
            };
            let now = self.event_loop.now();
            self.hosts(|hosts| hosts.wake(now));
        }
    }

    /// Runs `coroutine` to its end, or to the stop, beside [the
    /// time](Manners::keep_time_until).
    async fn unless_stopped(&self, coroutine: impl Coroutine<Output = ()>) {
        let mut coroutine = pin!(coroutine);
        poll_fn(|context| match self.is_stopped() {
            true => Poll::Ready(()),
            false => coroutine.as_mut().poll(context),
        })
        .await;
    }

    /// From now on no job is handed out: what is in the queue, or waits with its
    /// host, is left.
    pub(crate) fn stop(&self) {
        self.is_stopped.set(true);
        self.hosts(Hosts::call_all);
        // Whoever runs beside the timekeeper looks up, too. Refused if that has
        // not looked at the last news yet.
        let _ = self.news.borrow().set_result(());
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.get()
    }

    /// How many jobs were done with, and not handed out, since the stop.
    pub(crate) fn left(&self) -> usize {
        self.left.get()
    }

    /// How many jobs wait, in the queue or with their hosts.
    pub(crate) fn queued(&self) -> usize {
        self.q.len() + self.hosts.borrow().parked()
    }

    /// Changes something about the hosts. Jobs that may go on thereby are put
    /// back into the queue.
    fn hosts<R>(&self, change: impl FnOnce(&mut Hosts<Item<Job>>) -> R) -> R {
        let mut hosts = self.hosts.borrow_mut();
        let result = change(&mut hosts);
        let (called, alarm) = (hosts.take_called(), hosts.next_alarm());
        drop(hosts);
        for item in called.into_iter().rev() {
            self.q.put_back(item);
        }
        if alarm.is_some_and(|alarm| self.watched.get().is_none_or(|watched| alarm < watched)) {
            self.watched.set(alarm);
            // Refused if the timekeeper has not looked at the last news yet.
            let _ = self.news.borrow().set_result(());
        }
        result
    }

    // ANCHOR: take_up
    /// A turn for this job, unless it has to wait with its host.
    fn take_up(self: &Rc<Self>, item: Item<Job>) -> Option<Turn> {
        let now = self.event_loop.now();
        self.hosts(|hosts| {
            let address = item.address();
            let (authority, is_secure) = (address.authority(), address.is_secure());
            let id = hosts.id(authority);
            hosts.arrived(id);
            let host = hosts.host(id);
            let rules = host.rules(is_secure);
            let refusal = if host.pace.is_given_up() {
                let message = format!("{authority} had no time again and again");
                Some(FetchError::new(ErrorClass::RateLimited, message).into())
            } else {
                rules.refusal(&item.url).map(Box::new)
            };
            let mut asks_robots = false;
            if refusal.is_none() {
                if matches!(rules, Rules::Asked) || !hosts.start(id, now) {
                    hosts.park(id, item, now);
                    return None;
                }
                let rules = hosts.host(id).rules(is_secure);
                asks_robots = self.client.options.robots && matches!(rules, Rules::Unknown);
                if asks_robots {
                    hosts.set_rules(id, is_secure, Rules::Asked);
                }
            }
            let (manners, comes_again) = (Rc::clone(self), Cell::new(false));
            Some(Turn { manners, id, item: Some(item), refusal, asks_robots, comes_again })
        })
    }
    // ANCHOR_END: take_up

    /// Asks for the robots.txt of a job's origin, and then puts the job back.
    async fn ask_robots(&self, turn: Turn) {
        turn.comes_again.set(true);
        let begun = self.event_loop.now();
        let rules = match Url::parse(&turn.url) {
            // What was let in was a URL.
            Err(_) => Rules::Unknown,
            Ok(url) => {
                let is_put_off =
                    |file: &File| turn.is_put_off(begun, file.status, file.retry_after.as_deref());
                self.rules_of(&url, &|| turn.next_start(), is_put_off).await
            }
        };
        let is_secure = turn.address().is_secure();
        self.hosts(|hosts| hosts.set_rules(turn.id, is_secure, rules));
        drop(turn);
        self.tell_the_curious();
    }

    /// What the robots.txt of this URL's origin says; still unknown, if the host
    /// wants to be asked for it later.
    async fn rules_of(
        &self,
        url: &Url,
        next_start: &impl Fn() -> Instant,
        is_put_off: impl FnOnce(&File) -> bool,
    ) -> Rules {
        let url = file_of_site(url, "/robots.txt");
        let asking = self.client.fetch_file(&url, MOST_BYTES + 1, next_start);
        let answer = catch(pin!(asking)).await.unwrap_or_else(|exception| {
            let error = FetchError::new(ErrorClass::Panic, exception.to_string());
            Err(NoFile { error, is_anybody_there: true })
        });
        match &answer {
            Ok(file) if is_put_off(file) => Rules::Unknown,
            answer => Rules::of_answer(&url, answer, &self.client.options.user_agent),
        }
    }

    /// When the next request to a host may begin, which then counts as begun.
    fn next_start(&self, id: HostId) -> Instant {
        self.hosts.borrow_mut().host_mut(id).pace.start(self.event_loop.now())
    }

    /// Hears how a host has answered a request that began at `begun`: whether it
    /// has no time, and is to be asked later. One that is given up is not.
    fn has_no_time(
        &self,
        id: HostId,
        begun: Instant,
        status: u16,
        retry_after: Option<&[u8]>,
    ) -> bool {
        let pause = retry_after.and_then(|value| retry_after::pause(value, SystemTime::now()));
        let has_no_time = status == 429 || (status == 503 && pause.is_some());
        let mut hosts = self.hosts.borrow_mut();
        let in_flight = hosts.in_flight(id);
        let pace = &mut hosts.host_mut(id).pace;
        if !has_no_time {
            pace.answered(begun);
            return false;
        }
        pace.refused(begun, in_flight, pause, self.event_loop.now());
        !pace.is_given_up()
    }

    fn tell_the_curious(&self) {
        for curious in self.curious.take() {
            // Refused by nobody who waits still.
            let _ = curious.set_result(());
        }
    }
}

/// Name and port of a URL; the port of the scheme itself is never written.
fn authority(url: &Url) -> &str {
    &url[Position::BeforeHost..Position::AfterPort]
}

/// The file of this path at the origin of `url`.
fn file_of_site(url: &Url, path: &str) -> Url {
    let mut file = url.clone();
    // Refused by URLs without a host only, which are none of ours.
    let _ = file.set_username("").and_then(|()| file.set_password(None));
    file.set_path(path);
    file.set_query(None);
    file.set_fragment(None);
    file
}
