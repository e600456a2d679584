//! Sitemaps: with the option, the pages that they name are crawled.

use std::io::Write;
use std::time::Duration;

use crate::common::{Crawled, crawl, options};
use crawl_core::{Options, Outcome, StopReason};
use sim_net::{Request, Response, not_found, page, redirect, response, silence, text};

const ROOT: &str = "http://10.0.0.1/";

/// The greatest wait for a busy host, by default.
const MAX_WAIT: Duration = Duration::from_secs(60);

fn with_sitemap(roots: &[&str]) -> Options {
    let mut options = options(roots);
    options.settings.sitemap = true;
    options
}

fn urls(root: &str, paths: &[&str]) -> String {
    let url = |path: &&str| format!("<url><loc>{root}{path}</loc></url>");
    let urls: String = paths.iter().map(url).collect();
    format!("<?xml version='1.0'?><urlset>{urls}</urlset>")
}

fn index(sitemaps: &[&str]) -> String {
    let sitemap = |url: &&str| format!("<sitemap><loc>{url}</loc></sitemap>");
    let sitemaps: String = sitemaps.iter().map(sitemap).collect();
    format!("<sitemapindex>{sitemaps}</sitemapindex>")
}

/// Returns the paths of all rows of the first host.
fn paths(crawled: &Crawled) -> Vec<&str> {
    let mut paths: Vec<&str> =
        crawled.rows.iter().filter_map(|row| row.url.strip_prefix(ROOT)).collect();
    paths.sort_unstable();
    paths
}

fn plain(request: &Request) -> Response {
    match &*request.path {
        "/robots.txt" => not_found(),
        _ => page([""; 0]),
    }
}

#[test]
fn without_the_option_no_sitemap_is_fetched() {
    let crawled = crawl(options(&[ROOT]), |request| match &*request.path {
        "/robots.txt" => text("Sitemap: http://10.0.0.1/map"),
        _ => plain(request),
    });
    assert_eq!(crawled.requests.len(), 2);
}

#[test]
fn sitemaps_that_robots_txt_names_are_read() {
    let crawled = crawl(with_sitemap(&[ROOT]), |request| match &*request.path {
        "/robots.txt" => text("Sitemap: http://10.0.0.1/map\nSitemap: http://10.0.0.2/map"),
        "/map" if request.host == "10.0.0.1" => text(urls(ROOT, &["a", "b", "", "a"])),
        "/map" => text(urls(ROOT, &["c"]) + "junk"),
        "/a" => page(["/a/x"]),
        _ => plain(request),
    });
    assert_eq!(paths(&crawled), ["", "a", "a/x", "b", "c"]);
    assert_eq!(crawled.num_requests("/sitemap.xml"), 0);
    assert_eq!(crawled.num_requests("/robots.txt"), 2, "each host has rules of its own");
    let depth = |path: &str| crawled.row(&format!("{ROOT}{path}")).depth;
    assert_eq!((depth(""), depth("a"), depth("a/x")), (0, 1, 2));
    assert_eq!(crawled.row("http://10.0.0.1/b").referrer, None);
    assert_eq!(crawled.summary.warnings.len(), 1, "{:?}", crawled.summary.warnings);
    assert!(crawled.summary.warnings[0].starts_with("sitemap http://10.0.0.2/map: "));
}

#[test]
fn sitemap_xml_is_read_if_robots_txt_names_none() {
    for robots in [true, false] {
        let mut options = with_sitemap(&["http://10.0.0.1/deep/page?q", "http://10.0.0.1/other"]);
        options.settings.robots = robots;
        let crawled = crawl(options, |request| match &*request.path {
            "/sitemap.xml" => text(urls(ROOT, &["a", "http://10.0.0.9/elsewhere"])),
            _ => plain(request),
        });
        assert_eq!(paths(&crawled), ["a", "deep/page?q", "http://10.0.0.9/elsewhere", "other"]);
        assert_eq!(crawled.num_requests("/robots.txt"), usize::from(robots));
        assert_eq!(crawled.num_requests("/sitemap.xml"), 1);
    }
}

