//! The admission of URLs: the one door through which a URL becomes work.

mod block_pool;
mod ceilings;
mod checks;
mod fragments;
mod further_referrers;
mod levels;
mod local;
mod referrers;
mod settle;
pub(crate) mod strip_query;
mod traps;
mod url_index;
mod url_record;
mod url_table;

use std::collections::HashSet;
use std::mem;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use url::Url;

use self::ceilings::Refusal;
use self::checks::Checks;
use self::fragments::{FragmentLink, Fragments};
use self::levels::Levels;
use self::strip_query::StripQuery;
use self::traps::Traps;
use self::url_record::{LinkStatus, State, UrlRecord};
use self::url_table::UrlTable;
use crate::scope::Scope;
use crate::{FetchError, Options, Unchecked, UncheckedReason};
use web::links::{Element, Link};
use web::page::Page;
use web::{Address, BaseUrl};

pub(crate) use self::fragments::MissingFragment;
pub use self::local::{Candidate, LocalAdmission, LocalCompletion};
pub use self::referrers::{LinkContext, Referrer};
pub(crate) use self::settle::Settled;
pub use self::traps::TrapCount;

// ANCHOR: job
/// A URL to fetch, once. Queues hold many of them, so it is small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The normalised URL, without a fragment.
    pub url: Arc<str>,
    /// The number of redirects of this chain that may still be followed.
    pub redirects_left: u32,
    /// The depth in clicks from a root.
    pub depth: u32,
    /// The purpose of the fetch.
    pub purpose: Purpose,
    /// The number of the URL in the table of URLs.
    number: u32,
}
// ANCHOR_END: job

impl AsRef<Self> for Job {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Job {
    /// Returns the URL as an address, with access to its parts.
    pub fn address(&self) -> Address<'_> {
        Address::of_normalised(&self.url)
    }

    /// Creates the job of a URL that a frontier outside of this process has admitted.
    pub fn of_candidate(url: &str, redirects_left: u32, depth: u32, purpose: Purpose) -> Self {
        Self { url: url.into(), redirects_left, depth, purpose, number: 0 }
    }

    /// Creates the job of a file such as robots.txt, which is not a page and does
    /// not pass through the admission.
    pub fn for_file(url: &str) -> Self {
        Self {
            url: url.into(),
            redirects_left: 0,
            depth: 0,
            purpose: Purpose::Page,
            number: u32::MAX,
        }
    }

    /// Returns true for the job of a file, see [`Job::for_file`].
    pub fn is_file(&self) -> bool {
        self.number == u32::MAX
    }
}

/// The purpose of a fetch.
///
/// A response that is a page of the site is searched for links, even if its URL
/// was found in an image. So it does not matter if the link or the image was
/// found first, and no URL has to be fetched a second time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A URL of the site that is linked to: it is searched for links.
    #[default]
    Page,
    /// A URL of the site that a page loads: its existence is checked.
    Resource,
    /// A URL of the site that is played or embedded: it may be long, so its existence is
    /// checked by `HEAD` first.
    Media,
    /// A sitemap that a root which is an index of sitemaps names: it is read.
    Sitemap,
    /// A URL outside the site: its existence is checked, and its links are not
    /// followed.
    External,
}

