//! Sitemaps: fetches the sitemaps of the roots and passes on the pages that they
//! name.

use std::collections::{HashSet, VecDeque};
use std::pin::pin;

use stage2_coroutines::{catch, select, sleep, yield_now};
use url::Url;
use web::Address;
use web::sitemap::{Limits, SitemapEntry, SitemapParser};

use crate::fetch::{Client, site_file};
use crate::frontier::Frontier;
use crate::politeness::{MAX_BUSY_ANSWERS, backoff};
use crate::robots::Rules;

/// Limit on the sitemaps that are read per site.
const MAX_SITEMAPS: usize = 1_000;

/// Limit on the URLs that are taken from the sitemaps of one site. The sitemap that
/// crosses the limit is still read to its end.
const MAX_ENTRIES: usize = 1_000_000;

/// Limit on the index files that lead to a sitemap, one after another. The protocol
/// allows one.
const MAX_INDICES: u32 = 3;

/// Number of bytes of a sitemap that are parsed before the URLs in it are put in.
/// Compressed, they may be a thousand times as long.
const CHUNK: usize = 4 * 1024;

/// Reads the sitemaps of the roots' origins: those that robots.txt names, or
/// else `/sitemap.xml`, and the sitemaps that index files name. Returns when all
/// are read or the crawl is stopped. A sitemap that cannot be fetched is a
/// warning.
pub(crate) async fn read_sitemaps(client: &Client<impl Frontier>) {
    let read_all = async {
        let mut sites = HashSet::new();
        for root in &client.options.roots {
            let site = site_file(root, "/");
            if sites.insert(site.clone()) {
                read_site(client, &site).await;
            }
        }
    };
    select((read_all, client.frontier.stopped())).await;
}

/// Reads the sitemaps of one site.
async fn read_site(client: &Client<impl Frontier>, site: &Url) {
    let sitemaps = sitemaps_of(client, site).await;
    let mut todo: VecDeque<_> = sitemaps.into_iter().map(|url| (url, 0)).collect();
    let (mut seen, mut num_pages) = (HashSet::new(), 0);
    while let Some((url, depth)) = todo.pop_front() {
        if !seen.insert(url.clone()) {
            continue;
        }
        if seen.len() > MAX_SITEMAPS || num_pages >= MAX_ENTRIES {
            return client
                .frontier
                .warn(format!("{site} has more sitemaps than are read, from {url} on"));
        }
        let mut found = Found { num_pages, sitemaps: Vec::new() };
        let problem = match catch(pin!(read(client, &url, &mut found))).await {
            Ok(result) => result.err(),
            Err(exception) => Some(exception.to_string()),
        };
        num_pages = found.num_pages;
        if depth < MAX_INDICES {
            todo.extend(found.sitemaps.into_iter().map(|sitemap| (sitemap, depth + 1)));
        }
        if let Some(problem) = problem {
            client.frontier.warn(format!("sitemap {url}: {problem}"));
        }
    }
}

/// Returns the sitemaps that a site's robots.txt names, or else the usual URL of a
/// sitemap.
async fn sitemaps_of(client: &Client<impl Frontier>, site: &Url) -> Vec<Url> {
    let expected = site_file(site, "/sitemap.xml");
    if !client.options.robots {
        return vec![expected];
    }
    match client.frontier.rules(site).await.as_deref() {
        Some(Rules::Robots { robots, .. }) if !robots.sitemaps().is_empty() => {
            robots.sitemaps().to_vec()
        }
        Some(Rules::Robots { robots, .. }) if robots.allows(&expected) => vec![expected],
        _ => Vec::new(),
    }
}

/// The entries found in sitemaps.
struct Found {
    num_pages: usize,
    sitemaps: Vec<Url>,
}

/// Reads one sitemap, within the rate limit of its host.
async fn read(client: &Client<impl Frontier>, url: &Url, found: &mut Found) -> Result<(), String> {
    let limits = Limits::default();
    let mut busy_answers = 0;
    let file = loop {
        let address = Address::of(url).map_err(|_| "no URL of a host")?;
        client.frontier.pace(address).await.map_err(|error| error.to_string())?;
        let file = client.fetch_file(url, limits.bytes).await;
        let file = file.map_err(|file_error| file_error.error.to_string())?;
        busy_answers += 1;
        if !file.is_busy() || busy_answers == MAX_BUSY_ANSWERS {
            break file;
        }
        let wait = backoff(busy_answers, file.retry_after.as_deref()).min(client.options.max_wait);
        sleep(&client.event_loop, wait).await;
    };
    if !matches!(file.status, 200..=299) {
        return Err(format!("status {}", file.status));
    }
    let (mut parser, mut pages) = (SitemapParser::new(limits), Vec::new());
    let mut take = |entry: SitemapEntry<'_>, pages: &mut Vec<Url>| match entry {
        SitemapEntry::Page(page) => pages.extend(Url::parse(page)),
        SitemapEntry::Sitemap(sitemap) => found.sitemaps.extend(Url::parse(sitemap)),
        SitemapEntry::TooLong => {}
    };
    for bytes in file.body.chunks(CHUNK) {
        let result = parser.feed(bytes, &mut |entry| take(entry, &mut pages));
        found.num_pages += pages.len();
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
