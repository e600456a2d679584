//! The frontier: what a worker needs of the crawl in Redis.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::future::pending;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use crawl_core::{
    Admission, BusyHost, CrawlProgress, CrawlSummary, DeferReason, Deferral, ErrorClass,
    FetchError, FetchResult, Finished, HostWait, Job, JournalEntry, LocalAdmission,
    LocalCompletion, Options, Outcome, Sink, StopReason, Via, Visit, Warnings,
};
use stage2_coroutines::{EventLoop, Future, InspectTask, Task, join, select, sleep, timeout_at};
use stage3_queue::{
    CircuitBreaker, Claim, Frontier, Gate, GuardedSink, Health, JobResult, Reporting, Rules, Seeds,
    ShutdownHandle,
};
use url::Url;
use web::Address;

use crate::cluster::{at_once, elements_of, number_of, text_of};
use crate::event::Event;
use crate::job_text::{self, ClaimedJob, HOST_IS_FULL};
use crate::journal_file::JournalFile;
use crate::node::{CallError, CallResult};
use crate::record::Record;
use crate::rules_cache::RulesCache;
use crate::scripts::{CLAIM, COMPLETE, DEFER, PACE, PUT, RELEASE, RENEW, RULES, Script};
use crate::store::{Batch, Counters, Store, random_name};
use crate::{RedisOptions, settings};

/// Limit on the jobs of one claim.
const MAX_CLAIMS: usize = 64;

/// Shortest pause before a worker without jobs tries to claim one again; it doubles.
const MIN_IDLE: Duration = Duration::from_millis(5);

/// Longest such pause.
const MAX_IDLE: Duration = Duration::from_millis(250);

/// Time after which a robots.txt is fetched again (RFC 9309, section 2.4).
const RULES_TIME: &[u8] = b"86400";

/// Limit on the delay that a robots.txt can demand.
const MAX_DELAY: Duration = Duration::from_secs(30);

/// Time in which a worker that stops gives its leases back.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A step of a worker on one job, at which a test may end the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The job is claimed, and not yet fetched.
    Claimed,
    /// The URLs of other partitions that a page has led to are put in.
    ChildrenPut,
    /// The job is about to be completed.
    Completing,
}

/// The frontier of a crawl on Redis. Handles are cheap to clone and stand for the same
/// worker.
#[derive(Clone)]
pub struct RedisFrontier(Rc<RedisPlan>);

/// The state that the frontier shares with its claims and its tasks.
struct RedisPlan {
    event_loop: EventLoop,
    store: Store,
    local: RefCell<LocalAdmission>,
    sink: GuardedSink,
    shutdown: ShutdownHandle,
    lease: Duration,
    on_step: Option<Rc<dyn Fn(Step)>>,
    /// Name of this worker, which no other has.
    worker: String,
    /// Number of calls for claims: with the name, it names each call.
    calls: Cell<u64>,
    waiting: RefCell<VecDeque<Future<RedisClaim>>>,
    /// The leases that this worker holds, with their partitions.
    leases: RefCell<HashMap<Rc<str>, usize>>,
    released: RefCell<Vec<(usize, Rc<str>)>>,
    rules: RefCell<RulesCache>,
    /// The origins whose last attempt has failed.
    breakers: RefCell<HashMap<String, CircuitBreaker>>,
    /// Set when jobs may be claimed, or leases are to be released.
    has_changed: Event,
    has_released: Event,
    is_stopped: Cell<bool>,
    is_failed: Cell<bool>,
    counts: RefCell<Counts>,
    progress: RefCell<CrawlProgress>,
    /// The last status with which each host throttled us.
    throttled_statuses: RefCell<HashMap<String, u16>>,
    /// The hosts that were given up because they throttled everything, once the crawl has
    /// ended.
    given_up_hosts: RefCell<Vec<BusyHost>>,
    /// The task that claims jobs, which ends by itself when this worker is stopped.
    claiming: RefCell<Option<Task<()>>>,
    /// The other tasks, which run until they are cancelled.
    tasks: RefCell<Vec<Task<()>>>,
}

/// The counts of this worker.
#[derive(Default)]
struct Counts {
    visits: u64,
    rows: u64,
    /// Results that came after their lease had ended, and were dropped.
    late: u64,
    peak: u64,
    warnings: Warnings,
}

/// A claim on a job: a lease in Redis, which is renewed while the claim lives. Dropping
/// it gives the job back.
pub struct RedisClaim {
    claimed: ClaimedJob,
    /// The lease as Redis has it: a token, which no other lease has, and the job.
    lease: Rc<str>,
    partition: usize,
    plan: Rc<RedisPlan>,
    /// True if the host gets no request: the job is refused.
    is_refused: bool,
}

