//! What all fetches of one crawl share.

use std::time::Instant;

use url::Url;

use crate::visit::Discovery;
use crate::{Admission, FetchError, Job, Options, Outcome, Row, Via, Visit};

/// The state of a crawl that is not control flow: the door, and the counts.
#[derive(Debug)]
pub struct Crawl {
    options: Options,
    admission: Admission,
    begun: u64,
    refused: u64,
    finished: u64,
    peak_in_flight: u64,
}

/// What became of a URL, and the work it has led to.
#[derive(Debug)]
pub struct Conclusion {
    /// The one row of this URL.
    pub row: Row,
    /// What nobody had found before.
    pub jobs: Vec<Job>,
}

/// What is left when a crawl has ended.
#[derive(Debug)]
pub struct Ending {
    /// How many URLs ended as rows.
    pub done: u64,
    /// How many were let in and never asked, because a limit was reached.
    pub todo: u64,
    /// The greatest number of visits under way at a time.
    pub peak_in_flight: u64,
    /// How many were allowed to be, if that was limited.
    pub max_tasks: Option<usize>,
    /// Who links to whom.
    pub admission: Admission,
}

impl Crawl {
    /// A crawl that has not begun.
    pub fn new(options: Options) -> Self {
        Self {
            admission: Admission::new(&options),
            options,
            begun: 0,
            refused: 0,
            finished: 0,
            peak_in_flight: 0,
        }
    }

    /// What it was asked to do.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The first jobs.
    pub fn roots(&mut self) -> Vec<Job> {
        let roots = self.options.roots.iter().cloned();
        roots.filter_map(|root| self.admission.admit(root, Via::Root)).collect()
    }

    /// Takes up a job, unless the limit on pages is reached: then the job
    /// counts as left to do.
    pub fn begin(&mut self, job: Job, now: Instant) -> Option<Visit> {
        let within_limit = self.options.max_pages.is_none_or(|max| self.begun < max);
        // What was let in was a URL, and its text is one still.
        let url = Url::parse(&job.url).ok().filter(|_| within_limit);
        let Some(url) = url else {
            self.refused += 1;
            return None;
        };
        self.begun += 1;
        self.peak_in_flight = self.peak_in_flight.max(self.begun - self.finished);
        Some(Visit::new(job, url, &self.options, now))
    }

    /// Ends a visit: what it found goes through the door.
    pub fn conclude(&mut self, visit: Visit, now: Instant) -> Conclusion {
        let (job, mut row, discovery) = visit.finish(now);
        let mut jobs = Vec::new();
        match discovery {
            Discovery::Nothing => {}
            Discovery::Redirect(target) => {
                jobs.extend(self.admission.admit(target, Via::Redirect(&job)));
            }
            Discovery::Links(links) => {
                for link in links {
                    if self.admission.allows(&link) {
                        row.num_urls += 1;
                        jobs.extend(self.admission.admit(link, Via::Link(&job)));
                    }
                }
                row.num_new_urls = jobs.len() as u32;
            }
        }
        self.close(row, jobs)
    }

    /// Ends a visit of which nothing is left but the job and a reason, because
    /// the code that held it failed.
    pub fn abandon(&mut self, job: &Job, error: FetchError) -> Conclusion {
        let mut row = Row::of(job);
        row.error = Some(error);
        self.close(row, Vec::new())
    }

    fn close(&mut self, mut row: Row, jobs: Vec<Job>) -> Conclusion {
        self.finished += 1;
        row.referrer = self.admission.first_referrer(&row.url).map(str::to_owned);
        Conclusion { row, jobs }
    }

    /// Ends the crawl; from now on nobody is let in. `untaken` is how many jobs
    /// nobody took up, and `max_tasks` how many could be under way at a time.
    pub fn end(&mut self, untaken: usize, max_tasks: Option<usize>) -> Ending {
        Ending {
            done: self.finished,
            todo: self.refused + untaken as u64,
            peak_in_flight: self.peak_in_flight,
            max_tasks,
            admission: std::mem::take(&mut self.admission),
        }
    }
}

impl Row {
    /// The row of a job of which nothing is known yet.
    pub(crate) fn of(job: &Job) -> Self {
        Self {
            url: job.url.clone(),
            status: None,
            outcome: Outcome::Failed,
            next_url: None,
            error: None,
            content_type: None,
            encoding: None,
            size: 0,
            num_urls: 0,
            num_new_urls: 0,
            depth: job.depth,
            tries: 0,
            elapsed_ms: 0,
            referrer: None,
        }
    }
}
