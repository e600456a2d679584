//! What can be said on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, ValueEnum};
use crawl_core::{Options, ScopeRule};
use regex::Regex;
use url::Url;

use crate::log::Level;
use crate::values::{self, Certificates};

const EXIT_CODES: &str = "\
Exit codes:
  0  nothing is broken
  1  something is broken: an error status (4xx, 5xx), or no complete response
  2  the command line is wrong
  3  could not run: every root failed, the output cannot be written, or an
     internal error

Durations are written as 30, 30s, 500ms, 2m or 1h, sizes as 65536, 64K, 10M or 1G.";

/// The command line, taken apart. The defaults are those of [`Options::new`];
/// a test sees to it.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// Where to begin. Without a scheme: https, or http for localhost and IP addresses
    #[arg(value_name = "URL", required = true, value_parser = values::root)]
    roots: Vec<Url>,

    /// Follow links to the roots' hosts ("www." ignored) and ports only (default)
    #[arg(long, conflicts_with = "lenient", help_heading = "Scope")]
    strict: bool,

    /// Follow links to any host of the roots' registrable domains
    #[arg(long, help_heading = "Scope")]
    lenient: bool,

    /// Follow only links that match, or match another of these (repeatable)
    #[arg(long, value_name = "REGEX", help_heading = "Scope")]
    include: Vec<Regex>,

    /// Never fetch matching URLs, included or not (repeatable)
    #[arg(long, value_name = "REGEX", help_heading = "Scope")]
    exclude: Vec<Regex>,

    /// Go as far as N clicks from a root [default: no limit]
    #[arg(long, value_name = "N", help_heading = "Scope")]
    max_depth: Option<u32>,

    /// Take these keys, separated by commas, out of every query; "*" takes all
    #[arg(
        long, value_name = "LIST", value_delimiter = ',',
        help_heading = "Scope", value_parser = values::query_key
    )]
    strip_query: Vec<String>,

    /// Stop after N URLs [default: no limit]
    #[arg(long, value_name = "N", help_heading = "Scope", value_parser = values::at_least_one::<u64>)]
    max_pages: Option<u64>,

    /// How many fetches at a time [default: left to the program]
    #[arg(
        short = 'j', long, visible_alias = "max-concurrency", value_name = "N",
        help_heading = "Speed and manners", value_parser = values::at_least_one::<usize>
    )]
    max_tasks: Option<usize>,

    /// How often to try a URL on errors of the network
    #[arg(
        long, value_name = "N", default_value_t = 4,
        help_heading = "Speed and manners", value_parser = values::at_least_one::<u32>
    )]
    max_tries: u32,

    /// How many redirects of a chain to follow
    #[arg(
        long,
        visible_alias = "max-redirects",
        value_name = "N",
        default_value_t = 10,
        help_heading = "Speed and manners"
    )]
    max_redirect: u32,

    /// How long a connection may take to be made
    #[arg(
        long, value_name = "DURATION", default_value = "10s",
        help_heading = "Speed and manners", value_parser = values::duration
    )]
    connect_timeout: Duration,

    /// How long the server may be silent
    #[arg(
        long, value_name = "DURATION", default_value = "15s",
        help_heading = "Speed and manners", value_parser = values::duration
    )]
    read_timeout: Duration,

    /// How long a whole try may take
    #[arg(
        long, value_name = "DURATION", default_value = "30s",
        help_heading = "Speed and manners", value_parser = values::duration
    )]
    timeout: Duration,

    /// The greatest body to accept
    #[arg(
        long, value_name = "SIZE", default_value = "10M",
        help_heading = "Speed and manners", value_parser = values::size
    )]
    max_body_size: u64,

    /// Who to say we are [default: crawl/VERSION]
    #[arg(
        short = 'A', long, value_name = "TEXT",
        help_heading = "Request", value_parser = values::user_agent
    )]
    user_agent: Option<String>,

    /// A PEM file of certificates to trust beside the system's (repeatable)
    #[arg(long, value_name = "FILE", help_heading = "Request", value_parser = values::certificates)]
    cacert: Vec<Certificates>,

    /// Accept any certificate of a server
    #[arg(short = 'k', long, help_heading = "Request")]
    insecure: bool,

    /// A report at the end, or a JSON object for each URL as it is finished
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    pub(crate) format: Format,

    /// Where to write it; "-" is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-", help_heading = "Output")]
    pub(crate) output: PathBuf,

    /// Say on stderr what was fetched; -vv with tries and times
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "quiet", help_heading = "Output")]
    verbose: u8,

    /// Say nothing on stderr but errors
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

/// In which form the result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Jsonl,
}

impl Arguments {
    /// Those of this process, which ends here if it was asked for help, or in
    /// a way that cannot be understood.
    pub(crate) fn of_process(about: &str) -> Self {
        let mut command = Self::command().about(about.to_owned());
        // One crate reads the arguments of several binaries.
        let file = std::env::args_os().next().map(PathBuf::from);
        if let Some(name) = file.as_ref().and_then(|file| file.file_stem()) {
            command = command.display_name(name.to_string_lossy().into_owned());
        }
        Self::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
    }

