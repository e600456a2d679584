//! Tests of the purposes of fetches: pages, resources and external URLs.

use std::ops::{ControlFlow, Range};
use std::time::Instant;

use crawl_core::{
    Check, Crawl, ErrorClass, ExternalVerdict, FetchError, Options, Outcome, Row, Verdict, Visit,
};
use proptest::collection::vec;
use proptest::prelude::*;
use test_support::cases;
use url::Url;

use crate::site::{Crawled, Reply, crawl, crawl_from, options, page, redirect};

const SITE: &str = "http://site.test/";
const ALL: Check = Check::USUAL;

fn checking(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = options(SITE);
    change(&mut options);
    options
}

/// Crawls a site whose root has this HTML; `others` replies for all other URLs.
fn root_with(html: &str, options: &Options, others: impl Fn(&str, &Url) -> Reply) -> Crawled {
    crawl(options, |method, url| match url.as_str() {
        SITE => page(html),
        _ => others(method, url),
    })
}

fn urls(crawled: &Crawled) -> Vec<&str> {
    crawled.rows.keys().map(String::as_str).collect()
}

#[test]
fn resources_are_requested_only_when_they_are_checked() {
    let html = "<a href=/page>x</a><img src=/i srcset='/j 2x'><video src=/v></video>\
                <script src=/s></script><link rel=stylesheet href=/c><p style='background:url(/b)'>";
    for (check, expected) in [
        (Check::default(), &["page"][..]),
        (Check { images: true, ..Check::default() }, &["i", "j", "page"]),
        (Check { media: true, ..Check::default() }, &["page", "v"]),
        (Check { scripts: true, ..Check::default() }, &["page", "s"]),
        (Check { styles: true, ..Check::default() }, &["b", "c", "page"]),
        (ALL, &["b", "c", "i", "j", "page", "s", "v"]),
    ] {
        let options = checking(|options| options.settings.check = check);
        let crawled = root_with(html, &options, |_, _| Reply::Body("image/png", vec![0; 10]));
        let expected: Vec<String> =
            [""].iter().chain(expected).map(|path| format!("{SITE}{path}")).collect();
        assert_eq!(urls(&crawled), expected);
        assert_eq!(crawled.row(SITE).num_urls as usize, expected.len() - 1);
        assert_eq!(crawled.requests.len(), expected.len(), "{:?}", crawled.requests);
        // What is played may be long.
        let is_right = |request: &String| request.starts_with("GET ") != request.ends_with("/v");
        assert!(crawled.requests.iter().all(is_right), "{:?}", crawled.requests);
    }
}

#[test]
fn a_page_is_searched_for_links_whether_linked_or_loaded() {
    let options = checking(|options| options.settings.check.images = true);
    for html in ["<img src=/x><a href=/x>x</a>", "<a href=/x>x</a><img src=/x>", "<img src=/x>"] {
        let crawled = root_with(html, &options, |_, url| match url.path() {
            "/x" => page("<a href=/y>y</a>"),
            _ => page(""),
        });
        let found = (crawled.row("http://site.test/x").outcome, crawled.rows.len());
        assert_eq!(found, (Outcome::Page, 3), "{html}");
        assert_eq!(crawled.requests.len(), 3, "{html}: nothing is asked for twice");
    }
}

/// That it is found by a redirect makes no page of it.
#[test]
fn a_root_that_redirects_to_no_page_is_a_problem() {
    let crawled = crawl(&options(SITE), |_, url| match url.as_str() {
        SITE => redirect("/manual"),
        _ => Reply::Body("application/pdf", Vec::new()),
    });
    let problem = crawled.summary.problem.unwrap();
    assert!(problem.starts_with("http://site.test/manual is application/pdf, "), "{problem}");
}

/// Its runner takes a line that begins with two colons for one.
#[test]
fn a_link_that_is_no_url_is_no_command_of_github() {
    let html = "<base href=mailto:a@b.test><a href=' ::error::x'>x</a>";
    let crawled = root_with(html, &options(SITE), |_, _| page(""));
    let row = crawled.row("./::error::x");
    assert_eq!(row.error.as_ref().unwrap().class, ErrorClass::InvalidUrl);
}

