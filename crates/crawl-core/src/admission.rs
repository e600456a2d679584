//! The one door through which URLs become work.

mod ended;
mod entry;
mod fragments;
mod known;
mod noted;
mod strip_query;
mod traps;

use std::sync::Arc;

use regex::Regex;
use serde::{Deserialize, Serialize};

use self::entry::{Entry, Fate, State};
use self::fragments::{Fragments, Named};
use self::known::Known;
use self::strip_query::StripQuery;
use self::traps::Traps;
use crate::links::Link;
use crate::page::Page;
use crate::scope::Scope;
use crate::{Address, FetchError, Joiner, Options};

pub(crate) use self::ended::Ended;
pub(crate) use self::fragments::Missing;
pub use self::noted::{Mention, Referrer};
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
    /// What it is fetched for.
    pub purpose: Purpose,
    number: u32,
}
// ANCHOR_END: job

impl Job {
    /// The parts of its URL.
    pub fn address(&self) -> Address<'_> {
        Address::of_normalised(&self.url)
    }

    /// The job of a URL that did not pass the door, because it is no page.
    pub(crate) fn of_file(url: &str) -> Self {
        Self {
            url: url.into(),
            redirects_left: 0,
            depth: 0,
            purpose: Purpose::Page,
            number: u32::MAX,
        }
    }
}

/// What a URL is fetched for.
///
/// What turns out to be a page of the site is searched for links whatever led to
/// it, be it a link or an image. So it makes no difference that matters which of
/// them was found first, and nothing has to be fetched a second time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// It is of the site, and linked to: to be searched for links.
    #[default]
    Page,
    /// It is of the site, and a page loads it: to see whether it is there.
    Resource,
    /// It leaves the site: to see whether it is there, and no further.
    External,
}

// ANCHOR: via
/// How a URL was found.
#[derive(Clone, Copy, Debug)]
pub enum Via<'a> {
    /// The user named it.
    Root,
    /// A sitemap of a root's names it, which counts as a link from the root.
    Sitemap,
    /// The page of this job links to it.
    Link(&'a Job),
    /// This element of that page links to it, or loads it.
    Element(&'a Job, Link<'a>),
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
    external: bool,
    max_depth: Option<u32>,
    max_redirect: u32,
    traps: Traps,
    known: Known,
    decided: usize,
    fragments: Option<Fragments>,
    /// How many of those known are URLs with a fragment.
    named: usize,
}

/// So many URLs do not fit into the nearer caches of a processor, together with
/// what else is there.
const MANY: usize = 16 * 1024;

/// So many do, beyond doubt.
const MOST_AHEAD: usize = 256;

impl Admission {
    /// How many referrers of one URL are remembered by name, until it turns out to
    /// be fine.
    pub const MOST_REFERRERS: usize = entry::MOST_REFERRERS;

    /// How much memory it may take to know where all referrers lead to their URLs,
    /// in bytes: 64 MiB. One takes about eight bytes and its text, unless that is
    /// the same as the first one's of the URL. When that is spent, referrers are
    /// known by name only. Of a URL that turns out to be fine, all but the first
    /// are forgotten.
    pub const MOST_MENTION_BYTES: usize = known::MOST_BYTES;

    /// The door of the site that these options describe.
    pub fn new(options: &Options) -> Self {
        Self {
            scope: Scope::new(options.scope, &options.roots),
            strip_query: StripQuery::new(&options.strip_query),
            filters: Filters { include: options.include.clone(), exclude: options.exclude.clone() },
            external: options.external,
            max_depth: options.max_depth,
            max_redirect: options.max_redirect,
            traps: Traps::new(options.traps.clone()),
            known: Known::default(),
            decided: 0,
            fragments: options.check.fragments.then(Fragments::default),
            named: 0,
        }
    }

    /// Decides about a URL. However it was found, that is remembered.
    ///
    /// It is taken as the WHATWG rules normalise it. Nothing else is changed,
    /// but for the parts of its query that are to be stripped: with and
    /// without a slash at the end are two URLs.
    ///
    /// Then, in this order: it has to be of the site, or what leaves that has to
    /// be wanted; unless it is known already, it must not be excluded, and it has
    /// to be included if it is to be followed and no root; not too deep; and no
    /// trap. All that one page leads to is to be asked in a row, for
    /// [`Decision::Repeated`] to be told.
    ///
    /// What leaves the site is never stripped, too deep or part of a trap, but
    /// may be too long. What a page loads is as deep as the page, unless that is
    /// a [`Purpose::Resource`] itself.
    // ANCHOR: admit
    pub fn admit(&mut self, address: Address<'_>, via: Via<'_>) -> Decision {
        let Some(purpose) = self.purpose(address, via) else {
            return Decision::Outside;
        };
        let (redirects_left, depth) = match via {
            Via::Root => (self.max_redirect, 0),
            Via::Sitemap => (self.max_redirect, 1),
            Via::Link(from) => (self.max_redirect, from.depth + 1),
            Via::Element(from, link) => (self.max_redirect, from.depth + clicks(from, link)),
            Via::Redirect(from) => match from.redirects_left.checked_sub(1) {
                Some(left) => (left, from.depth),
                None => return Decision::ChainTooLong,
            },
        };
        let wish = Wish { purpose, redirects_left, depth, via };
        let Some((number, decision)) = self.decide(address, wish) else {
            return Decision::Outside;
        };
        if let Some(fragment) = address.fragment() {
            self.name(fragment, number, wish);
        }
        decision
    }
    // ANCHOR_END: admit