impl AsRef<Job> for RedisClaim {
    fn as_ref(&self) -> &Job {
        &self.claimed.job
    }
}

impl Claim for RedisClaim {
    fn visit(&self) -> Visit {
        self.plan.local.borrow().visit(self.claimed.job.clone(), self.plan.event_loop.now())
    }

    fn is_for_rules(&self) -> bool {
        self.claimed.rules_of.is_some()
    }

    fn may_defer(&self, deferral: &Deferral) -> bool {
        match deferral.reason {
            DeferReason::Throttled => !self.claimed.is_last,
            DeferReason::ServerError(_) | DeferReason::NoDns => {
                !self.claimed.is_last && !self.claimed.has_failed
            }
        }
    }
}

impl Drop for RedisClaim {
    fn drop(&mut self) {
        if self.plan.leases.borrow_mut().remove(&self.lease).is_some() {
            let released = (self.partition, Rc::clone(&self.lease));
            self.plan.released.borrow_mut().push(released);
            self.plan.has_released.set();
        }
    }
}

impl RedisFrontier {
    /// Opens the frontier of a crawl, and begins it if `options` have start URLs and there is
    /// none of that name yet. All workers of a crawl have its settings: those of
    /// `options` that were given and are others are refused. What a worker has for itself,
    /// its number of tasks and its limits, is taken from `options`.
    ///
    /// Rows of the URLs that this worker finishes are handed to `sink`. When the servers
    /// are lost, `shutdown` stops the crawl.
    ///
    /// # Errors
    /// When the servers are lost; there is no such crawl; it is one of another version or
    /// with other settings; its name is none; the file of its journal is not of this crawl, or
    /// cannot be opened; or an option is not supported by this frontier.
    pub async fn open(
        event_loop: &EventLoop,
        redis: RedisOptions,
        mut options: Options,
        sink: Sink,
        shutdown: ShutdownHandle,
    ) -> io::Result<Self> {
        let refuse = |message| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        if let Some(flag) = settings::unsupported(&options) {
            return refuse(format!("{flag} is not supported by a frontier on Redis"));
        }
        let store =
            Store::open(event_loop, &redis, &options, !options.settings.roots.is_empty()).await?;
        if let Some(list) = settings::contradictions(&store.settings, &options.settings)? {
            return refuse(format!("the crawl '{}' has other settings: {list}", redis.name));
        }
        options.settings.clone_from(&store.settings);
        let local = RefCell::new(LocalAdmission::new(options));
        store.begin(&local).await?;
        let open = |path: &std::path::PathBuf| JournalFile::open(path, &store.first_line);
        let journal = redis.journal.first().map(open).transpose()?;
        let plan = Rc::new(RedisPlan {
            event_loop: event_loop.clone(),
            store,
            local,
            sink: GuardedSink::new(sink),
            shutdown,
            lease: redis.lease,
            on_step: redis.on_step,
            worker: random_name(),
            calls: Cell::default(),
            waiting: RefCell::default(),
            leases: RefCell::default(),
            released: RefCell::default(),
            rules: RefCell::default(),
            breakers: RefCell::default(),
            has_changed: Event::default(),
            has_released: Event::default(),
            is_stopped: Cell::default(),
            is_failed: Cell::default(),
            counts: RefCell::default(),
            progress: RefCell::new(progress(&Counters::default())),
            throttled_statuses: RefCell::default(),
            given_up_hosts: RefCell::default(),
            claiming: RefCell::default(),
            tasks: RefCell::default(),
        });
        let claiming = Task::spawn(event_loop, Rc::clone(&plan).claim_jobs());
        let renew = |partition| {
            let renewing = Rc::clone(&plan).renew_leases(partition);
            Task::spawn(event_loop, renewing).named("leases")
        };
        plan.tasks.borrow_mut().extend((0..plan.store.partitions).map(renew));
        let watching = Task::spawn(event_loop, Rc::clone(&plan).watch_crawl());
        let releasing = Task::spawn(event_loop, Rc::clone(&plan).release_leases());
        if let Some(file) = journal {
            let moving = Rc::clone(&plan).move_journal(file, redis.journal_age);
            plan.tasks.borrow_mut().push(Task::spawn(event_loop, moving).named("journal"));
        }
        plan.claiming.replace(Some(claiming.named("claims")));
        let tasks = [watching.named("progress"), releasing.named("released leases")];
        plan.tasks.borrow_mut().extend(tasks);
        Ok(Self(plan))
    }