// ANCHOR: via
/// The way in which a URL was found.
#[derive(Clone, Copy, Debug)]
pub enum Via<'a> {
    /// The options, as a root.
    Root,
    /// A sitemap of a root; this counts as a link from the root.
    Sitemap,
    /// A link on the page of this job.
    Link(&'a Job),
    /// This element on the page of this job, which links to the URL or loads it.
    Element(&'a Job, Link<'a>),
    /// A redirect from the URL of this job.
    Redirect(&'a Job),
}
// ANCHOR_END: via

/// The decision of the admission about a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The URL is new and has to be fetched: this is its only job.
    Admitted(Job),
    /// The URL is new and will never be fetched.
    Refused {
        /// The normalised URL, without a fragment, shortened if it is too long.
        url: Arc<str>,
        /// The depth in clicks from a root.
        depth: u32,
        /// The reason: a trap.
        error: FetchError,
    },
    /// The URL is too many clicks away. If a shorter way to it is found, it may
    /// still be admitted.
    TooDeep,
    /// The URL was found before: it is admitted, refused, or still too deep.
    Known,
    /// The URL was found before on the same page.
    Repeated,
    /// The URL is outside the scope, or a filter excludes it, or its host has so many
    /// pages that others are only counted. Or too many pages with the content of this one
    /// have led to new URLs, or it is too long for the memory that is left.
    Outside,
    /// The same, and it was not seen before: it is [unchecked](crate::CrawlSummary::unchecked).
    Unchecked,
    /// This chain of redirects has used up its budget. The URL may be admitted
    /// in another way.
    ChainTooLong,
}

/// The door of the crawl: admits each URL of the site once.
///
/// It holds the chapter's `seen_urls` as a private table. To test if a URL is new
/// and to remember it is one step, so that no other code can run in between.
#[derive(Debug, Default)]
pub struct Admission {
    scope: Scope,
    strip_query: StripQuery,
    checks: Checks,
    external: bool,
    /// Links of pages behind the start URLs are not followed.
    one_page: bool,
    max_redirect: u32,
    pub(crate) levels: Levels,
    url_table: UrlTable,
    /// The number of URLs that were admitted or refused.
    decided: usize,
    fragments: Option<Fragments>,
    keep_redirects: bool,
    /// The number of URLs in the table that have a fragment.
    fragment_urls: usize,
    /// The number of links that did not fit into the table.
    left_out: u64,
    /// The numbers of the URLs whose redirect has set a cookie.
    cookie_redirects: HashSet<u32>,
    unchecked: Unchecked,
}

/// A circle of redirects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Circle {
    /// Nobody gets out of it.
    Endless,
    /// A redirect in it has set a cookie: those who come back with it may be let in.
    WithCookie,
}

/// The maximum number of redirects that are known to have set a cookie.
const MAX_COOKIE_REDIRECTS: usize = 1 << 20;

/// The number of known URLs from which a prefetch pays: so many do not fit into
/// the faster caches of a processor.
const PREFETCH_THRESHOLD: usize = 16 * 1024;

/// The maximum number of URLs in one prefetch. So many fit into the caches.
const MAX_PREFETCH: usize = 256;

/// The schemes of URLs that lead nowhere: they have their content in themselves.
const CONTENT_SCHEMES: [&str; 4] = ["javascript", "data", "blob", "about"];

/// The maximum number of URLs on the way of a redirect that are looked at for a circle.
const MAX_CIRCLE: usize = 256;

impl Admission {
    /// The number of referrers of an unsettled URL that are stored even without a
    /// link context.
    pub const MAX_REFERRERS: usize = url_record::MAX_REFERRERS;

    /// The memory limit for the referrers of all URLs and their link contexts, in
    /// bytes: 64 MiB. A link context takes about eight bytes and its text, unless
    /// the URL has the same text from its first referrer. When half of it is used,
    /// only the first link to a URL is stored with its context; at the limit none is.
    /// The first ten referrers of a URL are stored without, and others are counted
    /// only. Of a URL that turns out to be fine, only the first referrer is kept.
    pub const MAX_LINK_CONTEXT_BYTES: usize = url_table::MAX_REFERRER_BYTES;

