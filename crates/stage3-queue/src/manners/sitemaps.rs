//! What the sitemaps of the roots name.

use std::collections::{HashSet, VecDeque};
use std::pin::pin;

use crawl_core::sitemap::{Entry, Limits, SitemapParser};
use stage2_coroutines::{Future, catch, yield_now};
use url::Url;

use super::robots::Rules;
use super::turn::MOST_PUT_OFFS;
use super::{Manners, authority, file_of_site};

/// How many sitemaps of one site are read.
const MOST_SITEMAPS: usize = 1_000;

/// How many URLs are taken from them; what is in the sitemap that crosses the
/// limit is taken still.
const MOST_ENTRIES: usize = 1_000_000;

/// How many index files may lead to a sitemap. The protocol knows one.
const MOST_INDICES: u32 = 3;

/// How much of a sitemap is read between two turns of the others, in bytes.
const AT_A_TIME: usize = 64 * 1024;

/// What is found out.
pub(crate) enum Named {
    /// A page.
    Page(Url),
    /// Something a user should hear of.
    Warning(String),
}

/// Reads the sitemaps of the roots' origins: those that robots.txt names, or
/// else `/sitemap.xml`, and those that they name in turn. Returns when all are
/// read, or the crawl is stopped; one that cannot be had is a warning.
pub(crate) async fn read_sitemaps(manners: &Manners, mut found: impl FnMut(Named)) {
    let read_all = async {
        let mut sites = HashSet::new();
        for root in &manners.client.options.roots {
            let site = file_of_site(root, "/");
            if sites.insert(site.clone()) {
                read_site(manners, &site, &mut found).await;
            }
        }
    };
    manners.unless_stopped(read_all).await;
}

async fn read_site(manners: &Manners, site: &Url, found: &mut impl FnMut(Named)) {
    let sitemaps = sitemaps_of(manners, site).await;
    let mut todo: VecDeque<_> = sitemaps.into_iter().map(|url| (url, 0)).collect();
    let (mut seen, mut entries) = (HashSet::new(), 0);
    while let Some((url, depth)) = todo.pop_front() {
        if !seen.insert(url.clone()) {
            continue;
        }
        if seen.len() > MOST_SITEMAPS || entries >= MOST_ENTRIES {
            let message = format!("{site} has more sitemaps than are read, from {url} on");
            return found(Named::Warning(message));
        }
        let take = |entry: Entry<'_>| match entry {
            Entry::Page(page) => {
                entries += 1;
                if let Ok(page) = Url::parse(page) {
                    found(Named::Page(page));
                }
            }
            Entry::Sitemap(sitemap) if depth < MOST_INDICES => {
                todo.extend(Url::parse(sitemap).ok().map(|sitemap| (sitemap, depth + 1)));
            }
            Entry::Sitemap(_) | Entry::TooLong => {}
        };
        let problem = match catch(pin!(read(manners, &url, take))).await {
            Ok(Ok(())) => continue,
            Ok(Err(problem)) => problem,
            Err(exception) => exception.to_string(),
        };
        found(Named::Warning(format!("sitemap {url}: {problem}")));
    }
}

/// The sitemaps that a site's robots.txt names, or else where one may be
/// expected.
async fn sitemaps_of(manners: &Manners, site: &Url) -> Vec<Url> {
    let expected = file_of_site(site, "/sitemap.xml");
    if !manners.client.options.robots {
        return vec![expected];
    }
    ask_robots_unless_another_does(manners, site).await;
    loop {
        let curious = Future::new(&manners.event_loop);
        let known = manners.hosts(|hosts| {
            let id = hosts.id(authority(site));
            let host = hosts.host(id);
            match host.rules(site.scheme() == "https") {
                Rules::Known { robots, .. } if !robots.sitemaps().is_empty() => {
                    Some(robots.sitemaps().to_vec())
                }
                Rules::Known { robots, .. } if !robots.allows(&expected) => Some(Vec::new()),
                Rules::Nobody(_) => Some(Vec::new()),
                Rules::Unknown | Rules::Asked if host.has_work() => None,
                _ => Some(vec![expected.clone()]),
            }
        });
        if let Some(known) = known {
            return known;
        }
        manners.curious.borrow_mut().push(curious.clone());
        // Nobody but this coroutine could cancel it.
        let _ = curious.await;
    }
}

/// Asks for a site's robots.txt if there is no job that would: all of them may
/// have been finished by an earlier run.
async fn ask_robots_unless_another_does(manners: &Manners, site: &Url) {
    let is_secure = site.scheme() == "https";
    let idle = manners.hosts(|hosts| {
        let id = hosts.id(authority(site));
        let host = hosts.host(id);
        let is_idle = !host.has_work() && matches!(host.rules(is_secure), Rules::Unknown);
        is_idle.then(|| {
            hosts.set_rules(id, is_secure, Rules::Asked);
            id
        })
    });
    let Some(id) = idle else { return };
    let next_start = || manners.next_start(id);
    manners.client.wait_until(next_start()).await;
    let rules = manners.rules_of(site, &next_start, |file| file.status == 429).await;
    let now = manners.event_loop.now();
    manners.hosts(|hosts| {
        hosts.set_rules(id, is_secure, rules);
        hosts.settle_all(id, now);
    });
}

/// Reads one sitemap, at the pace of its host.
async fn read(manners: &Manners, url: &Url, mut take: impl FnMut(Entry<'_>)) -> Result<(), String> {
    let limits = Limits::default();
    let id = manners.hosts(|hosts| hosts.id(authority(url)));
    let next_start = || manners.next_start(id);
    let mut put_offs = 0;
    let file = loop {
        manners.client.wait_until(next_start()).await;
        let begun = manners.event_loop.now();
        let file = manners.client.fetch_file(url, limits.bytes, &next_start).await;
        let file = file.map_err(|no_file| no_file.error.to_string())?;
        let has_no_time = manners.has_no_time(id, begun, file.status, file.retry_after.as_deref());
        if !has_no_time || put_offs == MOST_PUT_OFFS {
            break file;
        }
        put_offs += 1;
    };
    if !matches!(file.status, 200..=299) {
        return Err(format!("status {}", file.status));
    }
    let mut parser = SitemapParser::new(limits);
    for bytes in file.body.chunks(AT_A_TIME) {
        parser.feed(bytes, &mut take).map_err(|error| error.to_string())?;
        yield_now(&manners.event_loop).await;
    }
    if !file.is_whole {
        return Err(format!("only the first {} bytes were read", limits.bytes));
    }
    parser.finish(&mut take).map_err(|error| error.to_string())
}
