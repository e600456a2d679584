//! The subjects: the programs that are compared, which are the stages and their
//! alternatives. Those that take long to build are in the program `peers`, in a workspace of
//! its own.

mod bare_mio;
pub mod frontier;
mod mio_floor;
pub mod response;
mod stages;
mod tokio_hyper;
pub mod tokio_raw;
mod tokio_rustls;

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crawl_core::Options;
use url::Url;

use crate::crawl::{Crawl, Run};
use crate::machine::cpu_time;
use crate::row_check::RowCheck;
use crate::site::Site;

/// The timeout of every subject: longer than any server of a bench makes its
/// clients wait.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A program that crawls, to be compared with others.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The name, as in the id of a bench.
    pub name: &'static str,
    /// The kind of sites that it can crawl.
    pub kind: Kind,
    /// Crawls on this thread, and records each page that it finds.
    pub crawl: fn(Work, RowCheck) -> io::Result<()>,
}

/// The abilities of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of the stages: crawls every site.
    Stage,
    /// Follows links, over http.
    Plain,
    /// Follows links, over https.
    Secure,
    /// Knows all URLs beforehand, and extracts no links: the cost of a crawl
    /// without any decision.
    KnowsAll,
    /// Follows links, over http, and can begin only with the root.
    FromTheRoot,
}

/// The subjects of this package.
pub const SUBJECTS: &[Subject] = &[
    Subject { name: "stage0-threads", kind: Kind::Stage, crawl: stages::threads },
    Subject { name: "stage1-callbacks", kind: Kind::Stage, crawl: stages::callbacks },
    Subject { name: "stage2-coroutines", kind: Kind::Stage, crawl: stages::coroutines },
    Subject { name: "stage3-queue", kind: Kind::Stage, crawl: stages::queue },
    Subject { name: "mio-floor", kind: Kind::KnowsAll, crawl: mio_floor::crawl },
    Subject { name: "bare-mio", kind: Kind::Plain, crawl: bare_mio::crawl },
    Subject { name: "tokio-raw", kind: Kind::Plain, crawl: tokio_raw::crawl },
    Subject { name: "tokio-hyper", kind: Kind::Plain, crawl: tokio_hyper::crawl },
    Subject { name: "tokio-rustls", kind: Kind::Secure, crawl: tokio_rustls::crawl },
];

impl Subject {
    /// Returns the subject of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|subject| subject.name == name)
    }

    /// Crawls on this thread, and returns the cost of the crawl. One of spider that has
    /// missed pages, as it does now and then, is not counted, but made again.
    ///
    /// # Errors
    /// When it does not find each page of the site, once, and nothing else.
    pub fn run(self, work: Work) -> io::Result<Run> {
        let max_tries = if matches!(self.kind, Kind::FromTheRoot) { 5 } else { 1 };
        let mut run = self.run_once(work.clone());
        for missed in 1..max_tries {
            let again = |_| self.run_once(work.clone()).map(|run| Run { missed, ..run });
            run = run.or_else(again);
        }
        run
    }

    fn run_once(self, work: Work) -> io::Result<Run> {
        let row_check = RowCheck::new(&work.root, work.pages);
        let (begun, cpu_before) = (Instant::now(), cpu_time());
        let failed = |error| io::Error::other(format!("{} has failed: {error}", self.name));
        (self.crawl)(work, row_check.clone()).map_err(failed)?;
        let (wall, cpu) = (begun.elapsed(), cpu_time().saturating_sub(cpu_before));
        let found = row_check.check();
        let wrong = |error| io::Error::other(format!("{} has found {error}", self.name));
        Ok(Run { wall, cpu, pages: found.map_err(wrong)?, missed: 0 })
    }

    /// Returns true if the subject can crawl this site.
    pub fn can_crawl(self, site: Site) -> bool {
        match self.kind {
            Kind::Stage => true,
            Kind::Plain | Kind::KnowsAll => !site.is_secure,
            Kind::Secure => site.is_secure,
            Kind::FromTheRoot => !site.is_secure && site.is_html && site.latency.is_zero(),
        }
    }

    /// Returns the maximum number of concurrent fetches.
    pub fn max_tasks(self) -> usize {
        // The limit on threads differs from system to system.
        if self.name == "stage0-threads" { 1000 } else { usize::MAX }
    }

    /// Returns all subjects of this package.
    pub fn all() -> impl Iterator<Item = Self> {
        SUBJECTS.iter().copied()
    }
}

/// The work of a subject: the site to crawl, and the settings of the crawl.
#[derive(Clone, Debug)]
pub struct Work {
    /// The URL of the first page, with a slash at its end.
    pub root: String,
    /// The address of the server.
    pub address: SocketAddr,
    /// The number of pages of the site.
    pub pages: u32,
    /// The maximum number of concurrent fetches.
    pub max_tasks: usize,
    /// The authority to trust, in DER, if any.
    pub authority: Vec<u8>,
    /// The same settings as options of our crawlers. The roots are the first page
    /// or all pages.
    pub options: Options,
}

impl Work {
    /// Makes the work from the settings of a crawl.
    ///
    /// # Errors
    /// When the root URL is invalid or has no address.
    pub fn new(crawl: &Crawl) -> io::Result<Self> {
        let &Crawl { ref site_address, pages, max_tasks, begins_with_all, .. } = crawl;
        let first_pages = if begins_with_all { pages } else { 1 };
        let root = Url::parse(&site_address.root).map_err(io::Error::other)?;
        let address = root.socket_addrs(|| None)?.first().copied();
        let page = |number| match number {
            0 => Ok(root.clone()),
            _ => root.join(&format!("page/{number}")),
        };
        let roots = (0..first_pages).map(page).collect::<Result<_, _>>();
        let mut options = Options::new(roots.map_err(io::Error::other)?);
        // Of all subjects, only the last stage would request robots.txt.
        options.settings.robots = false;
        options.max_tasks = Some(max_tasks);
        (options.settings.connect_timeout, options.settings.read_timeout) = (TIMEOUT, TIMEOUT);
        options.settings.timeout = TIMEOUT;
        options.ca_certificates = Some(site_address.authority.clone())
            .filter(|authority| !authority.is_empty())
            .into_iter()
            .collect();
        Ok(Self {
            root: site_address.root.clone(),
            address: address.ok_or(io::ErrorKind::AddrNotAvailable)?,
            pages,
            max_tasks,
            authority: site_address.authority.clone(),
            options,
        })
    }
}
