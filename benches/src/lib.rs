//! What the benches have in common.
//!
//! The rules of this package:
//!
//! 1. **The server is another process, and so is whoever crawls.** Nobody's
//!    work and memory are counted as somebody else's. A bench program plays
//!    either [part] when its environment says so. The server runs on one core,
//!    those who crawl, one at a time, on another.
//! 2. **Everybody does the same work.** Every [subject](subjects) of a bench
//!    finds the same URLs, each once, or the bench fails.
//! 3. **One factor at a time**, around one workload.
//! 4. **What counts as one fetch is a difference** between many in flight and
//!    one, or many pages and few: what a program costs by itself drops out.

pub mod child;
pub mod figures;
pub mod machine;
pub mod pages;
pub mod part;
pub mod site;
pub mod subjects;
pub mod tally;
pub mod workload;

mod tls_front;

pub use child::{Crawl, Memory, Run, SubjectProcess};
pub use part::play_part_if_asked;
pub use site::{ServerProcess, Site};
