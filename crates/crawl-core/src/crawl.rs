//! The state of one crawl, which all its fetches share.

use std::iter::once;
use std::mem;
use std::sync::Arc;
use std::time::Instant;

use url::Url;

use crate::admission::{Circle, MissingFragment, Settled};
use crate::finished::{Discovery, Finished, NoUrl};
use crate::network::Network;
use crate::visit::FetchPolicy;
use crate::{
    Admission, CrawlSummary, Decision, ErrorClass, ExternalVerdict, FetchError, HostWait, Job,
    JournalEntry, Options, OutLink, Outcome, Purpose, Row, Unchecked, UncheckedReason, Via, Visit,
    Warnings,
};
use web::links::Link;
use web::page::Page;
use web::sitemap::NO_SITEMAP;
use web::{Address, BaseUrl};

/// The memory limit for what the links of one page add to a crawl, in bytes: 32 MiB.
/// It is enough for a hundred thousand links to new URLs. The other links of a page
/// are left out, which is a warning.
pub(crate) const MAX_PAGE_MEMORY: usize = 32 * 1024 * 1024;

/// The state of a crawl: the admission of URLs and the counts. The control flow
/// is in the stages.
#[derive(Debug)]
pub struct Crawl {
    options: Options,
    policy: Arc<FetchPolicy>,
    admission: Admission,
    keeps_out_links: bool,
    is_stopped: bool,
    /// The number of jobs that were begun, or that failed without a visit.
    begun: u64,
    /// The number of those that ended without a request, see [`Crawl::refuse`] and
    /// [`Crawl::settle_known`].
    unrequested: u64,
    todo: u64,
    finished: u64,
    skipped: u64,
    broken: u64,
    warnings: Warnings,
    missing_fragments: u64,
    /// The number of links that are not URLs.
    no_urls: u64,
    /// Why the crawl could not do what it should.
    problem: Option<String>,
    network: Network,
    /// The first root that names no other file, in a sentence.
    empty_root: Option<String>,
    /// True if a page was found, or a file that names others.
    has_page: bool,
    /// True if something was requested that is not a start URL.
    is_beyond_roots: bool,
    /// A URL that robots.txt forbids was found.
    is_disallowed: bool,
    peak_in_flight: u64,
}

// ANCHOR: completion
/// The result of a completed visit: the row of its URL, and the work it has led
/// to.
#[derive(Debug)]
pub struct Completion {
    /// The one row of this URL.
    pub row: Row,
    /// Rows of other URLs that are complete now: URLs that were found here and
    /// will not be fetched (a trap, for example), links to a fragment, `/a#b`, that is
    /// missing in its page, and links that are not URLs.
    pub others: Vec<Row>,
    /// The URLs that were found here for the first time and have to be fetched.
    pub jobs: Vec<Job>,
    /// The links of the page that a journal needs, if [`Crawl::keep_out_links`] was
    /// called.
    pub out_links: Vec<OutLink>,
    /// The ids that fragments can name in the page, if out-links are kept and
    /// fragments are checked.
    pub ids: Vec<String>,
    /// The hash of what a reader sees of the page, if out-links are kept.
    pub content: Option<u64>,
    /// True if the response has set a cookie.
    pub sets_cookie: bool,
    /// The warnings that say what is missing of the page.
    pub lacks: Vec<String>,
}
// ANCHOR_END: completion

impl Completion {
    /// Returns all rows, that of the URL last.
    pub fn rows(self) -> impl Iterator<Item = Row> {
        self.others.into_iter().chain(once(self.row))
    }
}

/// The progress of a crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrawlProgress {
    /// The number of URLs that have ended as rows.
    pub done: u64,
    /// The number of jobs that wait to be taken up.
    pub queued: u64,
    /// The number of visits in flight.
    pub in_flight: u64,
    /// The number of broken rows.
    pub broken: u64,
    /// The host whose turn comes next, if no request may be sent to any host now.
    pub waits_for: Option<HostWait>,
}

/// The results of the admission for all URLs of one page.
#[derive(Default)]
struct Findings {
    jobs: Vec<Job>,
    skipped: Vec<Row>,
    out_links: Vec<OutLink>,
    ids: Vec<String>,
    /// The memory of the out-links, in bytes.
    out_link_memory: usize,
    content: Option<u64>,
    sets_cookie: bool,
    lacks: Vec<String>,
    /// The number of different URLs that belong to the site.
    num_urls: u32,
    /// The number of those that had not been found before.
    num_new_urls: u32,
}

