//! The memory of a fetch in flight: a difference between many and one.

use std::io;
use std::time::Duration;

use serde::Serialize;

use crate::crawl::{Crawl, Memory};
use crate::site::{ServerProcess, Site};
use crate::subjects::Subject;
use crate::worker_process::SubjectProcess;

/// The latency of the server: longer than any measurement.
pub const LATENCY: Duration = Duration::from_secs(600);

/// The memory of a process with one fetch in flight, and with `n`; and that of one
/// fetch, in bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FetchMemory {
    one: Memory,
    all: Memory,
    /// The heap, without what the allocator rounds up.
    pub heap_per_fetch: f64,
    /// The resident memory.
    pub resident_per_fetch: f64,
    /// The reserved address space.
    pub reserved_per_fetch: f64,
}

impl FetchMemory {
    /// Measures a subject that knows `n` URLs. If `to_the_end` says so, the crawl is
    /// then run to its end, as a check.
    ///
    /// # Errors
    /// When a process cannot be started, or the crawl is wrong.
    pub fn measure(subject: Subject, n: usize, to_the_end: bool) -> io::Result<Self> {
        let one = memory_in_flight(subject, n, 1, false)?;
        let all = memory_in_flight(subject, n, n, to_the_end)?;
        let per_fetch = |all: u64, one: u64| (all as f64 - one as f64) / (n - 1) as f64;
        Ok(Self {
            heap_per_fetch: per_fetch(all.heap, one.heap),
            resident_per_fetch: per_fetch(all.resident, one.resident),
            reserved_per_fetch: per_fetch(all.reserved, one.reserved),
            one,
            all,
        })
    }
}

/// Returns the memory of a process that knows `n` URLs while `in_flight` fetches
/// wait.
fn memory_in_flight(
    subject: Subject,
    n: usize,
    in_flight: usize,
    to_the_end: bool,
) -> io::Result<Memory> {
    let pages = u32::try_from(n).map_err(io::Error::other)?;
    let site = Site { pages, page_size: 1024, latency: LATENCY, ..Site::default() };
    let mut server = ServerProcess::start(site)?;
    let mut process = SubjectProcess::start(Crawl::new(subject.name, &server, in_flight, true))?;
    process.memory_in_flight(&mut server, in_flight, to_the_end)
}
