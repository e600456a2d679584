//! What all fetches of one crawl share.

use std::sync::Arc;
use std::time::Instant;

use url::Url;

use crate::visit::Discovery;
use crate::{
    Address, Admission, Decision, FetchError, Job, Joiner, Options, Outcome, Row, Sink, Via, Visit,
};

/// The state of a crawl that is not control flow: the door, and the counts.
#[derive(Debug)]
pub struct Crawl {
    options: Options,
    admission: Admission,
    begun: u64,
    left: u64,
    finished: u64,
    skipped: u64,
    peak_in_flight: u64,
}

// ANCHOR: conclusion
/// What became of a URL, and the work it has led to.
#[derive(Debug)]
pub struct Conclusion {
    /// The one row of this URL.
    pub row: Row,
    /// What nobody had found before, and nobody will ask.
    pub skipped: Vec<Row>,
    /// What nobody had found before, and somebody has to fetch.
    pub jobs: Vec<Job>,
}
// ANCHOR_END: conclusion

/// What is left when a crawl has ended.
#[derive(Debug)]
pub struct Ending {
    /// How many URLs ended as rows.
    pub done: u64,
    /// How many were let in and never asked, because a limit was reached.
    pub todo: u64,
    /// How many more were found and not let in, for being too many clicks away.
    pub too_deep: u64,
    /// The greatest number of visits under way at a time.
    pub peak_in_flight: u64,
    /// How many were allowed to be, if that was limited.
    pub max_tasks: Option<usize>,
    /// Who links to whom.
    pub admission: Admission,
}

/// What came of the URLs of one page.
#[derive(Default)]
struct Findings {
    jobs: Vec<Job>,
    skipped: Vec<Row>,
    /// How many different ones are of the site.
    of_the_site: u32,
}

impl Crawl {
    /// A crawl that has not begun.
    pub fn new(options: Options) -> Self {
        Self {
            admission: Admission::new(&options),
            options,
            begun: 0,
            left: 0,
            finished: 0,
            skipped: 0,
            peak_in_flight: 0,
        }
    }

    /// What it was asked to do.
    pub fn options(&self) -> &Options {
        &self.options
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

    /// Takes up a job, unless the limit on pages is reached: then the job
    /// counts as left to do.
    pub fn begin(&mut self, job: Job, now: Instant) -> Option<Visit> {
        let within_limit = self.options.max_pages.is_none_or(|max| self.begun < max);
        // What was let in was a URL, and its text is one still.
        let url = Url::parse(&job.url).ok().filter(|_| within_limit);
        let Some(url) = url else {
            self.left += 1;
            return None;
        };
        self.begun += 1;
        self.peak_in_flight = self.peak_in_flight.max(self.begun - self.finished);
        Some(Visit::new(job, url, &self.options, now))
    }

    // ANCHOR: conclude
    /// Ends a visit: what it found goes through the door.
    pub fn conclude(&mut self, visit: Visit, now: Instant) -> Conclusion {
        let (job, mut row, discovery) = visit.finish(now);
        let mut found = Findings::default();
        match discovery {
            Discovery::Nothing => {}
            Discovery::Redirect(target) => {
                if let Ok(address) = Address::of(&target) {
                    self.admit(address, Via::Redirect(&job), &mut found);
                }
            }
            Discovery::Page(page) => {
                let mut joiner = Joiner::new(&page.base, page.encoding);
                for link in page.found.links() {
                    if let Ok(address) = joiner.join(link.href) {
                        self.admit(address, Via::Link(&job), &mut found);
                    }
                }
                row.num_urls = found.of_the_site;
                row.num_new_urls = (found.jobs.len() + found.skipped.len()) as u32;
            }
        }
        self.close(row, found)
    }
    // ANCHOR_END: conclude

    /// Ends a visit of which nothing is left but the job and a reason, because
    /// the code that held it failed.
    pub fn abandon(&mut self, job: &Job, error: FetchError) -> Conclusion {
        let mut row = Row::new(Arc::clone(&job.url), job.depth);
        row.error = Some(error);
        self.close(row, Findings::default())
    }

    fn close(&mut self, mut row: Row, found: Findings) -> Conclusion {
        self.finished += 1;
        row.referrer = self.referrer(&row.url);
        Conclusion { row, skipped: found.skipped, jobs: found.jobs }
    }

    /// Every URL goes through here.
    fn admit(&mut self, address: Address<'_>, via: Via<'_>, found: &mut Findings) {
        match self.admission.admit(address, via) {
            Decision::Outside | Decision::Repeated | Decision::ChainTooLong => return,
            Decision::Known | Decision::TooDeep => {}
            Decision::Admitted(job) => found.jobs.push(job),
            Decision::Refused { url, depth, error } => {
                self.skipped += 1;
                let referrer = self.referrer(&url);
                let (outcome, error) = (Outcome::Skipped, Some(error));
                found.skipped.push(Row { outcome, error, referrer, ..Row::new(url, depth) });
            }
        }
        found.of_the_site += 1;
    }

    fn referrer(&self, url: &str) -> Option<String> {
        self.admission.first_referrer(url).map(str::to_owned)
    }

    /// Ends the crawl; from now on nobody is let in. `untaken` is how many jobs
    /// nobody took up, and `max_tasks` how many could be under way at a time.
    pub fn end(&mut self, untaken: usize, max_tasks: Option<usize>) -> Ending {
        Ending {
            done: self.finished + self.skipped,
            todo: self.left + untaken as u64,
            too_deep: self.admission.too_deep() as u64,
            peak_in_flight: self.peak_in_flight,
            max_tasks,
            admission: std::mem::take(&mut self.admission),
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
        }
    }
}
