//! Sitemaps: fetches the sitemaps of the sites and passes on the pages that they
//! name.

use std::collections::{HashSet, VecDeque};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crawl_core::{DeferReason, Deferral, ScopeRule, SiteFile};
use stage2_coroutines::{catch, sleep, yield_now};
use url::Url;
use web::sitemap::{Limits, SitemapEntry, SitemapParser, is_relative, relative_entries};
use web::{Address, BaseUrl, remove_password};

use crate::fetch::{Client, Redirects, site_file};
use crate::frontier::{Gate, Reporting, Seeds};
use crate::politeness::{MAX_ATTEMPTS_IN_A_ROW, backoff};
use crate::rules::Rules;

/// Limit on the sitemaps that are read per site.
const MAX_SITEMAPS: usize = 1_000;

/// Limit on the entries that are taken from the sitemaps and index files of one site. The
/// sitemap that crosses the limit is still read to its end.
const MAX_ENTRIES: usize = 1_000_000;

/// Limit on the sitemaps of one site that cannot be read, one after another.
const MAX_FAILURES: usize = 20;

/// Limit on the index files that lead to a sitemap, one after another. The protocol
/// allows one.
const MAX_INDICES: u32 = 3;

/// Number of bytes of a sitemap that are parsed before the URLs in it are put in.
/// Compressed, they may be a thousand times as long.
const CHUNK: usize = 4 * 1024;

/// Reads the sitemaps of the origins of the start URLs: those that robots.txt names, or
/// else `/sitemap.xml`, and the sitemaps that index files name. Returns when all
/// are read or the crawl is stopped. A sitemap that cannot be fetched is a
/// warning.
pub(crate) async fn read_sitemaps(client: &Client<impl Gate + Seeds + Reporting>) {
    let read_all = async {
        let mut sites = HashSet::new();
        for root in client.options.settings.roots.iter() {
            let site = site_file(root, "/");
            if sites.insert(site.clone()) {
                read_site(client, &site).await;
            }
        }
    };
    let (mut read_all, mut stopped) = (pin!(read_all), pin!(client.frontier.stopped()));
    // Not `select`, which polls both: once the frontier is stopped, no rules are known any more,
    // and each sitemap that needs them would be a warning.
    poll_fn(|context| match stopped.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => read_all.as_mut().poll(context),
    })
    .await;
}

/// The sitemaps of one site, as far as they are read.
struct Sitemaps<'a> {
    /// The site whose robots.txt names them.
    site: &'a Url,
    /// Sitemaps to read, each with the number of index files that led to it.
    todo: VecDeque<(Url, u32)>,
    /// All that were ever in `todo`, at most [`MAX_SITEMAPS`].
    seen: HashSet<Url>,
    num_entries: usize,
    /// Number of sitemaps that could not be read since the last one that could.
    num_failures: usize,
    /// True if an index names more sitemaps than are read.
    has_more: bool,
}

/// The numbers of entries of a sitemap that are mistakes.
#[derive(Default)]
struct Mistakes {
    /// Those of hosts that it cannot speak for.
    others: usize,
    /// Those that are relative.
    relative: u64,
}

/// Reads the sitemaps of one site.
async fn read_site(client: &Client<impl Gate + Seeds + Reporting>, site: &Url) {
    let mut sitemaps = Sitemaps {
        site,
        todo: VecDeque::new(),
        seen: HashSet::new(),
        num_entries: 0,
        num_failures: 0,
        has_more: false,
    };
    for url in sitemaps_of(client, site).await {
        sitemaps.add(url, 0);
    }
    while let Some((url, num_indices)) = sitemaps.todo.pop_front() {
        let (num_entries, num_failures) = (sitemaps.num_entries, sitemaps.num_failures);
        if num_entries >= MAX_ENTRIES || num_failures >= MAX_FAILURES {
            let why = if num_failures < MAX_FAILURES {
                format!("{num_entries} entries were read")
            } else {
                format!("{num_failures} in a row could not be read")
            };
            let warning = format!("sitemaps of {site} were skipped from {url} on: {why}");
            return client.frontier.warn(warning);
        }
        let mut mistakes = Mistakes::default();
        let reading = sitemaps.read(client, &url, num_indices, &mut mistakes);
        let problem = match catch(pin!(reading)).await {
            Ok(result) => result.err(),
            Err(exception) => Some(exception.to_string()),
        };
        sitemaps.num_failures = if problem.is_some() { sitemaps.num_failures + 1 } else { 0 };
        let Mistakes { others, relative } = mistakes;
        if others > 0 {
            client
                .frontier
                .warn(format!("sitemap {url}: {others} entries for other hosts were ignored"));
        }
        if relative > 0 {
            client.frontier.warn(relative_entries(url.as_str(), relative));
        }
        if let Some(problem) = problem {
            client.frontier.warn(format!("sitemap {url}: {problem}"));
        }
    }
    if sitemaps.has_more {
        let warning =
            format!("sitemaps of {site} were skipped: crawl reads at most {MAX_SITEMAPS}");
        client.frontier.warn(warning);
    }
}