    /// Creates the admission for the site that these options describe.
    pub fn new(options: &Options) -> Self {
        Self {
            scope: Scope::new(options.settings.scope, &options.settings.roots),
            strip_query: StripQuery::new(&options.settings.strip_query),
            checks: Checks::new(options),
            external: options.settings.external,
            one_page: options.settings.one_page,
            max_redirect: options.settings.max_redirect,
            levels: Levels::new(options.settings.max_depth.is_some()),
            url_table: UrlTable::default(),
            decided: 0,
            keep_redirects: options.keep_redirects,
            fragments: options.settings.check.fragments.then(Fragments::default),
            fragment_urls: 0,
            left_out: 0,
            cookie_redirects: HashSet::new(),
            unchecked: Unchecked::default(),
        }
    }

    /// Decides about a URL, and stores its referrer.
    ///
    /// The URL is normalised by the WHATWG rules. Nothing else changes, except
    /// for the parts of its query that are to be stripped: `/a` and `/a/` are two
    /// URLs.
    ///
    /// The checks, in this order: the URL belongs to the site, and its link may be followed, or
    /// external URLs are checked; its chain of redirects is not too long; unless it is known, it is not
    /// excluded, and it is included, if it is a page and not a start URL; it is not too deep;
    /// its host does not have too many pages; and it is not a trap. Pass all links of one page
    /// one after the other, because [`Decision::Repeated`] compares with the last referrer
    /// only.
    ///
    /// An external URL is never stripped or too deep, and it is a trap only if it
    /// is too long. A URL that a page loads has the depth of the page, unless that
    /// page is a [`Purpose::Resource`] itself.
    // ANCHOR: admit
    pub fn admit(&mut self, address: Address<'_>, via: Via<'_>) -> Decision {
        let purpose = match self.purpose(address, via) {
            Ok(purpose) => purpose,
            Err(reason) => return self.leave_out(address, reason),
        };
        let Some((redirects_left, depth)) = self.redirects_and_depth(via) else {
            return Decision::ChainTooLong;
        };
        let candidate = LinkCandidate { purpose, redirects_left, depth, via };
        let (number, decision) = match self.decide(address, candidate) {
            Ok(decided) => decided,
            Err(reason) => return self.leave_out(address, reason),
        };
        if let Some(fragment) = address.fragment() {
            self.add_fragment_link(fragment, number, candidate);
        }
        decision
    }
    // ANCHOR_END: admit

    /// Decides about a URL that is not checked, for a reason that the user is to know of.
    fn leave_out(&mut self, address: Address<'_>, reason: Option<UncheckedReason>) -> Decision {
        let is_new = reason.is_some_and(|reason| self.unchecked.add(address.as_str(), reason));
        if is_new { Decision::Unchecked } else { Decision::Outside }
    }

    /// Records a link whose scheme is not for this crawler. Returns true if it is new.
    pub(crate) fn leave_out_scheme(&mut self, reference: &str) -> bool {
        let reference = reference.trim();
        let scheme = reference.split(':').next().unwrap_or_default();
        let is_address =
            !CONTENT_SCHEMES.iter().any(|content| scheme.eq_ignore_ascii_case(content));
        is_address && self.unchecked.add(reference, UncheckedReason::Scheme)
    }

    /// Records a file that was requested and is of a type that is not searched for links.
    pub(crate) fn leave_unread(&mut self, url: &str) {
        self.unchecked.add(url, UncheckedReason::Type);
    }

    /// Takes the URLs that were found and not checked. A URL that was admitted by another link
    /// is not among them.
    pub(crate) fn take_unchecked(&mut self) -> Unchecked {
        let mut unchecked = mem::take(&mut self.unchecked);
        unchecked.remove_checked(self);
        unchecked
    }

    /// Returns true if this URL has passed through the admission.
    pub(crate) fn has_url(&self, url: &str) -> bool {
        find_url(&self.url_table, &self.checks.traps, url).is_some()
    }

    /// Returns the URLs that were admitted and have no result, and those that are too many
    /// clicks away.
    pub fn undone(&self) -> impl Iterator<Item = (UncheckedReason, &str)> {
        // A link to a fragment is not a URL to be requested.
        let urls = self.url_table.records().filter(|record| !record.url.contains('#'));
        urls.filter_map(|record| match (record.state(), record.status()) {
            (State::TooDeep, _) => Some((UncheckedReason::Depth, &*record.url)),
            (_, LinkStatus::Open) => Some((UncheckedReason::Limit, &*record.url)),
            _ => None,
        })
    }

