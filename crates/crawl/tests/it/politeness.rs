//! The flags for politeness: robots.txt, delay, rate limit, sitemaps.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use demo_site::scripted::{Reply, Request, Server};
use serde_json::Value;

use crate::program::{self, ProgramOutput, Running, Scratch, program};

fn serve(handler: impl Fn(&Request, &mut Reply<'_>) + Send + Sync + 'static) -> Server {
    Server::start(handler).unwrap()
}

/// Runs the program to its end. Unlike most tests, it obeys robots.txt.
fn crawl(arguments: &[&str]) -> ProgramOutput {
    Running::start(program(arguments)).wait()
}

/// Crawls and returns the outcome of each URL, and the exit code.
fn rows(arguments: &[&str]) -> (BTreeMap<String, String>, Option<i32>) {
    let output = crawl(&[&["--format", "jsonl"], arguments].concat());
    let outcome = |(url, row): (String, Value)| (url, row["outcome"].as_str().unwrap().to_owned());
    let rows = program::rows(&output.stdout).into_iter().map(outcome);
    (rows.collect(), output.status.code())
}

fn links(n: usize) -> String {
    (0..n).map(|n| format!("<a href=/{n}>{n}</a>")).collect()
}

#[test]
fn robots_txt_is_obeyed_unless_no_robots_is_given() {
    let site = serve(|request, reply| match request.path() {
        "/robots.txt" => reply.status(200, "OK", &[], "User-agent: crawl\nDisallow: /0"),
        "/" => reply.page(links(2) + "<a rel=nofollow href=/hidden>h</a>"),
        _ => reply.page(""),
    });
    let outcome = |rows: &BTreeMap<String, String>, path| rows.get(&site.url(path)).cloned();
    let (with_robots, code) = rows(&[&site.url("/")]);
    assert_eq!((with_robots.len(), code), (3, Some(0)));
    assert_eq!(outcome(&with_robots, "/0").as_deref(), Some("skipped"));
    assert_eq!((site.hits("/robots.txt"), site.hits("/0")), (1, 0));

    let (without_robots, code) = rows(&["--no-robots", &site.url("/")]);
    assert_eq!((without_robots.len(), code), (4, Some(0)));
    assert_eq!(outcome(&without_robots, "/0").as_deref(), Some("page"));
    assert_eq!(outcome(&without_robots, "/hidden").as_deref(), Some("page"));
    assert_eq!(site.hits("/robots.txt"), 1);
}

#[test]
fn requests_keep_the_delay_and_the_rate_limit() {
    for flags in [["--delay", "100ms"], ["--rate-limit", "10"]] {
        let times = std::sync::Arc::new(Mutex::new(Vec::new()));
        let seen = std::sync::Arc::clone(&times);
        let site = serve(move |request, reply| {
            seen.lock().unwrap().push(Instant::now());
            if request.path() == "/" { reply.page(links(4)) } else { reply.page("") }
        });
        let (found, code) = rows(&[&flags[..], &["--no-robots", &site.url("/")]].concat());
        assert_eq!((found.len(), code), (5, Some(0)));
        let times = times.lock().unwrap();
        // Four times 100 ms; a busy server notes the first request late.
        let whole = *times.last().unwrap() - times[0];
        assert!(whole >= Duration::from_millis(200), "{flags:?}: {whole:?}");
    }
}

#[test]
fn a_site_that_throttles_is_crawled_completely() {
    let count = Mutex::new(0);
    let site = serve(move |request, reply| {
        let mut count = count.lock().unwrap();
        *count += 1;
        let (is_third, is_root) = (*count % 3 == 0, request.path() == "/");
        drop(count);
        match (is_third, is_root) {
            (true, _) => reply.status(429, "Too Many Requests", &[("Retry-After", "1")], ""),
            (_, true) => reply.page(links(6)),
            _ => reply.page(""),
        }
    });
    let (found, code) = rows(&[&site.url("/")]);
    assert_eq!((found.len(), code), (7, Some(0)), "{found:?}");
    assert!(found.values().all(|outcome| outcome == "page"), "{found:?}");
}

#[test]
fn sitemaps_are_read_and_a_missing_one_is_reported() {
    let site = serve(|request, reply| match request.path() {
        "/sitemap.xml" => {
            let host = request.header("host").unwrap_or_default();
            reply.status(200, "OK", &[], format!("http://{host}/named\n"));
        }
        "/robots.txt" => reply.status(404, "Not Found", &[], ""),
        _ => reply.page(""),
    });
    let (found, code) = rows(&["--sitemap", &site.url("/")]);
    assert_eq!((found.len(), code), (2, Some(0)), "{found:?}");

    let bare = serve(|request, reply| match request.path() {
        "/" => reply.page(""),
        _ => reply.status(404, "Not Found", &[], ""),
    });
    let output = crawl(&["--sitemap", &bare.url("/")]);
    assert_eq!(output.status.code(), Some(0));
    let stderr = output.stderr;
    let expected = format!("[warning] sitemap {}: status 404\n", bare.url("/sitemap.xml"));
    assert_eq!(stderr, expected);
}

#[test]
fn relative_entries_languages_and_images_of_a_sitemap_are_checked() {
    let site = serve(|request, reply| match request.path() {
        "/robots.txt" => reply.status(200, "OK", &[], "Sitemap: /index.xml\n"),
        "/index.xml" => {
            let index = "<sitemapindex><sitemap><loc>map.xml</loc></sitemap></sitemapindex>";
            reply.status(200, "OK", &[("Content-Type", "application/xml")], index);
        }
        "/map.xml" => {
            let map = "<urlset><url><loc>/gone-1</loc><xhtml:link rel='alternate' hreflang='de' \
                       href='/gone-2'/><image:image><image:loc>/gone-3</image:loc></image:image>\
                       </url></urlset>";
            reply.status(200, "OK", &[("Content-Type", "application/xml")], map);
        }
        "/" => reply.page(""),
        _ => reply.status(404, "Not Found", &[], ""),
    });
    let url = |path: &str| site.url(path);
    for arguments in [&["--sitemap", &*url("/")][..], &[&*url("/index.xml")]] {
        let (found, code) = rows(arguments);
        assert_eq!(code, Some(1), "{found:?}");
        for path in ["/gone-1", "/gone-2", "/gone-3"] {
            assert!(found.contains_key(&url(path)), "{arguments:?} {path}: {found:?}");
        }
        let stderr = crawl(arguments).stderr;
        let warnings = ["index.xml: 1 entry is relative", "map.xml: 2 entries are relative"];
        assert!(warnings.iter().all(|warning| stderr.contains(warning)), "{stderr}");
        let is_of_robots = stderr.contains("robots.txt names a sitemap by a relative URL");
        assert_eq!(is_of_robots, arguments.len() == 2, "{stderr}");
    }
}

#[test]
fn a_sitemap_in_a_folder_is_checked() {
    let folder = Scratch::new();
    std::fs::create_dir(folder.path()).unwrap();
    let map = "<urlset><url><loc>https://a.test/gone</loc></url></urlset>";
    std::fs::write(folder.path().join("index.html"), "").unwrap();
    std::fs::write(folder.path().join("sitemap.xml"), map).unwrap();
    let arguments = [folder.as_str(), "--base-url", "https://a.test/", "--format", "text"];
    let output = crawl(&arguments);
    assert_eq!(output.status.code(), Some(1), "{}", output.stdout);
    assert!(output.stdout.contains("sitemap.xml"), "the referrer: {}", output.stdout);
}

#[test]
fn bad_values_are_named() {
    for (flag, value) in [("--delay", "soon"), ("--rate-limit", "0"), ("--rate-limit", "many")] {
        let output = crawl(&[flag, value, "http://127.0.0.1:1/"]);
        let stderr = output.stderr;
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(flag) && stderr.contains(&format!("'{value}'")), "{stderr}");
    }
}