#[test]
fn index_files_lead_to_other_sitemaps() {
    let mut packed = gzip_stored(&urls(ROOT, &["packed"]));
    let crawled = crawl(with_sitemap(&[ROOT]), move |request| match &*request.path {
        "/sitemap.xml" => text(index(&[
            "http://10.0.0.1/1.xml",
            "http://10.0.0.1/2.xml.gz",
            "http://10.0.0.1/missing",
        ])),
        "/1.xml" => text(index(&["http://10.0.0.1/11.xml", "http://10.0.0.1/1.xml"])),
        "/2.xml.gz" => text(std::mem::take(&mut packed)),
        "/11.xml" => text(urls(ROOT, &["far"])),
        "/missing" => not_found(),
        _ => plain(request),
    });
    assert_eq!(paths(&crawled), ["", "far", "packed"]);
    assert_eq!(crawled.summary.warnings, ["sitemap http://10.0.0.1/missing: status 404"]);
    assert_eq!(crawled.num_requests("/1.xml"), 1);
}

/// Endless index files are read up to a limit.
#[test]
fn index_files_are_not_followed_for_ever() {
    let crawled = crawl(with_sitemap(&[ROOT]), |request| match &*request.path {
        "/robots.txt" => not_found(),
        path if path == "/sitemap.xml" || path.starts_with("/m") => {
            let next: Vec<String> =
                (0..40).map(|n| format!("http://10.0.0.1/m{n}{path}")).collect();
            let next: Vec<&str> = next.iter().map(String::as_str).collect();
            text(index(&next))
        }
        _ => plain(request),
    });
    assert_eq!(paths(&crawled), [""]);
    assert!(crawled.requests.len() <= 1_010, "{}", crawled.requests.len());
    assert_eq!(crawled.summary.warnings.len(), 1);
    assert!(crawled.summary.warnings[0].contains("were skipped: crawl reads at most"));
}

/// References that are no URLs of this site, and what a careless reader makes of them.
const ODD: [&str; 7] = [
    "foo://a10.0.0.1/x",
    "foo:xxx10.0.0.1/ HTTP/1.0 blanks in it",
    "ftp://10.0.0.1/x",
    "file:///etc/passwd",
    "http://10.0.0.1@10.0.0.3/x",
    "http://10.0.0.3/x",
    "/x",
];

/// A sitemap speaks for its own host only (sitemaps.org, "Sitemap file location").
#[test]
fn a_sitemap_names_pages_and_sitemaps_of_its_own_host_only() {
    for is_index in [false, true] {
        let crawled = crawl(with_sitemap(&[ROOT, "http://10.0.0.2/"]), move |request| {
            match (&*request.host, &*request.path) {
                ("10.0.0.1", "/sitemap.xml") if is_index => text(index(
                    &[&ODD[..], &["http://10.0.0.2/map", "http://10.0.0.1/map"]].concat(),
                )),
                ("10.0.0.1", "/sitemap.xml") => {
                    let odd = ODD.map(|odd| format!("<url><loc>{odd}</loc></url>")).concat();
                    text(urls("http://10.0.0.2/", &["b"]).replace("<url>", &format!("{odd}<url>")))
                }
                ("10.0.0.1", "/map") => text(urls(ROOT, &["a"])),
                ("10.0.0.2", "/sitemap.xml") => not_found(),
                (_, "/robots.txt") => not_found(),
                (_, "/") => page([""; 0]),
                ("10.0.0.1", "/a" | "/x") => page([""; 0]),
                (host, path) => panic!("{host} is asked for {path}"),
            }
        });
        let pages = if is_index { vec!["", "a"] } else { vec!["", "x"] };
        assert_eq!(paths(&crawled), pages);
        assert_eq!(crawled.requests_to("10.0.0.3"), []);
        let warning = "sitemap http://10.0.0.1/sitemap.xml: 7 entries for other hosts were ignored";
        assert!(crawled.summary.warnings[0].starts_with(warning), "{:?}", crawled.summary.warnings);
    }
}

