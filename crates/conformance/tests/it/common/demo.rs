//! The demo site, and checks that a crawl has found all of it.

use std::collections::{BTreeMap, BTreeSet};

use crawl_core::Outcome;
use demo_site::{DemoSite, Kind, SiteOptions};

use super::Crawled;

/// Starts a demo site with this number of small pages.
pub fn demo_site(pages: u32, change: impl FnOnce(&mut SiteOptions)) -> DemoSite {
    let mut options =
        SiteOptions { pages, page_size: 1000, special_cases: false, ..SiteOptions::default() };
    change(&mut options);
    DemoSite::start(options).unwrap()
}

/// Fails unless the crawl has the right row for each URL of the site, and no
/// other row.
pub fn expect_all_of(site: &DemoSite, crawled: &Crawled) {
    let expected = site.expected();
    let expected_urls: BTreeSet<String> = expected.iter().map(|e| site.url(&e.path)).collect();
    let urls: BTreeSet<String> = crawled.rows().keys().cloned().collect();
    let different: Vec<_> = urls.symmetric_difference(&expected_urls).collect();
    assert!(
        different.is_empty(),
        "found by {:?} or expected, not both: {different:#?}",
        crawled.stage
    );
    for expected in expected {
        let row = crawled.row(&expected.path);
        let actual = (row.outcome, row.status, row.next_url.clone());
        let expected = match &expected.kind {
            Kind::Page => (Outcome::Page, Some(200), None),
            Kind::Other { .. } => (Outcome::Other, Some(200), None),
            Kind::Redirect { status, target } => {
                (Outcome::Redirect, Some(*status), Some(site.url(target)))
            }
            Kind::Loop { status, target } => {
                (Outcome::HttpError, Some(*status), Some(site.url(target)))
            }
            Kind::Error { status } => (Outcome::HttpError, Some(*status), None),
        };
        assert_eq!(actual, expected, "{row:?}");
        assert_eq!(row.tries, 1, "{row:?}");
    }
}

/// Fails unless each URL of the site was requested exactly once, and no other
/// URL was.
pub fn expect_requested_once(site: &DemoSite) {
    let expected = site.expected().into_iter().map(|e| (e.path, 1));
    let expected: BTreeMap<String, u64> = expected.collect();
    assert_eq!(site.all_hits(), expected);
}
