//! The workloads: a site, and the number of concurrent fetches.
//!
//! All but `8KB-100-tasks-no-links` are variations of one, each in one factor: 8 KB pages,
//! 100 tasks, and every subject with its best use of connections (the first three stages
//! close each connection after its page, the others keep it alive). In
//! `8KB-100-tasks-close` the server closes all connections, so that only the
//! control flow differs. Without links two factors go together: no page is searched, and
//! the crawl knows all URLs from the beginning, so that no link passes the door.

use crate::Site;
use crate::site::USUAL_SITE;

/// A workload of the bench `throughput`.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// The name, as in the id of a bench.
    pub name: &'static str,
    /// The site to crawl.
    pub site: Site,
    /// The maximum number of concurrent fetches.
    pub max_tasks: usize,
}

/// All workloads.
pub const WORKLOADS: [Workload; 9] = [
    usual("8KB-100-tasks", USUAL_SITE),
    usual("8KB-100-tasks-close", Site { keep_alive: false, ..USUAL_SITE }),
    usual("1KB-100-tasks", Site { page_size: 1024, ..USUAL_SITE }),
    usual("60KB-100-tasks", Site { page_size: 60 * 1024, ..USUAL_SITE }),
    Workload { name: "8KB-1-task", site: USUAL_SITE, max_tasks: 1 },
    Workload { name: "8KB-10-tasks", site: USUAL_SITE, max_tasks: 10 },
    Workload { name: "8KB-1000-tasks", site: USUAL_SITE, max_tasks: 1000 },
    usual("8KB-100-tasks-no-links", Site { is_html: false, ..USUAL_SITE }),
    usual("8KB-100-tasks-https", Site { is_secure: true, ..USUAL_SITE }),
];

const fn usual(name: &'static str, site: Site) -> Workload {
    Workload { name, site, max_tasks: 100 }
}

impl Workload {
    /// Returns the workload of this name.
    pub fn named(name: &str) -> Option<Self> {
        WORKLOADS.into_iter().find(|workload| workload.name == name)
    }
}