    /// The number of a URL and what is decided about it, if it passes the filters.
    fn decide(&mut self, address: Address<'_>, wish: Wish<'_>) -> Option<(u32, Decision)> {
        let Wish { purpose, redirects_left, depth, via } = wish;
        let is_external = purpose == Purpose::External;
        let address = if is_external { address } else { self.strip_query.strip(address) };
        let text = self.traps.shorten(address.as_str());
        // ANCHOR: find_or_insert
        let hash = self.known.hash(text);
        let found = self.known.find(hash, text);
        let is_included = matches!(via, Via::Root) || purpose != Purpose::Page;
        if found.is_none() && !self.filters.let_through(address.as_str(), is_included) {
            return None;
        }
        let number = found.or_else(|| self.known.insert(hash, text.into()))?;
        // ANCHOR_END: find_or_insert
        let entry = self.known.get_mut(number)?;
        let is_near = is_external || self.max_depth.is_none_or(|max| depth <= max);
        let is_new = entry.state() == State::TooDeep && is_near;
        if is_new {
            entry.set_state(if via.from().is_none() { State::Named } else { State::Decided });
            self.decided += 1;
        }
        // It is of no use to know where the links are to what nobody asks for.
        let link = via.link().filter(|_| entry.state() != State::TooDeep);
        let url = is_new.then(|| Arc::clone(&entry.url));
        let is_news = via.from().is_none_or(|from| self.known.refer(number, from.number, link));
        let decision = match (url, found, is_news) {
            (Some(url), ..) => match self.traps.pass(address, depth, purpose) {
                Ok(()) => Decision::Admitted(Job { url, redirects_left, depth, purpose, number }),
                Err(error) => {
                    self.known.is_fine(number);
                    Decision::Refused { url, depth, error }
                }
            },
            (None, None, _) => Decision::TooDeep,
            (None, Some(_), true) => Decision::Known,
            (None, Some(_), false) => Decision::Repeated,
        };
        Some((number, decision))
    }

    /// Prepares for being asked about all that a page leads to.
    pub(crate) fn look_ahead(&mut self, page: &Page) {
        if self.known.len() < MANY {
            return;
        }
        let mut joiner = Joiner::new(&page.base, page.encoding);
        let mut hashes = Vec::with_capacity(page.found.links().len().min(MOST_AHEAD));
        for link in page.found.links().take(MOST_AHEAD) {
            if let Ok(address) = joiner.join(link.href) {
                let address = self.strip_query.strip(address);
                hashes.push(self.known.hash(self.traps.shorten(address.as_str())));
            }
        }
        self.known.look_ahead(&hashes);
    }

    /// Whether a URL is of the site.
    pub(crate) fn is_of_the_site(&mut self, address: Address<'_>) -> bool {
        self.scope.contains(address)
    }

    /// What a URL would be fetched for, if it may be.
    fn purpose(&mut self, address: Address<'_>, via: Via<'_>) -> Option<Purpose> {
        if !self.scope.contains(address) {
            return self.external.then_some(Purpose::External);
        }
        let is_loaded = match via {
            Via::Root | Via::Sitemap | Via::Link(_) => false,
            Via::Element(_, link) => !link.element.is_clicked(),
            Via::Redirect(from) => from.purpose == Purpose::Resource,
        };
        Some(if is_loaded { Purpose::Resource } else { Purpose::Page })
    }

    /// Something leads to a place within the URL of this number. Whether that is
    /// there is seen now or later, if it is of interest at all.
    fn name(&mut self, fragment: &str, target: u32, wish: Wish<'_>) {
        let Self { fragments: Some(fragments), known, .. } = self else { return };
        let (Some(place), Some(from)) = (fragments::place(fragment), wish.via.from()) else {
            return;
        };
        let Some(url) = known.get(target).map(|target| format!("{}#{place}", target.url)) else {
            return;
        };
        let hash = known.hash(&url);
        let found = known.find(hash, &url);
        let Some(number) = found.or_else(|| known.insert(hash, url.into())) else { return };
        known.refer(number, from.number, wish.via.link());
        if found.is_none() {
            self.named += 1;
            fragments.compare(Named { number, depth: wish.depth }, target, known);
        }
    }

