//! The local half of the admission, for a frontier that many processes share.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Instant;

use url::Url;

use super::{Admission, Decision, Job, LinkCandidate, TrapCount, Via, ceilings};
use crate::crawl::{MAX_PAGE_MEMORY, lacks_of_page};
use crate::finished::{Discovery, Finished};
use crate::network::Network;
use crate::visit::FetchPolicy;
use crate::{
    ErrorClass, FetchError, JournalEntry, Options, OutLink, Outcome, Purpose, Row, Unchecked,
    UncheckedReason, Visit,
};
use web::links::Link;
use web::{Address, BaseUrl};

/// The decisions of a crawl that need no knowledge of its other URLs: scope,
/// filters, the redirects that are left, and traps that show in one URL alone.
///
/// It is the half of [`Crawl`](crate::Crawl) that each process of a crawl on many
/// machines has for itself. The other half, the table of all URLs, is in the
/// frontier that they share: it decides which candidates are new.
#[derive(Debug)]
pub struct LocalAdmission {
    admission: Admission,
    policy: Arc<FetchPolicy>,
    options: Options,
    /// The hashes of URLs that this process has found to be fine. Links to them need no
    /// link context.
    fine: HashSet<u64>,
    hasher: RandomState,
    network: Network,
}

/// The maximum number of URLs that are remembered as fine.
const MAX_FINE: usize = 1 << 20;

/// A URL that belongs to the crawl, if it is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its job.
    pub job: Job,
    /// Why it is refused if it is new: it is a trap.
    pub refusal: Option<FetchError>,
}

/// The local result of a job, see [`LocalAdmission::settle`].
#[derive(Debug)]
pub struct LocalCompletion {
    /// The row of the URL, without its referrer and the number of new URLs.
    pub row: Row,
    /// The different URLs that it leads to, in their order.
    pub candidates: Vec<Candidate>,
    /// All links of the page that a journal needs.
    pub out_links: Vec<OutLink>,
    /// The ids that fragments can name in the page, if fragments are checked.
    pub ids: Vec<String>,
    /// True if the response has set a cookie.
    pub sets_cookie: bool,
    /// The warnings that say what is missing of the page.
    pub lacks: Vec<String>,
    /// The hash of what a reader sees of the page, for [`LocalAdmission::end_page`].
    pub content: Option<u64>,
}

/// The candidates of one URL.
#[derive(Default)]
struct Findings {
    candidates: Vec<Candidate>,
    out_links: Vec<OutLink>,
    seen: HashSet<Arc<str>>,
    num_urls: u32,
    /// The approximate memory of all this, in bytes.
    memory: usize,
    left_out: u64,
}

impl Findings {
    /// Returns true if a further link fits into memory, and counts it otherwise.
    fn has_room(&mut self) -> bool {
        let has_room = self.memory <= MAX_PAGE_MEMORY;
        self.left_out += u64::from(!has_room);
        has_room
    }

    fn keep(&mut self, out_link: OutLink) {
        self.memory += out_link.memory();
        self.out_links.push(out_link);
    }
}

impl LocalAdmission {
    /// Creates the admission for the site that these options describe.
    pub fn new(options: Options) -> Self {
        let options = options.with_cookie_jar();
        let policy = Arc::new(FetchPolicy::new(&options));
        let admission = Admission::new(&options);
        Self {
            admission,
            policy,
            options,
            fine: HashSet::new(),
            hasher: RandomState::new(),
            network: Network::default(),
        }
    }

    /// Returns the options of the crawl.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the candidates with which the crawl begins.
    pub fn roots(&mut self) -> Vec<Candidate> {
        let roots = Arc::clone(&self.options.settings.roots);
        let addresses = roots.iter().flat_map(Address::of);
        addresses.filter_map(|address| self.candidate(address, Via::Root)).collect()
    }

    /// Creates the visit of a job.
    pub fn visit(&self, job: Job, now: Instant) -> Visit {
        Visit::new(job, &self.policy, now)
    }

