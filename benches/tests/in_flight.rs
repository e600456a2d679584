//! What a fetch in flight takes of the heap, while it waits for a response:
//! the coroutine or the callback, its timer, its connection and its job.
#![allow(clippy::unwrap_used, missing_docs)]

use std::alloc::System;
use std::path::Path;
use std::thread;
use std::time::Duration;

use benches::subjects::{Subject, Work};
use benches::{Crawl, ServerProcess, Site};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

/// Counts the bytes that are asked for, not what the allocator rounds them up
/// to.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Many, for what a loop has once is shared by them.
const FETCHES: usize = 4000;

fn heap() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// The heap of a crawl that knows all URLs and waits for so many of them.
fn held(name: &str, in_flight: usize) -> usize {
    let latency = Duration::from_secs(600);
    let site = Site { pages: FETCHES as u32, page_size: 1024, latency, ..Site::default() };
    let program = Path::new(env!("CARGO_BIN_EXE_paired"));
    let mut server = ServerProcess::start_program(program, site).unwrap();
    let subject = Subject::named(name).unwrap();
    let work = Work::new(&Crawl::new(subject, &server, in_flight, true)).unwrap();
    let before = heap();
    let crawl = thread::spawn(move || subject.run(work));
    server.await_in_flight(in_flight).unwrap();
    let held = heap() - before;
    server.release().unwrap();
    assert_eq!(crawl.join().unwrap().unwrap().pages as usize, FETCHES);
    held
}

/// What a fetch may take. Of this, 8 bytes are mio's, in a debug build only.
const MOST: [(&str, usize); 3] =
    [("stage1-callbacks", 320), ("stage2-coroutines", 725), ("stage3-queue", 970)];

/// The one test of this program, since the allocator counts for all threads.
#[test]
fn a_fetch_in_flight_takes_little_memory() {
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    for (name, most) in MOST {
        let (one, all) = (held(name, 1), held(name, FETCHES));
        let bytes = (all - one).div_ceil(FETCHES - 1);
        println!("{name}: {bytes} bytes a fetch");
        assert!(bytes <= most, "{name}: {bytes} bytes a fetch, and not {most}");
    }
}
