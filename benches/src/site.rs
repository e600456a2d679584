//! The server process: the site that all subjects crawl.

use std::env;
use std::io::{self, BufRead};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use demo_site::{Connections, DemoSite, Latency, SiteOptions};
use serde::{Deserialize, Serialize};

use crate::machine::{self, Core, pin};
use crate::process::{RoleProcess, reply};
use crate::tls_front;

/// The root URL of a site, and the authority that vouches for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SiteAddress {
    pub(crate) root: String,
    /// The certificate of the authority in DER; empty for plain http.
    pub(crate) authority: Vec<u8>,
}

/// The timeout of [`ServerProcess::await_in_flight`].
const AWAIT_TIMEOUT: Duration = Duration::from_secs(300);
/// The timeout of [`Question::Await`]: then the crawl is asked if it goes on.
const AWAIT_STEP: Duration = Duration::from_secs(1);

/// The site of a bench: plain pages, no special cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The number of pages.
    pub pages: u32,
    /// The size of a page in bytes, unless its ten links take more.
    pub page_size: usize,
    /// True to keep connections alive, for subjects that can use them again.
    pub keep_alive: bool,
    /// True to serve the pages as HTML, whose links are extracted; false for plain
    /// text.
    pub is_html: bool,
    /// The latency of every response.
    pub latency: Duration,
    /// True to serve the site over TLS.
    pub is_secure: bool,
}

/// A thousand pages of 8 KB, served without latency over keep-alive connections.
pub(crate) const USUAL_SITE: Site = Site {
    pages: 1000,
    page_size: 8 * 1024,
    keep_alive: true,
    is_html: true,
    latency: Duration::ZERO,
    is_secure: false,
};

impl Default for Site {
    /// Returns a site of a thousand pages of 8 KB, served without latency over
    /// keep-alive connections.
    fn default() -> Self {
        USUAL_SITE
    }
}

impl Site {
    /// Returns the options of the demo site that is served.
    pub(crate) fn options(&self) -> SiteOptions {
        SiteOptions {
            pages: self.pages,
            page_size: self.page_size,
            latency: match self.latency {
                Duration::ZERO => Latency::None,
                latency => Latency::Fixed(latency),
            },
            connections: if self.keep_alive { Connections::KeepAlive } else { Connections::Close },
            is_html: self.is_html,
            special_cases: false,
            ..SiteOptions::default()
        }
    }
}

/// The name of the serving role.
pub(crate) const ROLE: &str = "serve";

/// The settings of the serving role.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Served {
    site: Site,
    /// The address to listen on.
    at: IpAddr,
}

/// A message to the server process.
#[derive(Debug, Serialize, Deserialize)]
enum Question {
    /// Asks for the number of pages that were requested at least once.
    Pages,
    /// Asks for the number of waiting requests, once it has reached this number or
    /// a second has passed.
    Await(usize),
    /// Ends the latency: answers all requests without delay from now on.
    Release,
}

/// Serves a site until standard input ends.
pub(crate) fn serve(Served { site, at }: Served) -> io::Result<()> {
    pin(Core::Second);
    let served = DemoSite::start_on(SocketAddr::new(at, 0), site.options())?;
    let site_address = match site.is_secure {
        true => tls_front::start(served.address())?,
        false => SiteAddress { root: served.root(), authority: Vec::new() },
    };
    reply(&site_address)?;
    for line in io::stdin().lock().lines() {
        match serde_json::from_str(&line?)? {
            Question::Await(count) => {
                let begun = Instant::now();
                while served.in_flight_now() < count && begun.elapsed() < AWAIT_STEP {
                    thread::sleep(Duration::from_millis(1));
                }
                reply(&served.in_flight_now())?;
            }
            Question::Release => reply(&served.release()?)?,
            Question::Pages => {
                let hits = served.all_hits();
                let is_page = |path: &&String| *path == "/" || path.starts_with("/page/");
                reply(&hits.keys().filter(is_page).count())?;
            }
        }
    }
    Ok(())
}

/// A running server process, until this is dropped.
#[derive(Debug)]
pub struct ServerProcess {
    process: RoleProcess,
    site: Site,
    site_address: SiteAddress,
}

impl ServerProcess {
    /// Starts another process of this program in the serving role.
    ///
    /// # Errors
    /// When the process or the site cannot be started.
    pub fn start(site: Site) -> io::Result<Self> {
        Self::start_program(&env::current_exe()?, site)
    }

    /// Starts `program`, another program of this package, in the serving role: for
    /// programs that cannot play roles.
    ///
    /// # Errors
    /// When the process or the site cannot be started.
    pub fn start_program(program: &Path, site: Site) -> io::Result<Self> {
        Self::start_command(Command::new(program), Ipv4Addr::LOCALHOST.into(), site)
    }

    /// Starts `program`, a command that runs a program of this package, in the
    /// serving role. It listens at this address; over TLS, only on loopback.
    ///
    /// # Errors
    /// When the process or the site cannot be started.
    pub fn start_command(program: Command, at: IpAddr, site: Site) -> io::Result<Self> {
        let mut process = RoleProcess::start(ROLE, &Served { site, at }, program)?;
        let site_address = process.receive()?;
        Ok(Self { process, site, site_address })
    }

    /// Returns the site that is served.
    pub fn site(&self) -> Site {
        self.site
    }

    /// Returns the URL of a page.
    pub fn url(&self, page: u32) -> String {
        let root = &self.site_address.root;
        if page == 0 { root.clone() } else { format!("{root}page/{page}") }
    }

    /// Returns how often the server has fallen asleep so far, for want of requests. The
    /// next request has to wake it. Zero where the operating system does not tell.
    pub fn times_asleep(&self) -> u64 {
        machine::times_asleep(self.process.id())
    }

    pub(crate) fn site_address(&self) -> &SiteAddress {
        &self.site_address
    }

    /// Waits until this many requests are in flight at once.
    ///
    /// # Errors
    /// When there are more, when there are not as many after five minutes or once the crawl
    /// `is_over`, or when the server is gone.
    pub fn await_in_flight(
        &mut self,
        count: usize,
        mut is_over: impl FnMut() -> io::Result<bool>,
    ) -> io::Result<()> {
        let begun = Instant::now();
        loop {
            let held: usize = self.process.ask(&Question::Await(count))?;
            if held == count {
                return Ok(());
            }
            if held > count || begun.elapsed() >= AWAIT_TIMEOUT || is_over()? {
                let message = format!("the site has {held} requests, not {count}");
                return Err(io::Error::other(message));
            }
        }
    }

    /// Returns the number of pages that were requested at least once.
    ///
    /// # Errors
    /// When the server is gone.
    pub fn requested_pages(&mut self) -> io::Result<u32> {
        self.process.ask(&Question::Pages)
    }

    /// Ends the latency: answers all waiting requests, and later ones without
    /// delay.
    ///
    /// # Errors
    /// When the server is gone.
    pub fn release(&mut self) -> io::Result<()> {
        self.process.ask(&Question::Release)
    }
}
