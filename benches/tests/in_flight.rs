//! The heap memory of a fetch in flight, while it waits for a response: the
//! coroutine or the callback, its timer, its connection and its job.
#![allow(clippy::unwrap_used, missing_docs)]

use std::alloc::System;
use std::path::Path;
use std::thread;
use std::time::Duration;

use benches::subjects::{Subject, Work};
use benches::{Crawl, ServerProcess, Site};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

/// The counting allocator. It counts the requested bytes, before the allocator
/// rounds them up.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The number of fetches: many, because they share the fixed cost of the loop.
const FETCHES: usize = 4000;

fn heap() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Returns the heap memory of a crawl that knows all URLs and waits for
/// `in_flight` responses.
fn held(name: &str, in_flight: usize) -> usize {
    let latency = Duration::from_secs(600);
    let site = Site { pages: FETCHES as u32, page_size: 1024, latency, ..Site::default() };
    let program = Path::new(env!("CARGO_BIN_EXE_paired"));
    let mut server = ServerProcess::start_program(program, site).unwrap();
    let subject = Subject::named(name).unwrap();
    let work = Work::new(&Crawl::new(subject.name, &server, in_flight, true)).unwrap();
    let before = heap();
    let crawl = thread::spawn(move || subject.run(work));
    server.await_in_flight(in_flight, || Ok(crawl.is_finished())).unwrap();
    let held = heap() - before;
    server.release().unwrap();
    assert_eq!(crawl.join().unwrap().unwrap().pages as usize, FETCHES);
    held
}

/// The limits in bytes per fetch, 5 % above what was measured: they catch a buffer that a
/// waiting fetch has begun to own, and leave room for a field.
const MAX: [(&str, usize); 3] =
    [("stage1-callbacks", 331), ("stage2-coroutines", 860), ("stage3-queue", 1165)];

/// The one test of this program, since the allocator counts for all threads.
#[test]
fn a_fetch_in_flight_takes_little_memory() {
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    for (name, limit) in MAX {
        let (one, all) = (held(name, 1), held(name, FETCHES));
        let bytes = (all - one).div_ceil(FETCHES - 1);
        println!("{name}: {bytes} bytes a fetch");
        assert!(bytes <= limit, "{name}: {bytes} bytes a fetch, and not {limit}");
    }
}
