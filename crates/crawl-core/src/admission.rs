//! The one door through which URLs become work.

use std::sync::Arc;

use indexmap::IndexMap;
use regex::Regex;
use url::Url;

use crate::Options;
use crate::scope::Scope;

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

/// Lets each URL of the site in once.
///
/// The chapter's `seen_urls` lives in here, out of reach: testing whether a
/// URL is new and remembering that it is no longer are one step, between which
/// nobody can come.
#[derive(Debug, Default)]
pub struct Admission {
    scope: Scope,
    exclude: Vec<Regex>,
    max_redirect: u32,
    seen: IndexMap<Arc<str>, Referrers>,
}

impl Admission {
    /// The door of the site that these options describe.
    pub fn new(options: &Options) -> Self {
        Self {
            scope: Scope::new(options.scope, &options.roots),
            exclude: options.exclude.clone(),
            max_redirect: options.max_redirect,
            seen: IndexMap::new(),
        }
    }

    /// Whether a URL belongs to what is to be crawled, new or not.
    pub fn allows(&self, url: &Url) -> bool {
        self.scope.contains(url) && !self.exclude.iter().any(|e| e.is_match(url.as_str()))
    }

    /// The job of fetching this URL, if it belongs to the crawl and nobody has
    /// been given it before. However it was found, that is remembered.
    ///
    /// The URL is taken as the WHATWG rules normalise it, less its fragment,
    /// which never reaches a server. Nothing else is changed: with and
    /// without a slash at the end are two URLs.
    pub fn admit(&mut self, mut url: Url, via: Via<'_>) -> Option<Job> {
        url.set_fragment(None);
        if !self.allows(&url) {
            return None;
        }
        // 2^32 URLs would not fit into memory anyway.
        let next_number = u32::try_from(self.seen.len()).ok()?;
        let (redirects_left, depth, from) = match via {
            Via::Root => (self.max_redirect, 0, None),
            Via::Link(from) => (self.max_redirect, from.depth + 1, Some(from.number)),
            Via::Redirect(from) => {
                let left = from.redirects_left.checked_sub(1)?;
                (left, from.depth, Some(from.number))
            }
        };
        if let Some(referrers) = self.seen.get_mut(url.as_str()) {
            referrers.add(from);
            return None;
        }
        let url: Arc<str> = url.as_str().into();
        let mut referrers = Referrers { is_root: from.is_none(), ..Referrers::default() };
        referrers.add(from);
        self.seen.insert(Arc::clone(&url), referrers);
        Some(Job { url, redirects_left, depth, number: next_number })
    }

    /// How many different URLs were let in.
    pub fn seen(&self) -> usize {
        self.seen.len()
    }

    /// Who led to this URL first: nobody, if the user named it.
    pub fn first_referrer(&self, url: &str) -> Option<&str> {
        let referrers = self.seen.get(url).filter(|referrers| !referrers.is_root)?;
        let (url, _) = self.seen.get_index(*referrers.first.first()? as usize)?;
        Some(url)
    }

    /// The URLs that lead to this one, the first to be found first, and how
    /// many there are in all.
    pub fn referrers(&self, url: &str) -> (Vec<&str>, u32) {
        let Some(referrers) = self.seen.get(url) else {
            return (Vec::new(), 0);
        };
        let text = |&number: &u32| self.seen.get_index(number as usize).map(|(url, _)| &**url);
        let first = referrers.first.iter().filter_map(text).collect();
        (first, referrers.count)
    }
}

/// Who leads to a URL: the first few, and how many.
#[derive(Clone, Debug, Default)]
pub struct Referrers {
    is_root: bool,
    first: Vec<u32>,
    count: u32,
}

impl Referrers {
    /// How many referrers of one URL are remembered by name.
    pub const REMEMBERED: usize = 10;

    fn add(&mut self, from: Option<u32>) {
        let Some(from) = from else { return };
        self.count = self.count.saturating_add(1);
        if self.first.len() < Self::REMEMBERED {
            self.first.push(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn door(change: impl FnOnce(&mut Options)) -> Admission {
        let mut options = Options::new(vec![url("http://site.test/")]);
        change(&mut options);
        Admission::new(&options)
    }

    #[test]
    fn each_url_is_let_in_once_however_it_is_written() {
        let mut door = door(|_| ());
        let root = door.admit(url("http://site.test"), Via::Root).unwrap();
        assert_eq!(&*root.url, "http://site.test/");
        for again in ["HTTP://Site.Test:80/", "http://site.test/./#x", "http://site.test/a/.."] {
            assert_eq!(door.admit(url(again), Via::Link(&root)), None, "{again}");
        }
        let a = door.admit(url("http://site.test/a#top"), Via::Link(&root)).unwrap();
        let slash = door.admit(url("http://site.test/a/"), Via::Link(&a)).unwrap();
        assert_eq!((&*a.url, a.depth), ("http://site.test/a", 1));
        assert_eq!((&*slash.url, slash.depth), ("http://site.test/a/", 2));
        assert_eq!(door.seen(), 3);
    }

    #[test]
    fn the_redirect_budget_travels_with_the_job() {
        let mut door = door(|options| options.max_redirect = 1);
        let root = door.admit(url("http://site.test/"), Via::Root).unwrap();
        let next = door.admit(url("http://site.test/1"), Via::Redirect(&root)).unwrap();
        assert_eq!((next.redirects_left, next.depth), (0, 0));
        assert_eq!(door.admit(url("http://site.test/2"), Via::Redirect(&next)), None);
        let link = door.admit(url("http://site.test/2"), Via::Link(&next)).unwrap();
        assert_eq!((link.redirects_left, link.depth), (1, 1), "a page begins a new chain");
    }

    #[test]
    fn roots_links_and_redirects_pass_the_same_door() {
        let mut door = door(|o| o.exclude.push(Regex::new("private").unwrap()));
        let root = door.admit(url("http://site.test/"), Via::Root).unwrap();
        for refused in [
            "http://elsewhere.test/",
            "ftp://site.test/",
            "mailto:somebody@site.test",
            "http://site.test/private/1",
        ] {
            for via in [Via::Root, Via::Link(&root), Via::Redirect(&root)] {
                assert_eq!(door.admit(url(refused), via), None, "{refused}");
            }
        }
        assert_eq!(door.seen(), 1);
    }

    #[test]
    fn the_first_referrers_are_remembered_and_all_are_counted() {
        let mut door = door(|_| ());
        let root = door.admit(url("http://site.test/"), Via::Root).unwrap();
        let target = || url("http://site.test/target");
        door.admit(target(), Via::Link(&root)).unwrap();
        for n in 0..20 {
            let page = url(&format!("http://site.test/{n}"));
            let page = door.admit(page, Via::Link(&root)).unwrap();
            assert_eq!(door.admit(target(), Via::Link(&page)), None);
        }
        let (first, count) = door.referrers("http://site.test/target");
        assert_eq!(count, 21);
        assert_eq!(first.len(), Referrers::REMEMBERED);
        assert_eq!(first[..2], ["http://site.test/", "http://site.test/0"]);
    }
}
