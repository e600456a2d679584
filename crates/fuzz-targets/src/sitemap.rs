//! Sitemaps.

use crawl_core::sitemap::{Entry, LONGEST_URL, Limits, SitemapParser};
use crawl_core::{ErrorClass, FetchError};

use crate::assert_documented;
use crate::slices::in_slices_alike;

/// Small enough to be crossed by small inputs.
const LIMITS: Limits = Limits { entries: 20, bytes: 20_000 };

/// Reads the input as a sitemap: within the limits, and the same in any slices.
/// What is packed and damaged may come to its end earlier or later.
pub fn sitemap(input: &[u8]) {
    let is_packed = input.first() == Some(&0x1f);
    let (entries, result) = in_slices_alike(input, read, |one, other| {
        one == other || (is_packed && one.1.is_err() && other.1.is_err())
    });
    assert!(entries.len() <= LIMITS.entries);
    if let Err(error) = &result {
        let classes = [ErrorClass::TooLarge, ErrorClass::Nesting, ErrorClass::Decode];
        assert_documented(error, &classes);
    }
}

type Told = (Vec<String>, Result<(), FetchError>);

fn read(slices: &[&[u8]]) -> Told {
    let mut parser = SitemapParser::new(LIMITS);
    let mut entries = Vec::new();
    let mut sink = |entry: Entry<'_>| {
        if let Entry::Page(url) | Entry::Sitemap(url) = entry {
            assert!(url.len() <= LONGEST_URL && !url.is_empty() && url.trim() == url, "{url:?}");
        }
        entries.push(format!("{entry:?}"));
    };
    // The error of a slice is repeated in the end.
    for slice in slices {
        if parser.feed(slice, &mut sink).is_err() {
            break;
        }
    }
    let result = parser.finish(&mut sink);
    (entries, result)
}