/// Returns the sitemaps that a site's robots.txt names, or else the usual URL of a
/// sitemap.
async fn sitemaps_of(client: &Client<impl Gate + Seeds + Reporting>, site: &Url) -> Vec<Url> {
    let expected = site_file(site, "/sitemap.xml");
    if !client.options.settings.robots {
        return vec![expected];
    }
    match client.frontier.rules(site).await.as_deref() {
        Some(Rules::Robots { robots, .. })
            if !robots.sitemaps().is_empty() || !robots.relative_sitemaps().is_empty() =>
        {
            let resolve = |reference: &String| BaseUrl::resolve(site, reference).ok();
            let relative: Vec<Url> =
                robots.relative_sitemaps().iter().filter_map(resolve).collect();
            if let Some(first) = relative.first() {
                client.frontier.warn(format!(
                    "{site}robots.txt names a sitemap by a relative URL, which most crawlers \
                     ignore: taken for {first}"
                ));
            }
            [robots.sitemaps(), &relative].concat()
        }
        Some(rules) if rules.refusal(&expected).is_none() => vec![expected],
        _ => Vec::new(),
    }
}

impl Sitemaps<'_> {
    /// Adds a sitemap to those to read, unless it was added before.
    fn add(&mut self, url: Url, num_indices: u32) {
        if self.seen.len() < MAX_SITEMAPS {
            if self.seen.insert(url.clone()) {
                self.todo.push_back((url, num_indices));
            }
        } else {
            self.has_more |= !self.seen.contains(&url);
        }
    }

    /// Reads one sitemap, within the rules and the rate limit of its host. Counts its
    /// mistakes.
    async fn read(
        &mut self,
        client: &Client<impl Gate + Seeds + Reporting>,
        url: &Url,
        num_indices: u32,
        mistakes: &mut Mistakes,
    ) -> Result<(), String> {
        let limits = Limits::default();
        let file = fetch(client, url, limits.bytes).await?;
        let (mut parser, mut pages) = (SitemapParser::new(limits), Vec::new());
        let mut take = |entry: SitemapEntry<'_>, pages: &mut Vec<Url>| {
            self.num_entries += 1;
            let text = match entry {
                SitemapEntry::Page(text)
                | SitemapEntry::Sitemap(text)
                | SitemapEntry::Alternate(text) => text,
                SitemapEntry::Image(text) if client.options.settings.check.images => text,
                SitemapEntry::Image(_) | SitemapEntry::TooLong => return,
            };
            let Ok(mut entry_url) = BaseUrl::resolve(url, text) else { return };
            let is_image = matches!(entry, SitemapEntry::Image(_));
            mistakes.relative += u64::from(!is_image && is_relative(text));
            remove_password(&mut entry_url);
            if matches!(entry, SitemapEntry::Alternate(_) | SitemapEntry::Image(_)) {
                return pages.push(entry_url);
            }
            // The protocol: a sitemap speaks for its own host, and for the one whose
            // robots.txt names it.
            if ![url, self.site].iter().any(|host| ScopeRule::Strict.is_same_site(host, &entry_url))
            {
                mistakes.others += 1;
            } else if let SitemapEntry::Page(_) = entry {
                pages.push(entry_url);
            } else if num_indices < MAX_INDICES {
                self.add(entry_url, num_indices + 1);
            }
        };
        for bytes in file.body.chunks(CHUNK) {
            let result = parser.feed(bytes, &mut |entry| take(entry, &mut pages));
            for page in pages.drain(..) {
                client.frontier.seed(&page).await;
            }
            result.map_err(|error| error.to_string())?;
            yield_now(&client.event_loop).await;
        }
        if !file.is_whole {
            return Err(format!("only the first {} bytes were read", limits.bytes));
        }
        let result = parser.finish(&mut |entry| take(entry, &mut pages));
        for page in pages {
            client.frontier.seed(&page).await;
        }
        result.map_err(|error| error.to_string())
    }
}

/// Fetches one sitemap, within the rules and the rate limit of its host. A throttled one is
/// requested again, and one whose server fails is so once; all waits together take at most the
/// longest wait.
async fn fetch(
    client: &Client<impl Gate + Seeds + Reporting>,
    url: &Url,
    max_bytes: usize,
) -> Result<SiteFile, String> {
    if let Some(refusal) = client.refusal(url).await {
        return Err(refusal.to_string());
    }
    let (mut attempts, mut waited, mut has_failed) = (0, Duration::ZERO, false);
    let file = loop {
        let address = Address::of(url).map_err(|_| "its URL has no host")?;
        client.frontier.wait_turn(address).await.map_err(|error| error.to_string())?;
        if client.frontier.is_given_up(address) {
            let host = address.authority();
            return Err(format!("{host} was given up, it stays busy"));
        }
        let file = client.fetch_file(url, max_bytes, Redirects::Allowed).await;
        let file = file.map_err(|file_error| file_error.error.to_string())?;
        attempts += 1;
        let left = client.options.settings.max_wait.saturating_sub(waited);
        let Some(Deferral { reason, retry_after, .. }) = file.deferral else { break file };
        let is_server_error = matches!(reason, DeferReason::ServerError(_));
        let is_last = attempts == MAX_ATTEMPTS_IN_A_ROW || is_server_error && has_failed;
        if is_last || left.is_zero() {
            break file;
        }
        has_failed |= is_server_error;
        let wait = backoff(attempts, retry_after).min(left);
        waited += wait;
        sleep(&client.event_loop, wait).await;
    };
    match (&file.next_url, file.status) {
        (_, 200..=299) => Ok(file),
        (Some(next), _) => Err(format!("it redirects to {next}, which may not be requested")),
        (None, status) => Err(format!("status {status}")),
    }
}
