//! What the benches have in common.
//!
//! The rules of this package:
//!
//! 1. **The server is another process**, so that its work and its memory are
//!    nobody else's. A bench program serves when it is started with
//!    [`SERVE`] in its environment, and [`ServerProcess::start`] starts it so.
//! 2. **Everybody does the same work.** A bench asserts what its subjects
//!    found before it believes how fast they were.
//! 3. **One factor at a time**, around one workload.

pub mod pages;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use demo_site::{Connections, DemoSite, Latency, SiteOptions};

/// Tells a bench program to serve the site that the value describes, instead
/// of measuring anything.
pub const SERVE: &str = "BENCHES_SERVE";

/// The site of a bench: plain pages, no special cases, no latency.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// How many pages.
    pub pages: u32,
    /// How many bytes each.
    pub page_size: usize,
}

impl Site {
    fn options(self) -> SiteOptions {
        SiteOptions {
            pages: self.pages,
            page_size: self.page_size,
            latency: Latency::None,
            connections: Connections::KeepAlive,
            special_cases: false,
            ..SiteOptions::default()
        }
    }
}

/// Serves, if this process was started to do so, until its standard input
/// ends; then the process ends. To be called first in `main`.
///
/// # Errors
/// When the site cannot be served.
pub fn serve_if_asked() -> io::Result<()> {
    let Ok(site) = std::env::var(SERVE) else {
        return Ok(());
    };
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, format!("{SERVE}={site}"));
    let (pages, page_size) = site.split_once('x').ok_or_else(invalid)?;
    let site = Site {
        pages: pages.parse().map_err(|_| invalid())?,
        page_size: page_size.parse().map_err(|_| invalid())?,
    };
    let server = DemoSite::start(site.options())?;
    let mut out = io::stdout();
    writeln!(out, "{}", server.root())?;
    out.flush()?;
    // The one who started us holds the other end for as long as we are needed.
    io::stdin().read_to_end(&mut Vec::new())?;
    std::process::exit(0);
}

/// The site in a process of its own, until it is dropped.
#[derive(Debug)]
pub struct ServerProcess {
    process: Child,
    root: String,
}

impl ServerProcess {
    /// Starts this very program once more, to serve.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn start(site: Site) -> io::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .env(SERVE, format!("{}x{}", site.pages, site.page_size))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut root = String::new();
        BufReader::new(out).read_line(&mut root)?;
        let root = root.trim().to_owned();
        Ok(Self { process, root })
    }

    /// The URL of the first page.
    pub fn root(&self) -> &str {
        &self.root
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // Ended by itself, or past help.
        let _ = self.process.wait();
    }
}
