//! Flags that only the tool `crawl` has.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use crawl_core::{Options, Proxy, ProxyRules};
use url::Url;

use crate::cookie_file::CookieFile;
use crate::for_host::{ForHost, host_options};
use crate::generate::Generated;
use crate::output::{Baseline, OutputSettings, RedirectPolicy};
use crate::parsers;
use crate::sources::{self, Source, Sources};

/// The flags of `crawl` that the other stages do not have.
#[derive(Args, Clone, Debug)]
pub(crate) struct Tool {
    /// Also check the URLs and files that FILE lists, one a line
    #[arg(long, value_name = "FILE", help_heading = "Scope")]
    pub(super) input: Option<PathBuf>,

    /// The URL at which the folder is published; links to that URL are checked against its
    /// files
    #[arg(
        long, value_name = "URL", help_heading = "Scope", value_parser = sources::base_url
    )]
    pub(super) base_url: Option<Url>,

    /// Stop after this time, and report what was found [default: no limit]
    #[arg(long, value_name = "DURATION", help_heading = "Scope", value_parser = parsers::duration)]
    max_time: Option<Duration>,

    /// If a start URL redirects to another host, crawl that host
    #[arg(long, help_heading = "Scope")]
    follow_root: bool,

    /// How to report redirects: accept them, list permanent ones, or count all as broken.
    /// Redirect loops are always broken [default: ok]
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        default_value_t,
        hide_default_value = true,
        help_heading = "Output"
    )]
    redirects: RedirectPolicy,

    /// Check the links of the start pages, and follow none of them
    #[arg(long, help_heading = "Scope")]
    pub(super) one_page: bool,

    /// Also check links to other sites, without following them
    #[arg(long, help_heading = "Scope")]
    external: bool,

    /// Also start from the sitemaps of the given sites
    #[arg(long, help_heading = "Scope")]
    pub(super) sitemap: bool,

    /// Treat a URL as a trap when its path has more than N segments [default: 32]
    #[arg(
        long, value_name = "N", help_heading = "Scope",
        value_parser = parsers::at_least_one::<usize>
    )]
    max_path_segments: Option<usize>,

    /// Treat a path as a trap when a segment repeats N times in a row [default: 3]
    #[arg(long, value_name = "N", help_heading = "Scope", value_parser = parsers::at_least_two)]
    max_repeats: Option<usize>,

    /// Treat a page as a trap when its query has more than N variants [default: 100000]
    #[arg(
        long, value_name = "N", help_heading = "Scope",
        value_parser = parsers::at_least_one::<u32>
    )]
    max_pages_per_pattern: Option<u32>,

    /// Maximum requests a second to each host of another site [default: no limit]
    #[arg(
        long, value_name = "N", help_heading = "Speed and politeness",
        value_parser = parsers::at_least_one::<u32>
    )]
    external_rate: Option<u32>,

    /// Maximum requests a second to each host [default: no limit]
    #[arg(
        long, value_name = "N", help_heading = "Speed and politeness",
        value_parser = parsers::at_least_one::<u32>
    )]
    rate_limit: Option<u32>,

    /// Minimum pause between two requests to a host [default: none]
    #[arg(
        long, value_name = "DURATION", help_heading = "Speed and politeness",
        value_parser = parsers::duration
    )]
    delay: Option<Duration>,

    /// Longest wait after a 429 or 503, whatever Retry-After says. A host that stays busy for
    /// twice this long is given up [default: 1m]
    #[arg(
        long, value_name = "DURATION", help_heading = "Speed and politeness",
        value_parser = parsers::duration
    )]
    max_wait: Option<Duration>,

    /// Ignore robots.txt and "nofollow"
    #[arg(long, help_heading = "Speed and politeness")]
    no_robots: bool,

    /// Read cookies from FILE, and write them back at the end (Netscape's format). A pipe is
    /// only read
    #[arg(
        long, value_name = "FILE", help_heading = "Request",
        group = "jar", conflicts_with_all = ["record", "replay"],
        value_hint = ValueHint::FilePath, value_parser = CookieFile::read
    )]
    pub(crate) cookie_jar: Option<CookieFile>,

    /// Do not keep cookies
    #[arg(long, group = "jar", help_heading = "Request")]
    no_cookies: bool,

    /// Send requests through this proxy: http://HOST:PORT, https://, socks5:// or socks5h://,
    /// with NAME:PASSWORD@ before the host if it needs a login [default: the variables
    /// http_proxy, https_proxy, all_proxy and no_proxy, as curl reads them]
    #[arg(long, value_name = "URL", group = "through", help_heading = "Request")]
    proxy: Option<String>,

    /// Use no proxy, whatever the environment says
    #[arg(long, group = "through", help_heading = "Request")]
    no_proxy: bool,

    /// Settings for single hosts, as in a file
    #[arg(long, value_name = "HOST KEY=VALUE", hide = true, value_parser = ForHost::parse)]
    for_host: Vec<ForHost>,

    /// A variable of the environment of the crawl that is replayed
    #[arg(long, value_name = "NAME=VALUE", hide = true)]
    proxy_env: Vec<String>,

    /// List every URL, not only the broken ones
    #[arg(long, help_heading = "Output", group = "listed")]
    all: bool,

    /// Group broken links by the page that they are on
    #[arg(long, help_heading = "Output")]
    by_page: bool,

    /// Maximum links to list for each broken URL, or all [default: 10]. If given, jsonl and
    /// csv list them as well, and put broken URLs at the end
    #[arg(
        long, value_name = "N", help_heading = "Output", conflicts_with = "by_page",
        value_parser = parsers::number_or_all
    )]
    referrers: Option<usize>,

    /// Report only broken links that FILE does not list
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) baseline: Option<PathBuf>,

    /// Replace the baseline by what is broken now
    #[arg(long, requires = "baseline", help_heading = "Output")]
    update_baseline: bool,

    /// Show no progress, neither on a terminal nor every 10 s in a log
    #[arg(long, help_heading = "Output")]
    pub(crate) no_progress: bool,

    /// Cache results for links to other sites in FILE; OK and blocked ones are not requested
    /// again until --cache-age
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "replay"], help_heading = "State")]
    pub(crate) cache: Option<PathBuf>,

    /// How long cached results are valid, like 12h or 7d
    #[arg(
        long, value_name = "DURATION", default_value = "7d", help_heading = "State",
        value_parser = parsers::age
    )]
    pub(crate) cache_age: Duration,

    /// Read settings from FILE [default: crawl.toml in this folder, or in the nearest one
    /// above]
    #[arg(long, value_name = "FILE", help_heading = "State")]
    pub(crate) config: Option<PathBuf>,

    /// Print the settings of flags and file, without secrets, and exit
    #[arg(long, help_heading = "State")]
    pub(crate) print_config: bool,

    /// Print the manual page, the completions for a shell or the JSON schema, and exit
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Output", exclusive = true)]
    pub(crate) generate: Option<Generated>,

    /// Save progress to FILE, and resume from it if it exists
    #[arg(long, value_name = "FILE", help_heading = "State")]
    pub(crate) state: Option<PathBuf>,

    /// Start again and replace the saved progress
    #[arg(long, requires = "state", help_heading = "State")]
    pub(crate) fresh: bool,

    /// Record everything that the network and the clock deliver in FILE, for --replay.
    /// Passwords, cookies and the usual headers for them are left out; other headers are
    /// recorded
    #[arg(long, value_name = "FILE", conflicts_with_all = ["replay", "state"], help_heading = "State")]
    pub(crate) record: Option<PathBuf>,

    /// Also record passwords and cookies
    #[arg(long, requires = "record", help_heading = "State")]
    pub(crate) record_secrets: bool,

    /// Repeat the crawl that FILE recorded, with its URLs and flags and without a network
    #[arg(long, value_name = "FILE", conflicts_with = "state", help_heading = "State")]
    pub(crate) replay: Option<PathBuf>,
}

