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

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::ops::Deref;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crawl_core::robots::MOST_BYTES;
use crawl_core::{ErrorClass, FetchError, Job, Options, Visit};
use stage2_coroutines::{Coroutine, EventLoop, Future, within, yield_now};
use url::Url;

use self::hosts::Hosts;
use self::robots::Rules;
use crate::catch::catch;
use crate::client::{Client, NoFile};
use crate::{Item, JoinableQueue};

pub(crate) use self::sitemaps::{Named, read_sitemaps};

/// How often a URL is put off because its host has no time. Then it is told
/// how it came.
const MOST_PUT_OFFS: u32 = 5;

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
        self.hosts(|hosts, _| {
            let id = hosts.id(origin(&job.url).authority);
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
                    Some(turn) if turn.errand == Errand::Robots => self.ask_robots(turn).await,
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
            self.hosts(|hosts, now| hosts.wake(now));
        }
    }

    /// From now on no job is handed out: what is in the queue, or waits with its
    /// host, is left.
    pub(crate) fn stop(&self) {
        self.is_stopped.set(true);
        self.hosts(|hosts, _| hosts.call_all());
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.get()
    }

    /// How many jobs were not handed out, or wait with their hosts still.
    pub(crate) fn untaken(&self) -> usize {
        self.left.get() + self.hosts.borrow().parked()
    }

    /// Changes something about the hosts. Jobs that may go on thereby are put
    /// back into the queue.
    fn hosts<R>(&self, change: impl FnOnce(&mut Hosts<Item<Job>>, Instant) -> R) -> R {
        let mut hosts = self.hosts.borrow_mut();
        let result = change(&mut hosts, self.event_loop.now());
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

    /// A turn for this job, unless it has to wait with its host.
    fn take_up(self: &Rc<Self>, item: Item<Job>) -> Option<Turn> {
        self.hosts(|hosts, now| {
            let Origin { authority, is_secure } = origin(&item.url);
            let id = hosts.id(authority);
            hosts.arrived(id);
            let host = hosts.host(id);
            let rules = host.rules(is_secure);
            let errand = if host.pace.is_given_up() {
                let message = format!("{authority} had no time again and again");
                Errand::Refusal(FetchError::new(ErrorClass::RateLimited, message))
            } else if let Some(error) = rules.refusal(&item.url) {
                Errand::Refusal(error)
            } else if matches!(rules, Rules::Asked) || !hosts.start(id, now) {
                hosts.park(id, item, now);
                return None;
            } else if self.client.options.robots
                && matches!(hosts.host(id).rules(is_secure), Rules::Unknown)
            {
                hosts.set_rules(id, is_secure, Rules::Asked);
                Errand::Robots
            } else {
                Errand::Visit
            };
            let (manners, comes_again) = (Rc::clone(self), Cell::new(false));
            Some(Turn { manners, id, item: Some(item), errand, begun: now, comes_again })
        })
    }

    /// Asks for the robots.txt of a job's origin, and then puts the job back.
    async fn ask_robots(&self, turn: Turn) {
        turn.comes_again.set(true);
        let is_secure = origin(&turn.url).is_secure;
        let rules = match Url::parse(&turn.url) {
            // What was let in was a URL.
            Err(_) => Rules::Unknown,
            Ok(url) => {
                let url = file_of_site(&url, "/robots.txt");
                let next_start = || turn.next_start();
                let asking = self.client.fetch_file(&url, MOST_BYTES + 1, &next_start);
                let answer = catch(asking).await.unwrap_or_else(|exception| {
                    let error = FetchError::new(ErrorClass::Panic, exception.to_string());
                    Err(NoFile { error, is_anybody_there: true })
                });
                match &answer {
                    Ok(file) if turn.is_put_off(file.status, file.retry_after.as_deref()) => {
                        Rules::Unknown
                    }
                    answer => Rules::of_answer(&url, answer, &self.client.options.user_agent),
                }
            }
        };
        self.hosts(|hosts, _| hosts.set_rules(turn.id, is_secure, rules));
        drop(turn);
        self.tell_the_curious();
    }

    fn tell_the_curious(&self) {
        for curious in self.curious.take() {
            // Refused by nobody who waits still.
            let _ = curious.set_result(());
        }
    }
}