    /// Returns the options of the crawl, with what this worker has for itself.
    pub fn options(&self) -> Options {
        self.0.local.borrow().options().clone()
    }

    /// Returns the number of results that came after their lease had ended. They have
    /// left no record.
    pub fn late_results(&self) -> u64 {
        self.0.counts.borrow().late
    }

    /// Gives all leases back, and takes this worker out of the list. To be called when
    /// its tasks have ended. Waits two seconds at most.
    pub async fn close(&self) {
        let plan = &self.0;
        plan.stop();
        for task in plan.tasks.take() {
            task.cancel();
        }
        plan.waiting.take();
        let mut claiming = plan.claiming.take();
        let closing = async {
            // What a call that is on its way claims is given back.
            if let Some(claiming) = &mut claiming {
                let _ = claiming.await;
            }
            // The tasks of the workers end one after another, and their claims with them.
            while plan.has_leases() {
                sleep(&plan.event_loop, MIN_IDLE).await;
            }
            let words: [&[u8]; 2] = [b"HDEL", plan.worker.as_bytes()];
            let leave = |partition| plan.store.cluster.command(partition, ":workers", &words);
            let leaving = at_once((0..plan.store.partitions).map(leave));
            let _ = join((plan.flush_released(), leaving)).await;
        };
        let deadline = plan.event_loop.now() + CLOSE_TIMEOUT;
        // What could not be given back comes back when its lease ends.
        let _ = timeout_at(&plan.event_loop, || deadline, closing).await;
        if let Some(claiming) = claiming {
            claiming.cancel();
        }
    }
}

impl RedisPlan {
    fn has_leases(&self) -> bool {
        !self.leases.borrow().is_empty()
    }

    fn step(&self, step: Step) {
        if let Some(on_step) = &self.on_step {
            on_step(step);
        }
    }

    async fn script(
        &self,
        script: &'static Script,
        partition: usize,
        arguments: &[Vec<u8>],
    ) -> CallResult {
        let result = self.store.cluster.script(script, partition, arguments).await;
        result.inspect_err(|error| self.fail(error))
    }

    /// Stops the crawl, since its servers are lost. What this worker has not completed is
    /// claimed by others when the leases end.
    fn fail(&self, error: &CallError) {
        if !self.is_failed.replace(true) {
            self.stop();
            self.shutdown.stop(StopReason::Frontier(io::Error::other(error.to_string())));
            // There is nothing to wait for.
            self.shutdown.stop(StopReason::MaxTime);
        }
    }

    fn stop(&self) {
        self.is_stopped.set(true);
        self.has_changed.set();
    }

    fn interval(&self) -> Vec<u8> {
        let local = self.local.borrow();
        let options = local.options();
        let of_rate = options.settings.rate_limit.map(|rate| Duration::from_secs(1) / rate.max(1));
        micros(options.settings.delay.max(of_rate.unwrap_or_default()))
    }

    // ANCHOR: claim_jobs
    /// Claims jobs for the workers that wait, as many as there are, from one partition
    /// after another. When there is none, waits until the next host may get a request, but not
    /// for long: another worker may put new jobs in.
    async fn claim_jobs(self: Rc<Self>) {
        let (mut idle, mut first) = (MIN_IDLE, 0);
        while !self.is_stopped.get() {
            self.waiting.borrow_mut().retain(|waiter| !waiter.done());
            let wanted = self.waiting.borrow().len();
            if wanted == 0 {
                self.has_changed.wait(&self.event_loop).await;
                continue;
            }
            let (mut claimed, mut pause) = (0, idle);
            for n in 0..self.store.partitions {
                let partition = (first + n) % self.store.partitions;
                if claimed == wanted || self.is_stopped.get() {
                    break;
                }
                let Ok((claims, wait)) = self.claim(partition, wanted - claimed).await else {
                    return;
                };
                claimed += claims;
                pause = pause.min(wait.unwrap_or(pause));
            }
            first = (first + 1) % self.store.partitions;
            idle = if claimed > 0 { MIN_IDLE } else { (idle * 2).min(MAX_IDLE) };
            if claimed == 0 {
                let changed = self.has_changed.wait(&self.event_loop);
                select((sleep(&self.event_loop, pause), changed)).await;
            }
        }
    }
    // ANCHOR_END: claim_jobs

