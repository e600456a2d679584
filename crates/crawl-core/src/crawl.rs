//! What all fetches of one crawl share.

use std::sync::Arc;
use std::time::Instant;

use url::Url;

use crate::admission::{Ended, Missing};
use crate::links::Link;
use crate::page::Page;
use crate::robots::{header_forbids_following, product_token};
use crate::select::select;
use crate::visit::{Discovery, Terms};
use crate::{
    Address, Admission, Decision, ErrorClass, FetchError, Finished, Job, Joiner, Lead, Options,
    Outcome, Purpose, Row, Sink, Stopped, Via, Visit,
};

/// How many warnings are kept.
const MOST_WARNINGS: usize = 100;

/// The state of a crawl that is not control flow: the door, and the counts.
#[derive(Debug)]
pub struct Crawl {
    options: Options,
    terms: Arc<Terms>,
    admission: Admission,
    keeps_leads: bool,
    is_stopped: bool,
    begun: u64,
    /// How many of them were over before anybody was asked.
    unasked: u64,
    left: u64,
    finished: u64,
    skipped: u64,
    broken: u64,
    nofollow: u64,
    warnings: Vec<String>,
    missing_fragments: u64,
    peak_in_flight: u64,
}

// ANCHOR: conclusion
/// What became of a URL, and the work it has led to.
#[derive(Debug)]
pub struct Conclusion {
    /// The one row of this URL.
    pub row: Row,
    /// Rows of other URLs about which all is known now: those that were found
    /// here and will not be fetched (a trap, for example), and links to a
    /// fragment, `/a#b`, that is not in its page.
    pub others: Vec<Row>,
    /// What nobody had found before, and somebody has to fetch.
    pub jobs: Vec<Job>,
    /// All that it has led to, if [`Crawl::keep_leads`] was called.
    pub leads: Vec<Lead>,
    /// What fragments can name in it, if that was wanted, too.
    pub ids: Vec<String>,
}
// ANCHOR_END: conclusion

/// How far a crawl is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// How many URLs have ended as rows.
    pub done: u64,
    /// How many wait to be taken up.
    pub queued: u64,
    /// How many are under way.
    pub in_flight: u64,
    /// How many rows were broken.
    pub broken: u64,
}

/// What is left when a crawl has ended.
#[derive(Debug)]
pub struct Ending {
    /// How many rows there were: one for each URL that ended, and for each
    /// missing fragment.
    pub done: u64,
    /// How many fragments were missing.
    pub missing_fragments: u64,
    /// How many were let in and never asked, because a limit was reached.
    pub todo: u64,
    /// How many more were found and not let in, for being too many clicks away.
    pub too_deep: u64,
    /// How many links were passed over because their page asks for it.
    pub nofollow: u64,
    /// What the user should hear of, though it is no row. At most 100.
    pub warnings: Vec<String>,
    /// The greatest number of visits under way at a time.
    pub peak_in_flight: u64,
    /// How many were allowed to be, if that was limited.
    pub max_tasks: Option<usize>,
    /// Who links to whom.
    pub admission: Admission,
    /// Why it ended before it was done, limits on pages and depth aside.
    pub stopped: Option<Stopped>,
}

/// What came of the URLs of one page.
#[derive(Default)]
struct Findings {
    jobs: Vec<Job>,
    skipped: Vec<Row>,
    leads: Vec<Lead>,
    ids: Vec<String>,
    /// How many different ones are of the site.
    of_the_site: u32,
    /// How many of those nobody had found before.
    new: u32,
}

impl Crawl {
    /// A crawl that has not begun.
    pub fn new(options: Options) -> Self {
        Self {
            admission: Admission::new(&options),
            terms: Arc::new(Terms::new(&options)),
            options,
            keeps_leads: false,
            is_stopped: false,
            begun: 0,
            unasked: 0,
            left: 0,
            finished: 0,
            skipped: 0,
            broken: 0,
            nofollow: 0,
            warnings: Vec::new(),
            missing_fragments: 0,
            peak_in_flight: 0,
        }
    }

    /// What it was asked to do.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// From now on, tells of each URL what it has led to, for a journal.
    pub fn keep_leads(&mut self) {
        self.keeps_leads = true;
    }