impl Crawl {
    /// Creates a crawl that has not begun.
    pub fn new(options: Options) -> Self {
        let options = options.with_cookie_jar();
        Self {
            admission: Admission::new(&options),
            policy: Arc::new(FetchPolicy::new(&options)),
            options,
            keeps_out_links: false,
            is_stopped: false,
            begun: 0,
            unrequested: 0,
            todo: 0,
            finished: 0,
            skipped: 0,
            broken: 0,
            warnings: Warnings::default(),
            missing_fragments: 0,
            no_urls: 0,
            problem: None,
            network: Network::default(),
            empty_root: None,
            has_page: false,
            is_beyond_roots: false,
            is_disallowed: false,
            peak_in_flight: 0,
        }
    }

    /// Returns the options of the crawl.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Makes all following completions contain their out-links, for a journal.
    pub fn keep_out_links(&mut self) {
        self.keeps_out_links = true;
    }

    /// Stops the crawl: from now on no visit begins, and all jobs count as left
    /// to do.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Returns the jobs of the roots. A root that is refused is handed to `sink`
    /// as a row.
    pub fn roots(&mut self, sink: &mut dyn FnMut(Row)) -> Vec<Job> {
        let roots = Arc::clone(&self.options.settings.roots);
        let mut findings = Findings::default();
        for address in roots.iter().flat_map(Address::of) {
            self.admit(address, Via::Root, &mut findings);
        }
        findings.skipped.into_iter().for_each(sink);
        let levels = &mut self.admission.levels;
        findings.jobs.into_iter().filter_map(|job| levels.add(job)).collect()
    }

    /// Announces seeds, see [`Crawl::seed`].
    pub fn expect_seeds(&mut self) {
        self.admission.levels.expect_seeds();
    }

    /// Records that no more seeds come. Returns the jobs that may start now.
    pub fn end_seeds(&mut self) -> Vec<Job> {
        if self.is_stopped { Vec::new() } else { self.admission.levels.end_seeds() }
    }

    /// Records that jobs are left to a later run. Returns the jobs that may start now:
    /// those left were the last ones of their level.
    pub fn leave(&mut self, num_jobs: usize) -> Vec<Job> {
        self.todo += num_jobs as u64;
        self.ended(num_jobs)
    }

    /// Records that jobs have ended. Returns the jobs that may start now.
    fn ended(&mut self, num_jobs: usize) -> Vec<Job> {
        // Of a crawl that is stopped no level begins.
        if self.is_stopped { Vec::new() } else { self.admission.levels.ended(num_jobs) }
    }

    /// Admits a URL of a sitemap: returns a job if it is admitted, or a row if it
    /// is refused.
    pub fn seed(&mut self, url: &Url) -> (Option<Job>, Option<Row>) {
        let mut findings = Findings::default();
        if let Ok(address) = Address::of(url) {
            self.admit(address, Via::Sitemap, &mut findings);
        }
        let levels = &mut self.admission.levels;
        let job = findings.jobs.pop().and_then(|job| match levels.expects_seeds() {
            true => levels.add(job),
            false => {
                levels.add_seed();
                Some(job)
            }
        });
        (job, findings.skipped.pop())
    }

    /// Records that a job is done later than its level. Returns the jobs that may start now.
    pub fn set_aside(&mut self) -> Vec<Job> {
        self.ended(1)
    }

    /// Makes all URLs those of other sites whose path does not begin with this one.
    pub fn keep_below(&mut self, path: &str) {
        self.admission.keep_below(path);
    }

    /// Makes all URLs that are found from now on those of other sites.
    pub fn clear_scope(&mut self) {
        self.admission.clear_scope();
    }

    /// Records that the crawl could not do what it should, for [`CrawlSummary::problem`]. If
    /// there is one already, this is a warning, which comes before the others.
    pub fn fail(&mut self, problem: String) {
        if self.problem.is_none() {
            self.problem = Some(problem);
        } else {
            self.warnings.add_problem(problem);
        }
    }

    /// Adds a warning for the [`CrawlSummary`]. Beyond a hundred, warnings are only counted.
    pub fn warn(&mut self, warning: String) {
        self.warnings.add(warning);
    }

