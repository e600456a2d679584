//! Sitemaps: fetches the sitemaps of the roots and passes on the pages that they
//! name.

use std::collections::{HashSet, VecDeque};
use std::pin::pin;

use stage2_coroutines::{Future, catch, yield_now};
use url::Url;
use web::sitemap::{Limits, SitemapEntry, SitemapParser};

use super::dispatch::MAX_DEFERRALS;
use super::robots::Rules;
use super::{Politeness, authority, site_file};

/// Limit on the sitemaps that are read per site.
const MAX_SITEMAPS: usize = 1_000;

/// Limit on the URLs that are taken from the sitemaps of one site. The sitemap that
/// crosses the limit is still read to its end.
const MAX_ENTRIES: usize = 1_000_000;

/// Limit on the index files that lead to a sitemap, one after another. The protocol
/// allows one.
const MAX_INDICES: u32 = 3;

/// Number of bytes of a sitemap that are parsed before other tasks may run.
const CHUNK: usize = 64 * 1024;

/// A result of reading sitemaps.
pub(crate) enum SitemapResult {
    /// A page that a sitemap names.
    Page(Url),
    /// A message for the user.
    Warning(String),
}

/// Reads the sitemaps of the roots' origins: those that robots.txt names, or
/// else `/sitemap.xml`, and the sitemaps that index files name. Returns when all
/// are read or the crawl is stopped. A sitemap that cannot be fetched is a
/// warning.
pub(crate) async fn read_sitemaps(
    politeness: &Politeness,
    mut on_result: impl FnMut(SitemapResult),
) {
    let read_all = async {
        let mut sites = HashSet::new();
        for root in &politeness.client.options.roots {
            let site = site_file(root, "/");
            if sites.insert(site.clone()) {
                read_site(politeness, &site, &mut on_result).await;
            }
        }
    };
    politeness.unless_stopped(read_all).await;
}

/// Reads the sitemaps of one site.
async fn read_site(politeness: &Politeness, site: &Url, on_result: &mut impl FnMut(SitemapResult)) {
    let sitemaps = sitemaps_of(politeness, site).await;
    let mut todo: VecDeque<_> = sitemaps.into_iter().map(|url| (url, 0)).collect();
    let (mut seen, mut entries) = (HashSet::new(), 0);
    while let Some((url, depth)) = todo.pop_front() {
        if !seen.insert(url.clone()) {
            continue;
        }
        if seen.len() > MAX_SITEMAPS || entries >= MAX_ENTRIES {
            let message = format!("{site} has more sitemaps than are read, from {url} on");
            return on_result(SitemapResult::Warning(message));
        }
        let take = |entry: SitemapEntry<'_>| match entry {
            SitemapEntry::Page(page) => {
                entries += 1;
                if let Ok(page) = Url::parse(page) {
                    on_result(SitemapResult::Page(page));
                }
            }
            SitemapEntry::Sitemap(sitemap) if depth < MAX_INDICES => {
                todo.extend(Url::parse(sitemap).ok().map(|sitemap| (sitemap, depth + 1)));
            }
            SitemapEntry::Sitemap(_) | SitemapEntry::TooLong => {}
        };
        let problem = match catch(pin!(read(politeness, &url, take))).await {
            Ok(Ok(())) => continue,
            Ok(Err(problem)) => problem,
            Err(exception) => exception.to_string(),
        };
        on_result(SitemapResult::Warning(format!("sitemap {url}: {problem}")));
    }
}

/// Returns the sitemaps that a site's robots.txt names, or else the usual URL of a
/// sitemap.
async fn sitemaps_of(politeness: &Politeness, site: &Url) -> Vec<Url> {
    let expected = site_file(site, "/sitemap.xml");
    if !politeness.client.options.robots {
        return vec![expected];
    }
    fetch_robots_unless_pending(politeness, site).await;
    loop {
        let robots_known = Future::new(&politeness.event_loop);
        let known = politeness.with_host_queues(|host_queues| {
            let id = host_queues.id(authority(site));
            let host = host_queues.host(id);
            match host.rules(site.scheme() == "https") {
                Rules::Known { robots, .. } if !robots.sitemaps().is_empty() => {
                    Some(robots.sitemaps().to_vec())
                }
                Rules::Known { robots, .. } if !robots.allows(&expected) => Some(Vec::new()),
                Rules::NoServer(_) => Some(Vec::new()),
                Rules::Unknown | Rules::Pending if host.has_work() => None,
                _ => Some(vec![expected.clone()]),
            }
        });
        if let Some(known) = known {
            return known;
        }
        politeness.robots_waiters.borrow_mut().push(robots_known.clone());
        // Only this coroutine could cancel it.
        let _ = robots_known.await;
    }
}

/// Fetches a site's robots.txt if no job is left that would: an earlier run may
/// have finished all of them.
async fn fetch_robots_unless_pending(politeness: &Politeness, site: &Url) {
    let is_secure = site.scheme() == "https";
    let idle = politeness.with_host_queues(|host_queues| {
        let id = host_queues.id(authority(site));
        let host = host_queues.host(id);
        let is_idle = !host.has_work() && matches!(host.rules(is_secure), Rules::Unknown);
        is_idle.then(|| {
            host_queues.set_rules(id, is_secure, Rules::Pending);
            id
        })
    });
    let Some(id) = idle else { return };
    let next_start = || politeness.next_start(id);
    politeness.client.wait_until(next_start()).await;
    let rules = politeness.fetch_rules(site, &next_start, |file| file.status == 429).await;
    let now = politeness.event_loop.now();
    politeness.with_host_queues(|host_queues| {
        host_queues.set_rules(id, is_secure, rules);
        host_queues.refill_all(id, now);
    });
}

/// Reads one sitemap, within the rate limit of its host.
async fn read(
    politeness: &Politeness,
    url: &Url,
    mut take: impl FnMut(SitemapEntry<'_>),
) -> Result<(), String> {
    let limits = Limits::default();
    let id = politeness.with_host_queues(|host_queues| host_queues.id(authority(url)));
    let next_start = || politeness.next_start(id);
    let mut deferrals = 0;
    let file = loop {
        politeness.client.wait_until(next_start()).await;
        let begun = politeness.event_loop.now();
        let file = politeness.client.fetch_file(url, limits.bytes, &next_start).await;
        let file = file.map_err(|file_error| file_error.error.to_string())?;
        let is_throttled =
            politeness.is_throttled(id, begun, file.status, file.retry_after.as_deref());
        if !is_throttled || deferrals == MAX_DEFERRALS {
            break file;
        }
        deferrals += 1;
    };
    if !matches!(file.status, 200..=299) {
        return Err(format!("status {}", file.status));
    }
    let mut parser = SitemapParser::new(limits);
    for bytes in file.body.chunks(CHUNK) {
        parser.feed(bytes, &mut take).map_err(|error| error.to_string())?;
        yield_now(&politeness.event_loop).await;
    }
    if !file.is_whole {
        return Err(format!("only the first {} bytes were read", limits.bytes));
    }
    parser.finish(&mut take).map_err(|error| error.to_string())
}
