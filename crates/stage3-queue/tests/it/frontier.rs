//! The frontier: a model test of the local one, and another one that drives the same
//! worker.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashSet};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use crate::common::{THROTTLED, options};
use crawl_core::{
    Crawl, CrawlProgress, CrawlSummary, Deferral, ErrorClass, FetchError, Finished, HostWait, Job,
    Options, Row, Visit,
};
use proptest::prelude::*;
use stage2_coroutines::{Coroutine, EventLoop, Runtime, sleep, system_runtime};
use stage3_queue::{
    Claim, Crawler, Frontier, Gate, Health, JobResult, JoinableQueue, LocalClaim, LocalFrontier,
    Reporting, Rules, Seeds, ShutdownHandle,
};
use test_support::event_loops::virtual_loop;
use url::Url;
use web::Address;

/// Polls a coroutine once, with a waker that does nothing.
fn poll_once<C: Coroutine + ?Sized>(coroutine: Pin<&mut C>) -> Poll<C::Output> {
    coroutine.poll(&mut Context::from_waker(Waker::noop()))
}

/// Completes a coroutine that does not wait.
fn now<C: Coroutine>(coroutine: C) -> C::Output {
    match poll_once(pin!(coroutine)) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the local frontier waits for nothing here"),
    }
}

/// A step of the model test. The numbers choose a claim, a host and a page.
#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8),
    Next,
    CancelNext,
    /// Completes a claim by a page with links.
    Complete(usize, Vec<(u8, u8)>),
    /// Answers a claim with 429, or 503, and `Retry-After`.
    Busy(usize, Option<u16>),
    /// Ends a claim by a panic of its fetch.
    Panic(usize),
    /// Fails an attempt to fetch, without a response.
    Fail(usize),
    Release(usize),
    /// Asks for the rules of a site, as a reader of sitemaps does.
    Rules(u8),
    Sleep(u8),
    Stop,
}

fn step() -> impl Strategy<Value = Step> {
    let url = || (0..3_u8, 0..12_u8);
    prop_oneof![
        30 => url().prop_map(|(host, page)| Step::Put(host, page)),
        60 => Just(Step::Next),
        5 => Just(Step::CancelNext),
        40 => (0..4_usize, prop::collection::vec(url(), 0..4))
            .prop_map(|(n, links)| Step::Complete(n, links)),
        30 => (0..4_usize, prop::option::of(0..100_u16)).prop_map(|(n, after)| Step::Busy(n, after)),
        5 => (0..4_usize).prop_map(Step::Panic),
        10 => (0..4_usize).prop_map(Step::Fail),
        10 => (0..4_usize).prop_map(Step::Release),
        3 => (0..3_u8).prop_map(Step::Rules),
        20 => (0..70_u8).prop_map(Step::Sleep),
        1 => Just(Step::Stop),
    ]
}

fn url(host: u8, page: u8) -> String {
    format!("http://10.0.0.{}/{page}", host + 1)
}

type Next = Pin<Box<dyn Coroutine<Output = LocalClaim>>>;

/// The frontier under test, and the simple reference beside it: the sets of all
/// URLs, of those with a claim and of those with a row.
struct Model {
    runtime: Runtime,
    frontier: Rc<LocalFrontier>,
    getters: Vec<Next>,
    claims: Vec<LocalClaim>,
    rows: Arc<Mutex<Vec<Row>>>,
    known: BTreeSet<String>,
    is_stopped: bool,
    robots: bool,
}