impl Tool {
    /// Reads the sources that the arguments and the flags name.
    ///
    /// # Errors
    /// Those of [`Sources::read`].
    pub(super) fn sources(&self, sources: &[Source]) -> Result<Sources, String> {
        Sources::read(sources, self.input.as_deref(), self.base_url.as_ref())
    }

    /// Returns the variables that say which proxies there are: those of the environment,
    /// or of the crawl that is replayed.
    pub(crate) fn proxy_variables(&self) -> Vec<(String, String)> {
        if self.replay.is_none() {
            let names = ProxyRules::VARIABLES.into_iter();
            return names.filter_map(|name| Some((name.into(), env::var(name).ok()?))).collect();
        }
        let pairs = self.proxy_env.iter().filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name.into(), value.into())).collect()
    }

    /// Returns the proxies that the flags and the environment name.
    ///
    /// # Errors
    /// When one is wrong, or the crawl cannot be recorded with it; as a sentence without
    /// the password.
    pub(crate) fn proxies(&self) -> Result<ProxyRules, String> {
        if self.no_proxy {
            return Ok(ProxyRules::default());
        }
        let variables = self.proxy_variables();
        let value = |name: &str| variables.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
        let rules = match &self.proxy {
            None => ProxyRules::from_env(value)?,
            Some(proxy) => {
                let proxy = Proxy::parse(proxy).map_err(|error| format!("--proxy: {error}"))?;
                let exempt =
                    |name: &str| value(name).filter(|_| name.eq_ignore_ascii_case("no_proxy"));
                ProxyRules::from_env(exempt)?.through(proxy)
            }
        };
        let hides_secrets = self.record.is_some() && !self.record_secrets;
        let has_secret = |proxy: &Proxy| !proxy.is_http() && proxy.credentials().is_some();
        if hides_secrets && rules.proxies().any(has_secret) {
            return Err("to record a SOCKS password, add --record-secrets".into());
        }
        Ok(rules)
    }

    /// Returns a setting that only a crawl in one process can follow, if there is one.
    #[cfg(feature = "redis")]
    pub(super) fn for_one_process(&self) -> Option<&'static str> {
        if self.baseline.is_some() {
            Some("--baseline works for a crawl in one process, or with --report")
        } else if self.follow_root {
            Some("--follow-root works only for a crawl in one process")
        } else if self.cache.is_some() {
            Some("--cache works only for a crawl in one process")
        } else if self.external_rate.is_some() {
            Some("--external-rate works only for a crawl in one process")
        } else if !self.for_host.is_empty() {
            Some("settings for single hosts work only for a crawl in one process")
        } else {
            None
        }
    }

    /// Sets what the flags of the tool say about reports.
    ///
    /// # Errors
    /// When the baseline cannot be read, as a sentence.
    pub(super) fn set_output(
        &self,
        mut settings: OutputSettings,
    ) -> Result<OutputSettings, String> {
        settings.lists_all = self.all;
        settings.redirects = self.redirects;
        settings.grouping.by_page = self.by_page;
        settings.has_referrers = self.referrers.is_some();
        settings.grouping.max_referrers = self.referrers.unwrap_or(settings.grouping.max_referrers);
        let baseline = self.baseline.clone();
        let baseline = baseline.map(|path| Baseline::read(path, self.update_baseline));
        settings.baseline = baseline.transpose()?;
        Ok(settings)
    }

    pub(crate) fn set(&self, options: &mut Options) {
        options.max_time = self.max_time;
        let traps = &mut options.settings.traps;
        traps.segments = self.max_path_segments.unwrap_or(traps.segments);
        traps.repetitions = self.max_repeats.unwrap_or(traps.repetitions);
        traps.variants = self.max_pages_per_pattern.unwrap_or(traps.variants);
        options.settings.max_wait = self.max_wait.unwrap_or(options.settings.max_wait);
        if self.one_page {
            options.settings.one_page = true;
            // Level by level: a start page that another one links to is read as such.
            options.settings.max_depth = Some(1);
        }
        options.settings.external = self.external;
        options.settings.follow_root = self.follow_root;
        options.keep_redirects = self.redirects != RedirectPolicy::Ok;
        options.settings.sitemap = self.sitemap;
        options.settings.rate_limit = self.rate_limit;
        options.settings.delay = self.delay.unwrap_or_default();
        options.settings.external_rate = self.external_rate;
        options.settings.hosts = host_options(&self.for_host);
        options.settings.robots = !self.no_robots;
        options.cookies = !self.no_cookies;
        options.cookie_jar = self.cookie_jar.as_ref().map(|file| file.jar.clone());
    }
}