    /// Claims jobs of one partition, and hands them to the workers that wait. Returns
    /// their number, and the time until the next host may get a request.
    async fn claim(
        self: &Rc<Self>,
        partition: usize,
        wanted: usize,
    ) -> Result<(usize, Option<Duration>), CallError> {
        self.calls.update(|calls| calls + 1);
        let name = format!("{}.{}", self.worker, self.calls.get());
        let robots = self.local.borrow().options().settings.robots;
        let arguments = [
            name.into_bytes(),
            wanted.min(MAX_CLAIMS).to_string().into_bytes(),
            micros(self.lease),
            self.interval(),
            vec![if robots { b'1' } else { b'0' }],
        ];
        let reply = self.script(&CLAIM, partition, &arguments).await?;
        let mut reply = elements_of(reply).into_iter();
        let claims = reply.next().map(elements_of).unwrap_or_default();
        let wait = reply.next().as_ref().map_or(-1, number_of);
        let mut claimed = 0;
        for claim in claims {
            let Some(lease) = text_of(&claim) else { continue };
            let Some(job) = job_text::read(&lease) else {
                let message = format!("no job of this version: {lease}");
                self.fail(&CallError::Refused(message));
                continue;
            };
            self.hand_over(lease.into(), partition, job);
            claimed += 1;
        }
        Ok((claimed, u64::try_from(wait).ok().map(Duration::from_micros)))
    }

    /// Hands a claim to a worker that waits. If there is none any more, it is dropped,
    /// and so released.
    fn hand_over(self: &Rc<Self>, lease: Rc<str>, partition: usize, claimed: ClaimedJob) {
        self.leases.borrow_mut().insert(Rc::clone(&lease), partition);
        let peak = self.leases.borrow().len() as u64;
        let mut counts = self.counts.borrow_mut();
        counts.peak = counts.peak.max(peak);
        drop(counts);
        let plan = Rc::clone(self);
        let claim = RedisClaim { claimed, lease, partition, plan, is_refused: false };
        self.step(Step::Claimed);
        let waiter = self.waiting.borrow_mut().pop_front();
        if let Some(waiter) = waiter {
            let _ = waiter.set_result(claim);
        }
    }

    /// Pause between two renewals of a lease: a second, or a third of the length of a lease if
    /// that is shorter.
    fn period(&self) -> Duration {
        (self.lease / 3).min(Duration::from_secs(1))
    }

    /// Keeps the progress. Ends the worker if its crawl is there no longer.
    async fn watch_crawl(self: Rc<Self>) {
        loop {
            if let Err(error) = self.store.check().await {
                return self.fail(&error);
            }
            match self.store.counters().await {
                Ok(counters) => drop(self.progress.replace(progress(&counters))),
                Err(error) => return self.fail(&error),
            }
            sleep(&self.event_loop, self.period()).await;
        }
    }

    /// Renews the leases of one partition again and again, whatever becomes of the others:
    /// their nodes may be away.
    async fn renew_leases(self: Rc<Self>, partition: usize) {
        while !self.is_failed.get() && self.renew(partition).await.is_ok() {
            sleep(&self.event_loop, self.period()).await;
        }
    }

    /// Renews the leases of one partition.
    async fn renew(&self, partition: usize) -> Result<(), CallError> {
        let description = format!("process {}", std::process::id());
        let mut arguments =
            vec![micros(self.lease), self.worker.clone().into(), description.into()];
        let is_there = |(_, at): &(_, &usize)| **at == partition;
        let lease = |(lease, _): (&Rc<str>, _)| lease.as_bytes().to_vec();
        arguments.extend(self.leases.borrow().iter().filter(is_there).map(lease));
        let lost = self.script(&RENEW, partition, &arguments).await?;
        for lease in elements_of(lost).iter().flat_map(text_of) {
            // Its result is refused, if it was not completed meanwhile.
            self.leases.borrow_mut().remove(&*lease);
        }
        Ok(())
    }

    /// Moves old records of the journal to a file, again and again.
    async fn move_journal(self: Rc<Self>, mut file: JournalFile, age: Duration) {
        loop {
            sleep(&self.event_loop, age / 4).await;
            let moving = self.store.move_journal(&self.local, &self.worker, age, &mut file);
            if let Err(error) = moving.await {
                return self
                    .fail(&CallError::Lost(format!("the journal cannot be moved: {error}")));
            }
        }
    }

    /// Gives leases back whose claims were dropped.
    async fn release_leases(self: Rc<Self>) {
        while self.flush_released().await.is_ok() {
            self.has_released.wait(&self.event_loop).await;
        }
    }

