//! The frontier: the plan of a crawl, and the seams between the plan and those who use it.
//!
//! A worker needs five verbs, in [`Frontier`]. A fetch has to be polite to its host, and
//! passes the [`Gate`]. A reader of sitemaps adds [`Seeds`]. Whoever watches the crawl
//! needs a [`Reporting`].

pub(crate) mod local;

use std::rc::Rc;

use crawl_core::{
    CrawlProgress, CrawlSummary, Deferral, FetchError, FetchResult, Finished, HostWait, Job, Visit,
};
use stage2_coroutines::Coroutine;
use url::Url;
use web::Address;

use crate::health::Health;
use crate::rules::Rules;

// ANCHOR: frontier
/// The plan of a crawl: which URL is fetched next, and when there is none left.
///
/// A worker waits for the [next](Frontier::next) job and gets a claim on it. It ends
/// the claim with [`complete`](Frontier::complete) or [`defer`](Frontier::defer). A claim
/// that is dropped instead gives its job back, and the job is handed out again. The plan
/// may be in another process, so whatever changes it may have to wait.
pub trait Frontier: 'static {
    /// The claim of a worker on a job.
    type Claim: Claim;

    /// Waits for a job whose host may get a request now.
    fn next(&self) -> impl Coroutine<Output = Self::Claim>;

    /// Settles the result of a job. The row of a URL is written, and what is new among its
    /// links becomes jobs; the rules of a robots.txt let the jobs of its origin start.
    fn complete(&self, claim: Self::Claim, result: JobResult) -> impl Coroutine<Output = ()>;

    /// Puts a job off, behind the other jobs of its host: for at least as long as
    /// `Retry-After` says, up to the longest wait.
    fn defer(&self, claim: Self::Claim, deferral: Deferral) -> impl Coroutine<Output = ()>;

    /// Waits until all jobs are done. No seed may be added after this call.
    fn join(&self) -> impl Coroutine<Output = ()>;

    /// Stops handing out jobs. Those that wait are left to do.
    fn stop(&self);
}
// ANCHOR_END: frontier

// ANCHOR: claim
/// The claim of a worker on a job. Dropping it gives the job back.
pub trait Claim: AsRef<Job> {
    /// Creates the visit of the job's URL.
    fn visit(&self) -> Visit;

    /// Returns true if the job is for a robots.txt: the jobs of its origin wait for
    /// the rules in it.
    fn is_for_rules(&self) -> bool;

    /// Returns true if the job may be put off for this reason. Otherwise its result counts:
    /// it was put off often enough.
    fn may_defer(&self, deferral: &Deferral) -> bool;
}

/// The result of a job. Boxed, since results are large and each worker would have room for
/// one.
pub enum JobResult {
    /// The result of a URL.
    Url(Box<Finished>),
    /// The rules of an origin, from the job for its robots.txt.
    Rules(Box<Rules>),
}
// ANCHOR_END: claim

// ANCHOR: gate
/// The politeness of a crawl: what a fetch has to know of a host before it sends a request,
/// and reports after it.
pub trait Gate: 'static {
    /// Waits until the rules of an origin are known; `None` if they will not be.
    fn rules(&self, site: &Url) -> impl Coroutine<Output = Option<Rc<Rules>>>;

    /// Waits until a further request to the host of this URL may start: a second attempt,
    /// for example. The first request of a claim may start at once.
    ///
    /// # Errors
    /// When the host is given up.
    fn wait_turn(&self, address: Address<'_>) -> impl Coroutine<Output = FetchResult>;

    /// Records the result of one attempt: a response, or an error without one. A host that
    /// is given up must get no further attempt.
    fn record_attempt(&self, visit: &Visit, error: Option<&FetchError>) -> Health;

    /// Returns true if the host of this URL is given up because it throttled everything for
    /// too long.
    fn is_given_up(&self, address: Address<'_>) -> bool;
}
// ANCHOR_END: gate

// ANCHOR: report
/// What a reader of sitemaps needs of the plan.
pub trait Seeds: 'static {
    /// Adds a URL that a sitemap names.
    fn seed(&self, url: &Url) -> impl Coroutine<Output = ()>;

    /// Waits until no more seeds are wanted: the frontier is stopped.
    fn stopped(&self) -> impl Coroutine<Output = ()>;
}

/// What is reported of a crawl, while it runs and in the end.
pub trait Reporting: 'static {
    /// Keeps a warning for the summary.
    fn warn(&self, warning: String);

    /// Returns the counts that show how far the crawl is.
    fn progress(&self) -> CrawlProgress;

    /// Returns the hosts that the crawl waits for.
    fn waits(&self) -> Vec<HostWait>;

    /// Ends the crawl and returns its summary.
    ///
    /// # Panics
    /// When the sink has panicked.
    fn end(&self) -> CrawlSummary;
}
// ANCHOR_END: report
