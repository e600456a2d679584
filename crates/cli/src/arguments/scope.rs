//! Flags for the scope: the URLs that belong to the site, and limits on the crawl.

use clap::{Args, ValueEnum};
use crawl_core::{Check, Options, ScopeRule};
use regex::Regex;

use crate::parsers;

/// The flags under "Scope".
#[derive(Args, Debug)]
#[command(next_help_heading = "Scope")]
pub(super) struct Scope {
    /// Follow links to the roots' hosts ("www." ignored) and ports only (default)
    #[arg(long, conflicts_with = "lenient")]
    strict: bool,

    /// Follow links to any host of the roots' registrable domains
    #[arg(long)]
    lenient: bool,

    /// Follow only links that match, or match another of these (repeatable)
    #[arg(long, value_name = "REGEX")]
    include: Vec<Regex>,

    /// Never fetch matching URLs, included or not (repeatable)
    #[arg(long, value_name = "REGEX")]
    exclude: Vec<Regex>,

    /// Go as far as N clicks from a root [default: no limit]
    #[arg(long, value_name = "N")]
    max_depth: Option<u32>,

    /// Ask no private and no loopback address, unless a root has one; link-local ones and
    /// those of cloud metadata are never asked, unless a root has one
    #[arg(long)]
    deny_private: bool,

    /// Stop after N URLs [default: no limit]
    #[arg(long, value_name = "N", value_parser = parsers::at_least_one::<u64>)]
    max_pages: Option<u64>,

    /// What to check, separated by commas: images, scripts and styles as well as
    /// links, and fragments: whether what links name after a "#" is there
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        default_value = "links",
        hide_possible_values = true
    )]
    check: Vec<Checked>,

    /// Take these keys, separated by commas, out of every query; "*" takes all
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parsers::query_key)]
    strip_query: Vec<String>,
}

/// What can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Checked {
    /// They always are.
    Links,
    Images,
    Scripts,
    Styles,
    Fragments,
}

impl Scope {
    pub(super) fn set(&self, options: &mut Options) {
        options.scope = if self.lenient { ScopeRule::Lenient } else { ScopeRule::Strict };
        options.include.clone_from(&self.include);
        options.exclude.clone_from(&self.exclude);
        options.max_depth = self.max_depth;
        options.deny_private = self.deny_private;
        options.max_pages = self.max_pages;
        options.check = Check {
            images: self.check.contains(&Checked::Images),
            scripts: self.check.contains(&Checked::Scripts),
            styles: self.check.contains(&Checked::Styles),
            fragments: self.check.contains(&Checked::Fragments),
        };
        options.strip_query.clone_from(&self.strip_query);
    }
}
