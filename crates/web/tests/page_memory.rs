//! Memory limits of the page reader, for pages that are made to be expensive.
#![allow(clippy::unwrap_used, missing_docs)]

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use test_support::pathological::{PATHOLOGICAL, deliver};
use url::Url;
use web::links::ExtractOptions;
use web::page::PageReader;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const LENGTH: usize = 4 * 1024 * 1024;

/// Returns the peak of allocated memory while 4 MiB of a page are read, in bytes.
fn peak_memory(begin: &str, repeat: &str, options: ExtractOptions) -> usize {
    let url = Url::parse("http://site.test/").unwrap();
    let region = Region::new(ALLOCATOR);
    let mut reader = PageReader::new(&url, Some("utf-8"), options);
    let mut peak = 0;
    deliver(begin, repeat, LENGTH, |slice| {
        reader.feed(slice);
        let change = region.change();
        peak = peak.max(change.bytes_allocated.saturating_sub(change.bytes_deallocated));
    });
    reader.finish(&url);
    peak
}

/// The only test of this program, since the allocator counts for all threads.
#[test]
fn no_page_takes_much_memory() {
    for (name, begin, repeat) in PATHOLOGICAL {
        let peak = peak_memory(begin, repeat, ExtractOptions::default());
        assert!(peak <= 256 * 1024, "{name}: {peak} bytes");
    }
    for (name, begin, repeat) in PATHOLOGICAL {
        let peak = peak_memory(begin, repeat, ExtractOptions::ALL);
        assert!(peak <= 2 * 1024 * 1024, "{name}, all wanted: {peak} bytes");
    }
}