    async fn flush_released(&self) -> Result<(), CallError> {
        let mut leases: HashMap<usize, Vec<Vec<u8>>> = HashMap::new();
        for (partition, lease) in self.released.take() {
            leases.entry(partition).or_default().push(lease.as_bytes().to_vec());
        }
        // All at a time: they are on their way when this is cancelled.
        let calls = leases.iter().map(|(at, leases)| self.script(&RELEASE, *at, leases));
        for released in at_once(calls).await {
            released?;
            self.has_changed.set();
        }
        Ok(())
    }

    /// Ends a claim: its lease is not given back any more.
    fn end(&self, claim: &RedisClaim) {
        self.leases.borrow_mut().remove(&claim.lease);
    }

    /// Returns true if the last attempt on the origin of a job has failed.
    fn has_failed(&self, job: &Job) -> bool {
        self.breakers.borrow().contains_key(&rules_key(job.address()))
    }

    /// Returns the rules of the origin of a job; `None` if they are not known any more.
    /// After a failed attempt they are read from Redis, since another worker may have given the
    /// origin up.
    async fn rules_of(&self, job: &Job, partition: usize) -> Result<Option<Rc<Rules>>, CallError> {
        let address = job.address();
        let key = rules_key(address);
        let now = self.event_loop.now();
        if let Some(rules) = self.rules.borrow().get(&key, now)
            && (matches!(**rules, Rules::NoServer(_)) || !self.has_failed(job))
        {
            return Ok(Some(Rc::clone(rules)));
        }
        let suffix = format!(":rules{key}");
        let reply = self.store.cluster.command(partition, &suffix, &[b"GET"]).await;
        let reply = reply.inspect_err(|error| self.fail(error))?;
        let Some(text) = text_of(&reply) else { return Ok(None) };
        let Ok(rules) = serde_json::from_str::<Rules>(&text).map(Rc::new) else {
            return Ok(None);
        };
        self.rules.borrow_mut().keep(key, Rc::clone(&rules), text.len(), now);
        Ok(Some(rules))
    }

    /// Returns the reason why a claimed job gets no request, if there is one.
    async fn refusal(&self, claim: &RedisClaim) -> Result<Option<FetchError>, Released> {
        let ClaimedJob { job, mark, is_poison, .. } = &claim.claimed;
        if *is_poison {
            let message = "every worker that fetched this URL was lost";
            return Ok(Some(FetchError::new(ErrorClass::Panic, message)));
        }
        if let Some(mark) = mark {
            let local = self.local.borrow();
            let error = if *mark == HOST_IS_FULL {
                let error = local.host_is_full();
                // There is one such job for each host.
                if let Some(error) = &error {
                    self.warn(format!(
                        "{}: {}; links to other new URLs are not followed",
                        job.address().authority(),
                        error.message
                    ));
                }
                error
            } else {
                local.refusal(job, mark.checked_sub(HOST_IS_FULL + 1))
            };
            // No worker requests a job that is refused, so its robots.txt was not fetched.
            let reason = "another worker found that it is a crawler trap";
            return Ok(error.or_else(|| Some(FetchError::new(ErrorClass::Trap, reason))));
        }
        let robots = self.local.borrow().options().settings.robots;
        // Without robots.txt, only an origin that is given up has rules.
        if !robots && !self.has_failed(job) {
            return Ok(None);
        }
        match self.rules_of(job, claim.partition).await {
            Ok(Some(rules)) => Ok(match Url::parse(&job.url) {
                Ok(url) => rules.refusal(&url),
                // Cannot happen: only valid URLs are admitted.
                Err(error) => Some(FetchError::new(ErrorClass::Protocol, error.to_string())),
            }),
            Ok(None) if !robots => Ok(None),
            // They have expired: the job is given back, and the file fetched again.
            Ok(None) | Err(_) => Err(Released),
        }
    }

    /// Counts a visit that begins. Returns false if the limit on pages is reached, or this
    /// worker is stopped.
    fn count_visit(&self) -> bool {
        let mut counts = self.counts.borrow_mut();
        let max_pages = self.local.borrow().options().max_pages;
        let may_begin = !self.is_stopped.get() && max_pages.is_none_or(|max| counts.visits < max);
        counts.visits += u64::from(may_begin);
        may_begin
    }

    /// Sets the rules of an origin for all workers: those in its robots.txt, or that it
    /// does not answer.
    async fn set_rules(&self, lease: &str, host: &str, is_secure: bool, rules: Rules) {
        let delay = rules.crawl_delay().unwrap_or_default().min(MAX_DELAY);
        let Ok(text) = serde_json::to_vec(&rules) else { return };
        let (key, length) = (format!("{}{host}", u8::from(is_secure)), text.len());
        let arguments = [
            lease.as_bytes().to_vec(),
            vec![b'0' + u8::from(is_secure)],
            host.as_bytes().to_vec(),
            micros(delay),
            text,
            RULES_TIME.to_vec(),
        ];
        let is_set = self.script(&RULES, self.store.partition(host), &arguments).await;
        if is_set.is_ok_and(|reply| number_of(&reply) > 0) {
            let now = self.event_loop.now();
            self.rules.borrow_mut().keep(key, Rc::new(rules), length, now);
        }
        self.has_changed.set();
    }

