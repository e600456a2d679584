//! The demo site, and whether a crawl has found it all.

use std::collections::{BTreeMap, BTreeSet};

use crawl_core::Outcome;
use demo_site::{DemoSite, Kind, SiteOptions};

use super::Crawled;

/// A demo site of so many small pages.
pub fn demo_site(pages: u32, change: impl FnOnce(&mut SiteOptions)) -> DemoSite {
    let mut options =
        SiteOptions { pages, page_size: 1000, special_cases: false, ..SiteOptions::default() };
    change(&mut options);
    DemoSite::start(options).unwrap()
}

/// Fails unless the crawl has a row for each URL of the site, the right one,
/// and no other.
pub fn expect_all_of(site: &DemoSite, crawled: &Crawled) {
    let expected = site.expected();
    let paths: BTreeSet<String> = expected.iter().map(|e| site.url(&e.path)).collect();
    let found: BTreeSet<String> = crawled.rows().keys().cloned().collect();
    let unlike: Vec<_> = found.symmetric_difference(&paths).collect();
    assert!(unlike.is_empty(), "found by {:?} or expected, not both: {unlike:#?}", crawled.stage);
    for expected in expected {
        let row = crawled.row(&expected.path);
        let found = (row.outcome, row.status, row.next_url.clone());
        let expected = match &expected.kind {
            Kind::Page => (Outcome::Page, Some(200), None),
            Kind::Other { .. } => (Outcome::Other, Some(200), None),
            Kind::Redirect { status, target } => {
                (Outcome::Redirect, Some(*status), Some(site.url(target)))
            }
            Kind::Error { status } => (Outcome::HttpError, Some(*status), None),
        };
        assert_eq!(found, expected, "{row:?}");
        assert_eq!(row.tries, 1, "{row:?}");
    }
}

/// Fails unless each URL of the site was asked for once, and nothing else.
pub fn expect_asked_once(site: &DemoSite) {
    let expected = site.expected().into_iter().map(|e| (e.path, 1));
    let expected: BTreeMap<String, u64> = expected.collect();
    assert_eq!(site.all_hits(), expected);
}