    /// Returns the error of a job that is refused: with `count`, because that one of
    /// its [counts](Self::trap_counts) exceeds its limit, otherwise for its URL alone.
    pub fn refusal(&self, job: &Job, count: Option<usize>) -> Option<FetchError> {
        match count {
            Some(count) => self.trap_counts(job).nth(count).map(|count| count.error()),
            None => self.admission.checks.traps.check_alone(job.address(), job.purpose).err(),
        }
    }

    /// Returns the error of a job whose host has as many pages as it may; `None` if
    /// there is no such limit.
    pub fn host_is_full(&self) -> Option<FetchError> {
        let reason = self.options.settings.max_pages_per_host.map(ceilings::too_many_pages);
        reason.map(|reason| FetchError::new(ErrorClass::Trap, reason))
    }

    /// Returns the counts to which the URL of a job adds if it is new.
    pub fn trap_counts<'a>(&self, job: &'a Job) -> impl Iterator<Item = TrapCount<'a>> + use<'a> {
        self.admission.checks.traps.counts_of(job.address(), job.depth, job.purpose)
    }

    /// Settles the result of a job as far as this process alone can.
    pub fn settle(&mut self, job: &Job, finished: Finished) -> LocalCompletion {
        let Finished { mut row, discovery, warning, sets_cookie, .. } = finished;
        self.network.record(&mut row);
        let (mut findings, mut ids, mut content) = (Findings::default(), Vec::new(), None);
        if let Discovery::Page(page, _) = &discovery {
            content = page.content;
            findings.left_out = u64::from(page.found.left_out());
            if self.options.settings.check.fragments {
                ids = page.found.ids().map(str::to_owned).collect();
            }
        }
        self.admission.begin_page(job, content);
        let counts = discovery.candidates(|found, link| {
            let address = match (found, link) {
                (Ok(address), _) => address,
                // Its row is made from the journal.
                (Err(Some(no_url)), Some(link)) => {
                    if findings.has_room() {
                        findings.keep(OutLink::of_no_url(&no_url, link));
                    }
                    return;
                }
                (Err(None), Some(link)) => {
                    if findings.has_room() && self.admission.leave_out_scheme(link.href) {
                        findings.keep(OutLink::of_other_scheme(link));
                    }
                    return;
                }
                (Err(_), None) => return,
            };
            let via = match (&discovery, link) {
                (Discovery::Redirect(_), _) => Via::Redirect(job),
                (_, Some(link)) => Via::Element(job, link),
                (_, None) => Via::Link(job),
            };
            self.admit(address, via, &mut findings);
        });
        let Findings { candidates, out_links, num_urls, left_out, .. } = findings;
        let mut lacks: Vec<String> = warning.into_iter().collect();
        if let Discovery::Page(page, _) = &discovery {
            row.num_urls = num_urls;
            lacks.extend(counts.warnings(&job.url));
            lacks.extend(lacks_of_page(job, page, left_out, &self.options));
        }
        let is_fine = !row.is_broken() && row.outcome != Outcome::Redirect;
        if is_fine && self.fine.len() < MAX_FINE {
            self.fine.insert(self.hasher.hash_one(&*job.url));
        }
        row.is_accepted = row.status.is_some_and(|status| self.options.accepts(&row.url, status));
        if row.is_accepted {
            row.verdict = None;
        }
        LocalCompletion { row, candidates, out_links, ids, sets_cookie, lacks, content }
    }

    /// Ends a page with this [content](LocalCompletion::content) that has led to so many
    /// new URLs.
    pub fn end_page(&mut self, job: &Job, content: Option<u64>, num_new_urls: u32) {
        if self.admission.end_page(job, content, num_new_urls) {
            self.policy = Arc::new(self.policy.hashing_content(&self.options));
        }
    }

    /// Returns a sentence for each host that makes up pages of equal content.
    pub fn warnings(&self) -> Vec<String> {
        self.admission.warnings().collect()
    }

    /// Takes the URLs that this process has found, and that no process checks.
    pub fn take_unchecked(&mut self) -> Unchecked {
        self.admission.take_unchecked()
    }

    /// Returns the reason why links were not checked, if this machine has no network.
    pub fn problem(&self) -> Option<String> {
        self.network.problem()
    }

    /// Returns the candidates to which a finished URL has led.
    pub fn candidates_of(&mut self, entry: &JournalEntry<'_>) -> Vec<Candidate> {
        let mut findings = Findings::default();
        // The URL of a row always parses.
        let Ok(url) = Url::parse(&entry.row.url) else { return Vec::new() };
        let row = &entry.row;
        let job = Job::of_candidate(&row.url, entry.redirects_left, row.depth, entry.purpose);
        let mut base_url = BaseUrl::new(&url, web::encoding::UTF_8);
        self.admission.begin_page(&job, None);
        for out_link in &*entry.out_links {
            if row.outcome == Outcome::Redirect {
                if let Ok(address) = base_url.join(&out_link.to) {
                    self.admit(address, Via::Redirect(&job), &mut findings);
                }
            } else if let Ok(address) = out_link.resolve(&mut base_url, &url) {
                self.admit(address, Via::Element(&job, out_link.link()), &mut findings);
            }
        }
        findings.candidates
    }

    /// Passes one URL through the local checks and records the result.
    fn admit(&mut self, address: Address<'_>, via: Via<'_>, findings: &mut Findings) {
        if !findings.has_room() {
            return;
        }
        let candidate = match self.decide(address, via) {
            Ok(candidate) => candidate,
            Err(reason) => {
                let is_new = self.admission.leave_out(address, reason) == Decision::Unchecked;
                if let (true, Via::Element(from, link)) = (is_new, via) {
                    let link = Link { position: None, ..link };
                    findings.keep(OutLink::new(&from.url, address, Some(link)));
                }
                return;
            }
        };
        let is_external = candidate.job.purpose == Purpose::External;
        // This process does not know which URLs are new: of a page with too many copies,
        // no link is followed.
        if !is_external && self.admission.checks.ceilings.check(address).is_err() {
            return;
        }
        let is_repeated = !findings.seen.insert(Arc::clone(&candidate.job.url));
        let has_fragment = self.options.settings.check.fragments && address.fragment().is_some();
        // A repeated link may have another fragment.
        if !is_repeated || has_fragment {
            let (from, link) = match via {
                Via::Element(from, link) => (from, Some(link)),
                Via::Link(from) | Via::Redirect(from) => (from, None),
                Via::Root | Via::Sitemap => return,
            };
            let is_fine = self.fine.contains(&self.hasher.hash_one(&*candidate.job.url));
            let needs_context = self.options.link_contexts && (has_fragment || !is_fine);
            let position = |link: &Link<'_>| if needs_context { link.position } else { None };
            let link = link.map(|link| Link { position: position(&link), ..link });
            findings.keep(OutLink::new(&from.url, address, link));
        }
        if !is_repeated {
            findings.memory += 2 * (size_of::<Candidate>() + candidate.job.url.len());
            findings.num_urls += u32::from(!is_external);
            findings.candidates.push(candidate);
        }
    }

    /// Returns the candidate for a URL; `None` if it is outside the scope, or a filter
    /// excludes it, or its chain of redirects is too long.
    pub fn candidate(&mut self, address: Address<'_>, via: Via<'_>) -> Option<Candidate> {
        self.decide(address, via).ok()
    }

    /// Returns the candidate for a URL.
    ///
    /// # Errors
    /// When there is none, with the reason that the user is to know of.
    fn decide(
        &mut self,
        address: Address<'_>,
        via: Via<'_>,
    ) -> Result<Candidate, Option<UncheckedReason>> {
        let admission = &mut self.admission;
        let purpose = admission.purpose(address, via)?;
        let (redirects_left, depth) = admission.redirects_and_depth(via).ok_or(None)?;
        let candidate = LinkCandidate { purpose, redirects_left, depth, via };
        let is_external = candidate.is_external();
        let address = if is_external { address } else { admission.strip_query.strip(address) };
        if !admission.checks.is_wanted(address, candidate) {
            return Err(Some(UncheckedReason::Excluded));
        }
        let refusal = admission.checks.traps.check_alone(address, purpose).err();
        let url = admission.checks.traps.shorten(address.as_str(), purpose);
        Ok(Candidate { job: Job::of_candidate(url, redirects_left, depth, purpose), refusal })
    }
}