    /// Puts jobs into another partition, in a task.
    fn spawn_put(
        &self,
        claim: &RedisClaim,
        (partition, arguments): (usize, Vec<Vec<u8>>),
    ) -> Task<CallResult> {
        let plan = Rc::clone(&claim.plan);
        let put = async move { plan.script(&PUT, partition, &arguments).await };
        Task::spawn(&self.event_loop, put)
    }

    // ANCHOR: complete
    /// Completes a job: puts its new URLs in, those of other partitions first, and then
    /// has its own partition do the rest in one step, with at most a thousand URLs of its own.
    async fn complete(&self, claim: &RedisClaim, finished: Finished) -> Result<(), CallError> {
        let answered = finished.row.status.is_some() && !finished.is_busy() && !claim.is_refused;
        let fails = |deferral: Deferral| matches!(deferral.reason, DeferReason::ServerError(_));
        let is_in_vain =
            claim.claimed.server_error.is_some() && finished.deferral.is_some_and(fails);
        let job = &claim.claimed.job;
        let completion = self.local.borrow_mut().settle(job, finished);
        let LocalCompletion { mut row, candidates, out_links, ids, content, .. } = completion;
        let LocalCompletion { sets_cookie, lacks, .. } = completion;
        row.referrer.clone_from(&claim.claimed.referrer);
        row.tries += claim.claimed.earlier_tries;
        let (batch, hashes) = self.store.unknown(candidates, &job.url, &self.local.borrow());
        let mut calls = batch.calls();
        let own = calls.iter().rposition(|(partition, _)| *partition == claim.partition);
        let own = own.map(|own| calls.swap_remove(own).1).unwrap_or_default();
        // All at a time: they take one wait, and not one for each partition.
        let puts: Vec<_> = calls.into_iter().map(|call| self.spawn_put(claim, call)).collect();
        let mut new = 0;
        for put in puts {
            new += number_of(&put.await.map_err(|e| CallError::Lost(e.to_string()))??);
        }
        self.step(Step::ChildrenPut);
        let is_broken = row.is_broken();
        let entry = JournalEntry {
            row: std::borrow::Cow::Borrowed(&row),
            purpose: job.purpose,
            redirects_left: job.redirects_left,
            out_links: out_links.into(),
            ids: ids.into(),
            // Equal pages are counted by each worker for itself.
            content: None,
            sets_cookie,
            lacks: std::borrow::Cow::Borrowed(&lacks),
        };
        let record = Record::of(&entry).map_err(|e| CallError::Refused(e.to_string()))?;
        let flag = |flag: bool| vec![b'0' + u8::from(flag)];
        let mut arguments = vec![
            claim.lease.as_bytes().to_vec(),
            flag(!claim.is_refused),
            flag(answered),
            flag(is_broken),
            flag(is_in_vain),
            new.to_string().into_bytes(),
            record.before_new_urls.into_bytes(),
            record.after_new_urls.into_bytes(),
        ];
        arguments.extend(own);
        self.step(Step::Completing);
        let reply = self.script(&COMPLETE, claim.partition, &arguments).await?;
        self.end(claim);
        let mut counts = self.counts.borrow_mut();
        let Ok(new) = u32::try_from(number_of(&reply)) else {
            counts.late += 1;
            return Ok(());
        };
        self.store.remember(hashes);
        // Of a page, or another file that names others.
        if row.outcome != Outcome::Redirect {
            row.num_new_urls = new;
            self.local.borrow_mut().end_page(job, content, new);
        }
        counts.rows += 1;
        lacks.into_iter().for_each(|lack| counts.warnings.add_lack(lack));
        drop(counts);
        self.sink.write(row);
        if self.sink.has_panicked() {
            self.stop();
        }
        self.has_changed.set();
        Ok(())
    }
    // ANCHOR_END: complete

    fn warn(&self, warning: String) {
        self.counts.borrow_mut().warnings.add(warning);
    }

