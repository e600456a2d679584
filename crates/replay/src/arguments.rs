//! The command-line arguments.

use std::time::Duration;

use clap::{Parser, Subcommand};
use cli::parsers;

use crate::stages::Stage;

/// Lets every stage crawl the same site and compares what they find, and how
/// fast.
#[derive(Debug, Parser)]
#[command(
    version,
    override_usage = "replay [OPTIONS] [URL]",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub(crate) struct Arguments {
    /// A site to crawl instead of the demo site, ten fetches at a time
    #[arg(value_name = "URL", value_parser = url)]
    pub(crate) url: Option<String>,

    /// How many fast pages the demo site has
    #[arg(long, value_name = "N", default_value_t = 5000, conflicts_with = "url")]
    pub(crate) pages: u32,

    /// How many slow pages it has
    #[arg(long, value_name = "N", default_value_t = 1000, conflicts_with = "url")]
    pub(crate) slow_pages: u32,

    /// How slow they are
    #[arg(
        long, value_name = "DURATION", default_value = "200ms", conflicts_with = "url",
        value_parser = parsers::duration
    )]
    pub(crate) delay: Duration,

    /// Number of fetches at a time, for all stages alike
    #[arg(short = 'j', long, value_name = "N", value_parser = parsers::at_least_one::<usize>)]
    pub(crate) tasks: Option<usize>,

    /// Which stages take part
    #[arg(
        long, value_name = "NUMBERS", value_delimiter = ',', default_value = "0,1,2,3",
        value_parser = Stage::from_number
    )]
    pub(crate) stages: Vec<Stage>,

    /// Sees how much they can bear instead: 100,000 pages, and 19,000
    /// connections held at once
    #[arg(
        long, conflicts_with_all = ["url", "pages", "slow_pages", "delay", "tasks"]
    )]
    pub(crate) load: bool,

    #[command(subcommand)]
    pub(crate) role: Option<Role>,
}

/// The part of a process that was started by another.
#[derive(Debug, Subcommand)]
pub(crate) enum Role {
    /// Crawls, and tells on stdout what it has found.
    #[command(hide = true)]
    Crawl {
        #[arg(value_parser = Stage::from_number)]
        stage: Stage,
        tasks: usize,
        url: String,
        /// Begins with so many pages of the demo site instead of one.
        #[arg(long, value_name = "N")]
        first_pages: Option<u32>,
    },
    /// Serves the demo site until stdin is closed.
    #[command(hide = true)]
    Serve {
        pages: u32,
        delay_ms: u64,
        /// Small pages, and nothing else.
        #[arg(long)]
        plain: bool,
        /// Answers nobody before all pages are asked for.
        #[arg(long)]
        hold: bool,
    },
}

fn url(text: &str) -> Result<String, String> {
    parsers::root(text).map(String::from)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn all_stages_take_part_unless_some_are_chosen() {
        let numbers = |line: &str| -> Vec<u8> {
            let arguments = Arguments::try_parse_from(line.split(' ')).unwrap();
            arguments.stages.iter().map(|stage| stage.number).collect()
        };
        assert_eq!(numbers("replay"), [0, 1, 2, 3]);
        assert_eq!(numbers("replay --stages 3,0"), [3, 0]);
        assert!(Arguments::try_parse_from(["replay", "--stages", "4"]).is_err());
    }

    #[test]
    fn a_url_excludes_the_options_of_the_demo_site() {
        let parse = |line: &str| Arguments::try_parse_from(line.split(' '));
        assert_eq!(parse("replay localhost:80").unwrap().url.as_deref(), Some("http://localhost/"));
        assert!(parse("replay localhost --pages 10").is_err());
        assert!(parse("replay -j 0").is_err());
    }

    #[test]
    fn the_load_test_has_no_other_options_but_stages() {
        let parse = |line: &str| Arguments::try_parse_from(line.split(' '));
        assert!(parse("replay --load --stages 3").unwrap().load);
        for line in ["replay --load -j 10", "replay --load --pages 10", "replay --load localhost"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