impl Model {
    fn new(mut options: Options) -> Self {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
        let sink = Arc::clone(&rows);
        let robots = options.settings.robots;
        options.settings.roots = (0..3).map(|host| url(host, 0).parse().unwrap()).collect();
        let known = options.settings.roots.iter().map(ToString::to_string).collect();
        let sink = Box::new(move |row| sink.lock().unwrap().push(row));
        let q = JoinableQueue::new(&event_loop);
        let frontier = Rc::new(LocalFrontier::new(&event_loop, q, options, sink));
        let (getters, claims) = (Vec::new(), Vec::new());
        Self { runtime, frontier, getters, claims, rows, known, is_stopped: false, robots }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Put(host, page) => {
                self.known.insert(url(host, page));
                now(self.frontier.seed(&url(host, page).parse().unwrap()));
            }
            Step::Next => self.next(),
            Step::CancelNext => drop(self.getters.pop()),
            Step::Complete(n, links) => {
                if let Some(claim) = self.claim(n) {
                    let links = links.into_iter().map(|(host, page)| url(host, page));
                    self.complete(claim, links.collect());
                }
            }
            Step::Busy(n, retry_after) => {
                if let Some(claim) = self.claim(n) {
                    self.busy(claim, retry_after);
                }
            }
            Step::Panic(n) => {
                if let Some(claim) = self.claim(n) {
                    let finished = Finished::with_panic(&claim, "a test");
                    now(self.frontier.complete(claim, JobResult::Url(Box::new(finished))));
                }
            }
            Step::Fail(n) => {
                if let Some(claim) = self.claims.get(n) {
                    let visit = claim.visit();
                    let error = FetchError::new(ErrorClass::Connect, "refused");
                    self.frontier.record_attempt(&visit, Some(&error));
                }
            }
            Step::Release(n) => drop(self.claim(n)),
            Step::Rules(host) if self.robots => {
                let site: Url = url(host, 0).parse().unwrap();
                let _ = poll_once(pin!(self.frontier.rules(&site)));
            }
            Step::Rules(_) => {}
            Step::Sleep(seconds) => self.sleep(Duration::from_secs(seconds.into())),
            Step::Stop => {
                self.frontier.stop();
                self.is_stopped = true;
                now(self.frontier.stopped());
            }
        }
        self.check();
    }

    /// Asks for a claim. At most four are asked for or held at a time.
    fn next(&mut self) {
        if self.getters.len() + self.claims.len() < 4 {
            let frontier = Rc::clone(&self.frontier);
            self.getters.push(Box::pin(async move { frontier.next().await }));
        }
        let claims = &mut self.claims;
        self.getters.retain_mut(|getter| match poll_once(getter.as_mut()) {
            Poll::Ready(claim) => {
                claims.push(claim);
                false
            }
            Poll::Pending => true,
        });
    }

    /// Takes a claim on a URL. One on a robots.txt gets its rules instead.
    fn claim(&mut self, n: usize) -> Option<LocalClaim> {
        let claim = (n < self.claims.len()).then(|| self.claims.remove(n))?;
        if claim.is_for_rules() {
            let rules = Rules::none();
            now(self.frontier.complete(claim, JobResult::Rules(Box::new(rules))));
            return None;
        }
        Some(claim)
    }

    /// Completes a claim by a page with links.
    fn complete(&mut self, claim: LocalClaim, links: Vec<String>) {
        let body: String = links.iter().map(|link| format!("<a href={link}>x</a>")).collect();
        self.known.extend(links);
        let finished = self.receive(
            &claim,
            &format!(
                "200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ),
        );
        assert!(!finished.is_busy());
        now(self.frontier.complete(claim, JobResult::Url(Box::new(finished))));
    }

    /// Answers as a busy server does, and then does what a worker does.
    fn busy(&mut self, claim: LocalClaim, retry_after: Option<u16>) {
        let header = retry_after.map(|after| format!("Retry-After: {after}\r\n"));
        let status = if retry_after.is_some_and(|n| n % 2 == 0) { "429 No" } else { "503 No" };
        let finished = self.receive(
            &claim,
            &format!("{status}\r\nContent-Length: 0\r\n{}\r\n", header.unwrap_or_default()),
        );
        assert!(finished.is_busy());
        let deferral = finished.deferral.unwrap();
        if claim.may_defer(&deferral) {
            now(self.frontier.defer(claim, deferral));
        } else {
            now(self.frontier.complete(claim, JobResult::Url(Box::new(finished))));
        }
    }

    fn receive(&self, claim: &LocalClaim, response: &str) -> Finished {
        let mut visit = claim.visit();
        visit.request(&Options::new(Vec::new()), true);
        assert!(visit.receive(format!("HTTP/1.1 {response}").as_bytes()).is_break());
        self.frontier.record_attempt(&visit, None);
        visit.judge(Ok(()));
        visit.finish(self.runtime.event_loop().now())
    }

    fn sleep(&self, duration: Duration) {
        self.runtime.run_until_complete(sleep(self.runtime.event_loop(), duration)).unwrap();
    }

    /// Checks what holds after each step.
    fn check(&self) {
        let rows = self.rows.lock().unwrap();
        let finished: HashSet<&str> = rows.iter().map(|row| &*row.url).collect();
        assert_eq!(finished.len(), rows.len(), "a URL has two rows: {rows:?}");
        let claimed = self.claims.iter().filter(|claim| !claim.is_for_rules());
        let claimed: Vec<&str> = claimed.map(|claim| &*claim.as_ref().url).collect();
        let different: HashSet<&str> = claimed.iter().copied().collect();
        assert_eq!(different.len(), claimed.len(), "a URL has two claims: {claimed:?}");
        assert!(different.is_disjoint(&finished), "a URL that is done has a claim");
        let progress = self.frontier.progress();
        let is_joined = poll_once(pin!(self.frontier.join())).is_ready();
        let open = progress.queued + claimed.len() as u64;
        if self.claims.is_empty() && !self.is_stopped {
            assert_eq!(is_joined, open == 0, "{progress:?}");
        }
        assert!(!is_joined || self.claims.is_empty() && open == 0, "{progress:?}");
        assert_eq!(progress.in_flight as usize, claimed.len(), "{progress:?}");
        let known = self.known.len() as u64;
        // Fewer, once the frontier is stopped or a host is given up.
        assert!(progress.done + open <= known, "{progress:?}, {known}");
    }

    /// Drives the crawl to its end, and checks that each URL has its row or is left
    /// to do.
    fn end(mut self) {
        for _ in 0..2_000 {
            if poll_once(pin!(self.frontier.join())).is_ready() {
                break;
            }
            self.next();
            match self.claim(0) {
                Some(claim) => self.complete(claim, Vec::new()),
                None if self.claims.is_empty() => self.sleep(Duration::from_secs(1)),
                None => {}
            }
            self.check();
        }
        assert!(poll_once(pin!(self.frontier.join())).is_ready(), "{:?}", self.frontier.progress());
        drop(self.getters);
        let summary = self.frontier.end();
        assert_eq!(summary.done as usize, self.rows.lock().unwrap().len());
        assert_eq!((summary.done + summary.todo) as usize, self.known.len());
        drop(self.runtime);
    }
}