    /// Records a link that is not a URL. Returns its text and its depth if it is new.
    pub(crate) fn admit_no_url(
        &mut self,
        text: &str,
        from: &Job,
        link: Link<'_>,
        is_broken: bool,
    ) -> Option<(Arc<str>, u32)> {
        if self.checks.is_excluded(text) {
            return None;
        }
        let text = self.checks.traps.shorten_page(text);
        let hash = self.url_table.hash(text);
        let found = self.url_table.find(hash, text);
        let Some(number) = found.or_else(|| self.url_table.insert(hash, text)) else {
            self.left_out += 1;
            return None;
        };
        if found.is_none() {
            self.url_table.get_mut(number)?.set_state(State::Referred);
            let status = if is_broken { LinkStatus::Broken } else { LinkStatus::Fine };
            self.url_table.set_status(number, status);
            self.decided += 1;
        }
        self.url_table.add_referrer(number, from.number, Some(link), false);
        let url = Arc::clone(&self.url_table.get(number)?.url);
        found.is_none().then(|| (url, from.depth + clicks(from, link)))
    }

    /// Notes that the redirect of this job has set a cookie.
    pub(crate) fn note_cookie(&mut self, job: &Job) {
        if self.cookie_redirects.len() < MAX_COOKIE_REDIRECTS {
            self.cookie_redirects.insert(job.number);
        }
    }

    /// Returns the circle that a redirect of this job to `target` closes, if redirects lead
    /// from there to the job.
    pub(crate) fn closes_circle(&mut self, job: &Job, target: Address<'_>) -> Option<Circle> {
        let target = self.number_of(target)?;
        let way = self.way_of_redirects(target, job.number)?;
        let has_cookie = way.iter().any(|number| self.cookie_redirects.contains(number));
        Some(if has_cookie { Circle::WithCookie } else { Circle::Endless })
    }

    /// Returns the circle of redirects that `url` closes by its redirect to `next_url`:
    /// each URL redirects to the one behind it, and the last one, `url`, to the first.
    /// Returns `None` if it closes no circle.
    pub fn circle(&self, url: &str, next_url: &str) -> Option<Vec<&str>> {
        let find = |text: &str| find_url(&self.url_table, &self.checks.traps, text);
        let next_url = Url::parse(next_url).ok()?;
        let target = Address::of(&next_url).ok()?;
        let mut strip_query = self.strip_query.clone();
        // Only URLs of the site are stripped.
        let stripped = strip_query.strip(target);
        let target = find(stripped.as_str()).or_else(|| find(target.as_str()))?;
        let way = self.way_of_redirects(target, find(url)?)?;
        way.into_iter().map(|number| self.url(number)).collect()
    }

    /// Returns the URLs by which redirects lead from one URL to another, both among them.
    fn way_of_redirects(&self, from: u32, to: u32) -> Option<Vec<u32>> {
        // Each URL, with the index of the one that it redirects to.
        let mut before = vec![(to, 0)];
        let mut n = 0;
        while n < MAX_CIRCLE
            && let Some(&(number, _)) = before.get(n)
        {
            if number == from {
                let mut way = vec![number];
                while n > 0 {
                    n = before[n].1;
                    way.push(before[n].0);
                }
                return Some(way);
            }
            let is_redirect = |from: &u32| self.url_table.is_redirect(*from);
            let referrers = self.url_table.referrers(number).map(|(from, _)| from);
            let is_new = |from: &u32| before.iter().all(|(known, _)| known != from);
            // Those beyond the maximum would not be looked at.
            let room = MAX_CIRCLE.saturating_sub(before.len());
            let new: Vec<u32> = referrers.filter(is_redirect).filter(is_new).take(room).collect();
            before.extend(new.into_iter().map(|from| (from, n)));
            n += 1;
        }
        None
    }