/// To what is embedded, `HEAD` is enough, unless it names other files.
#[test]
fn a_drawing_is_searched_for_links_whether_linked_or_embedded() {
    let options = checking(|options| options.settings.check = ALL);
    for (html, head) in [
        ("<object data=/x></object><a href=/x>x</a>", true),
        ("<a href=/x>x</a><embed src=/x>", false),
        ("<embed src=/x>", true),
    ] {
        let crawled = root_with(html, &options, |_, url| match url.path() {
            "/x" => {
                let svg = "<svg xmlns='http://www.w3.org/2000/svg'><a href='/y'></a></svg>";
                Reply::Body("image/svg+xml", svg.into())
            }
            _ => page(""),
        });
        assert_eq!(urls(&crawled), [SITE, "http://site.test/x", "http://site.test/y"], "{html}");
        let is_asked = crawled.requests.contains(&"HEAD http://site.test/x".to_owned());
        assert_eq!(is_asked, head, "{html}");
    }
}

#[test]
fn only_the_beginning_of_a_large_resource_is_read() {
    let options = checking(|options| {
        options.settings.check.images = true;
        options.settings.external = true;
        options.settings.max_body_size = 100_000;
    });
    let html = "<img src=/film><img src=http://else.test/film><a href=/document>x</a>\
                <img src=/page><a href=/small>x</a>";
    let crawled = root_with(html, &options, |method, url| match (method, url.path()) {
        ("HEAD", _) => Reply::Status(405),
        (_, "/page") => Reply::Body("text/html", vec![0; 3_000_000]),
        (_, "/small") => Reply::Body("video/mp4", vec![0; 64 * 1024]),
        _ => Reply::Body("video/mp4", vec![0; 3_000_000]),
    });
    for url in ["http://site.test/film", "http://else.test/film", "http://site.test/document"] {
        let row = crawled.row(url);
        assert_eq!((row.outcome, row.status), (Outcome::Other, Some(200)), "{url}");
        assert_eq!(row.size, None, "{url}: it is not read to its end");
    }
    assert_eq!(crawled.row("http://site.test/small").size, Some(64 * 1024));
    // What is HTML is a page, wherever it was found.
    let page = crawled.row("http://site.test/page");
    assert_eq!((page.outcome, page.error.as_ref(), page.size), (Outcome::Page, None, None));
}

/// The URLs that it names must not be missed without a word.
#[test]
fn a_sitemap_that_is_too_long_is_read_to_the_limit() {
    let mut options = options("http://site.test/sitemap.xml");
    options.settings.max_body_size = 100_000;
    options.settings.check.styles = true;
    let entry = "<url><loc>http://site.test/page</loc></url>";
    let sitemap = format!("<urlset>{}</urlset>", entry.repeat(3_000));
    let crawled = crawl(&options, |_, _| Reply::Body("application/xml", sitemap.clone().into()));
    let row = crawled.row("http://site.test/sitemap.xml");
    assert_eq!((row.error.as_ref(), row.size, row.num_urls), (None, None, 1));
    let warning = "http://site.test/sitemap.xml: only the first 100000 bytes were read";
    assert_eq!(crawled.summary.warnings, [warning]);
    // A style sheet is a file like others, although its links are not known.
    options.settings.roots = [SITE.parse().unwrap()].into();
    let crawled = root_with("<link rel=stylesheet href=/x.css>", &options, |_, _| {
        Reply::Body("text/css", vec![b' '; 200_000])
    });
    let row = crawled.row("http://site.test/x.css");
    assert_eq!((row.outcome, row.error.as_ref()), (Outcome::Other, None));
}

/// By its type it could be a sitemap, but no entry is found in it.
#[test]
fn a_root_that_is_an_archive_may_have_any_length() {
    for (content_type, body) in [
        ("application/x-gzip", vec![0; 3_000_000]),
        ("text/plain", b"A line of a log.\n".repeat(200_000)),
        ("text/xml", b"<feed>A text</feed>".repeat(200_000)),
    ] {
        let mut options = options("http://site.test/a.tar.gz");
        options.settings.max_body_size = 100_000;
        let crawled = crawl(&options, |_, _| Reply::Body(content_type, body.clone()));
        let row = crawled.row("http://site.test/a.tar.gz");
        let found = (row.outcome, row.error.as_ref(), row.size);
        assert_eq!(found, (Outcome::Other, None, None), "{content_type}");
    }
}