    /// Whether it matters where the links to this URL are: it is not known to
    /// be fine.
    pub(crate) fn is_of_interest(&mut self, address: Address<'_>) -> bool {
        let fate = self.number_of(address).and_then(|number| self.known.fate(number));
        fate.is_some_and(|fate| fate != Fate::Fine)
    }

    /// Lets a URL in that an earlier run has finished, whatever led to it.
    /// `None` when there are as many URLs as can be numbered.
    pub(crate) fn admit_again(
        &mut self,
        address: Address<'_>,
        depth: u32,
        redirects_left: u32,
        purpose: Purpose,
    ) -> Option<Job> {
        let text = self.traps.shorten(address.as_str());
        let hash = self.known.hash(text);
        let found = self.known.find(hash, text);
        let number = found.or_else(|| self.known.insert(hash, text.into()))?;
        let entry = self.known.get_mut(number)?;
        if entry.state() == State::TooDeep {
            entry.set_state(State::Decided);
            self.decided += 1;
            // It has passed before.
            let _ = self.traps.pass(address, depth, purpose);
        }
        let url = Arc::clone(&entry.url);
        Some(Job { url, redirects_left, depth, purpose, number })
    }

    /// How many different URLs were let in, or refused for good: each is, or
    /// will be, a row, unless the crawl ends before.
    pub fn seen(&self) -> usize {
        self.decided
    }

    /// How many different URLs were left out for being too many clicks away.
    pub fn too_deep(&self) -> usize {
        self.known.len() - self.named - self.decided
    }

    /// Who led to this URL first: nobody, if the user or a sitemap named it.
    pub fn first_referrer(&self, url: &str) -> Option<&str> {
        self.first_of(self.entry(url)?)
    }

    /// The same for the URL of a job.
    pub(crate) fn first_referrer_of(&self, job: &Job) -> Option<&str> {
        self.first_of(self.known.get(job.number)?)
    }

    fn first_of(&self, entry: &Entry) -> Option<&str> {
        let first = entry.first_referrer();
        self.url(first.filter(|_| entry.state() != State::Named)?)
    }

    /// What leads to this URL, the first to be found first, and how many there
    /// are in all. Of a URL that is fine only the first is remembered. The URL may
    /// be one with a fragment that is missing.
    pub fn referrers(&self, url: &str) -> (Vec<Referrer<'_>>, u32) {
        let Some(entry) = self.entry(url) else {
            return (Vec::new(), 0);
        };
        let first = entry.referrers();
        let first =
            first.filter_map(|(from, mention)| Some(Referrer { url: self.url(from)?, mention }));
        (first.collect(), entry.count())
    }

    fn entry(&self, url: &str) -> Option<&Entry> {
        self.known.get(self.known.find(self.known.hash(url), url)?)
    }

    fn url(&self, number: u32) -> Option<&str> {
        self.known.get(number).map(|entry| &*entry.url)
    }
}

impl<'a> Via<'a> {
    fn from(self) -> Option<&'a Job> {
        match self {
            Self::Root | Self::Sitemap => None,
            Self::Link(from) | Self::Element(from, _) | Self::Redirect(from) => Some(from),
        }
    }

    fn link(self) -> Option<Link<'a>> {
        match self {
            Self::Element(_, link) => Some(link),
            Self::Root | Self::Sitemap | Self::Link(_) | Self::Redirect(_) => None,
        }
    }
}

/// How a URL would be let in.
#[derive(Clone, Copy)]
struct Wish<'a> {
    purpose: Purpose,
    redirects_left: u32,
    depth: u32,
    via: Via<'a>,
}

/// How many clicks it takes from a page to what its link leads to. What a
/// resource loads counts as clicked, or it could go on without end.
fn clicks(from: &Job, link: Link<'_>) -> u32 {
    u32::from(link.element.is_clicked() || from.purpose == Purpose::Resource)
}

/// What the user wants of a site.
#[derive(Debug, Default)]
struct Filters {
    include: Vec<Regex>,
    exclude: Vec<Regex>,
}

impl Filters {
    fn let_through(&self, url: &str, is_included: bool) -> bool {
        let matches = |filter: &Regex| filter.is_match(url);
        let is_included =
            is_included || self.include.is_empty() || self.include.iter().any(matches);
        is_included && !self.exclude.iter().any(matches)
    }
}
