//! The program `demo-site`: serves a deterministic website on loopback until it
//! is interrupted.

mod units;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, value_parser};
use demo_site::{Connections, DemoSite, Latency, SiteOptions};

/// A website that is the same every time, to be crawled.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// How many pages there are, all reachable from the root
    #[arg(long, value_name = "N", default_value_t = SiteOptions::default().pages,
          value_parser = value_parser!(u32).range(1..=i64::from(SiteOptions::MAX_PAGES)))]
    pages: u32,

    /// How many links a page has
    #[arg(long, value_name = "N", default_value_t = SiteOptions::default().links_per_page,
          value_parser = value_parser!(u32).range(1..=i64::from(SiteOptions::MAX_LINKS)))]
    links: u32,

    /// How large a page is, in bytes (or 8K, 10M)
    #[arg(long, value_name = "SIZE", default_value = "8K", value_parser = units::page_size)]
    page_size: usize,

    /// What the links, the text and the delays are derived from
    #[arg(long, value_name = "N", default_value_t = SiteOptions::default().seed)]
    seed: u64,

    /// How long every response takes, in seconds (or 500ms, 2s)
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = units::delay)]
    delay: Duration,

    /// How long the slowest response takes: each URL has a delay of its own
    /// between --delay and this
    #[arg(long, value_name = "TIME", value_parser = units::delay)]
    delay_max: Option<Duration>,

    /// Close the connection after every response
    #[arg(long)]
    close: bool,

    /// Leave out /special/, and with it redirects, errors, charsets and the
    /// like
    #[arg(long)]
    no_special: bool,

    /// How many pages are always busy: the first ones, with status 429
    #[arg(long, value_name = "N", default_value_t = 0)]
    busy: u32,

    /// Where to listen; port 0 is any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

impl Arguments {
    fn options(&self) -> Result<SiteOptions, clap::Error> {
        let latency = match self.delay_max {
            Some(max) if max < self.delay => {
                return Err(Self::command().error(
                    ErrorKind::ValueValidation,
                    format!("--delay-max {max:?} is less than --delay {:?}", self.delay),
                ));
            }
            Some(max) => Latency::Spread { min: self.delay, max },
            None if self.delay.is_zero() => Latency::None,
            None => Latency::Fixed(self.delay),
        };
        Ok(SiteOptions {
            seed: self.seed,
            pages: self.pages,
            links_per_page: self.links,
            page_size: self.page_size,
            latency,
            connections: if self.close { Connections::Close } else { Connections::KeepAlive },
            busy_pages: self.busy,
            special_cases: !self.no_special,
            ..SiteOptions::default()
        })
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let options = arguments.options().unwrap_or_else(|error| error.exit());
    let site = match DemoSite::start_on(arguments.listen, options) {
        Ok(site) => site,
        Err(error) => return fail(&format!("cannot listen on {}", arguments.listen), &error),
    };
    if let Err(error) = writeln!(io::stdout(), "{}", site.root()) {
        return fail("cannot print the address", &error);
    }
    loop {
        // The serving thread does the work; a signal ends both threads.
        thread::park();
    }
}

fn fail(what: &str, error: &io::Error) -> ExitCode {
    // An error of stderr itself cannot be reported.
    let _ = writeln!(io::stderr(), "demo-site: {what}: {error}");
    ExitCode::FAILURE
}