proptest! {
    /// Random steps in any order: nothing is lost, nothing comes twice, and join is
    /// exact. `PROPTEST_CASES=100000` runs it more often.
    #[test]
    fn the_local_frontier_loses_nothing_and_join_is_exact(
        steps in prop::collection::vec(step(), 0..60),
        max_tasks in 1..4_usize,
        robots in any::<bool>(),
        delay in 0..3_u64,
        max_wait in 1..80_u64,
    ) {
        let mut options = options(&[]);
        options.max_tasks = Some(max_tasks);
        options.settings.robots = robots;
        options.settings.delay = Duration::from_secs(delay);
        options.settings.max_wait = Duration::from_secs(max_wait);
        let mut model = Model::new(options);
        for step in steps {
            model.step(step);
        }
        model.end();
    }
}

/// Returns a frontier with robots.txt files, of which the three hosts' are claimed.
fn with_claims_on_rules(delay: Duration) -> Model {
    let mut options = options(&[]);
    (options.settings.robots, options.settings.delay) = (true, delay);
    let mut model = Model::new(options);
    (0..3).for_each(|_| model.next());
    assert!(model.claims.len() == 3 && model.claims.iter().all(LocalClaim::is_for_rules));
    model
}

/// Returns a frontier with a delay of ten seconds and 200 URLs of an origin that does not
/// answer. The rules of two other hosts are claimed.
fn with_dead_origin() -> Model {
    let mut model = with_claims_on_rules(Duration::from_secs(10));
    for page in 1..200 {
        now(model.frontier.seed(&url(0, page).parse().unwrap()));
    }
    let error = FetchError::new(ErrorClass::Connect, "refused");
    let rules = Rules::of_dead_host("10.0.0.1", &error);
    now(model.frontier.complete(model.claims.remove(0), JobResult::Rules(Box::new(rules))));
    model
}

