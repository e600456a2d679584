//! Flags for the scope: the URLs that belong to the site, and limits on the crawl.

use clap::Args;
use crawl_core::{Check, Options, ScopeRule, Settings};
use regex::Regex;

use crate::parsers::{self, CheckItem};

/// The flags under "Scope".
#[derive(Args, Debug)]
#[command(next_help_heading = "Scope")]
pub(super) struct Scope {
    /// Stay on the hosts and ports of the start URLs; "www." makes no difference (default)
    #[arg(long, group = "site")]
    strict: bool,

    /// Also follow links to other hosts of the same registrable domain
    #[arg(long, group = "site")]
    lenient: bool,

    /// Follow only links that match at least one of the --include patterns (repeatable)
    #[arg(long, value_name = "REGEX")]
    include: Vec<Regex>,

    /// Skip URLs that match, even if --include matches them. Does not apply to robots.txt
    /// and sitemaps (repeatable)
    #[arg(long, value_name = "REGEX")]
    exclude: Vec<Regex>,

    /// Follow links at most N clicks from the start URLs [default: no limit]
    #[arg(long, value_name = "N", value_parser = parsers::number)]
    max_depth: Option<u32>,

    /// Refuse private and loopback addresses, except those of the start URLs. (Link-local
    /// and cloud-metadata addresses are always refused, with the same exception.)
    #[arg(long)]
    deny_private: bool,

    /// Stop after N URLs [default: no limit]
    #[arg(long, value_name = "N", value_parser = parsers::at_least_one::<u64>)]
    max_pages: Option<u64>,

    /// Fetch at most N URLs of a host ("none" or 0: no limit)
    #[arg(
        long, value_name = "N", default_value_t = Settings::MAX_PAGES_PER_HOST,
        value_parser = parsers::limit
    )]
    max_pages_per_host: u64,

    /// What to check besides links, separated by commas: images, scripts, styles, frames,
    /// refresh, relations, media, fragments, all or none. +KIND and -KIND change the default
    /// [default: none]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_parser = parsers::check_item
    )]
    check: Vec<CheckItem>,

    /// Remove these query parameters from the site's URLs (comma-separated; * removes all)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parsers::query_key)]
    strip_query: Vec<String>,
}

impl Scope {
    /// Returns what is checked besides links, if it was given; `usual` is the default.
    pub(super) fn check(&self, usual: Check) -> Option<Check> {
        (!self.check.is_empty()).then(|| parsers::check(&self.check, usual))
    }

    pub(super) fn set(&self, options: &mut Options) {
        options.settings.scope = if self.lenient { ScopeRule::Lenient } else { ScopeRule::Strict };
        options.settings.include.clone_from(&self.include);
        options.settings.exclude.clone_from(&self.exclude);
        options.settings.max_depth = self.max_depth;
        options.settings.deny_private = self.deny_private;
        options.max_pages = self.max_pages;
        options.settings.max_pages_per_host = Some(self.max_pages_per_host).filter(|max| *max > 0);
        options.settings.check = self.check(Check::default()).unwrap_or_default();
        options.settings.strip_query.clone_from(&self.strip_query);
    }
}
