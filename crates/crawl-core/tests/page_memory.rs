//! What reading a page takes, whatever is in it.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "common/pathological.rs"]
mod pathological;

use std::alloc::System;

use crawl_core::links::Wanted;
use crawl_core::page::PageReader;
use pathological::{PATHOLOGICAL, deliver};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use url::Url;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const LENGTH: usize = 10 * 1024 * 1024;

/// The most that is held while 10 MiB of a page go by, in bytes.
fn most_held(begin: &str, repeat: &str, wanted: Wanted) -> usize {
    let url = Url::parse("http://site.test/").unwrap();
    let region = Region::new(ALLOCATOR);
    let mut reader = PageReader::new(&url, Some("utf-8"), wanted);
    let mut most = 0;
    deliver(begin, repeat, LENGTH, |slice| {
        reader.feed(slice);
        let change = region.change();
        most = most.max(change.bytes_allocated.saturating_sub(change.bytes_deallocated));
    });
    reader.finish(&url);
    most
}

/// The one test of this program, since the allocator counts for all threads.
#[test]
fn no_page_takes_much_memory() {
    for (name, begin, repeat) in PATHOLOGICAL {
        let most = most_held(begin, repeat, Wanted::default());
        assert!(most <= 256 * 1024, "{name}: {most} bytes");
    }
    for (name, begin, repeat) in PATHOLOGICAL {
        let most = most_held(begin, repeat, Wanted::ALL);
        assert!(most <= 2 * 1024 * 1024, "{name}, all wanted: {most} bytes");
    }
}
