//! The handle of a site that is being served.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};

use crate::counters::Counters;
use crate::expected::{Expected, expected};
use crate::options::SiteOptions;
use crate::server::{Remote, Server};
use crate::site::Site;

/// A site that is being served, by one thread, until this is dropped.
///
/// Only loopback clients are expected: there is no limit to how many may
/// connect other than that on open files, and none to how long they may stay.
#[derive(Debug)]
pub struct DemoSite {
    address: SocketAddr,
    options: SiteOptions,
    counters: Arc<Counters>,
    remote: Remote,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl DemoSite {
    /// Serves on 127.0.0.1, on a port that the system chooses.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when the options make no site, and whatever the system
    /// says when it has no port, thread or file descriptor left.
    pub fn start(options: SiteOptions) -> io::Result<Self> {
        Self::start_on(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), options)
    }

    /// Serves on the given address, where port 0 leaves the choice to the
    /// system. Raises the process's soft limit on open files to the hard one.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start), and when the address is taken.
    pub fn start_on(address: SocketAddr, options: SiteOptions) -> io::Result<Self> {
        let site = Arc::new(Site::new(options.clone())?);
        let counters = Arc::new(Counters::new(Arc::clone(&site)));
        // Where it cannot be raised, clients beyond it wait to be accepted.
        let _ = rlimit::increase_nofile_limit(u64::MAX);
        let (server, remote) = Server::bind(address, site, Arc::clone(&counters))?;
        Ok(Self {
            address: server.address()?,
            options,
            counters,
            remote,
            thread: Some(
                thread::Builder::new().name("demo-site".to_owned()).spawn(|| server.run())?,
            ),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path, which begins with a slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The URL from which everything can be reached.
    #[must_use]
    pub fn root(&self) -> String {
        self.url("/")
    }

    /// How often a path (with its query) was asked for, by whatever method.
    /// Of the paths that do not exist, the first 10,000 are counted.
    #[must_use]
    pub fn hits(&self, path: &str) -> u64 {
        self.counters.hits(path)
    }

    /// Every path that was asked for, and how often.
    #[must_use]
    pub fn all_hits(&self) -> BTreeMap<String, u64> {
        self.counters.all_hits()
    }

    /// How many requests have come, malformed ones included.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.counters.requests.load(Relaxed)
    }

    /// How many connections have been accepted.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.counters.connections.load(Relaxed)
    }

    /// How many requests have come whose response has not been started. It
    /// takes a [`Latency`](crate::Latency) to see more than one.
    #[must_use]
    pub fn in_flight_now(&self) -> usize {
        self.counters.in_flight()
    }

    /// The greatest [`in_flight_now`](Self::in_flight_now) so far.
    #[must_use]
    pub fn peak_in_flight(&self) -> usize {
        self.counters.peak_in_flight()
    }

    /// Answers everybody who waits, and from now on everybody at once,
    /// whatever the latency: for whoever has seen enough clients wait.
    ///
    /// # Errors
    ///
    /// When the serving thread cannot be told.
    pub fn release(&self) -> io::Result<()> {
        self.remote.release()
    }

    /// Every URL that a correct crawler asks for when it starts at the root,
    /// stays on the site and knows no `robots.txt`, sorted by path.
    #[must_use]
    pub fn expected(&self) -> Vec<Expected> {
        expected(self.options.pages, self.options.special_cases)
    }
}

impl Drop for DemoSite {
    /// Stops serving, and waits until it has stopped. Open connections are
    /// closed.
    fn drop(&mut self) {
        if self.remote.stop().is_ok()
            && let Some(thread) = self.thread.take()
        {
            // An error of the loop has shown itself to the clients.
            let _ = thread.join();
        }
    }
}
