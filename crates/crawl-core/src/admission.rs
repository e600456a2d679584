//! The one door through which URLs become work.

mod known;
mod strip_query;
mod traps;

use std::sync::Arc;

use regex::Regex;

use self::known::{Entry, Known, State};
use self::strip_query::StripQuery;
use self::traps::Traps;
use crate::scope::Scope;
use crate::{Address, FetchError, Options};

pub use self::traps::TrapLimits;

// ANCHOR: job
/// A URL to fetch, once. What the queue holds, so it is small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Normalised, without a fragment.
    pub url: Arc<str>,
    /// How many redirects of this chain may still be followed.
    pub redirects_left: u32,
    /// Clicks from a root.
    pub depth: u32,
    number: u32,
}
// ANCHOR_END: job

// ANCHOR: via
/// How a URL was found.
#[derive(Clone, Copy, Debug)]
pub enum Via<'a> {
    /// The user named it.
    Root,
    /// The page of this job links to it.
    Link(&'a Job),
    /// The answer to this job redirects to it.
    Redirect(&'a Job),
}
// ANCHOR_END: via

/// What is decided about a URL at the door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nobody has been given it before: it is to be fetched.
    Admitted(Job),
    /// Nobody has been given it before, and nobody will be.
    Refused {
        /// Normalised, without a fragment, and no longer than is worth
        /// remembering.
        url: Arc<str>,
        /// Clicks from a root.
        depth: u32,
        /// Why: a trap.
        error: FetchError,
    },
    /// It is too many clicks away. Should a shorter way to it be found, it may
    /// still be let in.
    TooDeep,
    /// It was found before: it is let in, refused, or too deep still.
    Known,
    /// And this page has led to it before.
    Repeated,
    /// It does not belong to what is to be crawled.
    Outside,
    /// This chain of redirects has used up its budget. The URL may be let in
    /// another way.
    ChainTooLong,
}

/// Lets each URL of the site in once.
///
/// The chapter's `seen_urls` lives in here, out of reach: testing whether a
/// URL is new and remembering that it is no longer are one step, between which
/// nobody can come.
#[derive(Debug, Default)]
pub struct Admission {
    scope: Scope,
    strip_query: StripQuery,
    filters: Filters,
    max_depth: Option<u32>,
    max_redirect: u32,
    traps: Traps,
    known: Known,
    decided: usize,
}

impl Admission {
    /// How many referrers of one URL are remembered by name.
    pub const MOST_REFERRERS: usize = known::MOST_REFERRERS;

    /// The door of the site that these options describe.
    pub fn new(options: &Options) -> Self {
        Self {
            scope: Scope::new(options.scope, &options.roots),
            strip_query: StripQuery::new(&options.strip_query),
            filters: Filters { include: options.include.clone(), exclude: options.exclude.clone() },
            max_depth: options.max_depth,
            max_redirect: options.max_redirect,
            traps: Traps::new(options.traps.clone()),
            known: Known::default(),
            decided: 0,
        }
    }

    /// Decides about a URL. However it was found, that is remembered.
    ///
    /// It is taken as the WHATWG rules normalise it. Nothing else is changed,
    /// but for the parts of its query that are to be stripped: with and
    /// without a slash at the end are two URLs.
    ///
    /// Then, in this order: it has to be of the site; unless it is known
    /// already, it must not be excluded, and, unless it is a root, it has to be
    /// included; not too deep; and no trap. All that one page leads to is to be
    /// asked in a row, for [`Decision::Repeated`] to be told.
    // ANCHOR: admit
    pub fn admit(&mut self, address: Address<'_>, via: Via<'_>) -> Decision {
        if !self.scope.contains(address) {
            return Decision::Outside;
        }
        let (redirects_left, depth, from) = match via {
            Via::Root => (self.max_redirect, 0, None),
            Via::Link(from) => (self.max_redirect, from.depth + 1, Some(from.number)),
            Via::Redirect(from) => match from.redirects_left.checked_sub(1) {
                Some(left) => (left, from.depth, Some(from.number)),
                None => return Decision::ChainTooLong,
            },
        };
        let address = self.strip_query.strip(address);
        let text = self.traps.shorten(address.as_str());
        let hash = self.known.hash(text);
        let found = self.known.find(hash, text);
        if found.is_none() && !self.filters.let_through(address.as_str(), from.is_none()) {
            return Decision::Outside;
        }
        let number = found.or_else(|| self.known.insert(hash, text.into()));
        let Some((number, entry)) = number.and_then(|n| Some((n, self.known.get_mut(n)?))) else {
            return Decision::Outside;
        };
        let is_news = from.is_none_or(|from| entry.referrers.add(from));
        if entry.state == State::TooDeep && self.max_depth.is_none_or(|max| depth <= max) {
            entry.state = if from.is_none() { State::Root } else { State::Decided };
            self.decided += 1;
            let url = Arc::clone(&entry.url);
            return match self.traps.pass(address, depth) {
                Ok(()) => Decision::Admitted(Job { url, redirects_left, depth, number }),
                Err(error) => Decision::Refused { url, depth, error },
            };
        }
        match (found, is_news) {
            (None, _) => Decision::TooDeep,
            (Some(_), true) => Decision::Known,
            (Some(_), false) => Decision::Repeated,
        }
    }
    // ANCHOR_END: admit

    /// How many different URLs were let in, or refused for good: each is, or
    /// will be, a row, unless the crawl ends before.
    pub fn seen(&self) -> usize {
        self.decided
    }

    /// How many different URLs were left out for being too many clicks away.
    pub fn too_deep(&self) -> usize {
        self.known.len() - self.decided
    }

    /// Who led to this URL first: nobody, if the user named it.
    pub fn first_referrer(&self, url: &str) -> Option<&str> {
        let entry = self.entry(url).filter(|entry| entry.state != State::Root)?;
        self.url(*entry.referrers.first().first()?)
    }

    /// The URLs that lead to this one, the first to be found first, and how
    /// many there are in all.
    pub fn referrers(&self, url: &str) -> (Vec<&str>, u32) {
        let Some(entry) = self.entry(url) else {
            return (Vec::new(), 0);
        };
        let first = entry.referrers.first().iter().filter_map(|&number| self.url(number));
        (first.collect(), entry.referrers.count())
    }

    fn entry(&self, url: &str) -> Option<&Entry> {
        self.known.get(self.known.find(self.known.hash(url), url)?)
    }

    fn url(&self, number: u32) -> Option<&str> {
        self.known.get(number).map(|entry| &*entry.url)
    }
}

/// What the user wants of a site.
#[derive(Debug, Default)]
struct Filters {
    include: Vec<Regex>,
    exclude: Vec<Regex>,
}

impl Filters {
    fn let_through(&self, url: &str, is_root: bool) -> bool {
        let matches = |filter: &Regex| filter.is_match(url);
        let is_included = is_root || self.include.is_empty() || self.include.iter().any(matches);
        is_included && !self.exclude.iter().any(matches)
    }
}