    /// Takes the warnings.
    fn take_warnings(&mut self) -> Vec<String> {
        let left_out = self.admission.left_out();
        let left_out = (left_out > 0).then(|| {
            format!(
                "{left_out} links to long URLs were skipped, because there are more of them than \
                 fit into memory"
            )
        });
        self.warnings.take(left_out.into_iter().chain(self.admission.warnings()))
    }

    /// Begins the visit of a job. If the limit on pages is reached or the crawl
    /// was stopped, it returns `None`, and the job counts as left to do.
    pub fn begin(&mut self, job: Job, now: Instant) -> Option<Visit> {
        if !self.count_visit() {
            self.todo += 1;
            return None;
        }
        Some(self.visit(job, now))
    }

    /// Counts a visit that begins. Returns false, and counts nothing, if the limit
    /// on pages is reached or the crawl was stopped.
    pub fn count_visit(&mut self) -> bool {
        let visited = self.begun - self.unrequested;
        if self.is_stopped || self.options.max_pages.is_some_and(|max| visited >= max) {
            return false;
        }
        self.begun += 1;
        self.peak_in_flight = self.peak_in_flight.max(self.begun - self.finished);
        true
    }

    /// Takes back the count of a visit that ends without a result: its job is begun
    /// again later.
    pub fn uncount_visit(&mut self) {
        self.begun -= 1;
    }

    /// Creates the visit of a job; [`Crawl::count_visit`] has counted it.
    pub fn visit(&self, job: Job, now: Instant) -> Visit {
        Visit::new(job, &self.policy, now)
    }

    /// Completes a visit: its links or its redirect pass through the admission.
    /// The visit is not to be used again.
    pub fn complete(&mut self, visit: &mut Visit, now: Instant) -> Completion {
        let finished = visit.finish(now);
        self.settle(visit.as_ref(), finished)
    }

    /// Settles the local result of a job: its links or its redirect pass through
    /// the admission, and its row gets what depends on the other URLs.
    pub fn settle(&mut self, job: &Job, finished: Finished) -> Completion {
        let Finished { mut row, discovery, warning, sets_cookie, .. } = finished;
        let lacks = warning.into_iter().collect();
        let mut findings = Findings { sets_cookie, lacks, ..Findings::default() };
        row.referrer = self.referrer_of(job);
        self.network.record(&mut row);
        self.note_accepted(&mut row);
        // A URL that is skipped, because of a 429 for example, counts as no page.
        self.begun -= u64::from(row.outcome == Outcome::Skipped);
        match &discovery {
            Discovery::Nothing => {
                self.admission.settle(job, Settled::of(&row, &[]));
            }
            // ANCHOR: a_redirect_leads_on
            Discovery::Redirect(target) => {
                if let Ok(address) = Address::of(target) {
                    self.redirect(job, address, sets_cookie, &mut row, &mut findings);
                }
            }
            // ANCHOR_END: a_redirect_leads_on
            Discovery::Page(page, _) => {
                self.settle_page(job, page, &row, &mut findings);
                self.admission.begin_page(job, page.content);
                self.admission.prefetch(page);
                let left_out = self.admit_links(job, &discovery, &mut findings);
                let left_out = left_out + u64::from(page.found.left_out());
                findings.lacks.extend(lacks_of_page(job, page, left_out, &self.options));
                self.end_page(job, page.content, &findings);
                row.num_urls = findings.num_urls;
                row.num_new_urls = findings.num_new_urls;
            }
        }
        self.warn_of_lacks(&findings);
        let has_links = match &discovery {
            Discovery::Page(page, _) => page.found.links().len() > 0 || !findings.lacks.is_empty(),
            Discovery::Nothing | Discovery::Redirect(_) => false,
        };
        self.note_root(job, &row, &findings, has_links);
        findings.jobs.extend(self.admission.levels.take_ready());
        findings.jobs.extend(self.ended(1));
        self.finish(row, findings)
    }

    /// Settles the URL of a page, with the ids that links to it may name. They are kept for
    /// a journal, like the hash of its content.
    fn settle_page(&mut self, job: &Job, page: &Page, row: &Row, findings: &mut Findings) {
        let ids: Vec<&str> = page.found.ids().collect();
        self.admission.settle(job, Settled::of(row, &ids));
        if self.keeps_out_links {
            findings.ids = ids.into_iter().map(str::to_owned).collect();
            findings.content = page.content;
        }
    }

