//! Helpers that read pages and resolve their links.
#![allow(dead_code)]

use indexmap::IndexSet;
use url::Url;
use web::BaseUrl;
use web::links::ExtractOptions;
use web::page::{Page, PageReader};

/// Reads the page at `url` that arrives in these slices.
pub(crate) fn read<'a>(
    url: &str,
    slices: impl IntoIterator<Item = &'a [u8]>,
    charset: Option<&str>,
    options: ExtractOptions,
) -> Page {
    let url = Url::parse(url).unwrap();
    let mut reader = PageReader::new(&url, charset, options);
    slices.into_iter().for_each(|slice| reader.feed(slice));
    reader.finish(&url)
}

/// Returns the URLs of a page's links: each URL once, in the order of the page.
pub(crate) fn links_of(page: &Page) -> Vec<Url> {
    resolve(&page.base, page, page.found.links().map(|link| link.href))
}

/// Resolves these references of a page: each URL once, in their order.
pub(crate) fn resolve<'a>(
    base: &Url,
    page: &Page,
    references: impl Iterator<Item = &'a str>,
) -> Vec<Url> {
    let mut base_url = BaseUrl::new(base, page.encoding);
    let mut links = IndexSet::new();
    for reference in references {
        if let Ok(address) = base_url.join(reference) {
            links.insert(Url::parse(address.as_str()).unwrap());
        }
    }
    links.into_iter().collect()
}
