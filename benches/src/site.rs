//! The site that everybody crawls, in a process of its own.

use std::env;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use demo_site::{Connections, DemoSite, Latency, SiteOptions};
use serde::{Deserialize, Serialize};

use crate::machine::{Core, pin};
use crate::part::{Part, Player};
use crate::tls_front;

/// How long somebody may take to come.
const PATIENCE: Duration = Duration::from_secs(300);

/// The site of a bench: plain pages, no special cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// How many pages.
    pub pages: u32,
    /// How many bytes each, unless its ten links take more.
    pub page_size: usize,
    /// Whether connections are kept, by those who can use them again.
    pub keep_alive: bool,
    /// Whether pages are HTML, in which links are looked for, or plain text.
    pub is_html: bool,
    /// How long every response takes.
    pub latency: Duration,
    /// Whether it is served over TLS.
    pub is_secure: bool,
}

impl Default for Site {
    /// A thousand pages of 8 KB, at once, over connections that are kept.
    fn default() -> Self {
        Self {
            pages: 1000,
            page_size: 8 * 1024,
            keep_alive: true,
            is_html: true,
            latency: Duration::ZERO,
            is_secure: false,
        }
    }
}

/// Where a site is, and whom to trust there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) root: String,
    /// In DER; empty for a site that is not secure.
    pub(crate) authority: Vec<u8>,
}

/// What a server is asked, one on a line.
#[derive(Debug, Serialize, Deserialize)]
enum Question {
    /// Answered when so many requests wait, or as many as do after all patience
    /// is spent.
    Await(usize),
    /// Nobody waits from now on.
    Release,
}

/// Serves until standard input ends.
pub(crate) fn serve(site: Site) -> io::Result<()> {
    pin(Core::Second);
    let served = DemoSite::start(SiteOptions {
        pages: site.pages,
        page_size: site.page_size,
        latency: if site.latency.is_zero() { Latency::None } else { Latency::Fixed(site.latency) },
        connections: if site.keep_alive { Connections::KeepAlive } else { Connections::Close },
        is_html: site.is_html,
        special_cases: false,
        ..SiteOptions::default()
    })?;
    let place = match site.is_secure {
        true => tls_front::start(served.address())?,
        false => Place { root: served.root(), authority: Vec::new() },
    };
    tell(&place)?;
    for line in io::stdin().lock().lines() {
        match serde_json::from_str(&line?)? {
            Question::Await(count) => {
                let begun = Instant::now();
                while served.in_flight_now() < count && begun.elapsed() < PATIENCE {
                    thread::sleep(Duration::from_millis(1));
                }
                tell(&served.in_flight_now())?;
            }
            Question::Release => tell(&served.release()?)?,
        }
    }
    Ok(())
}

/// Says something to whoever started this process.
pub(crate) fn tell(what: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, what)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// The site in a process of its own, until it is dropped.
#[derive(Debug)]
pub struct ServerProcess {
    player: Player,
    site: Site,
    place: Place,
}

impl ServerProcess {
    /// Starts this very program once more, to serve.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn start(site: Site) -> io::Result<Self> {
        Self::start_program(&env::current_exe()?, site)
    }

    /// The same with another program of this package, for those that cannot
    /// play parts.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn start_program(program: &Path, site: Site) -> io::Result<Self> {
        let mut player = Player::start(&Part::Serve(site), program)?;
        let place = player.hear()?;
        Ok(Self { player, site, place })
    }

    /// What it serves.
    pub fn site(&self) -> Site {
        self.site
    }

    /// The URL of a page.
    pub fn url(&self, page: u32) -> String {
        let root = &self.place.root;
        if page == 0 { root.clone() } else { format!("{root}page/{page}") }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Waits until so many requests are unanswered at once.
    ///
    /// # Errors
    /// When they are not after five minutes, or the server is gone.
    pub fn await_in_flight(&mut self, count: usize) -> io::Result<()> {
        let held: usize = self.player.ask(&Question::Await(count))?;
        if held != count {
            let message = format!("the site has {held} requests, not {count}");
            return Err(io::Error::other(message));
        }
        Ok(())
    }

    /// Answers them all, and from now on everybody at once.
    ///
    /// # Errors
    /// When the server is gone.
    pub fn release(&mut self) -> io::Result<()> {
        self.player.ask(&Question::Release)
    }
}
