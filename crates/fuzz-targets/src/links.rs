//! Pages and their links.

use crawl_core::Joiner;
use crawl_core::links::{LinkExtractor, Tree, Wanted};
use crawl_core::page::{Page, PageReader};
use encoding_rs::Encoding;
use indexmap::IndexSet;
use url::Url;

use self::shape::is_comparable;
use crate::has_file_url;
use crate::slices::in_any_slices;

mod shape;

/// Reads the input as a page. All that is found is the same in any slices, and
/// no larger than the page; malformed text is read as if it were replaced first;
/// and the links are those of the tree that a browser builds, unless the page
/// is one of those that are read differently on purpose.
pub fn links(input: &[u8]) {
    if has_file_url(input) {
        return;
    }
    let Ok(url) = Url::parse("http://site.test/dir/page") else { return };
    for (charset, wanted) in [(None, Wanted::ALL), (Some("utf-8"), Wanted::default())] {
        let page = in_any_slices(input, |slices| {
            let Page { found, base, encoding, .. } = read(&url, charset, wanted, slices);
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
        let mut extractor = LinkExtractor::new(Wanted::default());
        extractor.feed(page);
        extractor.finish()
    });
    assert_eq!(malformed, replaced);
    if is_comparable(&text) {
        assert_like_the_tree(&url, &text);
    }
}

fn read(url: &Url, charset: Option<&str>, wanted: Wanted, slices: &[&[u8]]) -> Page {
    let mut reader = PageReader::new(url, charset, wanted);
    slices.iter().for_each(|slice| reader.feed(slice));
    reader.finish(url)
}

fn assert_like_the_tree(url: &Url, text: &str) {
    // What is too deep or too large has no tree.
    let Ok(tree) = Tree::of(text) else { return };
    let base = tree.base().and_then(|base| url.join(base).ok());
    let base = base.filter(|base| !matches!(base.scheme(), "data" | "javascript"));
    let page = read(url, Some("utf-8"), Wanted::default(), &[text.as_bytes()]);
    let found = resolve(&page.base, page.encoding, page.found.links().map(|link| link.href));
    let expected = resolve(base.as_ref().unwrap_or(url), page.encoding, tree.links());
    let extra: Vec<_> = found.difference(&expected).collect();
    let missing: Vec<_> = expected.difference(&found).collect();
    assert!(found.iter().eq(&expected), "too many {extra:?}, too few {missing:?} in {text:?}");
}

/// Where references lead, each place once.
fn resolve<'a>(
    base: &Url,
    encoding: &'static Encoding,
    references: impl Iterator<Item = &'a str>,
) -> IndexSet<String> {
    let mut joiner = Joiner::new(base, encoding);
    let join = |reference| joiner.join(reference).ok().map(|address| address.as_str().to_owned());
    references.filter_map(join).collect()
}