/// Style sheets that are too long for that are files like others.
#[test]
fn what_is_not_searched_any_more_takes_no_memory() {
    let mut options = checking(|options| options.settings.check.styles = true);
    options.settings.max_body_size = 1_000_000;
    let mut crawl = Crawl::new(options.clone());
    let root = crawl.roots(&mut |_| ()).remove(0);
    let mut visit = crawl.begin(root, Instant::now()).unwrap();
    let response = |content_type: &str, length: usize| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n");
        head + &format!("Content-Length: {length}\r\n\r\n")
    };
    let html: String = (0..100).map(|n| format!("<link rel=stylesheet href=/{n}.css>")).collect();
    visit.request(&options, true);
    let response_of_root = response("text/html", html.len()) + &html;
    assert!(visit.receive(response_of_root.as_bytes()).is_break());
    visit.judge(Ok(()));
    let jobs = crawl.complete(&mut visit, Instant::now()).jobs;
    assert_eq!(jobs.len(), 100);
    let (head, css) = (response("text/css", 2_000_000), vec![b' '; 1_100_000]);
    let mut visits = Vec::new();
    for job in jobs {
        let mut visit = crawl.begin(job, Instant::now()).unwrap();
        visit.request(&options, true);
        assert!(visit.receive(head.as_bytes()).is_continue());
        let received = visit.receive(&css);
        assert!(!matches!(received, ControlFlow::Break(Err(_))), "{received:?}");
        visits.push(visit);
    }
}

/// Each of them is within its limit. Together they are not, and some of them wait.
/// Two bytes of a head may be a link that is as long as the URL of the page.
#[test]
fn links_in_a_head_are_bounded() {
    for (length, expected) in [(1_900, 500..600), (1, 1_000..1_001)] {
        expect_links_of_head(length, expected);
    }
}

fn expect_links_of_head(length: usize, expected: Range<usize>) {
    let url = format!("http://site.test/{}/", "x".repeat(length));
    let mut options = Options::new(vec![url.parse().unwrap()]);
    options.settings.check.relations = true;
    let mut crawl = Crawl::new(options.clone());
    let job = crawl.roots(&mut |_| ()).remove(0);
    let mut visit = crawl.begin(job, Instant::now()).unwrap();
    visit.request(&options, true);
    let links: String = (0..10_000).map(|n| format!("\"{n}\",")).collect();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n";
    let response = format!("{head}Speculation-Rules: \"\",\"\",{}\r\n\r\n", &links[..60_000]);
    assert!(visit.receive(response.as_bytes()).is_break());
    visit.judge(Ok(()));
    let jobs = crawl.complete(&mut visit, Instant::now()).jobs;
    assert!(expected.contains(&jobs.len()), "{}", jobs.len());
    let warnings = crawl.end(0, None).warnings;
    assert!(warnings[0].contains("more links than fit into memory"), "{warnings:?}");
}

#[test]
fn sitemaps_that_fill_the_memory_together_are_tried_again() {
    let roots = (0..80).map(|n| format!("http://site.test/{n}.xml").parse().unwrap());
    let mut options = Options::new(roots.collect());
    options.settings.max_tries = 2;
    let mut crawl = Crawl::new(options.clone());
    let jobs = crawl.roots(&mut |_| ());
    let mut visits: Vec<Visit> =
        jobs.into_iter().map(|job| crawl.begin(job, Instant::now()).unwrap()).collect();
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: 9000000\r\n\r\n<urlset>";
    let entry = "<url><loc>http://site.test/some-page</loc></url>";
    let entries = entry.repeat(1_000);
    for visit in &mut visits {
        visit.request(&options, true);
        assert!(visit.receive(head.as_bytes()).is_continue());
    }
    let mut again = 0;
    for _ in 0..50 {
        visits.retain_mut(|visit| match visit.receive(entries.as_bytes()) {
            ControlFlow::Continue(()) => true,
            ControlFlow::Break(result) => {
                let verdict = visit.judge(result.map(|_| ()));
                assert!(matches!(verdict, Verdict::TryAgain(_)), "{verdict:?}");
                again += 1;
                false
            }
        });
    }
    assert!(again > 0 && again < 80, "{again} of 80");
}

