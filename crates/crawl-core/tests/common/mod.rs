//! Pages and their links, for all tests that need them.
#![allow(dead_code)]

use crawl_core::Joiner;
use crawl_core::links::Wanted;
use crawl_core::page::{Page, PageReader};
use indexmap::IndexSet;
use url::Url;

/// Reads the page at `url` that arrives in these slices.
pub(crate) fn read<'a>(
    url: &str,
    slices: impl IntoIterator<Item = &'a [u8]>,
    charset: Option<&str>,
    wanted: Wanted,
) -> Page {
    let url = Url::parse(url).unwrap();
    let mut reader = PageReader::new(&url, charset, wanted);
    slices.into_iter().for_each(|slice| reader.feed(slice));
    reader.finish(&url)
}

/// Where a page leads: each place once, in the order of the page.
pub(crate) fn links_of(page: &Page) -> Vec<Url> {
    resolve(&page.base, page, page.found.links().map(|link| link.href))
}

/// Where these references of a page lead.
pub(crate) fn resolve<'a>(
    base: &Url,
    page: &Page,
    references: impl Iterator<Item = &'a str>,
) -> Vec<Url> {
    let mut joiner = Joiner::new(base, page.encoding);
    let mut links = IndexSet::new();
    for reference in references {
        if let Ok(address) = joiner.join(reference) {
            links.insert(Url::parse(address.as_str()).unwrap());
        }
    }
    links.into_iter().collect()
}