    // ANCHOR: is_ended
    /// Returns true if all jobs of the crawl are done, on whatever worker; or if this
    /// worker is stopped, and has none.
    async fn is_ended(&self) -> io::Result<bool> {
        if self.has_leases() {
            return Ok(false);
        }
        if self.is_stopped.get() {
            // After a failure the shutdown handle ends the wait.
            return if self.is_failed.get() { pending().await } else { Ok(true) };
        }
        let counters = self.store.counters().await?;
        let is_settled = counters.done + counters.left == counters.put;
        let is_ended = is_settled && self.store.mend(&self.local, counters.put).await?;
        if is_ended {
            self.progress.replace(progress(&counters));
            self.given_up_hosts.replace(self.store.given_up_hosts().await?);
        }
        Ok(is_ended)
    }
    // ANCHOR_END: is_ended
}

/// A job that is given back.
struct Released;

impl Frontier for RedisFrontier {
    type Claim = RedisClaim;

    async fn next(&self) -> RedisClaim {
        let plan = &self.0;
        loop {
            let waiter = Future::new(&plan.event_loop);
            plan.waiting.borrow_mut().push_back(waiter.clone());
            plan.has_changed.set();
            let Ok(mut claim) = waiter.await else { return pending().await };
            if plan.is_stopped.get() {
                // Its job is given back.
                continue;
            }
            if claim.is_for_rules() {
                return claim;
            }
            if let (Some(status), true) = (claim.claimed.server_error, claim.claimed.is_settled) {
                claim.is_refused = true;
                let finished = Box::new(Finished::with_server_error(claim.as_ref(), status));
                self.complete(claim, JobResult::Url(finished)).await;
                continue;
            }
            match plan.refusal(&claim).await {
                Ok(Some(error)) => {
                    claim.is_refused = true;
                    let finished = Box::new(Finished::with_error(&claim, error));
                    self.complete(claim, JobResult::Url(finished)).await;
                }
                Ok(None) => {
                    if plan.count_visit() {
                        return claim;
                    }
                    drop(claim);
                    plan.stop();
                }
                Err(Released) => drop(claim),
            }
        }
    }

    async fn complete(&self, claim: RedisClaim, result: JobResult) {
        match result {
            JobResult::Url(finished) => {
                // After an error the crawl is stopped: the job is claimed again when its
                // lease has ended.
                let _ = self.0.complete(&claim, *finished).await;
            }
            JobResult::Rules(rules) => {
                let is_secure = claim.claimed.rules_of == Some(true);
                self.0.set_rules(&claim.lease, &claim.claimed.host, is_secure, *rules).await;
            }
        }
        self.0.end(&claim);
    }

    async fn defer(&self, claim: RedisClaim, deferral: Deferral) {
        let retry = deferral.retry_after.map_or(b"-1".to_vec(), micros);
        let max_wait = self.0.local.borrow().options().settings.max_wait;
        let (is_throttled, status) = match deferral.reason {
            DeferReason::Throttled => {
                let statuses = self.0.throttled_statuses.borrow();
                (b"1", statuses.get(&claim.claimed.host).copied().unwrap_or(429))
            }
            DeferReason::ServerError(status) => (b"0", status),
            DeferReason::NoDns => (b"2", 0),
        };
        let arguments = [
            claim.lease.as_bytes().to_vec(),
            retry,
            micros(max_wait),
            status.to_string().into_bytes(),
            is_throttled.to_vec(),
            deferral.tries.to_string().into_bytes(),
        ];
        self.0.counts.borrow_mut().visits -= u64::from(!claim.is_for_rules());
        let _ = self.0.script(&DEFER, claim.partition, &arguments).await;
        self.0.end(&claim);
        self.0.has_changed.set();
    }

    // ANCHOR: join
    async fn join(&self) {
        let mut pause = MIN_IDLE;
        loop {
            match self.0.is_ended().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => {
                    self.0.fail(&CallError::Lost(error.to_string()));
                    return pending().await;
                }
            }
            sleep(&self.0.event_loop, pause).await;
            pause = (pause * 2).min(MAX_IDLE);
        }
    }
    // ANCHOR_END: join

    fn stop(&self) {
        self.0.stop();
    }
}

impl Gate for RedisFrontier {
    /// There are none: only a reader of sitemaps needs them, and sitemaps are not read.
    async fn rules(&self, _site: &Url) -> Option<Rc<Rules>> {
        None
    }