    /// Passes the links of a page to the admission. Returns the number of those that were
    /// left out because the page has added too much to the memory.
    fn admit_links(&mut self, job: &Job, page: &Discovery, findings: &mut Findings) -> u64 {
        let limit = self.admission.memory() + MAX_PAGE_MEMORY;
        let mut left_out = 0;
        let counts = page.candidates(|found, link| {
            if self.admission.memory() + findings.out_link_memory > limit {
                left_out += 1;
                return;
            }
            match (found, link) {
                (Ok(address), Some(link)) => self.admit(address, Via::Element(job, link), findings),
                (Ok(address), None) => self.admit(address, Via::Link(job), findings),
                (Err(Some(no_url)), Some(link)) => {
                    self.refuse_no_url(no_url, job, link, findings);
                }
                (Err(None), Some(link)) => self.leave_out_scheme(link, findings),
                (Err(_), None) => {}
            }
        });
        findings.lacks.extend(counts.warnings(&job.url));
        left_out
    }

    /// Completes a job without a visit. The URL is skipped if robots.txt or a
    /// rate limit forbids the request; with any other error it has failed.
    pub fn refuse(&mut self, job: &Job, error: FetchError) -> Completion {
        let finished = Finished::with_error(job, error);
        self.begun += 1;
        self.unrequested += u64::from(finished.row.outcome != Outcome::Skipped);
        self.settle(job, finished)
    }

    /// Completes a job without a visit, with the result of an earlier crawl.
    pub fn settle_known(&mut self, job: &Job, finished: Finished) -> Completion {
        self.begun += 1;
        self.unrequested += u64::from(finished.row.outcome != Outcome::Skipped);
        self.settle(job, finished)
    }

    /// Completes a visit, or the job of one, whose fetch has ended in a panic with
    /// this message.
    pub fn abandon(&mut self, job: &impl AsRef<Job>, message: impl Into<String>) -> Completion {
        self.settle(job.as_ref(), Finished::with_panic(job, message))
    }

    /// Rolls a completion back that could not be written to the journal: its URL
    /// and the URLs it has led to count as left to do.
    pub fn roll_back(&mut self, completion: &Completion) {
        let is_skipped = |row: &&Row| row.outcome == Outcome::Skipped;
        let skipped = completion.others.iter().filter(is_skipped).count() as u64;
        let is_no_url = |row: &&Row| {
            row.error.as_ref().is_some_and(|error| error.class == ErrorClass::InvalidUrl)
        };
        let no_urls = completion.others.iter().filter(is_no_url).count() as u64;
        self.no_urls -= no_urls;
        self.missing_fragments -= completion.others.len() as u64 - skipped - no_urls;
        *self.count_of(&completion.row) -= 1;
        self.skipped -= skipped;
        self.todo += 1 + skipped + no_urls + completion.jobs.len() as u64;
    }

    /// Returns true if this URL has a result: it was completed, or replayed.
    pub fn has_settled(&self, url: &str) -> bool {
        self.admission.has_settled(url)
    }

    /// Replays a journal entry: completes its URL as an earlier run did.
    pub fn replay(&mut self, entry: JournalEntry<'_>) -> Completion {
        let JournalEntry { row, purpose, redirects_left, out_links, ids, .. } = entry;
        let JournalEntry { content, lacks, sets_cookie, .. } = entry;
        let mut row = row.into_owned();
        let is_seed = row.referrer.is_none();
        if purpose == Purpose::External {
            // The status may have been accepted then, and not now.
            let class = row.error.as_ref().map(|error| error.class);
            row.verdict = ExternalVerdict::of(row.outcome, row.status, class);
        }
        self.network.record(&mut row);
        self.note_accepted(&mut row);
        let lacks = lacks.into_owned();
        let mut findings = Findings { sets_cookie, lacks, ..Findings::default() };
        // The URL of a row always parses.
        if let Ok(url) = Url::parse(&row.url)
            && let Ok(address) = Address::of(&url)
            && let Some(job) =
                self.admission.admit_again(address, row.depth, redirects_left, purpose, is_seed)
        {
            let mut base_url = BaseUrl::new(&url, web::encoding::UTF_8);
            if row.outcome == Outcome::Redirect {
                let out_link =
                    out_links.first().map(|out_link| &out_link.to).or(row.next_url.as_ref());
                match out_link.map(|to| base_url.join(to)) {
                    Some(Ok(address)) => {
                        self.redirect(&job, address, sets_cookie, &mut row, &mut findings);
                    }
                    _ => self.admission.settle(&job, Settled::Fine),
                }
            } else {
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                self.admission.settle(&job, Settled::of(&row, &ids));
                self.admission.begin_page(&job, content);
                for out_link in &*out_links {
                    let link = out_link.link();
                    match out_link.resolve(&mut base_url, &url) {
                        Ok(address) => {
                            self.admit(address, Via::Element(&job, link), &mut findings);
                        }
                        Err(Some(no_url)) => {
                            self.refuse_no_url(no_url, &job, link, &mut findings);
                        }
                        Err(None) => self.leave_out_scheme(link, &mut findings),
                    }
                }
                self.end_page(&job, content, &findings);
            }
            self.warn_of_lacks(&findings);
            let has_links = !out_links.is_empty() || !findings.lacks.is_empty();
            self.note_root(&job, &row, &findings, has_links);
            findings.jobs.extend(self.admission.levels.take_ready());
            findings.jobs.extend(self.admission.levels.ended_before(&job));
        }
        row.referrer = self.referrer(&row.url);
        self.begun += u64::from(row.outcome != Outcome::Skipped);
        self.unrequested += u64::from(row.outcome != Outcome::Skipped && row.tries == 0);
        self.finish(row, findings)
    }