    /// What the crawl is asked to do.
    pub(crate) fn options(&self) -> Options {
        let defaults = Options::new(self.roots.clone());
        Options {
            scope: if self.lenient { ScopeRule::Lenient } else { ScopeRule::Strict },
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            max_depth: self.max_depth,
            strip_query: self.strip_query.clone(),
            traps: defaults.traps,
            max_tasks: self.max_tasks,
            max_redirect: self.max_redirect,
            max_tries: self.max_tries,
            seed: defaults.seed,
            max_pages: self.max_pages,
            connect_timeout: self.connect_timeout,
            read_timeout: self.read_timeout,
            timeout: self.timeout,
            max_body_size: self.max_body_size,
            user_agent: self.user_agent.clone().unwrap_or(defaults.user_agent),
            ca_certificates: self.cacert.iter().flat_map(|file| file.0.clone()).collect(),
            insecure: self.insecure,
            roots: defaults.roots,
        }
    }

    pub(crate) fn level(&self) -> Level {
        match (self.quiet, self.verbose) {
            (true, _) => Level::Errors,
            (false, 0) => Level::Warnings,
            (false, 1) => Level::Rows,
            (false, _) => Level::Efforts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        let words = ["crawl"].into_iter().chain(line.split_whitespace());
        Arguments::try_parse_from(words).map_err(|error| error.to_string())
    }

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let arguments = parse("example.com").unwrap();
        let root = Url::parse("https://example.com/").unwrap();
        let (ours, theirs) = (arguments.options(), Options::new(vec![root]));
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
        assert_eq!(arguments.format, Format::Text);
        assert_eq!(arguments.output, PathBuf::from("-"));
        assert_eq!(arguments.level(), Level::Warnings);
    }

    #[test]
    fn every_flag_arrives() {
        let arguments = parse(
            "a.test b.test --lenient --exclude x --exclude y$ --include z --include / --max-depth 0 \
             --strip-query sid,utm_source --strip-query q --max-pages 7 -j 3 --max-tries 2 \
             --max-redirect 0 --connect-timeout 1 --read-timeout 2s --timeout 500ms \
             --max-body-size 64K -A me -k --format jsonl -o rows -vv",
        )
        .unwrap();
        let options = arguments.options();
        assert_eq!(options.roots.len(), 2);
        assert_eq!(options.scope, ScopeRule::Lenient);
        assert_eq!((options.exclude.len(), options.include.len()), (2, 2));
        assert_eq!(options.max_depth, Some(0));
        assert_eq!(options.strip_query, ["sid", "utm_source", "q"]);
        assert_eq!(options.max_pages, Some(7));
        assert_eq!(options.max_tasks, Some(3));
        assert_eq!((options.max_tries, options.max_redirect), (2, 0));
        assert_eq!(options.connect_timeout, Duration::from_secs(1));
        assert_eq!(options.read_timeout, Duration::from_secs(2));
        assert_eq!(options.timeout, Duration::from_millis(500));
        assert_eq!(options.max_body_size, 65_536);
        assert_eq!(options.user_agent, "me");
        assert!(options.insecure);
        assert_eq!(arguments.format, Format::Jsonl);
        assert_eq!(arguments.output, PathBuf::from("rows"));
        assert_eq!(arguments.level(), Level::Efforts);
        assert_eq!(parse("a.test -q").unwrap().level(), Level::Errors);
    }

    #[test]
    fn the_names_of_peers_are_understood() {
        let options = parse("a.test --max-concurrency 5 --max-redirects 6").unwrap().options();
        assert_eq!((options.max_tasks, options.max_redirect), (Some(5), 6));
    }

    #[test]
    fn a_bad_value_is_named_with_its_flag() {
        for (flag, value) in [
            ("--include", "["),
            ("--exclude", "("),
            ("--max-depth", "-1"),
            ("--strip-query", "a&b"),
            ("--max-pages", "0"),
            ("--max-tasks", "0"),
            ("--max-tries", "0"),
            ("--max-redirect", "-1"),
            ("--connect-timeout", "soon"),
            ("--read-timeout", "0"),
            ("--timeout", "8000h"),
            ("--max-body-size", "10X"),
            ("--user-agent", ""),
            ("--cacert", "/no/such/file"),
            ("--format", "xml"),
        ] {
            let message = parse(&format!("a.test {flag}={value}")).unwrap_err();
            assert!(message.contains(flag), "{message}");
            assert!(message.contains(value), "{message}");
        }
        assert!(parse("ftp://a.test").unwrap_err().contains("'ftp://a.test'"));
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(parse("").is_err());
        assert!(parse("a.test --strict --lenient").is_err());
        assert!(parse("a.test -q -v").is_err());
    }
}