/// What a turn is for.
#[derive(Debug, PartialEq, Eq)]
enum Errand {
    /// To fetch the URL.
    Visit,
    /// To ask for the robots.txt of its origin.
    Robots,
    /// To tell why it is not asked.
    Refusal(FetchError),
}

/// A job whose turn it is. When it goes out of scope, the job is done and
/// others have their turns; unless its host wants to be asked later.
pub(crate) struct Turn {
    manners: Rc<Manners>,
    id: usize,
    /// There until this is dropped.
    item: Option<Item<Job>>,
    errand: Errand,
    begun: Instant,
    comes_again: Cell<bool>,
}

impl Turn {
    /// Why the URL is not to be asked, if it is not.
    pub(crate) fn refusal(&self) -> Option<&FetchError> {
        match &self.errand {
            Errand::Refusal(error) => Some(error),
            _ => None,
        }
    }

    /// When the next request of this turn may begin.
    pub(crate) fn next_start(&self) -> Instant {
        self.manners.hosts(|hosts, now| hosts.host_mut(self.id).pace.start(now))
    }

    /// Whether the answer is that the host has no time now. Then the job is to
    /// be left alone: it will come again. If it came too often it will not, and
    /// the answer stands.
    pub(crate) fn comes_again(&self, visit: &Visit) -> bool {
        let is_put_off =
            visit.status().is_some_and(|status| self.is_put_off(status, visit.retry_after()));
        self.comes_again.set(is_put_off);
        is_put_off
    }

    fn is_put_off(&self, status: u16, retry_after: Option<&[u8]>) -> bool {
        let pause = retry_after.and_then(|value| retry_after::pause(value, SystemTime::now()));
        let has_no_time = status == 429 || (status == 503 && pause.is_some());
        let is_given_up = self.manners.hosts(|hosts, now| {
            let in_flight = hosts.in_flight(self.id);
            let pace = &mut hosts.host_mut(self.id).pace;
            if has_no_time {
                pace.refused(self.begun, in_flight, pause, now);
            } else {
                pace.answered(self.begun);
            }
            pace.is_given_up()
        });
        let mut put_offs = self.manners.put_offs.borrow_mut();
        if has_no_time && !is_given_up {
            let times = put_offs.entry(Arc::clone(&self.url)).or_default();
            *times += 1;
            if *times <= MOST_PUT_OFFS {
                return true;
            }
        }
        false
    }
}

impl Deref for Turn {
    type Target = Job;

    fn deref(&self) -> &Job {
        self.item.as_ref().expect("it is there until the turn is dropped")
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.comes_again.get() && !self.manners.put_offs.borrow().is_empty() {
            self.manners.put_offs.borrow_mut().remove(&self.url);
        }
        let item = self.item.take();
        let done = self.manners.hosts(|hosts, now| {
            if !matches!(self.errand, Errand::Refusal(_)) {
                hosts.end(self.id);
            }
            let done = match item {
                Some(item) if self.comes_again.get() => {
                    hosts.park_first(self.id, item);
                    None
                }
                item => {
                    hosts.finish(self.id);
                    item
                }
            };
            if self.manners.is_stopped() {
                hosts.call_all();
            } else {
                hosts.settle_all(self.id, now);
            }
            done
        });
        // This may be the last one, which is news for whoever joins.
        drop(done);
        self.manners.tell_the_curious();
    }
}

/// Where a URL leads.
struct Origin<'u> {
    /// Name and port; the port of the scheme itself is never written.
    authority: &'u str,
    is_secure: bool,
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

/// Takes the origin from the text of a URL as it is normalised.
fn origin(url: &str) -> Origin<'_> {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    Origin { authority, is_secure: scheme == "https" }
}