#[test]
fn a_resource_has_the_depth_of_its_page() {
    let options = checking(|options| {
        options.settings.check.images = true;
        options.settings.max_depth = Some(1);
    });
    // Each image is a page that loads another image.
    let crawled = crawl(&options, |_, url| {
        let n: u32 = url.path()[1..].parse().unwrap_or(0);
        page(format!("<img src=/{}>", n + 1))
    });
    assert_eq!(crawled.rows.len(), 3, "{:?}", crawled.rows.keys());
    assert_eq!(crawled.row("http://site.test/1").depth, 0);
    assert_eq!(crawled.row("http://site.test/2").depth, 1);
    assert_eq!(crawled.summary.too_deep, 1);
}

#[test]
fn include_applies_to_pages_and_exclude_to_everything() {
    let options = checking(|options| {
        options.settings.check = ALL;
        options.settings.external = true;
        options.settings.include = vec!["/docs/".parse().unwrap()];
        options.settings.exclude = vec!["private".parse().unwrap()];
    });
    let html = "<a href=/docs/1>x</a><a href=/else>x</a><img src=/i><img src=/private>\
                <a href=http://else.test/>x</a><a href=http://else.test/private>x</a>";
    let crawled = root_with(html, &options, |_, _| Reply::Body("text/plain", Vec::new()));
    let expected = ["http://else.test/", SITE, "http://site.test/docs/1", "http://site.test/i"];
    assert_eq!(urls(&crawled), expected);
}

#[test]
fn external_links_are_requested_by_head_and_not_followed() {
    let html = "<a href=http://else.test/a#part>x</a><a href=ftp://else.test/>x</a>\
                <a href=/page>x</a><img src=http://else.test/image>";
    let site = |_: &str, url: &Url| match url.path() {
        "/a" => page("<a href=http://third.test/>x</a><a href=http://site.test/hidden>x</a>"),
        _ => page(""),
    };
    let crawled = root_with(html, &options(SITE), site);
    assert_eq!(urls(&crawled), [SITE, "http://site.test/page"]);
    let crawled = root_with(html, &checking(|options| options.settings.external = true), site);
    // A `HEAD` may say that there is a page where there is none.
    let requests = [
        "GET http://site.test/",
        "HEAD http://else.test/a",
        "GET http://else.test/a",
        "GET http://site.test/page",
    ];
    assert_eq!(crawled.requests, requests);
    let row = crawled.row("http://else.test/a");
    assert_eq!((row.outcome, row.status, row.size), (Outcome::Other, Some(200), Some(69)));
    assert_eq!((row.depth, row.tries, row.referrer.as_deref()), (1, 2, Some(SITE)));
    let root = crawled.row(SITE);
    assert_eq!((root.num_urls, root.num_new_urls), (1, 1), "it is not of the site");
    let with_images = checking(|options| {
        (options.settings.external, options.settings.check.images) = (true, true)
    });
    let crawled = root_with(html, &with_images, site);
    assert!(crawled.requests.contains(&"HEAD http://else.test/image".to_owned()));
}