    /// Returns the number of redirects that are left to a URL, and its depth; `None`
    /// if its chain of redirects is too long.
    fn redirects_and_depth(&self, via: Via<'_>) -> Option<(u32, u32)> {
        Some(match via {
            Via::Root => (self.max_redirect, 0),
            Via::Sitemap => (self.max_redirect, 1),
            Via::Link(from) => (self.max_redirect, from.depth + 1),
            Via::Element(from, link) => (self.max_redirect, from.depth + clicks(from, link)),
            // What another site redirects to is not a start URL, although its link may be on one.
            Via::Redirect(from) if from.purpose == Purpose::External => {
                (from.redirects_left.checked_sub(1)?, from.depth.max(1))
            }
            Via::Redirect(from) => (from.redirects_left.checked_sub(1)?, from.depth),
        })
    }

    /// Returns the number of a URL and the decision about it.
    ///
    /// # Errors
    /// When the URL is excluded, with that reason; or `None` if it is only counted.
    fn decide(
        &mut self,
        address: Address<'_>,
        candidate: LinkCandidate<'_>,
    ) -> Result<(u32, Decision), Option<UncheckedReason>> {
        let is_external = candidate.is_external();
        let address = if is_external { address } else { self.strip_query.strip(address) };
        let text = self.checks.traps.shorten(address.as_str(), candidate.purpose);
        // ANCHOR: find_or_insert
        let hash = self.url_table.hash(text);
        let found = self.url_table.find(hash, text);
        if found.is_none() && !self.checks.is_wanted(address, candidate) {
            return Err(Some(UncheckedReason::Excluded));
        }
        // A URL that was too deep stays open: a shorter way to it may come.
        let is_open = found.is_none_or(|number| self.url_table.is_too_deep(number));
        let is_new = is_open && self.checks.is_within_depth(candidate);
        let checked = if is_new { self.checks.check(address, candidate) } else { Ok(()) };
        let refusal = match checked {
            Ok(()) => None,
            Err(Refusal::Row(error)) => Some(error),
            Err(Refusal::Counted) => return Err(None),
        };
        let number = found.or_else(|| self.url_table.insert(hash, text));
        // ANCHOR_END: find_or_insert
        let Some(number) = number else {
            self.left_out += 1;
            return Err(None);
        };
        if is_new && refusal.is_none() {
            self.checks.ceilings.count(address);
        }
        let decision = match (is_new, found) {
            (true, _) => self.settle_new(number, refusal, candidate).ok_or(None)?,
            (false, Some(_)) => self.note_known(number, candidate),
            (false, None) => {
                self.note_known(number, candidate);
                Decision::TooDeep
            }
        };
        Ok((number, decision))
    }

    /// Admits or refuses a URL that is new.
    fn settle_new(
        &mut self,
        number: u32,
        refusal: Option<FetchError>,
        candidate: LinkCandidate<'_>,
    ) -> Option<Decision> {
        let LinkCandidate { purpose, redirects_left, depth, via } = candidate;
        let url_record = self.url_table.get_mut(number)?;
        let url = Arc::clone(&url_record.url);
        url_record.set_state(if via.from().is_none() { State::Seed } else { State::Referred });
        self.decided += 1;
        self.add_referrer(number, via, via.link());
        Some(match refusal {
            None => Decision::Admitted(Job { url, redirects_left, depth, purpose, number }),
            Some(error) => {
                self.url_table.set_fine(number);
                Decision::Refused { url, depth, error }
            }
        })
    }