    /// Reports what is missing of a response.
    fn warn_of_lacks(&mut self, findings: &Findings) {
        findings.lacks.iter().for_each(|lack| self.warnings.add_lack(lack.clone()));
    }

    /// Ends a page. When many pages have led to new URLs, the text of those to come is hashed,
    /// to notice a host that makes them up.
    fn end_page(&mut self, job: &Job, content: Option<u64>, findings: &Findings) {
        if self.admission.end_page(job, content, findings.num_new_urls) {
            self.policy = Arc::new(self.policy.hashing_content(&self.options));
        }
    }

    /// Passes the target of a redirect to the admission. A redirect that closes a circle
    /// is an error. A root that redirects off the site is a problem: the user probably
    /// wants to crawl that site. So is one that leads to what is not crawled, if there is no
    /// page. One that leads to what was a link to another site before is a warning.
    fn redirect(
        &mut self,
        job: &Job,
        target: Address<'_>,
        sets_cookie: bool,
        row: &mut Row,
        findings: &mut Findings,
    ) {
        if sets_cookie {
            self.admission.note_cookie(job);
        }
        let circle = self.admission.closes_circle(job, target);
        if circle == Some(Circle::WithCookie) && row.error.is_none() {
            return self.leave_circle(job, target, row, findings);
        }
        if circle.is_some() {
            self.admission.settle(job, Settled::Broken);
            if row.error.is_none() {
                row.error = Some(FetchError::redirect_loop(target.as_str()));
                row.outcome = Outcome::HttpError;
                if job.purpose == Purpose::External && !row.is_accepted {
                    row.verdict = ExternalVerdict::of(row.outcome, row.status, None);
                }
            }
            return;
        }
        let is_of_root = is_of_root(job);
        let is_new_site =
            is_of_root && self.options.settings.follow_root && !self.admission.is_in_scope(target);
        if is_new_site {
            self.admission.extend_scope(target);
        }
        self.admit(target, Via::Redirect(job), findings);
        self.admission.settle(job, Settled::Redirect(target));
        if !(is_of_root && self.follows_links()) {
            return;
        }
        if is_new_site && findings.num_new_urls < findings.num_urls {
            self.warnings.add_lack(format!(
                "{} redirects to {}, which was already checked as a link to another site, so its \
                 links are not followed: to crawl it, use it as a start URL",
                job.url,
                target.as_str(),
            ));
        }
        let what = format!("{} redirects to {}, which is not", job.url, target.as_str());
        let refusal = findings.skipped.last().and_then(|row| row.error.as_ref());
        if !self.admission.is_in_scope(target) {
            let advice = "to crawl it, use it as a start URL, or add --follow-root";
            self.problem.get_or_insert(format!("{what} part of the site: {advice}"));
        } else if findings.num_urls == 0 || refusal.is_some() {
            let why = refusal.map(|error| format!(": {error}")).unwrap_or_default();
            self.empty_root.get_or_insert(format!("{what} crawled{why}"));
        }
    }