    async fn wait_turn(&self, address: Address<'_>) -> FetchResult {
        let host = address.authority();
        let mut arguments = [host.as_bytes().to_vec(), self.0.interval(), b"0".to_vec()];
        loop {
            let now = self.0.event_loop.now();
            if let Some(rules) = self.0.rules.borrow().get(&rules_key(address), now)
                && let Rules::NoServer(error) = &**rules
            {
                return Err(error.clone());
            }
            let partition = self.0.store.partition(host);
            let Ok(wait) = self.0.script(&PACE, partition, &arguments).await else {
                return pending().await;
            };
            match u64::try_from(number_of(&wait)) {
                Ok(0) | Err(_) => return Ok(()),
                Ok(wait) => sleep(&self.0.event_loop, Duration::from_micros(wait)).await,
            }
            // The time that was reserved has come.
            arguments[2] = b"1".to_vec();
        }
    }

    fn record_attempt(&self, visit: &Visit, error: Option<&FetchError>) -> Health {
        let host = visit.url().authority();
        if let Some(status) = visit.status()
            && visit.is_busy()
        {
            self.0.throttled_statuses.borrow_mut().insert(host.to_owned(), status);
        }
        let key = rules_key(visit.url());
        let mut breakers = self.0.breakers.borrow_mut();
        let Some(error) = error else {
            breakers.remove(&key);
            return Health::Alive;
        };
        if visit.has_request() && visit.has_response() {
            breakers.remove(&key);
            return Health::Alive;
        }
        let now = self.0.event_loop.now();
        let health = breakers.entry(key).or_default().record_failure(visit, now);
        if health == Health::GivenUp {
            let (host, is_secure) = (host.to_owned(), visit.url().is_secure());
            let rules = Rules::of_dead_host(&host, error);
            let plan = Rc::clone(&self.0);
            let set = async move { plan.set_rules("", &host, is_secure, rules).await };
            self.0.event_loop.spawn_detached(set);
        }
        health
    }

    /// Returns false: only a reader of sitemaps needs to know, and sitemaps are not read.
    fn is_given_up(&self, _address: Address<'_>) -> bool {
        false
    }
}

impl Seeds for RedisFrontier {
    async fn seed(&self, url: &Url) {
        let Ok(address) = Address::of(url) else { return };
        let candidate = self.0.local.borrow_mut().candidate(address, Via::Sitemap);
        let Some(candidate) = candidate else { return };
        let mut batch = Batch::default();
        self.0.store.add(&mut batch, &[candidate], None, &self.0.local.borrow());
        let put = self.0.store.put(batch).await;
        let _ = put.inspect_err(|error| self.0.fail(error));
    }

    async fn stopped(&self) {
        while !self.0.is_stopped.get() {
            sleep(&self.0.event_loop, MAX_IDLE).await;
        }
    }
}

impl Reporting for RedisFrontier {
    fn warn(&self, warning: String) {
        self.0.warn(warning);
    }

    fn progress(&self) -> CrawlProgress {
        self.0.progress.borrow().clone()
    }

    /// There are none: the waits of hosts are in Redis, see [`status`](crate::status).
    fn waits(&self) -> Vec<HostWait> {
        Vec::new()
    }

    /// Ends the crawl of this worker, whose rows and counts are in the summary.
    fn end(&self) -> CrawlSummary {
        self.0.stop();
        self.0.sink.resume_panic();
        let mut local = self.0.local.borrow_mut();
        let (warnings, problem) = (local.warnings(), local.problem());
        let unchecked = local.take_unchecked();
        drop(local);
        let mut counts = self.0.counts.borrow_mut();
        let progress = self.0.progress.borrow();
        let busy_hosts = self.0.given_up_hosts.take();
        let left = busy_hosts.iter().map(|busy_host| busy_host.todo).sum::<u64>();
        CrawlSummary {
            done: counts.rows,
            missing_fragments: 0,
            problem,
            todo: progress.queued + progress.in_flight + left,
            too_deep: 0,
            unchecked,
            // Fragments are checked by the report, like the missing ones.
            unchecked_fragments: 0,
            warnings: counts.warnings.take(warnings),
            peak_in_flight: counts.peak,
            max_tasks: None,
            admission: Admission::default(),
            busy_hosts,
            stopped: None,
        }
    }
}

/// Returns the progress that these counters show.
fn progress(counters: &Counters) -> CrawlProgress {
    let Counters { put, done, left, bad, leases, .. } = *counters;
    CrawlProgress {
        done,
        queued: put.saturating_sub(done + left + leases),
        in_flight: leases,
        broken: bad,
        waits_for: None,
    }
}

/// Returns the part of a key that stands for an origin.
fn rules_key(address: Address<'_>) -> String {
    format!("{}{}", u8::from(address.is_secure()), address.authority())
}

fn micros(duration: Duration) -> Vec<u8> {
    duration.as_micros().to_string().into_bytes()
}