/// The robots.txt of a host may name a sitemap elsewhere, which then speaks for it.
#[test]
fn a_host_may_have_its_sitemap_on_another_host() {
    let roots = [ROOT, "http://10.0.0.2/"];
    let crawled = crawl(with_sitemap(&roots), |request| match (&*request.host, &*request.path) {
        ("10.0.0.2", "/robots.txt") => text("Sitemap: http://10.0.0.1/map"),
        ("10.0.0.1", "/map") => text(urls("http://10.0.0.2/", &["b"])),
        ("10.0.0.1", "/sitemap.xml") => not_found(),
        _ => plain(request),
    });
    assert_eq!(crawled.row("http://10.0.0.2/b").outcome, Outcome::Page);
}

/// The rules of a host come before its sitemap, wherever that was named.
#[test]
fn no_sitemap_is_asked_against_the_rules_of_its_host() {
    let crawled = crawl(with_sitemap(&[ROOT]), |request| match (&*request.host, &*request.path) {
        ("10.0.0.1", "/robots.txt") => text(
            "Sitemap: http://10.0.0.1/private\nSitemap: http://10.0.0.2/map\n\
             Sitemap: http://10.0.0.1/moved\nSitemap: http://10.0.0.1/gone\n\
             User-agent: *\nDisallow: /private",
        ),
        ("10.0.0.2", "/robots.txt") => text("User-agent: *\nDisallow: /"),
        ("10.0.0.1", "/moved") => redirect("/private"),
        ("10.0.0.1", "/gone") => redirect("http://10.0.0.3/map"),
        ("10.0.0.1", "/") => page([""; 0]),
        (host, path) => panic!("{host} is asked for {path}"),
    });
    assert_eq!(paths(&crawled), [""]);
    assert_eq!(
        crawled.summary.warnings,
        [
            "sitemap http://10.0.0.1/private: robots.txt: http://10.0.0.1/robots.txt does not allow it",
            "sitemap http://10.0.0.2/map: robots.txt: http://10.0.0.2/robots.txt does not allow it",
            "sitemap http://10.0.0.1/moved: it redirects to http://10.0.0.1/private, which may not be requested",
            "sitemap http://10.0.0.1/gone: it redirects to http://10.0.0.3/map, which may not be requested",
        ]
    );
}