    /// Settles a redirect that closes a circle in which a cookie was set: a reader who comes
    /// back with it is let in, as far as we can tell.
    fn leave_circle(
        &mut self,
        job: &Job,
        target: Address<'_>,
        row: &mut Row,
        findings: &mut Findings,
    ) {
        self.admission.settle(job, Settled::Fine);
        if job.purpose == Purpose::External {
            row.error = Some(FetchError::redirect_loop(target.as_str()));
            row.outcome = Outcome::HttpError;
            row.verdict = if row.is_accepted { None } else { Some(ExternalVerdict::Unsure) };
            return;
        }
        let warning = format!(
            "{} redirects back to {}, where the server has set a cookie on the way: what it shows \
             to those who have the cookie was not read",
            job.url,
            target.as_str()
        );
        if !findings.lacks.contains(&warning) {
            findings.lacks.push(warning.clone());
        }
        if is_of_root(job) {
            self.empty_root.get_or_insert(warning);
        }
    }

    /// Returns true if links are followed at all, and not only the start URLs requested.
    fn follows_links(&self) -> bool {
        self.options.settings.max_depth != Some(0)
    }

    /// Notes if the file of a job names others, and if not, that a root does not, or that
    /// what it redirects to was not crawled. `has_links` is true if it names any, also such
    /// as do not belong to the crawl, or behind a mistake of a sitemap.
    fn note_root(&mut self, job: &Job, row: &Row, findings: &Findings, has_links: bool) {
        let is_redirect = row.outcome == Outcome::Redirect;
        if !is_of_root(job) {
            self.is_beyond_roots |= row.outcome != Outcome::Skipped;
            self.is_disallowed |=
                row.error.as_ref().is_some_and(|error| error.class == ErrorClass::Robots);
        }
        let is_unread = row.outcome == Outcome::Other && job.purpose == Purpose::Page && !has_links;
        if is_unread && may_have_links(row.content_type.as_deref()) {
            self.admission.leave_unread(&job.url);
        }
        self.has_page |= row.outcome == Outcome::Page || !is_redirect && findings.num_urls > 0;
        if self.empty_root.is_some() || !is_of_root(job) || !self.follows_links() {
            return;
        }
        let url = &job.url;
        let why = match (row.outcome, &row.error) {
            (Outcome::Other, _) => {
                let kind = row.content_type.as_deref().unwrap_or("without a type");
                let why = match has_links {
                    false => "not a page or a sitemap, so it has no links to check",
                    true => "and has no URL that belongs to the crawl",
                };
                format!("{url} is {kind}, {why}")
            }
            (Outcome::Skipped, Some(error)) => match self.referrer_of(job) {
                Some(root) => format!("{root} redirects to {url}, which is not crawled: {error}"),
                None if self.admission.is_seed(job) => return,
                // In a replay, it may come before the root.
                None => format!("a start URL redirects to {url}, which is not crawled: {error}"),
            },
            _ => return,
        };
        self.empty_root = Some(why);
    }

    /// Notes in a row if the user accepts its status.
    fn note_accepted(&self, row: &mut Row) {
        row.is_accepted = row.status.is_some_and(|status| self.options.accepts(&row.url, status));
        if row.is_accepted {
            row.verdict = None;
        }
    }

    /// Counts the row and collects the missing fragments.
    fn finish(&mut self, row: Row, findings: Findings) -> Completion {
        *self.count_of(&row) += 1;
        self.broken += u64::from(row.is_broken());
        let Findings { jobs, skipped: mut others, out_links, ids, .. } = findings;
        let Findings { content, sets_cookie, lacks, .. } = findings;
        let missing = self.admission.take_missing_fragments();
        self.missing_fragments += missing.len() as u64;
        others.extend(missing.into_iter().map(|missing| self.missing_row(missing)));
        Completion { row, others, jobs, out_links, ids, content, sets_cookie, lacks }
    }

    /// Returns the counter for a row: skipped, or finished.
    fn count_of(&mut self, row: &Row) -> &mut u64 {
        if row.outcome == Outcome::Skipped { &mut self.skipped } else { &mut self.finished }
    }

    fn missing_row(&self, missing: MissingFragment) -> Row {
        let MissingFragment { url, status, depth, message } = missing;
        Row {
            status: Some(status),
            error: Some(FetchError::new(ErrorClass::Fragment, message)),
            referrer: self.referrer(&url),
            ..Row::new(url, depth)
        }
    }

