//! The fuzz target of sitemaps.

use crawl_core::{ErrorClass, FetchError};
use web::sitemap::{Limits, MAX_URL_LEN, SitemapEntry, SitemapParser};

use crate::assert_documented;
use crate::slices::in_any_slices_by;

/// Limits so small that short inputs cross them.
const LIMITS: Limits = Limits { entries: 20, bytes: 20_000 };

/// Parses the input as a sitemap. Asserts that the result is within the limits, and the
/// same in any slices. Only the position of an error in damaged gzip data may depend on
/// the slices.
pub fn sitemap(input: &[u8]) {
    let is_compressed = input.first() == Some(&0x1f);
    let (entries, result) = in_any_slices_by(input, read, |one, other| {
        one == other || (is_compressed && one.1.is_err() && other.1.is_err())
    });
    assert!(entries.len() <= LIMITS.entries);
    if let Err(error) = &result {
        let classes = [ErrorClass::TooLarge, ErrorClass::Nesting, ErrorClass::Decode];
        assert_documented(error, &classes);
    }
}

/// The entries and the result.
type Parsed = (Vec<String>, Result<(), FetchError>);

fn read(slices: &[&[u8]]) -> Parsed {
    let mut parser = SitemapParser::new(LIMITS);
    let mut entries = Vec::new();
    let mut sink = |entry: SitemapEntry<'_>| {
        if let SitemapEntry::Page(url) | SitemapEntry::Sitemap(url) = entry {
            assert!(url.len() <= MAX_URL_LEN && !url.is_empty() && url.trim() == url, "{url:?}");
        }
        entries.push(format!("{entry:?}"));
    };
    // `finish` returns the same error again.
    for slice in slices {
        if parser.feed(slice, &mut sink).is_err() {
            break;
        }
    }
    let result = parser.finish(&mut sink);
    (entries, result)
}