/// An index of 50,000 sitemaps that do not exist ends after a few.
#[test]
fn sitemaps_that_cannot_be_read_one_after_another_end_the_reading() {
    let crawled = crawl(with_sitemap(&[ROOT]), |request| match &*request.path {
        "/robots.txt" => not_found(),
        "/sitemap.xml" => {
            let all: Vec<String> = (0..50_000).map(|n| format!("{ROOT}{n}.xml")).collect();
            text(index(&all.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        path if path.ends_with(".xml") => not_found(),
        _ => plain(request),
    });
    assert_eq!(crawled.requests.len(), 3 + 20);
    assert_eq!(
        crawled.summary.warnings.last().unwrap(),
        "sitemaps of http://10.0.0.1/ were skipped from http://10.0.0.1/20.xml on: \
         20 in a row could not be read"
    );
}

/// A sitemap that never arrives delays no page, and the crawl still ends.
#[test]
fn a_silent_sitemap_is_a_warning() {
    let crawled = crawl(with_sitemap(&[ROOT]), |request| match &*request.path {
        "/sitemap.xml" => silence(),
        "/" => page(["/a", "/b"]),
        _ => plain(request),
    });
    assert_eq!(paths(&crawled), ["", "a", "b"]);
    assert_eq!(
        crawled.summary.warnings,
        ["sitemap http://10.0.0.1/sitemap.xml: timeout: the server was silent for 15s"]
    );
    assert!(crawled.requests.iter().all(|request| request.at < Duration::from_secs(1)));
}

/// If robots.txt forbids everything, no sitemap is fetched. If no root is admitted,
/// reading sitemaps does not wait for a visit that never comes.
#[test]
fn robots_txt_applies_to_sitemaps() {
    let crawled = crawl(with_sitemap(&[ROOT]), |request| match &*request.path {
        "/robots.txt" => text("User-agent: *\nDisallow: /"),
        path => panic!("{path}"),
    });
    assert_eq!(crawled.row(ROOT).outcome, Outcome::Skipped);
    let mut options = with_sitemap(&[ROOT]);
    options.settings.exclude = vec!["10".parse().unwrap()];
    let crawled = crawl(options, |request| match &*request.path {
        "/robots.txt" => not_found(),
        "/sitemap.xml" => response("500 Oops", "", ""),
        path => panic!("{path}"),
    });
    assert_eq!((crawled.rows.len(), crawled.summary.warnings.len()), (0, 1));
}

/// The crawl does not wait for the sitemaps of a site that it will not visit any
/// more.
#[test]
fn a_limit_on_pages_ends_the_reading_of_sitemaps() {
    let roots = ["http://10.0.0.1/", "http://10.0.0.2/", "http://10.0.0.3/", "http://10.0.0.4/"];
    let mut options = with_sitemap(&roots);
    options.max_pages = Some(1);
    options.max_tasks = Some(1);
    let crawled = crawl(options, plain);
    assert_eq!((crawled.rows.len(), crawled.summary.todo), (1, 3));
}

#[test]
fn requests_for_sitemaps_keep_the_delay() {
    let mut options = with_sitemap(&[ROOT]);
    options.settings.delay = Duration::from_secs(2);
    let crawled = crawl(options, |request| match &*request.path {
        "/sitemap.xml" => text(urls(ROOT, &["a", "b", "c"])),
        _ => plain(request),
    });
    assert_eq!(paths(&crawled), ["", "a", "b", "c"]);
    for pair in crawled.requests_to("10.0.0.1").windows(2) {
        assert!(pair[1].1 - pair[0].1 >= Duration::from_secs(2), "{pair:?}");
    }
}

/// Reaching a limit ends the reading of sitemaps, even in the middle of one.
#[test]
fn a_silent_sitemap_does_not_outlive_the_crawl() {
    let mut options = with_sitemap(&[ROOT]);
    options.max_pages = Some(1);
    let crawled = crawl(options, |request| match &*request.path {
        "/sitemap.xml" => silence(),
        "/" => page(["/a", "/b"]).after(Duration::from_secs(1)),
        _ => plain(request),
    });
    assert_eq!(crawled.num_requests("/sitemap.xml"), 1);
    assert_eq!((paths(&crawled), crawled.summary.todo), (vec![""], 2));
    assert!(crawled.summary.warnings.is_empty(), "{:?}", crawled.summary.warnings);
}

/// The URLs that it would have named are not known: the crawl is not whole, although no URL is left.
#[test]
fn a_limit_on_time_says_that_a_sitemap_was_not_read() {
    for (is_read, left_out) in [
        (true, None),
        (false, Some("the sitemaps were not read completely: --max-time was reached")),
    ] {
        let mut options = with_sitemap(&[ROOT]);
        options.max_time = Some(Duration::from_secs(3));
        let crawled = crawl(options, move |request| match &*request.path {
            "/sitemap.xml" if is_read => text(urls(ROOT, &["a"])),
            "/sitemap.xml" => silence(),
            "/" => page(["/a"]),
            "/a" => page([""; 0]).after(Duration::from_secs(4)),
            _ => plain(request),
        });
        let summary = &crawled.summary;
        assert!(matches!(summary.stopped, Some(StopReason::MaxTime)), "{:?}", summary.stopped);
        assert_eq!((paths(&crawled), summary.todo), (vec!["", "a"], 0));
        assert_eq!(
            (summary.has_unread_sitemaps(), summary.left_out().as_deref()),
            (!is_read, left_out)
        );
    }
}

/// That their rules are not known is no fault of theirs.
#[test]
fn a_stop_says_nothing_of_sitemaps_that_were_not_asked() {
    for run in 0..20 {
        let mut options = with_sitemap(&[ROOT]);
        options.max_time = Some(Duration::from_secs(3));
        let crawled = crawl(options, |request| match (&*request.host, &*request.path) {
            ("10.0.0.1", "/robots.txt") => text(
                ["a", "b", "c"].map(|map| format!("Sitemap: http://10.0.0.2/{map}\n")).concat(),
            ),
            ("10.0.0.2", _) => silence(),
            _ => plain(request),
        });
        assert_eq!(crawled.summary.warnings, [""; 0], "{run}");
        assert!(crawled.summary.has_unread_sitemaps(), "{run}");
    }
}

/// The request for a sitemap may be throttled like any other.
#[test]
fn a_throttled_sitemap_is_fetched_again() {
    let mut refusals = 0;
    let crawled = crawl(with_sitemap(&[ROOT]), move |request| match &*request.path {
        "/sitemap.xml" if refusals < 3 => {
            refusals += 1;
            response("429 Too Many Requests", "Retry-After: 7\r\n", "")
        }
        "/sitemap.xml" => text(urls(ROOT, &["a"])),
        _ => plain(request),
    });
    assert_eq!(paths(&crawled), ["", "a"]);
    assert!(crawled.summary.warnings.is_empty(), "{:?}", crawled.summary.warnings);
    let requests: Vec<_> = crawled.requests.iter().filter(|a| a.path == "/sitemap.xml").collect();
    assert_eq!(requests.len(), 4);
    for pair in requests.windows(2) {
        assert!(pair[1].at - pair[0].at >= Duration::from_secs(7), "{pair:?}");
    }
}

/// A sitemap whose response is always 429 is abandoned.
#[test]
fn a_sitemap_that_always_throttles_is_a_warning() {
    let crawled = crawl(with_sitemap(&[ROOT]), |request| match &*request.path {
        "/sitemap.xml" => response("429 Too Many Requests", "", ""),
        _ => plain(request),
    });
    assert_eq!(crawled.num_requests("/sitemap.xml"), 4);
    assert_eq!(crawled.summary.warnings, ["sitemap http://10.0.0.1/sitemap.xml: status 429"]);
}

/// The rules of hosts that only sitemaps need are fetched once each, even if those of all
/// hosts take too much memory.
#[test]
fn large_rules_of_many_hosts_are_fetched_once_each() {
    let sitemaps: String = (1..=140).map(|n| format!("Sitemap: http://10.0.1.{n}/map\n")).collect();
    // The memory for them is that of their texts, and somewhat more.
    let rules: String = (0..2_000).map(|n| format!("Disallow: /{n:0>239}\n")).collect();
    let large = text(format!("User-agent: *\n{rules}"));
    let mut options = with_sitemap(&[ROOT]);
    options.max_time = Some(Duration::from_secs(1_000));
    let crawled = crawl(options, move |request| {
        let response = match (&*request.host, &*request.path) {
            ("10.0.0.1", "/robots.txt") => text(&sitemaps),
            (_, "/robots.txt") => large.clone(),
            (_, "/map") => text(urls(ROOT, &[])),
            _ => plain(request),
        };
        response.after(Duration::from_secs(1))
    });
    let asked = ["/robots.txt", "/map"].map(|path| crawled.num_requests(path));
    assert_eq!(asked, [1 + 140, 140]);
    assert!(crawled.summary.warnings.is_empty() && crawled.summary.stopped.is_none());
}

/// A host is given up by whatever answer comes at the moment: by that to a sitemap,
/// too, while no page is in flight.
#[test]
fn a_host_may_be_given_up_by_the_answer_to_a_sitemap() {
    for tenths in 1_190..1_230 {
        let last_answer = Duration::from_millis(tenths * 100);
        let crawled = crawl(with_sitemap(&[ROOT]), move |request| match &*request.path {
            "/robots.txt" => {
                text((0..9).map(|n| format!("Sitemap: {ROOT}{n}.xml\n")).collect::<String>())
            }
            "/" => page((0..1_000).map(|n| format!("/{n}"))),
            path => {
                // A sitemap is asked for about every seven seconds.
                let left = last_answer.saturating_sub(request.at);
                let after =
                    if left < Duration::from_secs(14) { left } else { Duration::from_secs(5) };
                let after = if path.ends_with(".xml") { after } else { Duration::ZERO };
                response("503 No", "", "").after(after)
            }
        });
        assert_eq!(crawled.rows.len() + crawled.summary.todo as usize, 1_001, "{last_answer:?}");
        assert_eq!(crawled.summary.busy_hosts.len(), 1, "{last_answer:?}");
    }
}

/// All waits for one sitemap together take at most the longest wait.
#[test]
fn max_wait_caps_the_waits_for_a_sitemap() {
    for (retry_after, requests) in
        [("", 4), ("Retry-After: 25\r\n", 4), ("Retry-After: 3600\r\n", 2)]
    {
        let crawled = crawl(with_sitemap(&[ROOT]), move |request| match &*request.path {
            "/sitemap.xml" => response("503 No", retry_after, ""),
            _ => plain(request),
        });
        assert_eq!(crawled.num_requests("/sitemap.xml"), requests, "{retry_after}");
        assert!(crawled.elapsed <= MAX_WAIT + Duration::from_secs(1), "{:?}", crawled.elapsed);
        assert_eq!(crawled.summary.warnings, ["sitemap http://10.0.0.1/sitemap.xml: status 503"]);
    }
}

/// A host that is given up because it is busy all the time is not asked for more sitemaps.
#[test]
fn a_host_that_is_given_up_is_asked_for_no_sitemap() {
    for robots in [true, false] {
        let mut options = with_sitemap(&[ROOT]);
        options.settings.robots = robots;
        let index = index(
            &["/1.xml", "/2.xml", "/3.xml"]
                .map(|path| format!("{ROOT}{path}"))
                .each_ref()
                .map(String::as_str),
        );
        let crawled = crawl(options, move |request| match &*request.path {
            "/robots.txt" => not_found(),
            "/" => page((0..1_000).map(|n| format!("/{n}"))),
            "/sitemap.xml" => text(&index),
            _ => response("503 No", "Retry-After: 3600\r\n", ""),
        });
        assert_eq!(crawled.summary.busy_hosts.len(), 1);
        let last = crawled
            .requests
            .iter()
            .filter(|request| request.path.ends_with(".xml"))
            .map(|request| request.at)
            .max();
        assert!(last <= Some(2 * MAX_WAIT), "{last:?}");
        let warnings: Vec<_> = crawled
            .summary
            .warnings
            .iter()
            .map(|warning| warning.split_once(": ").unwrap().1)
            .collect();
        assert_eq!(
            warnings,
            [
                "status 503",
                "10.0.0.1 was given up, it stays busy",
                "10.0.0.1 was given up, it stays busy"
            ]
        );
    }
}

/// Returns the text as a gzip member without compression (RFC 1952, RFC 1951
/// section 3.2.4).
fn gzip_stored(text: &str) -> Vec<u8> {
    let mut crc = !0_u32;
    for byte in text.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (0_u32.wrapping_sub(crc & 1)));
        }
    }
    let length = text.len() as u16;
    let mut packed = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01".to_vec();
    packed.write_all(&length.to_le_bytes()).unwrap();
    packed.write_all(&(!length).to_le_bytes()).unwrap();
    packed.write_all(text.as_bytes()).unwrap();
    packed.write_all(&(!crc).to_le_bytes()).unwrap();
    packed.write_all(&u32::from(length).to_le_bytes()).unwrap();
    packed
}