    /// Records a link that is not a URL.
    fn refuse_no_url(
        &mut self,
        no_url: NoUrl<'_>,
        from: &Job,
        link: Link<'_>,
        findings: &mut Findings,
    ) {
        if self.keeps_out_links {
            let out_link = OutLink::of_no_url(&no_url, link);
            findings.out_link_memory += out_link.memory();
            findings.out_links.push(out_link);
        }
        let error = no_url.error();
        let outcome = Outcome::without_response(&error);
        let is_broken = outcome == Outcome::Failed;
        let admitted = self.admission.admit_no_url(&no_url.text, from, link, is_broken);
        let Some((url, depth)) = admitted else { return };
        *if is_broken { &mut self.no_urls } else { &mut self.skipped } += 1;
        let (error, referrer) = (Some(error), self.referrer(&url));
        findings.skipped.push(Row { outcome, error, referrer, ..Row::new(url, depth) });
    }

    /// Records a link whose scheme is not for this crawler.
    fn leave_out_scheme(&mut self, link: Link<'_>, findings: &mut Findings) {
        if self.admission.leave_out_scheme(link.href) && self.keeps_out_links {
            let out_link = OutLink::of_other_scheme(link);
            findings.out_link_memory += out_link.memory();
            findings.out_links.push(out_link);
        }
    }

    /// Passes a URL to the admission and records the result. Every URL goes
    /// through this function.
    fn admit(&mut self, address: Address<'_>, via: Via<'_>, findings: &mut Findings) {
        let decision = self.admission.admit(address, via);
        if self.keeps_out_links {
            let out_link = self.out_link(address, via, &decision);
            findings.out_link_memory += out_link.as_ref().map_or(0, OutLink::memory);
            findings.out_links.extend(out_link);
        }
        let is_new = match decision {
            Decision::Outside
            | Decision::Unchecked
            | Decision::Repeated
            | Decision::ChainTooLong => return,
            Decision::Known | Decision::TooDeep => false,
            Decision::Admitted(job) => {
                // What a page links to and then loads has a shorter way at once.
                match via {
                    Via::Root | Via::Sitemap => findings.jobs.push(job),
                    _ => findings.jobs.extend(self.admission.levels.add(job)),
                }
                true
            }
            Decision::Refused { url, depth, error } => {
                self.skipped += 1;
                let referrer = self.referrer(&url);
                let (outcome, error) = (Outcome::Skipped, Some(error));
                findings.skipped.push(Row { outcome, error, referrer, ..Row::new(url, depth) });
                true
            }
        };
        if !self.options.settings.external || self.admission.is_in_scope(address) {
            findings.num_urls += 1;
            findings.num_new_urls += u32::from(is_new);
        }
    }

    /// Returns the entry for the journal, if the URL needs one to be replayed.
    fn out_link(
        &mut self,
        address: Address<'_>,
        via: Via<'_>,
        decision: &Decision,
    ) -> Option<OutLink> {
        let has_fragment = self.options.settings.check.fragments && address.fragment().is_some();
        let is_recorded = match decision {
            Decision::Outside | Decision::ChainTooLong => false,
            // A repeated link may have another fragment, or be a shorter way: the page
            // links to what it also loads.
            Decision::Repeated => {
                let is_loaded = via.link().is_some_and(|link| !link.element.is_clicked());
                has_fragment || is_loaded && self.options.settings.max_depth.is_some()
            }
            _ => true,
        };
        match via {
            Via::Link(from) | Via::Redirect(from) if is_recorded => {
                Some(OutLink::new(&from.url, address, None))
            }
            Via::Element(from, link) if is_recorded => {
                let needs_link_context = has_fragment || self.admission.needs_link_context(address);
                let position = if needs_link_context { link.position } else { None };
                Some(OutLink::new(&from.url, address, Some(Link { position, ..link })))
            }
            _ => None,
        }
    }

    fn referrer(&self, url: &str) -> Option<String> {
        self.admission.first_referrer(url).map(str::to_owned)
    }

    fn referrer_of(&self, job: &Job) -> Option<String> {
        self.admission.first_referrer_of(job).map(str::to_owned)
    }

    /// Returns the progress; `untaken` is the number of jobs that are queued.
    pub fn progress(&self, untaken: usize) -> CrawlProgress {
        CrawlProgress {
            done: self.finished + self.skipped,
            queued: (untaken + self.admission.levels.waiting()) as u64,
            in_flight: self.begun - self.finished,
            broken: self.broken,
            waits_for: None,
        }
    }