    /// From now on, begins nothing: all jobs count as left to do.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// The first jobs. A root that is refused is handed to `sink` as a row.
    pub fn roots(&mut self, sink: &mut Sink) -> Vec<Job> {
        let roots = self.options.roots.clone();
        let mut found = Findings::default();
        for address in roots.iter().flat_map(Address::of) {
            self.admit(address, Via::Root, &mut found);
        }
        found.skipped.into_iter().for_each(sink);
        found.jobs
    }

    /// A URL that a sitemap names: a job if it is let in, or a row if it is
    /// refused.
    pub fn seed(&mut self, url: &Url) -> (Option<Job>, Option<Row>) {
        let mut found = Findings::default();
        if let Ok(address) = Address::of(url) {
            self.admit(address, Via::Sitemap, &mut found);
        }
        (found.jobs.pop(), found.skipped.pop())
    }

    /// Keeps a warning for the [`Ending`].
    pub fn warn(&mut self, warning: String) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(warning);
        }
    }

    /// Takes up a job, unless the limit on pages is reached or the crawl was
    /// stopped: then the job counts as left to do.
    pub fn begin(&mut self, job: Job, now: Instant) -> Option<Visit> {
        let within_limit = !self.is_stopped
            && self.options.max_pages.is_none_or(|max| self.begun - self.unasked < max);
        if !within_limit {
            self.left += 1;
            return None;
        }
        self.begun += 1;
        self.peak_in_flight = self.peak_in_flight.max(self.begun - self.finished);
        Some(Visit::new(job, &self.terms, now))
    }

    /// Ends a visit: what it found goes through the door.
    pub fn conclude(&mut self, visit: Visit, now: Instant) -> Conclusion {
        let (job, mut row, discovery) = visit.finish(now);
        let mut found = Findings::default();
        row.referrer = self.referrer_of(&job);
        // The server had no time for it, however often it was asked.
        self.begun -= u64::from(row.outcome == Outcome::Skipped);
        match discovery {
            Discovery::Nothing => {
                let ended = if row.is_broken() { Ended::Broken } else { Ended::Fine };
                self.admission.end(&job, ended);
            }
            // ANCHOR: a_redirect_leads_on
            Discovery::Redirect(target) => {
                let ended = Address::of(&target).map_or(Ended::Fine, |address| {
                    self.redirect(&job, address, &mut found);
                    Ended::Redirect(address)
                });
                self.admission.end(&job, ended);
            }
            // ANCHOR_END: a_redirect_leads_on
            Discovery::Page(page, robots_tags) => {
                if let Some(text) = &page.text {
                    match select(&String::from_utf8_lossy(text), &self.options.select) {
                        Ok(selected) => row.selected = Some(selected),
                        Err(error) => row.select_error = Some(error),
                    }
                }
                let is_nofollow = self.is_nofollow(&page, &robots_tags);
                let status = row.status.unwrap_or_default();
                let ids: Vec<&str> = page.found.ids().collect();
                self.admission.end(&job, Ended::Page(status, &ids));
                if self.keeps_leads {
                    found.ids = ids.into_iter().map(str::to_owned).collect();
                }
                self.admission.look_ahead(&page);
                let mut joiner = Joiner::new(&page.base, page.encoding);
                for link in page.found.links() {
                    if link.nofollow || (is_nofollow && link.element.is_hyperlink()) {
                        self.nofollow += 1;
                        continue;
                    }
                    if let Ok(address) = joiner.join(link.href) {
                        self.admit(address, Via::Element(&job, link), &mut found);
                    }
                }
                row.num_urls = found.of_the_site;
                row.num_new_urls = found.new;
            }
        }
        self.close(row, found)
    }

    /// Whether a page, or the header before it, asks us not to follow its links.
    fn is_nofollow(&self, page: &Page, robots_tags: &[Vec<u8>]) -> bool {
        let token = product_token(&self.options.user_agent);
        let forbids = |tag: &Vec<u8>| header_forbids_following(tag, token);
        self.options.robots && (page.found.is_nofollow(token) || robots_tags.iter().any(forbids))
    }

    /// Ends a visit as if it had never begun: the server wants to be asked
    /// later, when the job is to be taken up again.
    pub fn put_off(&mut self, visit: Visit) {
        self.begun -= 1;
        drop(visit);
    }

    /// Ends a job that was not taken up, and will not be: it is skipped, unless
    /// the reason is that there is nobody to ask.
    pub fn refuse(&mut self, job: &Job, error: FetchError) -> Conclusion {
        let is_skipped = matches!(error.class, ErrorClass::Robots | ErrorClass::RateLimited);
        let (outcome, ended) = match is_skipped {
            true => (Outcome::Skipped, Ended::Fine),
            false => (Outcome::Failed, Ended::Broken),
        };
        self.begun += u64::from(!is_skipped);
        self.unasked += u64::from(!is_skipped);
        self.admission.end(job, ended);
        let referrer = self.referrer_of(job);
        let row = Row::new(Arc::clone(&job.url), job.depth);
        self.close(Row { outcome, error: Some(error), referrer, ..row }, Findings::default())
    }

    /// Ends a visit of which nothing is left but the job and a reason, because
    /// the code that held it failed.
    pub fn abandon(&mut self, job: &Job, error: FetchError) -> Conclusion {
        let mut row = Row::new(Arc::clone(&job.url), job.depth);
        row.referrer = self.referrer_of(job);
        row.error = Some(error);
        self.admission.end(job, Ended::Broken);
        self.close(row, Findings::default())
    }

    /// Takes a conclusion back that could not be kept: the URL, and what it has
    /// led to, count as left to do.
    pub fn take_back(&mut self, conclusion: &Conclusion) {
        let is_skipped = |row: &&Row| row.outcome == Outcome::Skipped;
        let skipped = conclusion.others.iter().filter(is_skipped).count() as u64;
        self.missing_fragments -= conclusion.others.len() as u64 - skipped;
        *self.count_of(&conclusion.row) -= 1;
        self.skipped -= skipped;
        self.left += 1 + skipped + conclusion.jobs.len() as u64;
    }

    /// Finishes a URL as an earlier run did.
    pub fn replay(&mut self, finished: Finished<'_>) -> Conclusion {
        let Finished { row, purpose, redirects_left, leads, ids } = finished;
        let mut row = row.into_owned();
        let mut found = Findings::default();
        // What ended as a row was a URL, and its text is one still.
        if let Ok(url) = Url::parse(&row.url)
            && let Ok(address) = Address::of(&url)
            && let Some(job) =
                self.admission.admit_again(address, row.depth, redirects_left, purpose)
        {
            let mut joiner = Joiner::new(&url, encoding_rs::UTF_8);
            if row.outcome == Outcome::Redirect {
                let lead = leads.first().map(|lead| &lead.to).or(row.next_url.as_ref());
                let ended = match lead.map(|to| joiner.join(to)) {
                    Some(Ok(address)) => {
                        self.redirect(&job, address, &mut found);
                        Ended::Redirect(address)
                    }
                    _ => Ended::Fine,
                };
                self.admission.end(&job, ended);
            } else {
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                let ended = match (row.outcome, row.status) {
                    (Outcome::Page, Some(status)) => Ended::Page(status, &ids),
                    _ if row.is_broken() => Ended::Broken,
                    _ => Ended::Fine,
                };
                self.admission.end(&job, ended);
                for lead in &*leads {
                    if let Ok(address) = joiner.join(&lead.to) {
                        self.admit(address, Via::Element(&job, lead.link()), &mut found);
                    }
                }
            }
        }
        row.referrer = self.referrer(&row.url);
        self.begun += u64::from(row.outcome != Outcome::Skipped);
        self.unasked += u64::from(row.outcome == Outcome::Failed && row.tries == 0);
        self.close(row, found)
    }

    /// Puts the target of a redirect to the door. If a root leads away from the
    /// site, what the user takes for the site is another.
    fn redirect(&mut self, job: &Job, target: Address<'_>, found: &mut Findings) {
        self.admit(target, Via::Redirect(job), found);
        let is_of_root = job.depth == 0 && job.purpose == Purpose::Page;
        if is_of_root && !self.admission.is_of_the_site(target) {
            self.warn(format!(
                "{} redirects to {}, which is not of the site: to crawl that, begin there",
                job.url,
                target.as_str(),
            ));
        }
    }

    fn close(&mut self, mut row: Row, found: Findings) -> Conclusion {
        *self.count_of(&row) += 1;
        row.is_accepted = row.status.is_some_and(|status| self.options.accepts(status));
        self.broken += u64::from(row.is_broken());
        let Findings { jobs, skipped: mut others, leads, ids, .. } = found;
        let missing = self.admission.take_missing();
        self.missing_fragments += missing.len() as u64;
        others.extend(missing.into_iter().map(|missing| self.row_of(missing)));
        Conclusion { row, others, jobs, leads, ids }
    }

    /// What a row counts as: asked, or not.
    fn count_of(&mut self, row: &Row) -> &mut u64 {
        if row.outcome == Outcome::Skipped { &mut self.skipped } else { &mut self.finished }
    }

    fn row_of(&self, missing: Missing) -> Row {
        let Missing { url, status, depth, message } = missing;
        Row {
            status: Some(status),
            error: Some(FetchError::new(ErrorClass::Fragment, message)),
            referrer: self.referrer(&url),
            ..Row::new(url, depth)
        }
    }

    /// Every URL goes through here.
    fn admit(&mut self, address: Address<'_>, via: Via<'_>, found: &mut Findings) {
        let decision = self.admission.admit(address, via);
        if self.keeps_leads {
            found.leads.extend(self.lead(address, via, &decision));
        }
        let is_new = match decision {
            Decision::Outside | Decision::Repeated | Decision::ChainTooLong => return,
            Decision::Known | Decision::TooDeep => false,
            Decision::Admitted(job) => {
                found.jobs.push(job);
                true
            }
            Decision::Refused { url, depth, error } => {
                self.skipped += 1;
                let referrer = self.referrer(&url);
                let (outcome, error) = (Outcome::Skipped, Some(error));
                found.skipped.push(Row { outcome, error, referrer, ..Row::new(url, depth) });
                true
            }
        };
        if !self.options.external || self.admission.is_of_the_site(address) {
            found.of_the_site += 1;
            found.new += u32::from(is_new);
        }
    }

    /// What a journal has to know of what the door was told, if anything.
    fn lead(&mut self, address: Address<'_>, via: Via<'_>, decision: &Decision) -> Option<Lead> {
        let names_a_place = self.options.check.fragments && address.fragment().is_some();
        let is_news = match decision {
            Decision::Outside | Decision::ChainTooLong => false,
            // The same page may name another place in it.
            Decision::Repeated => names_a_place,
            _ => true,
        };
        match via {
            Via::Link(from) | Via::Redirect(from) if is_news => {
                Some(Lead::new(&from.url, address, None))
            }
            Via::Element(from, link) if is_news => {
                let is_of_interest = names_a_place || self.admission.is_of_interest(address);
                let place = link.place.filter(|_| is_of_interest);
                Some(Lead::new(&from.url, address, Some(Link { place, ..link })))
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

    /// How far it is, with so many jobs that nobody has taken up.
    pub fn standing(&self, untaken: usize) -> Standing {
        Standing {
            done: self.finished + self.skipped,
            queued: untaken as u64,
            in_flight: self.begun - self.finished,
            broken: self.broken,
        }
    }

    /// Ends the crawl; from now on nobody is let in. `untaken` is how many jobs
    /// nobody took up, and `max_tasks` how many could be under way at a time.
    pub fn end(&mut self, untaken: usize, max_tasks: Option<usize>) -> Ending {
        Ending {
            done: self.finished + self.skipped + self.missing_fragments,
            missing_fragments: self.missing_fragments,
            todo: self.left + untaken as u64,
            too_deep: self.admission.too_deep() as u64,
            nofollow: self.nofollow,
            warnings: std::mem::take(&mut self.warnings),
            peak_in_flight: self.peak_in_flight,
            max_tasks,
            admission: std::mem::take(&mut self.admission),
            stopped: None,
        }
    }
}

impl Row {
    /// The row of a URL of which nothing else is known yet.
    pub(crate) fn new(url: Arc<str>, depth: u32) -> Self {
        Self {
            url,
            status: None,
            outcome: Outcome::Failed,
            next_url: None,
            error: None,
            content_type: None,
            encoding: None,
            size: 0,
            num_urls: 0,
            num_new_urls: 0,
            depth,
            tries: 0,
            elapsed_ms: 0,
            referrer: None,
            selected: None,
            select_error: None,
            is_accepted: false,
        }
    }
}