    /// Notes another way to a URL that is decided, or too deep.
    fn note_known(&mut self, number: u32, candidate: LinkCandidate<'_>) -> Decision {
        let via = candidate.via;
        // A URL that is too deep is not requested: its link contexts are unused.
        let link = if self.url_table.is_too_deep(number) { None } else { via.link() };
        let is_new_referrer = self.add_referrer(number, via, link);
        self.levels.shorten(number, candidate);
        if is_new_referrer { Decision::Known } else { Decision::Repeated }
    }

    /// Stores the referrer of a URL. Returns false if the URL had the same one last.
    fn add_referrer(&mut self, number: u32, via: Via<'_>, link: Option<Link<'_>>) -> bool {
        let Some(from) = via.from() else { return true };
        let is_redirect = matches!(via, Via::Redirect(_));
        self.url_table.add_referrer(number, from.number, link, is_redirect)
    }

    /// Prefetches the records of all links of a page into the processor's caches.
    pub(crate) fn prefetch(&mut self, page: &Page) {
        if self.url_table.len() < PREFETCH_THRESHOLD {
            return;
        }
        let mut base_url = BaseUrl::new(&page.base, page.encoding);
        let mut hashes = Vec::with_capacity(page.found.links().len().min(MAX_PREFETCH));
        for link in page.found.links().take(MAX_PREFETCH) {
            if let Ok(address) = base_url.join(link.href) {
                let address = self.strip_query.strip(address);
                hashes.push(self.url_table.hash(self.checks.traps.shorten_page(address.as_str())));
            }
        }
        self.url_table.prefetch(&hashes);
    }

    /// From now on, the host of this URL belongs to the site.
    pub(crate) fn extend_scope(&mut self, address: Address<'_>) {
        self.scope.add(address);
    }

    /// From now on, only URLs whose path begins with this one belong to the site.
    pub(crate) fn keep_below(&mut self, path: &str) {
        self.scope.keep_below(path);
    }

    /// From now on, no URL belongs to the site.
    pub(crate) fn clear_scope(&mut self) {
        self.scope = Scope::default();
    }

    /// Returns true if a URL belongs to the site.
    pub(crate) fn is_in_scope(&mut self, address: Address<'_>) -> bool {
        self.scope.contains(address)
    }

    /// Returns the purpose of fetching a URL.
    ///
    /// # Errors
    /// When it is out of scope, with the reason that the user is to know of. `nofollow` is for
    /// links of the site: those to other sites are not followed in any case.
    fn purpose(
        &mut self,
        address: Address<'_>,
        via: Via<'_>,
    ) -> Result<Purpose, Option<UncheckedReason>> {
        if self.one_page && via.from().is_some_and(|from| from.depth > 0) && !via.is_redirect() {
            return Err(None);
        }
        if !self.scope.contains(address) {
            return match self.external {
                true => Ok(Purpose::External),
                false => Err(Some(UncheckedReason::OtherSite)),
            };
        }
        if via.link().is_some_and(|link| link.nofollow) {
            return Err(Some(UncheckedReason::Nofollow));
        }
        Ok(match via {
            Via::Root | Via::Sitemap | Via::Link(_) => Purpose::Page,
            Via::Element(_, link) => match link.element {
                Element::Sitemap => Purpose::Sitemap,
                element if element.is_media() => Purpose::Media,
                element if element.is_clicked() => Purpose::Page,
                _ => Purpose::Resource,
            },
            Via::Redirect(from) if from.purpose == Purpose::External => Purpose::Page,
            Via::Redirect(from) => from.purpose,
        })
    }

