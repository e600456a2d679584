//! Flags for limits: concurrency, tries, redirects, timeouts and sizes.

use std::time::Duration;

use clap::Args;
use crawl_core::Options;

use crate::parsers;

/// The flags under "Speed and politeness" that every stage has.
#[derive(Args, Debug)]
#[command(next_help_heading = "Speed and politeness")]
pub(super) struct Limits {
    /// Maximum number of fetches at a time, up to 100000 [default: 10, or as many as files
    /// may be open]
    #[arg(
        short = 'j', long, visible_alias = "max-concurrency", value_name = "N",
        value_parser = parsers::max_tasks
    )]
    max_tasks: Option<usize>,

    /// Maximum attempts for a URL when the network fails
    #[arg(
        long, value_name = "N", default_value_t = 4,
        value_parser = parsers::at_least_one::<u32>
    )]
    max_tries: u32,

    /// Maximum redirects in a chain
    #[arg(
        long, visible_alias = "max-redirects", value_name = "N", default_value_t = 10,
        value_parser = parsers::number
    )]
    max_redirect: u32,

    /// Longest time to wait for a connection
    #[arg(
        long, value_name = "DURATION", default_value = "10s",
        value_parser = parsers::duration
    )]
    connect_timeout: Duration,

    /// Longest time to wait for the next bytes from the server
    #[arg(
        long, value_name = "DURATION", default_value = "15s",
        value_parser = parsers::duration
    )]
    read_timeout: Duration,

    /// Longest time for a whole attempt
    #[arg(
        long, value_name = "DURATION", default_value = "30s",
        value_parser = parsers::duration
    )]
    timeout: Duration,

    /// Maximum size of a page. Sitemaps and other files may be larger
    #[arg(long, value_name = "SIZE", default_value = "10M", value_parser = parsers::size)]
    max_body_size: u64,
}

impl Limits {
    pub(super) fn set(&self, options: &mut Options) {
        options.max_tasks = self.max_tasks;
        options.settings.max_tries = self.max_tries;
        options.settings.max_redirect = self.max_redirect;
        options.settings.connect_timeout = self.connect_timeout;
        options.settings.read_timeout = self.read_timeout;
        options.settings.timeout = self.timeout;
        options.settings.max_body_size = self.max_body_size;
    }
}
