//! Levels: with a limit on depth, URLs are fetched in the order of their depth.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::mem;

use super::LinkCandidate;
use crate::{Job, Purpose};

/// The levels of a crawl (level-order breadth-first search). With a limit on depth, a
/// level begins when all URLs of the one before have ended. So the depth of a URL is
/// that of the shortest way to it, and the same URLs are too deep in each crawl,
/// whatever the order of the responses; but not if a page of a level loads what another
/// one redirects to. The cost: at the end of a level, the slowest response is waited for.
///
/// Without a limit on depth no job waits here.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    is_used: bool,
    /// The depth of the level that has begun.
    depth: u32,
    /// The number of its jobs that have not ended.
    open: usize,
    /// True while more seeds may come: the level does not end before.
    has_seeds: bool,
    /// Jobs of later levels, by their numbers: those are in the order of finding.
    waiting: HashMap<u32, Job>,
    /// The numbers of those that may start now, since a shorter way was found.
    ready: Vec<u32>,
}

impl Levels {
    pub(super) fn new(is_used: bool) -> Self {
        Self { is_used, ..Self::default() }
    }

    /// Returns the number of jobs that wait for their level.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Takes a new job, and returns it if it may start now.
    pub(crate) fn add(&mut self, job: Job) -> Option<Job> {
        if self.is_used && job.depth > self.depth {
            self.waiting.insert(job.number, job);
            return None;
        }
        self.open += usize::from(self.is_used);
        Some(job)
    }

    /// Takes the jobs that may start now, since a shorter way to them was found.
    pub(crate) fn take_ready(&mut self) -> Vec<Job> {
        let numbers = mem::take(&mut self.ready);
        let jobs: Vec<_> = numbers.iter().flat_map(|n| self.waiting.remove(n)).collect();
        self.open += jobs.len();
        jobs
    }

    /// Counts a job that starts whatever its depth.
    pub(crate) fn add_seed(&mut self) {
        self.open += 1;
    }

    /// Takes another way to a URL. If the job of that waits and the way is shorter, it
    /// becomes the way of the job.
    pub(super) fn shorten(&mut self, number: u32, candidate: LinkCandidate<'_>) {
        let Some(job) = self.waiting.get_mut(&number) else { return };
        let rank = |depth: u32, purpose: Purpose, redirects_left: u32| {
            (depth, purpose != Purpose::Page, Reverse(redirects_left))
        };
        let LinkCandidate { depth, purpose, redirects_left, .. } = candidate;
        let now = rank(job.depth, job.purpose, job.redirects_left);
        if rank(depth, purpose, redirects_left) < now {
            if depth <= self.depth && job.depth > self.depth {
                self.ready.push(number);
            }
            *job = Job { depth, purpose, redirects_left, ..job.clone() };
        }
    }

    /// Records that jobs of this level have ended. Returns the jobs of the next level,
    /// if those were the last ones.
    pub(crate) fn ended(&mut self, num_jobs: usize) -> Vec<Job> {
        self.open = self.open.saturating_sub(num_jobs);
        self.next_level()
    }

    /// Records that an earlier run has ended a job, whether or not its level has begun.
    /// Returns the jobs of the next level, if it was the last one.
    pub(crate) fn ended_before(&mut self, job: &Job) -> Vec<Job> {
        let has_waited = self.waiting.remove(&job.number).is_some();
        self.ended(usize::from(!has_waited))
    }

    /// Keeps the level open until [`Levels::end_seeds`].
    pub(crate) fn expect_seeds(&mut self) {
        self.has_seeds = true;
    }

    /// Returns true while seeds may come.
    pub(crate) fn expects_seeds(&self) -> bool {
        self.has_seeds
    }

    /// Records that no more seeds come. Returns the jobs that may start now.
    pub(crate) fn end_seeds(&mut self) -> Vec<Job> {
        self.has_seeds = false;
        self.next_level()
    }

    fn next_level(&mut self) -> Vec<Job> {
        if self.open > 0 || self.has_seeds || self.waiting.is_empty() {
            return Vec::new();
        }
        let mut jobs: Vec<_> = mem::take(&mut self.waiting).into_values().collect();
        jobs.sort_unstable_by_key(|job| job.number);
        self.depth = jobs.iter().map(|job| job.depth).min().unwrap_or(self.depth);
        jobs.into_iter().filter_map(|job| self.add(job)).collect()
    }
}