    /// Adds a link to a fragment of the URL with the number `target`. The
    /// fragment is checked as soon as the target has settled, if fragments are
    /// checked at all.
    fn add_fragment_link(&mut self, fragment: &str, target: u32, candidate: LinkCandidate<'_>) {
        let Self { fragments: Some(fragments), url_table, left_out, unchecked, .. } = self else {
            return;
        };
        let (Some(id), Some(from)) = (fragments::element_id(fragment), candidate.via.from()) else {
            return;
        };
        if id.starts_with(['/', '!']) {
            if let Some(target) = url_table.get(target) {
                unchecked.add(&format!("{}#{id}", target.url), UncheckedReason::Route);
            }
            return;
        }
        let Some(url) = url_table.get(target).map(|target| format!("{}#{id}", target.url)) else {
            return;
        };
        let hash = url_table.hash(&url);
        let found = url_table.find(hash, &url);
        let Some(number) = found.or_else(|| url_table.insert(hash, &url)) else {
            *left_out += 1;
            return;
        };
        let link = candidate.via.link();
        url_table.add_referrer(number, from.number, link, link.is_none());
        if found.is_none() {
            self.fragment_urls += 1;
            fragments.check(FragmentLink { number, depth: candidate.depth }, target, url_table);
        }
    }

    /// Returns true if the link contexts of this URL are still needed: it is not
    /// known to be fine.
    pub(crate) fn needs_link_context(&mut self, address: Address<'_>) -> bool {
        let status = self.number_of(address).and_then(|number| self.url_table.status(number));
        status.is_some_and(|status| status != LinkStatus::Fine)
    }

    /// Admits a URL that an earlier run has finished, however it was found. `is_seed` is
    /// true if that run had it from the options or from a sitemap. Returns `None` when no
    /// number is left for it.
    pub(crate) fn admit_again(
        &mut self,
        address: Address<'_>,
        depth: u32,
        redirects_left: u32,
        purpose: Purpose,
        is_seed: bool,
    ) -> Option<Job> {
        let text = self.checks.traps.shorten(address.as_str(), purpose);
        let hash = self.url_table.hash(text);
        let found = self.url_table.find(hash, text);
        let number = found.or_else(|| self.url_table.insert(hash, text))?;
        let url_record = self.url_table.get_mut(number)?;
        if url_record.state() == State::TooDeep {
            url_record.set_state(State::Referred);
            self.decided += 1;
            self.levels.add_seed();
            // The URL passed the checks before; this only counts it.
            let _ = self.checks.traps.check(address, depth, purpose);
            self.checks.ceilings.count(address);
        }
        if is_seed {
            url_record.set_state(State::Seed);
        }
        let url = Arc::clone(&url_record.url);
        Some(Job { url, redirects_left, depth, purpose, number })
    }

    /// Begins a page with this hash of its content: its links are admitted next.
    pub(crate) fn begin_page(&mut self, job: &Job, content: Option<u64>) {
        self.checks.ceilings.begin_page(job.address(), content);
    }

    /// Ends a page, which has led to so many new URLs. Returns true, once, when the
    /// content of all further pages has to be hashed.
    pub(crate) fn end_page(&mut self, job: &Job, content: Option<u64>, new_urls: u32) -> bool {
        self.checks.ceilings.end_page(job.address(), content, new_urls)
    }

