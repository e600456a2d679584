//! The counters of requests and connections.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::site::{Content, Site};

/// The number of different paths that do not exist and are counted one by one.
const MISSING_LIMIT: usize = 10_000;

/// The counters of a site. Only the serving thread writes them.
#[derive(Debug)]
pub(crate) struct Counters {
    site: Arc<Site>,
    pub(crate) connections: AtomicU64,
    pub(crate) requests: AtomicU64,
    in_flight: AtomicUsize,
    peak_in_flight: AtomicUsize,
    pages: Vec<AtomicU32>,
    specials: Vec<AtomicU32>,
    missing: Mutex<BTreeMap<String, u64>>,
}

impl Counters {
    pub(crate) fn new(site: Arc<Site>) -> Self {
        let zeros = |count: usize| (0..count).map(|_| AtomicU32::new(0)).collect();
        Self {
            connections: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            peak_in_flight: AtomicUsize::new(0),
            pages: zeros(site.options().pages as usize),
            specials: zeros(site.specials().len()),
            missing: Mutex::new(BTreeMap::new()),
            site,
        }
    }

    /// Counts a request for `target`, which led to `content`.
    pub(crate) fn hit(&self, target: &str, content: Content) {
        if let Some(counter) = self.counter(content) {
            counter.fetch_add(1, Relaxed);
        } else {
            let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(count) = missing.get_mut(target) {
                *count += 1;
            } else if missing.len() < MISSING_LIMIT {
                missing.insert(target.to_owned(), 1);
            }
        }
    }

    /// Returns the number of requests for `target`.
    pub(crate) fn hits(&self, target: &str) -> u64 {
        if let Some(counter) = self.counter(self.site.find(target)) {
            return u64::from(counter.load(Relaxed));
        }
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.get(target).copied().unwrap_or(0)
    }

    /// Returns every requested path with the number of its requests.
    pub(crate) fn all_hits(&self) -> BTreeMap<String, u64> {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = missing.clone();
        drop(missing);
        let pages = (0..).zip(&self.pages);
        all.extend(pages.filter_map(|(page, counter)| {
            let hits = u64::from(counter.load(Relaxed));
            (hits > 0).then(|| (Site::path(page), hits))
        }));
        let specials = self.site.specials().iter().zip(&self.specials);
        all.extend(specials.filter_map(|(special, counter)| {
            let hits = u64::from(counter.load(Relaxed));
            (hits > 0).then(|| (special.path.to_owned(), hits))
        }));
        all
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Relaxed)
    }

    pub(crate) fn peak_in_flight(&self) -> usize {
        self.peak_in_flight.load(Relaxed)
    }

    fn counter(&self, content: Content) -> Option<&AtomicU32> {
        match content {
            Content::Page(page) => self.pages.get(page as usize),
            Content::Special(index) => self.specials.get(index),
            _ => None,
        }
    }
}

/// A guard that counts a request as in flight. It is dropped when the response
/// starts or the connection is gone.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<Counters>);

impl InFlight {
    pub(crate) fn begin(counters: &Arc<Counters>) -> Self {
        let now = counters.in_flight.fetch_add(1, Relaxed) + 1;
        counters.peak_in_flight.fetch_max(now, Relaxed);
        Self(Arc::clone(counters))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}