#[test]
fn a_failed_head_is_followed_by_a_get() {
    let external = checking(|options| options.settings.external = true);
    let html = "<a href=http://else.test/>x</a>";
    let row_of = |head: &dyn Fn() -> Reply, get: &dyn Fn() -> Reply, tries: u32| {
        let crawled = root_with(html, &external, |method, _| match method {
            "HEAD" => head(),
            _ => get(),
        });
        let row = crawled.row("http://else.test/").clone();
        assert_eq!(crawled.requests.len() as u32, 1 + tries, "{:?}", crawled.requests);
        assert_eq!(row.tries, tries);
        row
    };
    for status in [400, 403, 404, 405, 500, 501, 999] {
        let row = row_of(&|| Reply::Status(status), &|| page("fine"), 2);
        assert_eq!((row.outcome, row.status, row.error), (Outcome::Other, Some(200), None));
    }
    let row = row_of(&|| Reply::Fails(ErrorClass::Closed), &|| page("fine"), 2);
    assert_eq!((row.outcome, row.status), (Outcome::Other, Some(200)));
    let row = row_of(&|| Reply::Fails(ErrorClass::Protocol), &|| Reply::Status(404), 2);
    assert_eq!((row.outcome, row.status, row.error), (Outcome::HttpError, Some(404), None));
    // A host without an address has none for `GET` either, and after a 429 there
    // are no further requests.
    let row = row_of(&|| Reply::Fails(ErrorClass::Dns), &|| panic!("asked"), 1);
    assert_eq!(row.error.unwrap().class, ErrorClass::Dns);
    let row = row_of(&|| Reply::Status(429), &|| panic!("asked"), 1);
    assert_eq!(row.status, Some(429));
    // A `GET` that fails is retried on its own account.
    let mut often = external.clone();
    often.settings.max_tries = 3;
    let crawled = root_with(html, &often, |_, _| Reply::Fails(ErrorClass::Closed));
    let requests: Vec<&str> = crawled.requests[1..].iter().map(|requests| &requests[..4]).collect();
    assert_eq!(requests, ["HEAD", "GET ", "GET "]);
}

/// Its host was given up while it was asked.
#[test]
fn the_last_head_is_followed_by_no_get() {
    let options = checking(|options| options.settings.external = true);
    let mut crawl = Crawl::new(options.clone());
    let mut next = crawl.roots(&mut |_| ());
    let mut visit = crawl.begin(next.remove(0), Instant::now()).unwrap();
    visit.request(&options, true);
    let html = "<a href=http://else.test/>x</a>";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length:";
    let response = format!("{head} {}\r\n\r\n{html}", html.len());
    assert!(visit.receive(response.as_bytes()).is_break());
    visit.judge(Ok(()));
    let job = crawl.complete(&mut visit, Instant::now()).jobs.remove(0);
    let mut visit = crawl.begin(job, Instant::now()).unwrap();
    assert!(visit.request(&options, true).starts_with(b"HEAD "));
    visit.end_retries();
    let late = FetchError::new(ErrorClass::Timeout, "as the test has it");
    assert_eq!(visit.judge(Err(late)), Verdict::Finished);
}

#[test]
fn a_refusal_by_an_external_server_is_reported_as_blocked() {
    let external = checking(|options| options.settings.external = true);
    for status in [401, 403, 404, 405, 410, 500, 999] {
        let html = "<a href=http://else.test/>x</a><a href=/here>x</a>";
        let crawled = root_with(html, &external, |_, _| Reply::Status(status));
        let row = crawled.row("http://else.test/");
        assert_eq!((row.outcome, row.status), (Outcome::HttpError, Some(status)));
        let is_blocked = [403, 405, 999].contains(&status);
        match &row.error {
            Some(error) => {
                assert_eq!(error.class, ErrorClass::Blocked);
                assert!(
                    is_blocked && error.message.starts_with("the server refuses"),
                    "{status}: {error}"
                );
            }
            None => assert!(!is_blocked, "{status}"),
        }
        assert_eq!(crawled.row("http://site.test/here").error, None);
    }
}

#[test]
fn external_redirects_are_followed_to_their_end() {
    let site = |_: &str, url: &Url| match url.as_str() {
        SITE => page("<a href=/out>x</a><a href=http://else.test/back>x</a>"),
        "http://site.test/out" => redirect("http://else.test/1"),
        "http://else.test/1" => redirect("https://third.test/2"),
        "https://third.test/2" => Reply::Status(404),
        "http://else.test/back" => redirect("http://site.test/hidden"),
        "http://site.test/hidden" => page("<a href=/more>x</a>"),
        _ => page(""),
    };
    let crawled = crawl(&checking(|options| options.settings.external = true), site);
    assert_eq!(crawled.row("http://else.test/1").outcome, Outcome::Redirect);
    assert_eq!(crawled.row("https://third.test/2").referrer.as_deref(), Some("http://else.test/1"));
    assert_eq!(crawled.broken(), [("https://third.test/2", "")]);
    // A URL of the site is a page, even if an external URL redirects to it.
    assert_eq!(crawled.row("http://site.test/hidden").outcome, Outcome::Page);
    assert_eq!(crawled.row("http://site.test/more").outcome, Outcome::Page);
    assert!(crawled.requests.contains(&"GET http://site.test/hidden".to_owned()));
    let crawled = crawl(&options(SITE), site);
    assert_eq!(urls(&crawled), [SITE, "http://site.test/out"]);
    let mut short = checking(|options| options.settings.external = true);
    short.settings.max_redirect = 1;
    let crawled = crawl(&short, site);
    let limit = crawled.row("http://else.test/1").error.as_ref().unwrap();
    assert_eq!(limit.class, ErrorClass::RedirectLimit);
}