    /// Returns a sentence for each host that has too many pages.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        self.checks.ceilings.warnings()
    }

    /// Returns the number of different URLs that were admitted or refused. Each
    /// of them becomes a row, unless the crawl ends before.
    pub fn seen(&self) -> usize {
        self.decided
    }

    /// Returns the number of different URLs that are too many clicks away.
    pub fn too_deep(&self) -> usize {
        self.url_table.len() - self.fragment_urls - self.decided
    }

    /// Returns the approximate memory of all URLs, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.url_table.memory()
    }

    /// Returns the number of fragments that could not be checked, because their page was not
    /// read to its end.
    pub(crate) fn unchecked_fragments(&self) -> u64 {
        self.fragments.as_ref().map_or(0, Fragments::num_unchecked)
    }

    /// Returns the number of links that were left out because the memory for long URLs
    /// was used up.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns the first referrer of this URL, or `None` for a root and for a URL
    /// of a sitemap.
    pub fn first_referrer(&self, url: &str) -> Option<&str> {
        self.first_of(self.url_record(url)?)
    }

    /// Returns the first referrer of the URL of a job.
    pub(crate) fn first_referrer_of(&self, job: &Job) -> Option<&str> {
        self.first_of(self.url_table.get(job.number)?)
    }

    /// Returns true if the URL of a job is known to be a root, or one of a sitemap.
    pub(crate) fn is_seed(&self, job: &Job) -> bool {
        self.url_table.get(job.number).is_some_and(|it| it.state() == State::Seed)
    }

    fn first_of(&self, url_record: &UrlRecord) -> Option<&str> {
        if url_record.state() == State::Seed {
            return None;
        }
        self.url(url_record.first_referrer()?)
    }

    /// Returns the stored referrers of this URL in the order in which they were
    /// found, and the number of all its referrers. Of a URL that is fine only the
    /// first referrer is stored. Of any other, all referrers are stored up to the
    /// [limit](Self::MAX_LINK_CONTEXT_BYTES) on memory; but after the first ten, a
    /// link without a context only if the URL was already known to be broken. The
    /// URL may be one with a missing fragment.
    pub fn referrers(&self, url: &str) -> (Vec<Referrer<'_>>, u32) {
        let Some(number) = self.url_table.find(self.url_table.hash(url), url) else {
            return (Vec::new(), 0);
        };
        let referrers = self.url_table.referrers(number);
        let referrers = referrers
            .filter_map(|(from, context)| Some(Referrer { url: self.url(from)?, context }));
        (referrers.collect(), self.url_table.get(number).map_or(0, UrlRecord::count))
    }

    /// Returns true if the links to this URL are known to need no repair: it is not broken,
    /// and not a redirect to a broken URL.
    pub fn is_fine(&self, url: &str) -> bool {
        self.url_record(url).is_some_and(|url_record| url_record.status() == LinkStatus::Fine)
    }

    fn url_record(&self, url: &str) -> Option<&UrlRecord> {
        self.url_table.get(self.url_table.find(self.url_table.hash(url), url)?)
    }

    fn url(&self, number: u32) -> Option<&str> {
        self.url_table.get(number).map(|url_record| &*url_record.url)
    }
}

impl<'a> Via<'a> {
    fn is_redirect(self) -> bool {
        matches!(self, Self::Redirect(_))
    }

    fn from(self) -> Option<&'a Job> {
        match self {
            Self::Root | Self::Sitemap => None,
            Self::Link(from) | Self::Element(from, _) | Self::Redirect(from) => Some(from),
        }
    }

    pub(crate) fn link(self) -> Option<Link<'a>> {
        match self {
            Self::Element(_, link) => Some(link),
            Self::Root | Self::Sitemap | Self::Link(_) | Self::Redirect(_) => None,
        }
    }
}

/// A link that has passed the scope and the redirect budget, with the values its
/// job would get.
#[derive(Clone, Copy)]
struct LinkCandidate<'a> {
    purpose: Purpose,
    redirects_left: u32,
    depth: u32,
    via: Via<'a>,
}

impl LinkCandidate<'_> {
    fn is_external(self) -> bool {
        self.purpose == Purpose::External
    }

    fn is_root(self) -> bool {
        matches!(self.via, Via::Root)
    }
}

/// Returns the number of a URL, which is shortened if it is that of a page and too long.
fn find_url(url_table: &UrlTable, traps: &Traps, url: &str) -> Option<u32> {
    let find = |text: &str| url_table.find(url_table.hash(text), text);
    let short = traps.shorten_page(url);
    find(url).or_else(|| if short.len() < url.len() { find(short) } else { None })
}

/// Returns the number of clicks from a page to the target of its link, 0 or 1. A
/// link of a resource always counts as a click, so that a chain of resources has
/// an end.
fn clicks(from: &Job, link: Link<'_>) -> u32 {
    u32::from(link.element.is_clicked() || from.purpose != Purpose::Page)
}
