//! Findings: what is broken, as a person repairs it. A host that does not answer is one finding,
//! whatever the number of its URLs, and so is a page with all the fragments that it lacks. What
//! most links lead to comes first.

use std::collections::{BTreeMap, HashSet};

use crawl_core::ErrorClass;

use super::broken::{Broken, Place, count, places};
use super::{End, Grouping};

/// Broken URLs that one repair mends.
pub(super) struct Finding<'a> {
    /// The URLs, those with the most links first.
    pub(super) urls: Vec<&'a Broken>,
    /// The host or the page that they share, if there are several.
    pub(super) shared: Option<&'a str>,
    pub(super) num_links: usize,
}

impl Finding<'_> {
    /// Returns the cause in a few words.
    pub(super) fn cause(&self) -> String {
        self.urls.first().map(|broken| broken.problem_kind()).unwrap_or_default()
    }

    /// Returns the cause, with the message if there is one for all of them.
    pub(super) fn problem(&self) -> String {
        match (self.shared, self.urls.first(), self.message()) {
            (None, Some(broken), _) => broken.problem(),
            (_, _, Some(message)) => format!("{}: {message}", self.cause()),
            _ => self.cause(),
        }
    }

    /// Returns the URL; or the host or the page that several share, with their number.
    pub(super) fn subject(&self) -> String {
        match (self.shared, self.urls.first()) {
            (Some(shared), _) => format!("{shared}: {}", self.size()),
            (None, Some(broken)) => broken.url.to_string(),
            (None, None) => String::new(),
        }
    }

    /// Returns the number of its URLs in words.
    pub(super) fn size(&self) -> String {
        let is_page = self.urls.first().is_some_and(|broken| has_class(broken, is_of_page));
        count(self.urls.len() as u64, if is_page { "fragment" } else { "URL" })
    }

    /// Returns a URL as it is listed below what all share.
    pub(super) fn name<'b>(&self, broken: &'b Broken) -> &'b str {
        match broken.url.find('#') {
            Some(fragment) if has_class(broken, is_of_page) => &broken.url[fragment..],
            _ => &broken.url,
        }
    }

    /// Returns the message about a host that several URLs share. The fragments of a page have
    /// one each, with what the heading says already.
    pub(super) fn message(&self) -> Option<&str> {
        let first = self.urls.first().filter(|broken| !has_class(broken, is_of_page))?;
        first.error.as_ref().map(|error| &*error.message)
    }
}

fn has_class(broken: &Broken, is_such: fn(ErrorClass) -> bool) -> bool {
    broken.error.as_ref().is_some_and(|error| is_such(error.class))
}

/// Returns true for the errors that all URLs of a host have.
fn is_of_host(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Connect | ErrorClass::Dns | ErrorClass::Tls)
}

fn is_of_page(class: ErrorClass) -> bool {
    class == ErrorClass::Fragment
}

/// Returns what a URL may share with others.
fn shared_part(broken: &Broken) -> Option<&str> {
    if has_class(broken, is_of_host) {
        let (_, rest) = broken.url.split_once("://")?;
        rest.split(['/', '?']).next()
    } else if has_class(broken, is_of_page) {
        Some(broken.url.split_once('#')?.0)
    } else {
        None
    }
}

/// Returns the findings among broken URLs, those with the most links first.
pub(super) fn findings<'a>(broken: &'a [Broken], end: &End<'_>) -> Vec<Finding<'a>> {
    let mut groups: BTreeMap<(String, &str), Vec<(usize, &Broken)>> = BTreeMap::new();
    let mut findings = Vec::new();
    for broken in broken {
        let num_links = places(broken, end).len();
        match shared_part(broken) {
            Some(shared) => {
                groups.entry((broken.kind(), shared)).or_default().push((num_links, broken));
            }
            None => findings.push(Finding { urls: vec![broken], shared: None, num_links }),
        }
    }
    for ((_, shared), mut urls) in groups {
        // The sort is stable, and they are in the order of their texts.
        urls.sort_by_key(|(num_links, _)| std::cmp::Reverse(*num_links));
        let num_links = urls.iter().map(|(num_links, _)| num_links).sum();
        let shared = (urls.len() > 1).then_some(shared);
        let urls = urls.into_iter().map(|(_, broken)| broken).collect();
        findings.push(Finding { urls, shared, num_links });
    }
    let first = |finding: &Finding<'a>| finding.urls.first().map(|broken| &broken.url);
    findings.sort_by(|a, b| b.num_links.cmp(&a.num_links).then_with(|| first(a).cmp(&first(b))));
    findings
}

/// Returns in words that nearly every page has a link, which then is in their layout.
pub(super) fn spread(places: &[Place<'_>], end: &End<'_>) -> Option<String> {
    /// A link on fewer pages is not taken for a part of the layout.
    const MIN_PAGES: usize = 5;
    let num_pages = end.statistics.pages as usize;
    let pages: HashSet<&str> = places.iter().map(|place| &*place.page).collect();
    let number = pages.len();
    if number < MIN_PAGES || number * 10 < num_pages * 9 {
        None
    } else if number >= num_pages {
        Some(format!("on all {number} pages"))
    } else {
        Some(format!("on {number} of {num_pages} pages"))
    }
}

/// Returns the same, and the first of the places, if there are too many to be listed.
pub(super) fn in_layout<'p, 'a>(
    places: &'p [Place<'a>],
    grouping: Grouping,
    end: &End<'_>,
) -> Option<(String, &'p Place<'a>)> {
    if places.len() <= grouping.max_referrers || !grouping.sums_up {
        return None;
    }
    Some((spread(places, end)?, places.first()?))
}