/// An image is no click, so that its URL has the depth of the root.
#[test]
fn what_another_site_redirects_to_is_no_root() {
    let mut options = checking(|options| {
        (options.settings.external, options.settings.check.images, options.settings.follow_root) =
            (true, true, true);
    });
    options.settings.max_depth = Some(3);
    let html = "<img src=http://else.test/a>";
    let crawled = root_with(html, &options, |_, url| match url.as_str() {
        "http://else.test/a" => redirect("http://site.test/out"),
        "http://site.test/out" => redirect("http://third.test/"),
        "http://third.test/" => page("<a href=/more>x</a>"),
        _ => page(""),
    });
    assert_eq!(crawled.row("http://site.test/out").depth, 1);
    assert_eq!(crawled.summary.problem, None);
    assert!(!crawled.rows.contains_key("http://third.test/more"));
}

/// It was asked as a link to another site, and is not asked again.
#[test]
fn a_root_that_leads_to_a_site_that_was_external_is_told() {
    let mut options = checking(|options| {
        (options.settings.external, options.settings.follow_root) = (true, true)
    });
    options.settings.roots = [SITE, "http://moved.test/"].map(|root| root.parse().unwrap()).into();
    let warnings = |link: &str| {
        let html = format!("<a href={link}>x</a>");
        let crawled = root_with(&html, &options, |_, url| match url.host_str() {
            Some("moved.test") => redirect("http://other.test/"),
            _ => page("<a href=/more>x</a>"),
        });
        assert_eq!(crawled.summary.problem, None);
        let is_followed = crawled.rows.contains_key("http://other.test/more");
        (is_followed, crawled.summary.warnings)
    };
    let told = "http://moved.test/ redirects to http://other.test/, which was already checked as a \
                link to another site, so its links are not followed: to crawl it, use it as a start URL";
    assert_eq!(warnings("http://other.test/"), (false, vec![told.to_owned()]));
    assert_eq!(warnings("http://third.test/"), (true, Vec::new()));
}

#[test]
fn a_circle_of_external_redirects_is_dead() {
    let options = checking(|options| options.settings.external = true);
    let html = "<a href=http://else.test/a>x</a><a href=http://else.test/itself>x</a>";
    let crawled = root_with(html, &options, |_, url| match url.path() {
        "/a" => redirect("/b"),
        "/b" => redirect("/a"),
        _ => redirect("/itself"),
    });
    for url in ["http://else.test/b", "http://else.test/itself"] {
        let row = crawled.row(url);
        assert_eq!(row.error.as_ref().unwrap().class, ErrorClass::RedirectLoop);
        assert_eq!((row.verdict, row.is_broken()), (Some(ExternalVerdict::Dead), true), "{url}");
    }
}

#[test]
fn an_external_url_is_never_too_deep_and_no_trap() {
    let options = checking(|options| {
        options.settings.external = true;
        options.settings.max_depth = Some(0);
        options.settings.strip_query = vec!["*".into()];
        options.settings.traps.variants = 1;
    });
    let long = "a".repeat(3_000);
    let html = format!(
        "<a href=http://else.test/a/a/a/a>x</a><a href=http://else.test/?1>x</a>\
         <a href=http://else.test/?2>x</a><a href=http://else.test/{long}>x</a><a href=/deep>x</a>"
    );
    let crawled = root_with(&html, &options, |_, _| page(""));
    for url in ["http://else.test/a/a/a/a", "http://else.test/?1", "http://else.test/?2"] {
        assert_eq!(crawled.row(url).outcome, Outcome::Other);
    }
    let skipped = crawled.rows.values().filter(|row| row.outcome == Outcome::Skipped);
    assert_eq!(skipped.count(), 0, "the long one is requested as well");
    assert_eq!((crawled.rows.len(), crawled.summary.too_deep), (5, 1));
}

