//! The library of the benches: the site, the subjects (the programs that are
//! compared), and the processes in which they run.
//!
//! The rules of this package:
//!
//! 1. **The server is one process, each crawling subject another.** So the CPU
//!    time and the memory of one are never counted for the other. A bench
//!    program plays either [role] when its environment says so. The server is
//!    pinned to one core, and the subjects, one at a time, to another.
//! 2. **All subjects do the same work.** Every [subject](subjects) of a bench
//!    finds the same URLs, each once, or the bench fails.
//! 3. **One factor at a time**: the workloads vary one workload in one factor
//!    each. Without links a crawl has to know all URLs, which is a second one.
//! 4. **The cost of one fetch is a difference** between many in flight and one,
//!    or many pages and few, so that the fixed cost of a program drops out.

pub mod crawl;
pub mod fetch_memory;
pub mod figures;
#[cfg(target_os = "linux")]
pub mod line;
pub mod machine;
pub mod pages;
pub mod role;
pub mod row_check;
pub mod site;
pub mod subjects;
pub mod worker_process;
pub mod workload;

mod process;
mod tls_front;

pub use crawl::{Crawl, Memory, Run};
pub use fetch_memory::FetchMemory;
pub use role::{play_role_if_asked, play_role_of};
pub use site::{ServerProcess, Site};
pub use tls_front::server_certificate;
pub use worker_process::SubjectProcess;

/// The number of resamples of which a confidence interval is made. With criterion's
/// 100,000, computing and drawing them takes longer than the measurements.
pub const RESAMPLES: usize = 10_000;
