//! The cache of results of other sites.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::common::options;
use crawl_core::Row;
use sim_net::{Request, Response, SimNet, page, redirect, text};
use stage2_coroutines::runtime_on;
use stage3_queue::Crawler;

const A: &str = "http://10.0.0.1/";

/// A file for a cache, removed at the end.
struct CacheFile(PathBuf);

impl CacheFile {
    fn new(name: &str) -> Self {
        let name = format!("external-{name}-{}.cache", std::process::id());
        let file = Self(std::env::temp_dir().join(name));
        let _ = fs::remove_file(&file.0);
        file
    }
}

impl Drop for CacheFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Crawls a site and the links to others, with this cache. Returns the rows, and the
/// requests to the other site.
fn crawl(
    cache: &Path,
    sitemap: bool,
    answer: impl FnMut(&Request) -> Response + 'static,
) -> io::Result<(Vec<Row>, usize)> {
    let net = SimNet::new(answer);
    let no_names = |host: &str, _| panic!("{host} is looked up");
    let runtime = runtime_on(net.clone(), Arc::new(no_names));
    let _event_loop = runtime.event_loop().clone();
    let mut options = options(&[A]);
    (options.settings.external, options.settings.robots, options.settings.sitemap) =
        (true, false, sitemap);
    options.settings.max_depth = Some(3);
    let mut rows = Vec::new();
    let builder = Crawler::builder(options).external_cache(cache, Duration::from_secs(3_600));
    builder.on_row(|row| rows.push(row)).run_on(runtime)?;
    let requests = net.take_requests();
    Ok((rows, requests.iter().filter(|request| request.host == "10.0.0.2").count()))
}

/// Links of which it is not certain at first on which level they are wait for the end of
/// the sitemaps. After that, the cache knows them, too.
#[test]
fn what_is_in_the_cache_is_not_asked_after_a_sitemap_either() {
    let cache = CacheFile::new("sitemap");
    let answer = |request: &Request| match &*request.path {
        "/" => page(["http://10.0.0.2/1", "http://10.0.0.2/2"]),
        "/sitemap.xml" => text("<urlset></urlset>").after(Duration::from_secs(1)),
        _ => page([""; 0]),
    };
    // Each is asked by HEAD, and by GET since it is a page.
    for (sitemap, requests) in [(false, 4), (false, 0), (true, 0)] {
        let (rows, asked) = crawl(&cache.0, sitemap, answer).unwrap();
        assert_eq!((rows.len(), asked), (3, requests), "{sitemap}");
    }
}

/// A long target of a redirect is not kept: with many of them, the file would be larger
/// than a later run takes it.
#[test]
fn a_long_redirect_is_asked_again() {
    for (length, is_kept) in [(60_000, false), (1_000, true)] {
        let cache = CacheFile::new("redirect");
        let answer = move |request: &Request| match &*request.host {
            "10.0.0.1" => page(["http://10.0.0.2/"]),
            "10.0.0.2" => redirect(&format!("http://10.0.0.3/{}", "a".repeat(length))),
            _ => page([""; 0]),
        };
        for is_known in [false, is_kept] {
            let (rows, asked) = crawl(&cache.0, false, answer).unwrap();
            assert_eq!((rows.len(), asked == 0), (3, is_known), "{length}");
        }
    }
}

/// The known redirect is not the result where no redirect is left.
#[test]
fn a_redirect_at_the_end_of_a_chain_is_asked_again() {
    let cache = CacheFile::new("chain");
    for (link, is_broken) in [("http://10.0.0.2/", false), ("/0", true)] {
        // Ten redirects: as many as are followed.
        let answer = move |request: &Request| match (&*request.host, &*request.path) {
            ("10.0.0.1", "/") => page([link]),
            ("10.0.0.1", "/9") => redirect("http://10.0.0.2/"),
            ("10.0.0.1", path) => redirect(&(path[1..].parse::<u32>().unwrap() + 1).to_string()),
            ("10.0.0.2", _) => redirect("http://10.0.0.3/"),
            _ => page([""; 0]),
        };
        let (rows, _) = crawl(&cache.0, false, answer).unwrap();
        let row = rows.iter().find(|row| &*row.url == "http://10.0.0.2/").unwrap();
        assert_eq!(row.is_broken(), is_broken, "{row:?}");
    }
}

/// The reason for which a file that is too large is refused.
#[test]
fn a_cache_that_is_too_large_is_refused_for_that_reason() {
    let cache = CacheFile::new("large");
    // Sparse: it takes no room on the disk.
    File::create(&cache.0).unwrap().set_len((256 << 20) + 1).unwrap();
    let error = crawl(&cache.0, false, |_| page([""; 0])).unwrap_err().to_string();
    assert!(error.ends_with(": it has more than 268435456 bytes"), "{error}");
}