/// The reply for one URL of a generated web; some of its URLs are external.
#[derive(Clone, Debug)]
enum TestUrl {
    Page(Vec<(bool, usize)>),
    Redirect(usize),
    Image,
    Gone,
}

fn test_url() -> impl Strategy<Value = TestUrl> {
    prop_oneof![
        4 => vec((any::<bool>(), 0..8_usize), 0..6).prop_map(TestUrl::Page),
        2 => (0..8_usize).prop_map(TestUrl::Redirect),
        1 => Just(TestUrl::Image),
        1 => Just(TestUrl::Gone),
    ]
}

fn url_of(n: usize) -> String {
    format!("http://{}.test/{n}", if n < 5 { "site" } else { "else" })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    #[test]
    fn outcomes_do_not_depend_on_the_order_of_fetches(
        web in vec(test_url(), 8),
        choices in vec(any::<usize>(), 8),
    ) {
        let mut options = checking(|options| {
            options.settings.check.images = true;
            options.settings.external = true;
        });
        options.settings.roots = [Url::parse(&url_of(0)).unwrap()].into();
        let serve = |_: &str, url: &Url| match &web[url.path()[1..].parse::<usize>().unwrap()] {
            TestUrl::Page(links) => {
                let links = links.iter().map(|&(is_image, n)| match is_image {
                    true => format!("<img src={}>", url_of(n)),
                    false => format!("<a href={}>x</a>", url_of(n)),
                });
                page(links.collect::<String>())
            }
            TestUrl::Redirect(to) => redirect(&url_of(*to)),
            TestUrl::Image => Reply::Body("image/png", vec![0; 100]),
            TestUrl::Gone => Reply::Status(404),
        };
        // Of redirects in a circle, the one that is asked last closes it.
        let closes_circle = |row: &Row| {
            row.error.as_ref().is_some_and(|error| error.class == ErrorClass::RedirectLoop)
        };
        let target = |url: &str| match web[url.rsplit('/').next().unwrap().parse::<usize>().unwrap()] {
            TestUrl::Redirect(to) => url_of(to),
            _ => panic!("{url} is no redirect"),
        };
        let outcomes = |crawled: Crawled| {
            for (url, row) in crawled.rows.iter().filter(|(_, row)| closes_circle(row)) {
                let mut circle = vec![target(url)];
                while circle.last() != Some(url) {
                    circle.push(target(circle.last().unwrap()));
                }
                let found = crawled.summary.admission.circle(url, row.next_url.as_ref().unwrap());
                assert_eq!(found.unwrap(), circle);
            }
            let others = crawled.rows.iter().filter(|(_, row)| !closes_circle(row));
            let mut others = others.filter_map(|(url, row)| Some((url, row.next_url.as_ref()?)));
            let admission = &crawled.summary.admission;
            assert!(others.all(|(url, to)| admission.circle(url, to).is_none()));
            let num_circles = crawled.rows.values().filter(|row| closes_circle(row)).count();
            let outcome = |row: &Row| if closes_circle(row) { Outcome::Redirect } else { row.outcome };
            let rows = crawled.rows.into_iter();
            let rows = rows.map(|(url, row)| (url, row.status, outcome(&row)));
            (num_circles, rows.collect::<Vec<_>>())
        };
        let in_order = outcomes(crawl(&options, serve));
        let step = std::cell::Cell::new(0);
        let in_disorder = crawl_from(&options, serve, |todo| {
            step.set(step.get() + 1);
            let choice = choices[step.get() % choices.len()];
            todo.swap_remove_back(choice.checked_rem(todo.len())?)
        });
        for (n, test_url) in web.iter().enumerate() {
            // Pages of the site are searched for links, and nothing else is.
            if let Some(row) = in_disorder.rows.get(&url_of(n)) {
                let is_searched = n < 5 && matches!(test_url, TestUrl::Page(_));
                prop_assert_eq!(row.outcome == Outcome::Page, is_searched, "{:?}", row);
            }
        }
        prop_assert_eq!(outcomes(in_disorder), in_order);
    }
}