/// A worker that ends many URLs without a request lets other tasks run in between. It
/// waits for no delay between two requests.
#[test]
fn urls_without_a_request_do_not_keep_the_loop() {
    let model = with_dead_origin();
    let mut next = pin!(model.frontier.next());
    for expected in [64, 128, 192, 200] {
        assert!(poll_once(next.as_mut()).is_pending());
        assert_eq!(model.rows.lock().unwrap().len(), expected);
    }
}

/// URLs of an origin that is given up need no request, but the rules of the other one do.
#[test]
fn rules_that_a_sitemap_needs_keep_the_delay_beside_a_dead_origin() {
    let mut model = with_dead_origin();
    let site: Url = "https://10.0.0.1/".parse().unwrap();
    assert!(poll_once(pin!(model.frontier.rules(&site))).is_pending());
    model.next();
    assert_eq!(model.claims.len(), 2, "the delay is not over");
    model.sleep(Duration::from_secs(10));
    model.next();
    assert_eq!(&*model.claims[2].as_ref().url, "https://10.0.0.1/robots.txt");
}

/// A robots.txt is not a URL of the site: one that is still fetched is not left to do.
#[test]
fn rules_that_are_not_known_at_the_end_are_not_counted() {
    let model = with_claims_on_rules(Duration::ZERO);
    let progress = model.frontier.progress();
    assert_eq!((progress.queued, progress.in_flight), (3, 0));
    let summary = model.frontier.end();
    assert_eq!((summary.done, summary.todo), (0, 3));
}

/// The rules of `http:` say nothing about `https:`, although the host is the same.
#[test]
fn each_origin_of_a_host_has_its_own_rules() {
    let mut model = with_claims_on_rules(Duration::ZERO);
    now(model.frontier.seed(&"https://10.0.0.1/1".parse().unwrap()));
    let error = FetchError::new(ErrorClass::Connect, "refused");
    let refusing = Rules::of_dead_host("10.0.0.1", &error);
    now(model.frontier.complete(model.claims.remove(0), JobResult::Rules(Box::new(refusing))));
    model.next();
    let of_the_other = model.claims.last().unwrap();
    assert!(of_the_other.is_for_rules() && of_the_other.as_ref().url.starts_with("https:"));
    now(model
        .frontier
        .complete(model.claims.pop().unwrap(), JobResult::Rules(Box::new(Rules::none()))));
    model.next();
    assert_eq!(&*model.claims.last().unwrap().as_ref().url, "https://10.0.0.1/1");
    let rows = model.rows.lock().unwrap();
    assert_eq!(rows.iter().map(|row| &*row.url).collect::<Vec<_>>(), ["http://10.0.0.1/0"]);
}

/// A URL that is busy each time is asked ten times, even if its host answers others in
/// between.
#[test]
fn a_url_that_is_always_busy_comes_to_its_end() {
    let mut options = options(&[]);
    options.settings.robots = false;
    let mut model = Model::new(options);
    let is_busy = |claim: &LocalClaim| &*claim.as_ref().url == "http://10.0.0.1/0";
    for asked in 1..=10 {
        // Far more rounds than it takes.
        for _ in 0..100 {
            if model.claims.iter().any(is_busy) {
                break;
            }
            now(model.frontier.seed(&url(0, asked).parse().unwrap()));
            model.next();
            if let Some(other) = model.claims.iter().position(|claim| !is_busy(claim)) {
                let claim = model.claims.remove(other);
                model.complete(claim, Vec::new());
            }
            model.sleep(Duration::from_secs(1));
        }
        let n = model.claims.iter().position(is_busy).expect("it is asked again");
        let claim = model.claims.remove(n);
        assert_eq!(claim.may_defer(&THROTTLED), asked < 10, "{asked}");
        model.busy(claim, None);
    }
    assert!(model.rows.lock().unwrap().iter().any(|row| &*row.url == "http://10.0.0.1/0"));
}