/// Three pages that are always busy keep no other page from being fetched.
#[test]
fn busy_pages_keep_no_other_page() {
    for status in [429, 503] {
        let site = serve(move |request, reply| match request.path() {
            "/robots.txt" => reply.status(404, "Not Found", &[], ""),
            "/" => reply.page(links(200)),
            "/0" | "/1" | "/2" => reply.status(status, "No", &[("Retry-After", "86400")], ""),
            _ => reply.page(""),
        });
        let begun = Instant::now();
        let (found, code) = rows(&["--max-wait", "1s", &site.url("/")]);
        let (broken, outcome) = if status == 429 { (0, "skipped") } else { (1, "http_error") };
        assert_eq!((found.len(), code), (201, Some(broken)), "{found:?}");
        assert_eq!(found.values().filter(|found| *found == "page").count(), 198);
        for path in ["/0", "/1", "/2"] {
            assert_eq!(found[&site.url(path)], outcome);
            assert_eq!(site.hits(path), 2, "asked once more at the end");
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }
}

/// A host that is busy all the time is named, and the exit code says that not all
/// was done.
#[test]
fn a_host_that_is_busy_all_the_time_is_named() {
    let site = serve(|request, reply| match request.path() {
        "/robots.txt" => reply.status(404, "Not Found", &[], ""),
        "/" => reply.page(links(500)),
        _ => reply.status(429, "No", &[], ""),
    });
    let output = crawl(&["--max-wait", "500ms", "-v", &site.url("/")]);
    assert_eq!(output.status.code(), Some(3));
    let stderr = &output.stderr;
    let host = site.address().to_string();
    assert!(stderr.contains(&format!("left to do: {host} stayed busy (status 429)")), "{stderr}");
}
