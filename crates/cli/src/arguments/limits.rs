//! Flags for limits: concurrency, tries, redirects, timeouts and sizes.

use std::time::Duration;

use clap::Args;
use crawl_core::Options;

use crate::parsers;

/// The flags under "Speed and manners" that every stage has.
#[derive(Args, Debug)]
#[command(next_help_heading = "Speed and manners")]
pub(super) struct Limits {
    /// Number of fetches (at most 100000) at a time [default: 10, or as many as files may
    /// be open]
    #[arg(
        short = 'j', long, visible_alias = "max-concurrency", value_name = "N",
        value_parser = parsers::max_tasks
    )]
    max_tasks: Option<usize>,

    /// How often to try a URL on errors of the network
    #[arg(
        long, value_name = "N", default_value_t = 4,
        value_parser = parsers::at_least_one::<u32>
    )]
    max_tries: u32,

    /// How many redirects of a chain to follow
    #[arg(long, visible_alias = "max-redirects", value_name = "N", default_value_t = 10)]
    max_redirect: u32,

    /// How long a connection may take to be made
    #[arg(
        long, value_name = "DURATION", default_value = "10s",
        value_parser = parsers::duration
    )]
    connect_timeout: Duration,

    /// How long the server may be silent
    #[arg(
        long, value_name = "DURATION", default_value = "15s",
        value_parser = parsers::duration
    )]
    read_timeout: Duration,

    /// How long a whole try may take
    #[arg(
        long, value_name = "DURATION", default_value = "30s",
        value_parser = parsers::duration
    )]
    timeout: Duration,

    /// The greatest page to accept; other files, and sitemaps, may be larger
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
