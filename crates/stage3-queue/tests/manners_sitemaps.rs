//! What sitemaps name is crawled, if it is wanted.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::io::Write;
use std::time::Duration;

use common::options;
use common::village::{Answer, Asked, Crawled, answer, crawl, not_found, page, silence, text};
use crawl_core::{Options, Outcome};

const ROOT: &str = "http://10.0.0.1/";

fn with_sitemap(roots: &[&str]) -> Options {
    let mut options = options(roots);
    options.sitemap = true;
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

/// The paths of all rows of the first host.
fn found(crawled: &Crawled) -> Vec<&str> {
    let mut paths: Vec<&str> =
        crawled.rows.iter().filter_map(|row| row.url.strip_prefix(ROOT)).collect();
    paths.sort_unstable();
    paths
}

fn plain(asked: &Asked) -> Answer {
    match &*asked.path {
        "/robots.txt" => not_found(),
        _ => page([""; 0]),
    }
}

#[test]
fn nobody_asks_unasked() {
    let crawled = crawl(options(&[ROOT]), |asked| match &*asked.path {
        "/robots.txt" => text("Sitemap: http://10.0.0.1/map"),
        _ => plain(asked),
    });
    assert_eq!(crawled.asked.len(), 2);
}

#[test]
fn robots_txt_names_them() {
    let crawled = crawl(with_sitemap(&[ROOT]), |asked| match &*asked.path {
        "/robots.txt" => text("Sitemap: http://10.0.0.1/map\nSitemap: http://10.0.0.2/map"),
        "/map" if asked.host == "10.0.0.1" => text(urls(ROOT, &["a", "b", "", "a"])),
        "/map" => text(urls(ROOT, &["c"]) + "junk"),
        "/a" => page(["/a/x"]),
        _ => plain(asked),
    });
    assert_eq!(found(&crawled), ["", "a", "a/x", "b", "c"]);
    assert_eq!(crawled.times("/sitemap.xml"), 0);
    assert_eq!(crawled.times("/robots.txt"), 1);
    let depth = |path: &str| crawled.row(&format!("{ROOT}{path}")).depth;
    assert_eq!((depth(""), depth("a"), depth("a/x")), (0, 1, 2));
    assert_eq!(crawled.row("http://10.0.0.1/b").referrer, None);
    assert_eq!(crawled.ending.warnings.len(), 1, "{:?}", crawled.ending.warnings);
    assert!(crawled.ending.warnings[0].starts_with("sitemap http://10.0.0.2/map: "));
}

#[test]
fn or_else_it_is_where_it_is_expected() {
    for robots in [true, false] {
        let mut options = with_sitemap(&["http://10.0.0.1/deep/page?q", "http://10.0.0.1/other"]);
        options.robots = robots;
        let crawled = crawl(options, |asked| match &*asked.path {
            "/sitemap.xml" => text(urls(ROOT, &["a", "http://10.0.0.9/elsewhere"])),
            _ => plain(asked),
        });
        assert_eq!(found(&crawled), ["a", "deep/page?q", "http://10.0.0.9/elsewhere", "other"]);
        assert_eq!(crawled.times("/robots.txt"), usize::from(robots));
        assert_eq!(crawled.times("/sitemap.xml"), 1);
    }
}

#[test]
fn index_files_lead_on() {
    let mut packed = flate2_like(&urls(ROOT, &["packed"]));
    let crawled = crawl(with_sitemap(&[ROOT]), move |asked| match &*asked.path {
        "/sitemap.xml" => text(index(&[
            "http://10.0.0.1/1.xml",
            "http://10.0.0.1/2.xml.gz",
            "http://10.0.0.1/missing",
        ])),
        "/1.xml" => text(index(&["http://10.0.0.1/11.xml", "http://10.0.0.1/1.xml"])),
        "/2.xml.gz" => text(std::mem::take(&mut packed)),
        "/11.xml" => text(urls(ROOT, &["far"])),
        "/missing" => not_found(),
        _ => plain(asked),
    });
    assert_eq!(found(&crawled), ["", "far", "packed"]);
    assert_eq!(crawled.ending.warnings, ["sitemap http://10.0.0.1/missing: status 404"]);
    assert_eq!(crawled.times("/1.xml"), 1);
}

/// A maze of index files has an end.
#[test]
fn index_files_are_not_followed_for_ever() {
    let crawled = crawl(with_sitemap(&[ROOT]), |asked| match &*asked.path {
        "/robots.txt" => not_found(),
        path if path == "/sitemap.xml" || path.starts_with("/m") => {
            let next: Vec<String> =
                (0..40).map(|n| format!("http://10.0.0.1/m{n}{path}")).collect();
            let next: Vec<&str> = next.iter().map(String::as_str).collect();
            text(index(&next))
        }
        _ => plain(asked),
    });
    assert_eq!(found(&crawled), [""]);
    assert!(crawled.asked.len() <= 1_010, "{}", crawled.asked.len());
    assert_eq!(crawled.ending.warnings.len(), 1);
    assert!(crawled.ending.warnings[0].contains("more sitemaps than are read"));
}

/// A sitemap that cannot be had holds nobody up, and is no end.
#[test]
fn a_silent_sitemap_is_a_warning() {
    let crawled = crawl(with_sitemap(&[ROOT]), |asked| match &*asked.path {
        "/sitemap.xml" => silence(),
        "/" => page(["/a", "/b"]),
        _ => plain(asked),
    });
    assert_eq!(found(&crawled), ["", "a", "b"]);
    assert_eq!(
        crawled.ending.warnings,
        ["sitemap http://10.0.0.1/sitemap.xml: timeout: the server was silent for 15s"]
    );
    assert!(crawled.asked.iter().all(|asked| asked.at < Duration::from_secs(1)));
}

/// Where nothing is allowed, nothing is asked for; and where no root gets in,
/// nobody waits for a visit that will never be.
#[test]
fn robots_are_obeyed() {
    let crawled = crawl(with_sitemap(&[ROOT]), |asked| match &*asked.path {
        "/robots.txt" => text("User-agent: *\nDisallow: /"),
        path => panic!("{path}"),
    });
    assert_eq!(crawled.row(ROOT).outcome, Outcome::Skipped);
    let mut options = with_sitemap(&[ROOT]);
    options.exclude = vec!["10".parse().unwrap()];
    let crawled = crawl(options, |asked| match &*asked.path {
        "/robots.txt" => not_found(),
        "/sitemap.xml" => answer("500 Oops", "", ""),
        path => panic!("{path}"),
    });
    assert_eq!((crawled.rows.len(), crawled.ending.warnings.len()), (0, 1));
}

/// The sitemaps of a site that nobody is going to visit any more are not waited
/// for.
#[test]
fn a_limit_on_pages_is_the_end_of_sitemaps() {
    let roots = ["http://10.0.0.1/", "http://10.0.0.2/", "http://10.0.0.3/", "http://10.0.0.4/"];
    let mut options = with_sitemap(&roots);
    options.max_pages = Some(1);
    options.max_tasks = Some(1);
    let crawled = crawl(options, plain);
    assert_eq!((crawled.rows.len(), crawled.ending.todo), (1, 3));
}

#[test]
fn requests_keep_their_distance() {
    let mut options = with_sitemap(&[ROOT]);
    options.delay = Duration::from_secs(2);
    let crawled = crawl(options, |asked| match &*asked.path {
        "/sitemap.xml" => text(urls(ROOT, &["a", "b", "c"])),
        _ => plain(asked),
    });
    assert_eq!(found(&crawled), ["", "a", "b", "c"]);
    for pair in crawled.asked_of("10.0.0.1").windows(2) {
        assert!(pair[1].1 - pair[0].1 >= Duration::from_secs(2), "{pair:?}");
    }
}

/// A limit that is reached ends the reading of sitemaps, too, however far it is.
#[test]
fn a_silent_sitemap_does_not_outlive_the_crawl() {
    let mut options = with_sitemap(&[ROOT]);
    options.max_pages = Some(1);
    let crawled = crawl(options, |asked| match &*asked.path {
        "/sitemap.xml" => silence(),
        "/" => page(["/a", "/b"]).after(Duration::from_secs(1)),
        _ => plain(asked),
    });
    assert_eq!(crawled.times("/sitemap.xml"), 1);
    assert_eq!((found(&crawled), crawled.ending.todo), (vec![""], 2));
    assert!(crawled.ending.warnings.is_empty(), "{:?}", crawled.ending.warnings);
}

/// A sitemap may be refused for want of time like any page.
#[test]
fn a_sitemap_is_asked_for_again_when_there_is_time() {
    let mut refusals = 0;
    let crawled = crawl(with_sitemap(&[ROOT]), move |asked| match &*asked.path {
        "/sitemap.xml" if refusals < 3 => {
            refusals += 1;
            answer("429 Too Many Requests", "Retry-After: 7\r\n", "")
        }
        "/sitemap.xml" => text(urls(ROOT, &["a"])),
        _ => plain(asked),
    });
    assert_eq!(found(&crawled), ["", "a"]);
    assert!(crawled.ending.warnings.is_empty(), "{:?}", crawled.ending.warnings);
    let asked: Vec<_> = crawled.asked.iter().filter(|a| a.path == "/sitemap.xml").collect();
    assert_eq!(asked.len(), 4);
    for pair in asked.windows(2) {
        assert!(pair[1].at - pair[0].at >= Duration::from_secs(7), "{pair:?}");
    }
}

/// One that never has time is given up.
#[test]
fn a_sitemap_that_is_always_refused_is_a_warning() {
    let crawled = crawl(with_sitemap(&[ROOT]), |asked| match &*asked.path {
        "/sitemap.xml" => answer("429 Too Many Requests", "", ""),
        _ => plain(asked),
    });
    assert_eq!(crawled.times("/sitemap.xml"), 6);
    assert_eq!(crawled.ending.warnings, ["sitemap http://10.0.0.1/sitemap.xml: status 429"]);
}

/// The text in a gzip member without compression (RFC 1952, RFC 1951 section
/// 3.2.4).
fn flate2_like(text: &str) -> Vec<u8> {
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
