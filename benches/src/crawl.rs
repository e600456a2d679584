//! The settings and the costs of one crawl.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::site::ServerProcess;
use crate::site::SiteAddress;

/// The settings of one crawl: its subject and its site.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Crawl {
    pub(crate) subject: String,
    pub(crate) site_address: SiteAddress,
    pub(crate) pages: u32,
    pub(crate) max_tasks: usize,
    pub(crate) begins_with_all: bool,
}

impl Crawl {
    /// Settings for a crawl of all pages of `server`, `max_tasks` at a time, by
    /// the [subject](crate::subjects::Subject) of this name. It begins with the
    /// root, or with the URLs of all pages.
    pub fn new(
        subject: &str,
        server: &ServerProcess,
        max_tasks: usize,
        begins_with_all: bool,
    ) -> Self {
        Self {
            subject: subject.to_owned(),
            site_address: server.site_address().clone(),
            pages: server.site().pages,
            max_tasks,
            begins_with_all,
        }
    }
}

/// The costs of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// From the first step to the last.
    pub wall: Duration,
    /// CPU time of the whole process, the system's work for it included.
    pub cpu: Duration,
    /// The number of pages found.
    pub pages: u32,
    /// The number of crawls before it that have missed pages, and do not count.
    pub missed: u32,
}

impl Run {
    /// Returns the CPU time of one page.
    pub fn cpu_per_page(&self) -> Duration {
        self.cpu / self.pages.max(1)
    }
}

/// The memory of a process at some moment, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Allocated and not freed, if the allocator counts; else 0.
    pub heap: u64,
    /// Resident memory of all kinds.
    pub resident: u64,
    /// The peak of the resident memory so far.
    pub peak: u64,
    /// Reserved address space, with or without memory behind it.
    pub reserved: u64,
}
