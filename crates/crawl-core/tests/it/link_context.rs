//! Tests of link contexts: the positions and texts of the links to broken URLs.

use std::collections::VecDeque;

use url::Url;

use crate::site::{Reply, crawl, crawl_from, options, page, redirect};

const SITE: &str = "http://site.test/";
const GONE: &str = "http://site.test/gone";

#[test]
fn the_first_link_of_each_page_keeps_its_position_and_text() {
    let mut options = options(SITE);
    options.settings.check.images = true;
    let crawled = crawl(&options, |_, url| match url.path() {
        "/" => {
            page("<h1>x</h1>\n <a href=/gone>the <b>first</b></a><a href=/gone>no</a>\n<a href=b>")
        }
        "/b" => page("\n\n<a href=/c>x</a><img src=/gone alt='a picture'>"),
        "/c" => page("<style>p { background: url(gone) }</style><area href=gone alt=\u{fc}>"),
        _ => Reply::Status(404),
    });
    let expected = [
        "http://site.test/:2:2 a the first",
        "http://site.test/b:3:17 img ",
        "http://site.test/c:1:43 area \u{fc}",
    ];
    assert_eq!(crawled.link_contexts(GONE), expected);
    assert_eq!(crawled.broken(), [(GONE, "")]);
}

#[test]
fn link_contexts_do_not_depend_on_when_the_target_is_found_broken() {
    // The URL found last is requested first, so `/gone` is requested at once.
    let crawled = crawl_from(
        &options(SITE),
        |_, url| match url.path() {
            "/" => page("<a href=/b>x</a>\n<a href=/gone>x</a>"),
            "/b" => page("\n<a href=/gone>y</a>"),
            _ => Reply::Status(404),
        },
        VecDeque::pop_back,
    );
    assert_eq!(crawled.requests[1], format!("GET {GONE}"));
    assert_eq!(
        crawled.link_contexts(GONE),
        ["http://site.test/:2:1 a x", "http://site.test/b:2:1 a y"]
    );
}

#[test]
fn link_contexts_of_fine_urls_are_forgotten() {
    for link_contexts in [true, false] {
        let mut options = options(SITE);
        options.link_contexts = link_contexts;
        let crawled = crawl(&options, |_, url| match url.path() {
            "/" => page("<a href=/b>x</a><a href=/gone>x</a><a href=/away>x</a>"),
            "/away" => redirect("http://else.test/"),
            "/b" => page("<a href=/b>x</a><a href=/>x</a>"),
            _ => Reply::Status(404),
        });
        for fine in [SITE, "http://site.test/b", "http://site.test/away"] {
            assert!(crawled.link_contexts(fine).iter().all(|page| !page.ends_with('x')), "{fine}");
        }
        let gone = if link_contexts { "http://site.test/:1:17 a x" } else { SITE };
        assert_eq!(crawled.link_contexts(GONE), [gone]);
    }
}

/// A site on which each link to `/old` leads to `/gone`, by two redirects.
fn moved(_: &str, url: &Url) -> Reply {
    match url.path() {
        "/" => page("<a href=/old>x</a><a href=/b>x</a><a href=/fine>x</a>"),
        "/b" => page("\n<a href=/old>y</a><a href=/fine>y</a>"),
        "/old" => redirect("/older"),
        "/older" => redirect("/gone"),
        "/fine" => redirect("/b"),
        _ => Reply::Status(404),
    }
}

#[test]
fn links_to_a_redirect_to_a_broken_url_keep_their_context() {
    let first: fn(&mut VecDeque<_>) -> Option<_> = VecDeque::pop_front;
    for order in [first, VecDeque::pop_back] {
        let crawled = crawl_from(&options(SITE), moved, order);
        assert_eq!(crawled.link_contexts(GONE), ["http://site.test/older"]);
        assert_eq!(crawled.link_contexts("http://site.test/older"), ["http://site.test/old"]);
        let expected = ["http://site.test/:1:1 a x", "http://site.test/b:2:1 a y"];
        assert_eq!(crawled.link_contexts("http://site.test/old"), expected);
        let fine = crawled.link_contexts("http://site.test/fine");
        assert_eq!(fine, [SITE], "the places are forgotten, and all but the first");
    }
}

/// A broken URL that is linked to from more pages than its record holds.
fn often_broken(_: &str, url: &Url) -> Reply {
    match url.path() {
        "/" => page((0..300).map(|n| format!("<a href=/{n}>x</a>")).collect::<String>()),
        "/gone" => Reply::Status(404),
        path if path.len() == 3 => page("\n<img src=/gone alt=x><a href=/gone>a text</a>"),
        _ => page("<a href=/gone>x</a>"),
    }
}

#[test]
fn every_referrer_of_a_broken_url_is_listed_with_its_context() {
    let first: fn(&mut VecDeque<_>) -> Option<_> = VecDeque::pop_front;
    for order in [first, VecDeque::pop_back] {
        let crawled = crawl_from(&options(SITE), often_broken, order);
        let (listed, count) = crawled.summary.admission.referrers(GONE);
        assert_eq!((listed.len(), count), (300, 300));
        let mut found = crawled.link_contexts(GONE);
        let mut expected: Vec<String> = (0..300)
            .map(|n| {
                let place = if (10..100).contains(&n) { "2:22 a a text" } else { "1:1 a x" };
                format!("{SITE}{n}:{place}")
            })
            .collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }
}

#[test]
fn further_referrers_of_a_fine_url_are_forgotten() {
    let crawled = crawl(&options(SITE), |site, url| match url.path() {
        "/gone" => page(""),
        _ => often_broken(site, url),
    });
    let (listed, count) = crawled.summary.admission.referrers(GONE);
    assert_eq!((listed.len(), count), (1, 300));
}

#[test]
fn redirects_are_referrers_however_many_links_were_found_before_them() {
    let first: fn(&mut VecDeque<_>) -> Option<_> = VecDeque::pop_front;
    for (order, is_gone) in [(first, true), (VecDeque::pop_back, true), (first, false)] {
        let crawled = crawl_from(
            &options(SITE),
            |_, url| match url.path() {
                "/" => page((0..60).map(|n| format!("<a href=/{n}>x</a>")).collect::<String>()),
                "/gone" if is_gone => Reply::Status(404),
                "/gone" => page(""),
                path if path.starts_with("/moved") => redirect("/gone"),
                path if path.len() == 2 => page(format!("<a href=/moved{}>x</a>", &path[1..])),
                _ => page("<a href=/gone>x</a>"),
            },
            order,
        );
        let moved: Vec<String> = (0..10).map(|n| format!("{SITE}moved{n}")).collect();
        let found = crawled.link_contexts(GONE);
        assert_eq!(found.len(), if is_gone { 60 } else { 1 });
        assert!(!is_gone || moved.iter().all(|url| found.contains(url)), "{found:?}");
        let admission = &crawled.summary.admission;
        assert!(moved.iter().all(|url| admission.is_fine(url) != is_gone), "{is_gone}");
    }
}
