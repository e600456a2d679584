//! The frontier: the plan of a crawl, and the seam between the plan and its
//! workers.

mod local;

use std::rc::Rc;
use std::time::{Duration, Instant};

use crawl_core::{
    CrawlProgress, CrawlSummary, FetchError, FetchResult, Finished, HostWait, Job, Visit,
};
use stage2_coroutines::Coroutine;
use url::Url;
use web::Address;

use crate::politeness::Deferrals;
use crate::{Reservation, Rules};

pub use self::local::{LocalClaim, LocalFrontier};

// ANCHOR: frontier
/// The plan of a crawl: which URL is fetched next, and when there is none left.
///
/// A worker asks for the [next](Frontier::next) job and gets a claim on it. It ends
/// the claim with [`complete`](Frontier::complete), [`defer`](Frontier::defer) or
/// [`set_rules`](Frontier::set_rules). A claim that is dropped instead is released:
/// its job is handed out again. The plan may be in another process, so whatever
/// changes it may have to wait.
pub trait Frontier: 'static {
    /// The claim of a worker on a job.
    type Claim: Claim;

    /// Waits for a job whose host may be asked now.
    fn next(&self) -> impl Coroutine<Output = Self::Claim>;

    /// Creates the visit of a claimed job.
    fn visit(&self, claim: &Self::Claim) -> Visit;

    /// Settles the result of a job: its row is written, and the new ones among its
    /// URLs become jobs. The result is boxed, since it is large and every worker
    /// would have room for one.
    fn complete(
        &self,
        claim: Self::Claim,
        local_result: Box<Finished>,
    ) -> impl Coroutine<Output = ()>;

    /// Defers a job whose server is busy, behind the other jobs of its host: for at
    /// least as long as `Retry-After` says, up to the longest wait.
    fn defer(
        &self,
        claim: Self::Claim,
        retry_after: Option<Duration>,
    ) -> impl Coroutine<Output = ()>;
    // ANCHOR_END: frontier

    // ANCHOR: frontier_rest
    /// Records the rules in a robots.txt, and ends the claim on its
    /// [job](Claim::is_for_rules).
    fn set_rules(&self, claim: Self::Claim, new: Rules) -> impl Coroutine<Output = ()>;

    /// Waits until the rules of an origin are known; `None` if they will not be.
    fn rules(&self, site: &Url) -> impl Coroutine<Output = Option<Rc<Rules>>>;

    /// Adds a URL that a sitemap names.
    fn seed(&self, url: &Url) -> impl Coroutine<Output = ()>;

    /// Waits until a further request to the host of this URL may start: the retry
    /// of a job, for example. The first request of a claim may start at once.
    ///
    /// # Errors
    /// When the host is given up.
    fn pace(&self, address: Address<'_>) -> impl Coroutine<Output = FetchResult>;

    /// Records the result of one attempt, a response or an error. Returns false if
    /// the host is given up because it does not answer: no further attempt is to be
    /// made.
    fn attempted(&self, visit: &Visit, error: Option<&FetchError>) -> bool;

    /// Returns true if the host of this URL is given up: it was busy all the time.
    fn is_given_up(&self, address: Address<'_>) -> bool;

    /// Waits until all jobs are done. After this call no seed comes.
    fn join(&self) -> impl Coroutine<Output = ()>;

    /// Stops handing out jobs. Those that wait are left to do.
    fn stop(&self);

    /// Waits until the frontier is stopped.
    fn stopped(&self) -> impl Coroutine<Output = ()>;

    /// Keeps a warning for the summary.
    fn warn(&self, warning: String);

    /// Returns the counts that show how far the crawl is.
    fn progress(&self) -> CrawlProgress;

    /// Returns the hosts that are waited for.
    fn waits(&self) -> Vec<HostWait>;

    /// Ends the crawl and returns its summary.
    fn end(&self) -> CrawlSummary;
    // ANCHOR_END: frontier_rest
}

// ANCHOR: claim
/// The claim of a worker on a job. Dropping it releases the job.
pub trait Claim: AsRef<Job> {
    /// Returns true if the job is for a robots.txt: the jobs of its origin wait for
    /// the rules in it.
    fn is_for_rules(&self) -> bool;

    /// Returns true if the result counts even if the server is busy: it was busy
    /// too often.
    fn is_last(&self) -> bool;
}
// ANCHOR_END: claim

/// A job that may start now: the item of the crawl's queue.
pub(crate) struct ReadyJob {
    pub(crate) job: Job,
    pub(crate) work: Work,
    /// The deferrals of the URL, if it was busy before.
    pub(crate) deferrals: Option<Box<Deferrals>>,
    pub(crate) host: HostId,
    pub(crate) started: Instant,
}

impl ReadyJob {
    /// Returns true if the result counts even if the server is busy.
    pub(crate) fn is_last(&self) -> bool {
        self.deferrals.as_ref().is_some_and(|deferrals| deferrals.is_last)
    }
}

/// The work of a worker on a job.
pub(crate) enum Work {
    Fetch,
    /// Fetch a robots.txt; the job is for that file.
    FetchRules,
    /// Complete the job with this error and without a request.
    Refuse(Box<FetchError>),
}

/// An index that stands for a host.
pub(crate) type HostId = u32;

/// A job that waits, with its reservation in the queue of the crawl.
pub(crate) type Waiting = (Job, Reservation<ReadyJob>);

/// A job that has started, with its reservation in the queue of the crawl.
pub(crate) type Started = (ReadyJob, Reservation<ReadyJob>);
