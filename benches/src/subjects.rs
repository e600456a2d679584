//! Everybody who crawls: the stages, and what one would use instead.

mod bare_mio;
mod frontier;
mod mio_floor;
#[cfg(feature = "peers")]
mod reqwest;
mod response;
#[cfg(feature = "peers")]
mod smol;
#[cfg(feature = "peers")]
mod spider;
mod stages;
mod tokio_hyper;
mod tokio_raw;
mod tokio_rustls;

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crawl_core::Options;
use url::Url;

use crate::machine::cpu_time;
use crate::tally::Tally;
use crate::{Crawl, Run, Site};

/// Everybody waits that long for a server that is made to keep them waiting.
const PATIENCE: Duration = Duration::from_secs(300);

/// Somebody who crawls.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// As in the id of a bench.
    pub name: &'static str,
    /// What it can do.
    pub kind: Kind,
    pub(crate) crawl: fn(Work, Tally) -> io::Result<()>,
}

/// What somebody who crawls can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of the stages: whatever there is.
    Stage,
    /// Goes on with what it finds, over http.
    Plain,
    /// Goes on with what it finds, over https.
    Secure,
    /// Knows all the URLs beforehand, and reads no page: what a crawl would
    /// cost if nothing had to be decided.
    KnowsAll,
    /// Begins with one URL, over http, and finds all others itself.
    FromTheRoot,
}

const SUBJECTS: &[Subject] = &[
    Subject { name: "stage0-threads", kind: Kind::Stage, crawl: stages::threads },
    Subject { name: "stage1-callbacks", kind: Kind::Stage, crawl: stages::callbacks },
    Subject { name: "stage2-coroutines", kind: Kind::Stage, crawl: stages::coroutines },
    Subject { name: "stage3-queue", kind: Kind::Stage, crawl: stages::queue },
    Subject { name: "mio-floor", kind: Kind::KnowsAll, crawl: mio_floor::crawl },
    Subject { name: "bare-mio", kind: Kind::Plain, crawl: bare_mio::crawl },
    Subject { name: "tokio-raw", kind: Kind::Plain, crawl: tokio_raw::crawl },
    Subject { name: "tokio-hyper", kind: Kind::Plain, crawl: tokio_hyper::crawl },
    Subject { name: "tokio-rustls", kind: Kind::Secure, crawl: tokio_rustls::crawl },
    #[cfg(feature = "peers")]
    Subject { name: "reqwest", kind: Kind::Plain, crawl: reqwest::crawl },
    #[cfg(feature = "peers")]
    Subject { name: "smol", kind: Kind::Plain, crawl: smol::crawl },
    #[cfg(feature = "peers")]
    Subject { name: "spider", kind: Kind::FromTheRoot, crawl: spider::crawl },
];

impl Subject {
    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|subject| subject.name == name)
    }

    /// Crawls, here and now.
    ///
    /// # Errors
    /// When it does not find each page of the site, once, and nothing else.
    pub fn run(self, work: Work) -> io::Result<Run> {
        let tally = Tally::new(&work.root, work.pages);
        let (begun, had) = (Instant::now(), cpu_time());
        (self.crawl)(work, tally.clone())?;
        let (wall, cpu) = (begun.elapsed(), cpu_time().saturating_sub(had));
        let found = tally.check();
        let wrong = |error| io::Error::other(format!("{} has found {error}", self.name));
        Ok(Run { wall, cpu, pages: found.map_err(wrong)? })
    }

    /// Whether it can crawl this.
    pub fn can_crawl(self, site: Site) -> bool {
        match self.kind {
            Kind::Stage => true,
            Kind::Plain | Kind::KnowsAll => !site.is_secure,
            Kind::Secure => site.is_secure,
            Kind::FromTheRoot => !site.is_secure && site.is_html && site.latency.is_zero(),
        }
    }

    /// How many fetches at a time one can ask of it.
    pub fn most_tasks(self) -> usize {
        // A thread for each has its limits, which differ from system to system.
        if self.name == "stage0-threads" { 1000 } else { usize::MAX }
    }

    /// All of them, as far as they are built.
    pub fn all() -> impl Iterator<Item = Self> {
        SUBJECTS.iter().copied()
    }
}

/// What is to be crawled, and how.
#[derive(Clone, Debug)]
pub struct Work {
    /// The URL of the first page, with a slash at its end.
    pub(crate) root: String,
    /// Where it is served.
    pub(crate) address: SocketAddr,
    /// How many pages there are.
    pub(crate) pages: u32,
    /// How many fetches there may be at a time.
    pub(crate) max_tasks: usize,
    /// The authority to trust, in DER, if any.
    pub(crate) authority: Vec<u8>,
    /// The same for those who use our rules. Some or all of the pages are the
    /// roots.
    pub(crate) options: Options,
}

impl Work {
    /// What there is to do in a crawl.
    ///
    /// # Errors
    /// When it is no such place.
    pub fn new(crawl: &Crawl) -> io::Result<Self> {
        let &Crawl { ref place, pages, max_tasks, begins_with_all, .. } = crawl;
        let first_pages = if begins_with_all { pages } else { 1 };
        let root = Url::parse(&place.root).map_err(io::Error::other)?;
        let address = root.socket_addrs(|| None)?.first().copied();
        let page = |number| match number {
            0 => Ok(root.clone()),
            _ => root.join(&format!("page/{number}")),
        };
        let roots = (0..first_pages).map(page).collect::<Result<_, _>>();
        let mut options = Options::new(roots.map_err(io::Error::other)?);
        // Only the last stage asks for it, and no peer does.
        options.robots = false;
        options.max_tasks = Some(max_tasks);
        (options.connect_timeout, options.read_timeout) = (PATIENCE, PATIENCE);
        options.timeout = PATIENCE;
        options.ca_certificates = Some(place.authority.clone())
            .filter(|authority| !authority.is_empty())
            .into_iter()
            .collect();
        Ok(Self {
            root: place.root.clone(),
            address: address.ok_or(io::ErrorKind::AddrNotAvailable)?,
            pages,
            max_tasks,
            authority: place.authority.clone(),
            options,
        })
    }
}
