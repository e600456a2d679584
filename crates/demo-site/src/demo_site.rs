//! The handle of a running site.

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

/// A running site, served by one thread until this handle is dropped.
///
/// Only loopback clients are expected: the only limit on connections is the one
/// on open files, and there is no idle timeout.
#[derive(Debug)]
pub struct DemoSite {
    address: SocketAddr,
    options: SiteOptions,
    counters: Arc<Counters>,
    remote: Remote,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl DemoSite {
    /// Starts to serve on 127.0.0.1, on a port that the system chooses.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for invalid options, and the system's error when it has no
    /// port, thread or file descriptor left.
    pub fn start(options: SiteOptions) -> io::Result<Self> {
        Self::start_on(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), options)
    }

    /// Starts to serve on the given address, where port 0 leaves the choice of
    /// the port to the system. Raises the process's soft limit on open files to
    /// the hard one.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start), and when the address is taken.
    pub fn start_on(address: SocketAddr, options: SiteOptions) -> io::Result<Self> {
        let site = Arc::new(Site::new(options.clone())?);
        let counters = Arc::new(Counters::new(Arc::clone(&site)));
        // Where the limit cannot be raised, clients beyond it wait to be accepted.
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

    /// Returns the address that the site listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of a path, which begins with a slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the root URL, from which all pages can be reached.
    #[must_use]
    pub fn root(&self) -> String {
        self.url("/")
    }

    /// Returns the number of requests for a path (with its query), of any method.
    /// Of the paths that do not exist, the first 10,000 are counted.
    #[must_use]
    pub fn hits(&self, path: &str) -> u64 {
        self.counters.hits(path)
    }

    /// Returns every requested path with the number of its requests.
    #[must_use]
    pub fn all_hits(&self) -> BTreeMap<String, u64> {
        self.counters.all_hits()
    }

    /// Returns the number of requests so far, malformed ones included.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.counters.requests.load(Relaxed)
    }

    /// Returns the number of connections accepted so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.counters.connections.load(Relaxed)
    }

    /// Returns the number of requests in flight: those that have arrived and
    /// whose response has not started. Only with a [`Latency`](crate::Latency)
    /// is it ever more than one.
    #[must_use]
    pub fn in_flight_now(&self) -> usize {
        self.counters.in_flight()
    }

    /// Returns the greatest [`in_flight_now`](Self::in_flight_now) so far.
    #[must_use]
    pub fn peak_in_flight(&self) -> usize {
        self.counters.peak_in_flight()
    }

    /// Ends the latency: answers all waiting requests, and later ones without
    /// delay. For benches that have counted the waiting requests.
    ///
    /// # Errors
    ///
    /// When the serving thread cannot be woken.
    pub fn release(&self) -> io::Result<()> {
        self.remote.release()
    }

    /// Returns every URL that a correct crawler requests when it starts at the
    /// root, stays on the site and ignores `robots.txt`, sorted by path.
    #[must_use]
    pub fn expected(&self) -> Vec<Expected> {
        expected(self.options.pages, self.options.special_cases)
    }
}

impl Drop for DemoSite {
    /// Stops the serving thread and waits for its end. Open connections are
    /// closed.
    fn drop(&mut self) {
        if self.remote.stop().is_ok()
            && let Some(thread) = self.thread.take()
        {
            // The clients have seen an error of the loop already.
            let _ = thread.join();
        }
    }
}