    /// Begins with the URLs that need a network: what was answered before came from files.
    pub fn begin_requests(&mut self) {
        self.network = Network::default();
    }

    /// Expects pages from others: no root is a problem because it leads to none.
    pub fn expect_pages(&mut self) {
        self.has_page = true;
    }

    /// Ends the crawl and returns its summary; from now on no URL is admitted.
    /// `untaken` is the number of jobs that are still queued, and `max_tasks` the
    /// limit on visits in flight.
    pub fn end(&mut self, untaken: usize, max_tasks: Option<usize>) -> CrawlSummary {
        let untaken = untaken + self.admission.levels.waiting();
        let unchecked = self.admission.take_unchecked();
        let (todo, too_deep) = (self.todo + untaken as u64, self.admission.too_deep() as u64);
        let is_done = todo == 0 && too_deep == 0 && self.follows_links();
        let nothing_checked = match self.has_page {
            true if is_done && !self.is_beyond_roots => self.why_nothing_beyond(&unchecked),
            true => None,
            false => self.empty_root.take(),
        };
        CrawlSummary {
            done: self.finished + self.skipped + self.missing_fragments + self.no_urls,
            missing_fragments: self.missing_fragments,
            todo,
            too_deep,
            unchecked,
            unchecked_fragments: self.admission.unchecked_fragments(),
            warnings: self.take_warnings(),
            peak_in_flight: self.peak_in_flight,
            max_tasks,
            admission: mem::take(&mut self.admission),
            busy_hosts: Vec::new(),
            problem: self.problem.take().or_else(|| self.network.problem()).or(nothing_checked),
            stopped: None,
        }
    }

    /// Returns the reason why no link of the start URLs was checked, if robots are kept from
    /// them.
    fn why_nothing_beyond(&self, unchecked: &Unchecked) -> Option<String> {
        let who = if unchecked.count(UncheckedReason::Nofollow) > 0 {
            "\"nofollow\" asks crawlers not to follow them"
        } else if self.is_disallowed {
            "robots.txt disallows them"
        } else {
            return None;
        };
        Some(format!(
            "no link of the site was checked, because {who}; add --no-robots to check them"
        ))
    }
}

/// Returns warnings of what is missing of a page: links that did not fit into memory, and the
/// rest of a sitemap.
pub(crate) fn lacks_of_page(
    job: &Job,
    page: &Page,
    left_out: u64,
    options: &Options,
) -> Vec<String> {
    let left_out = (left_out > 0).then(|| {
        format!("{} has more links than fit into memory: {left_out} of them were skipped", job.url)
    });
    left_out.into_iter().chain(lack_of_sitemap(job, page, options)).collect()
}

/// Returns what the result lacks if a sitemap was not read to its end. A start URL in XML need
/// not be a sitemap.
fn lack_of_sitemap(job: &Job, page: &Page, options: &Options) -> Option<String> {
    if options.settings.max_depth == Some(0) {
        return None;
    }
    let problem = page.problem.as_ref()?;
    let is_sitemap = job.purpose == Purpose::Sitemap || problem.message != NO_SITEMAP;
    is_sitemap.then(|| format!("sitemap {}: {problem}", job.url))
}

/// Returns true if a file of this media type may have links that a reader can follow, although
/// we do not read it.
fn may_have_links(content_type: Option<&str>) -> bool {
    let Some(content_type) = content_type else { return true };
    let is_text = content_type.starts_with("text/")
        && !matches!(content_type, "text/css" | "text/javascript");
    is_text
        || ["pdf", "xml", "document", "msword", "epub"].iter().any(|it| content_type.contains(it))
}

/// Returns true for the job of a root, or of a URL to which one redirects.
fn is_of_root(job: &Job) -> bool {
    job.depth == 0 && job.purpose == Purpose::Page
}

impl Row {
    /// Creates the row of a URL without a result yet.
    pub(crate) fn new(url: Arc<str>, depth: u32) -> Self {
        Self {
            url,
            status: None,
            outcome: Outcome::Failed,
            next_url: None,
            error: None,
            content_type: None,
            encoding: None,
            size: Some(0),
            num_urls: 0,
            num_new_urls: 0,
            depth,
            tries: 0,
            elapsed_ms: 0,
            referrer: None,
            selected: None,
            select_error: None,
            verdict: None,
            is_accepted: false,
        }
    }
}
