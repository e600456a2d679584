//! The fuzz target of pages and their links.

use encoding_rs::Encoding;
use indexmap::IndexSet;
use test_support::comparable::is_comparable;
use url::Url;
use web::BaseUrl;
use web::links::{ExtractOptions, LinkExtractor, Tree};
use web::page::{Page, PageReader};

use crate::has_file_url;
use crate::slices::in_any_slices;

/// Reads the input as a page. Asserts that
///
/// * the results are the same in any slices, and their size is limited by that of the
///   page;
/// * malformed text has the same result as if it were replaced first;
/// * the links are those of the tree that a browser builds, except for pages that are
///   parsed differently on purpose.
pub fn links(input: &[u8]) {
    if has_file_url(input) {
        return;
    }
    let Ok(url) = Url::parse("http://site.test/dir/page") else { return };
    for (charset, options) in
        [(None, ExtractOptions::ALL), (Some("utf-8"), ExtractOptions::default())]
    {
        let page = in_any_slices(input, |slices| {
            let Page { found, base, encoding, .. } = read(&url, charset, options, slices);
            (found, base, encoding)
        });
        let links = || page.0.links().map(|link| link.href);
        assert!(links().map(str::len).sum::<usize>() <= 3 * input.len(), "more than there is");
        for link in resolve(&page.1, page.2, links()) {
            assert!(link.starts_with("http") && !link.contains('#'), "{link:?}");
        }
    }

    let text = String::from_utf8_lossy(input);
    let [malformed, replaced] = [input, text.as_bytes()].map(|page| {
        let mut extractor = LinkExtractor::new(ExtractOptions::default());
        extractor.feed(page);
        extractor.finish()
    });
    assert_eq!(malformed, replaced);
    if is_comparable(&text) {
        assert_links_of_the_tree(&url, &text);
    }
}

/// Reads a page in these slices.
fn read(url: &Url, charset: Option<&str>, options: ExtractOptions, slices: &[&[u8]]) -> Page {
    let mut reader = PageReader::new(url, charset, options);
    slices.iter().for_each(|slice| reader.feed(slice));
    reader.finish(url)
}

/// Asserts that the extractor finds the same links as the tree.
fn assert_links_of_the_tree(url: &Url, text: &str) {
    // A page that is too deep or too large has no tree.
    let Ok(tree) = Tree::of(text) else { return };
    let base = tree.base().and_then(|base| url.join(base).ok());
    let base = base.filter(|base| !matches!(base.scheme(), "data" | "javascript"));
    let page = read(url, Some("utf-8"), ExtractOptions::default(), &[text.as_bytes()]);
    let results = resolve(&page.base, page.encoding, page.found.links().map(|link| link.href));
    let expected = resolve(base.as_ref().unwrap_or(url), page.encoding, tree.links());
    let extra: Vec<_> = results.difference(&expected).collect();
    let missing: Vec<_> = expected.difference(&results).collect();
    assert!(results.iter().eq(&expected), "too many {extra:?}, too few {missing:?} in {text:?}");
}

/// Joins references with the base URL and returns each URL once.
fn resolve<'a>(
    base: &Url,
    encoding: &'static Encoding,
    references: impl Iterator<Item = &'a str>,
) -> IndexSet<String> {
    let mut base_url = BaseUrl::new(base, encoding);
    let join = |reference| base_url.join(reference).ok().map(|address| address.as_str().to_owned());
    references.filter_map(join).collect()
}