/// The code that is woken may ask the frontier.
#[test]
fn a_waker_of_a_getter_may_look_at_the_frontier() {
    struct Looks {
        frontier: LocalFrontier,
        seen: Cell<u64>,
    }

    thread_local! {
        static LOOKS: RefCell<Option<Rc<Looks>>> = const { RefCell::new(None) };
    }

    struct Waking;

    impl Wake for Waking {
        fn wake(self: Arc<Self>) {
            let looks = LOOKS.with_borrow(|looks| looks.clone()).unwrap();
            looks.seen.set(looks.frontier.progress().queued);
        }
    }

    let mut options = options(&["http://10.0.0.1/0"]);
    options.settings.robots = false;
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let q = JoinableQueue::new(&event_loop);
    let frontier = LocalFrontier::new(&event_loop, q, options, Box::new(drop));
    let looks = Rc::new(Looks { frontier, seen: Cell::new(0) });
    LOOKS.set(Some(Rc::clone(&looks)));
    let _claim = now(looks.frontier.next());
    let mut next = pin!(looks.frontier.next());
    let waker = Waker::from(Arc::new(Waking));
    assert!(next.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    now(looks.frontier.seed(&url(0, 1).parse().unwrap()));
    assert_eq!(looks.seen.get(), 1);
    LOOKS.set(None);
}

/// A frontier of another kind: a vector and a set of URLs behind a mutex, served by
/// a thread of its own. Every verb is a message and its answer.
struct RemoteFrontier(Rc<RemotePlan>);

struct RemotePlan {
    event_loop: EventLoop,
    crawl: RefCell<Crawl>,
    messages: Sender<Message>,
}

enum Message {
    Next(Reply<String>),
    Complete(Box<Row>, Vec<String>, Reply<()>),
    Release(String),
    Join(Reply<()>),
}

/// The answer to a message, for which a task waits.
struct Reply<T>(Arc<Mutex<(Option<T>, Option<Waker>)>>);

impl<T> Reply<T> {
    fn new() -> (Self, impl Coroutine<Output = T>) {
        let state: Arc<Mutex<(Option<T>, Option<Waker>)>> = Arc::new(Mutex::new((None, None)));
        let waiting = Arc::clone(&state);
        let wait = poll_fn(move |context| {
            let (answer, waker) = &mut *waiting.lock().unwrap();
            *waker = Some(context.waker().clone());
            answer.take().map_or(Poll::Pending, Poll::Ready)
        });
        (Self(state), wait)
    }

    fn send(self, answer: T) {
        let waker = {
            let (slot, waker) = &mut *self.0.lock().unwrap();
            *slot = Some(answer);
            waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

/// Serves the frontier until no handle is left.
fn serve(messages: &Receiver<Message>, rows: &Mutex<Vec<Row>>, root: String) {
    let mut seen = HashSet::from([root.clone()]);
    let (mut todo, mut unfinished) = (vec![root], 1);
    let (mut getters, mut joiners) = (Vec::new(), Vec::new());
    while let Ok(message) = messages.recv() {
        match message {
            Message::Next(reply) => getters.push(reply),
            Message::Release(url) => todo.push(url),
            Message::Join(reply) => joiners.push(reply),
            Message::Complete(row, links, reply) => {
                let new: Vec<String> =
                    links.into_iter().filter(|url| seen.insert(url.clone())).collect();
                unfinished += new.len();
                todo.extend(new);
                unfinished -= 1;
                rows.lock().unwrap().push(*row);
                reply.send(());
            }
        }
        while !todo.is_empty() && !getters.is_empty() {
            getters.remove(0).send(todo.remove(0));
        }
        if unfinished == 0 {
            joiners.drain(..).for_each(|reply: Reply<()>| reply.send(()));
        }
    }
}

struct RemoteClaim {
    job: Job,
    plan: Rc<RemotePlan>,
    has_ended: bool,
}

impl AsRef<Job> for RemoteClaim {
    fn as_ref(&self) -> &Job {
        &self.job
    }
}

impl Claim for RemoteClaim {
    fn visit(&self) -> Visit {
        self.plan.crawl.borrow().visit(self.job.clone(), self.plan.event_loop.now())
    }

    fn is_for_rules(&self) -> bool {
        false
    }

    fn may_defer(&self, _: &Deferral) -> bool {
        false
    }
}

impl Drop for RemoteClaim {
    fn drop(&mut self) {
        if !self.has_ended {
            self.plan.messages.send(Message::Release(self.job.url.to_string())).unwrap();
        }
    }
}

impl Frontier for RemoteFrontier {
    type Claim = RemoteClaim;

    async fn next(&self) -> RemoteClaim {
        let (reply, answer) = Reply::new();
        self.0.messages.send(Message::Next(reply)).unwrap();
        let job = Job::for_file(&answer.await);
        RemoteClaim { job, plan: Rc::clone(&self.0), has_ended: false }
    }

    async fn complete(&self, mut claim: RemoteClaim, result: JobResult) {
        let JobResult::Url(finished) = result else { panic!("no robots.txt is claimed") };
        let mut links = Vec::new();
        finished.candidates(|address, _| links.push(address.as_str().to_owned()));
        let (reply, answer) = Reply::new();
        claim.has_ended = true;
        self.0.messages.send(Message::Complete(Box::new(finished.row), links, reply)).unwrap();
        answer.await;
    }

    async fn defer(&self, _: RemoteClaim, _: Deferral) {}

    async fn join(&self) {
        let (reply, answer) = Reply::new();
        self.0.messages.send(Message::Join(reply)).unwrap();
        answer.await;
    }

    fn stop(&self) {}
}

impl Gate for RemoteFrontier {
    async fn rules(&self, _: &Url) -> Option<Rc<Rules>> {
        None
    }

    async fn wait_turn(&self, _: Address<'_>) -> Result<(), FetchError> {
        Ok(())
    }

    fn record_attempt(&self, _: &Visit, _: Option<&FetchError>) -> Health {
        Health::Alive
    }

    fn is_given_up(&self, _: Address<'_>) -> bool {
        false
    }
}

impl Seeds for RemoteFrontier {
    async fn seed(&self, _: &Url) {}

    async fn stopped(&self) {}
}

impl Reporting for RemoteFrontier {
    fn warn(&self, _: String) {}

    fn progress(&self) -> CrawlProgress {
        self.0.crawl.borrow().progress(0)
    }

    fn waits(&self) -> Vec<HostWait> {
        Vec::new()
    }

    fn end(&self) -> CrawlSummary {
        self.0.crawl.borrow_mut().end(0, None)
    }
}

/// The worker is the same: it crawls the same pages with a frontier on another
/// thread.
#[test]
fn another_frontier_drives_the_same_worker() {
    let server = demo_site::scripted::Server::start(|request, reply| match request.path() {
        "/robots.txt" => reply.status(404, "Not Found", &[], ""),
        "/" => reply.page((0..40).map(|n| format!("<a href=/{n}>x</a>")).collect::<String>()),
        path if path.len() == 2 => reply.page(format!("<a href={path}/a>x</a> <a href=/>x</a>")),
        _ => reply.page("<a href=/1>x</a> <a href=/2>x</a>"),
    });
    let server = server.unwrap();
    let root = server.url("/");
    let urls = |rows: &Mutex<Vec<Row>>| {
        let rows = rows.lock().unwrap();
        let mut urls: Vec<String> = rows.iter().map(|row| row.url.to_string()).collect();
        urls.sort_unstable();
        urls
    };
    let collect = || {
        let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
        let sink = Arc::clone(&rows);
        (rows, Box::new(move |row| sink.lock().unwrap().push(row)))
    };
    let (rows, sink) = collect();
    stage3_queue::crawl(options(&[&root]), sink).unwrap();
    let expected = urls(&rows);
    assert_eq!(expected.len(), 51);
    for tasks in [1, 3, 20] {
        let runtime = system_runtime().unwrap();
        let event_loop = runtime.event_loop().clone();
        let mut options = options(&[&root]);
        options.max_tasks = Some(tasks);
        let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
        let (messages, inbox) = channel();
        let (served, first) = (Arc::clone(&rows), root.clone());
        let thread = thread::spawn(move || serve(&inbox, &served, first));
        let crawl = RefCell::new(Crawl::new(options.clone()));
        let plan = RemotePlan { event_loop: event_loop.clone(), crawl, messages };
        let frontier = RemoteFrontier(Rc::new(plan));
        let crawler = Crawler::with_frontier(&event_loop, options, frontier, ShutdownHandle::new());
        runtime.run_until_complete(crawler.crawl()).unwrap();
        drop(runtime);
        drop(crawler);
        thread.join().unwrap();
        assert_eq!(urls(&rows), expected, "{tasks}");
    }
}
