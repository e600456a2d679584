//! Tests of politeness without waiting: `nofollow`, status 429, the limit on
//! pages, sitemap URLs, and files such as robots.txt.

use std::time::{Duration, Instant};

use crawl_core::{
    Completion, Crawl, ErrorClass, FetchError, Job, Options, Outcome, Sink, SiteFile,
    UncheckedReason, Visit,
};
use test_support::encoders::brotli;
use url::Url;

fn options() -> Options {
    let mut options = Options::new(vec![Url::parse("http://site.test/").unwrap()]);
    options.settings.user_agent = "Robot/1.0 (for tests)".to_owned();
    options
}

fn root(crawl: &mut Crawl) -> Job {
    let mut sink: Sink = Box::new(|row| panic!("{row:?}"));
    crawl.roots(&mut sink).pop().unwrap()
}

/// Responds to a request with these bytes, after which the connection ends.
fn respond(visit: &mut Visit, response: &[u8]) {
    visit.request(&options(), false);
    let received = visit.receive(response).break_value();
    let received = received.unwrap_or_else(|| visit.receive_end());
    visit.judge(received.map(|_| ()));
}

fn page(headers: &str, html: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{headers}\r\n{html}")
}

/// Returns the paths of the links that are followed on a page with these headers
/// and this text, and the number of its other links.
fn follow(options: Options, headers: &str, html: &str) -> (Vec<String>, u64) {
    let mut crawl = Crawl::new(options);
    let root = root(&mut crawl);
    let mut visit = crawl.begin(root, Instant::now()).unwrap();
    respond(&mut visit, page(headers, html).as_bytes());
    let Completion { row, jobs, .. } = crawl.complete(&mut visit, Instant::now());
    assert_eq!(row.outcome, Outcome::Page);
    assert_eq!(row.num_urls as usize, jobs.len());
    let paths = jobs.iter().map(|job| job.url.replace("http://site.test", ""));
    (paths.collect(), crawl.end(0, None).unchecked.count(UncheckedReason::Nofollow))
}

#[test]
fn nofollow_is_obeyed() {
    const LINKS: &str = "<a href=/a>a</a> <a href=/b rel=nofollow>b</a> <area href=/c>";
    let all = (["/a", "/b", "/c"].map(str::to_owned).to_vec(), 0);
    let two = (["/a", "/c"].map(str::to_owned).to_vec(), 1);
    let none = (Vec::new(), 3);
    for (headers, meta, expected) in [
        ("", "", &two),
        ("", "<meta name=robots content=noindex>", &two),
        ("", "<meta name=googlebot content=nofollow>", &two),
        ("", "<meta content=nofollow>", &two),
        ("", "<META NAME=Robots CONTENT='noindex, NoFollow'>", &none),
        ("", "<meta name=robots content=none>", &none),
        ("", "<meta name=robot content=nofollow>", &none),
        ("", "<meta name=googlebot content=all><meta name=robots content=none>", &none),
        ("X-Robots-Tag: nofollow\r\n", "", &none),
        ("X-Robots-Tag: noindex\r\nx-robots-tag: robot: none\r\n", "", &none),
        ("X-Robots-Tag: otherbot: nofollow\r\n", "", &two),
    ] {
        // The position of the tag in the page does not matter.
        for html in [format!("{meta}{LINKS}"), format!("{LINKS}{meta}")] {
            assert_eq!(follow(options(), headers, &html), *expected, "{headers}{html}");
            let mut ignoring_robots = options();
            ignoring_robots.settings.robots = false;
            assert_eq!(follow(ignoring_robots, headers, &html), all, "{headers}{html}");
        }
    }
}

/// A URL with a `nofollow` link and another link is followed.
#[test]
fn nofollow_applies_to_one_link_only() {
    for html in [
        "<a href=/a rel=ugc>a</a><a href=/a>a</a>",
        "<a href=/a>a</a><a href=/a rel='noopener sponsored'>a</a>",
    ] {
        assert_eq!(follow(options(), "", html), (vec!["/a".to_owned()], 0), "{html}");
    }
}

#[test]
fn a_429_is_skipped_and_not_broken() {
    let mut crawl = Crawl::new(options());
    let root = root(&mut crawl);
    let mut visit = crawl.begin(root, Instant::now()).unwrap();
    respond(&mut visit, b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\n\r\n<a href=/x>");
    assert_eq!((visit.status(), visit.retry_after()), (Some(429), Some(Duration::from_secs(7))));
    let Completion { row, jobs, .. } = crawl.complete(&mut visit, Instant::now());
    assert_eq!((row.outcome, row.status, row.tries), (Outcome::Skipped, Some(429), 1));
    assert_eq!(row.error.as_ref().unwrap().class, ErrorClass::RateLimited);
    assert!(!row.is_broken() && jobs.is_empty());
}

#[test]
fn a_429_is_no_longer_in_flight() {
    let mut options = options();
    options.max_pages = Some(1);
    let mut crawl = Crawl::new(options);
    let root = root(&mut crawl);
    let mut visit = crawl.begin(root.clone(), Instant::now()).unwrap();
    respond(&mut visit, b"HTTP/1.1 429 Too Many Requests\r\n\r\n");
    crawl.complete(&mut visit, Instant::now());
    let progress = crawl.progress(0);
    assert_eq!((progress.done, progress.in_flight), (1, 0));
    // A crawl that is resumed from a journal counts in the same way.
    assert!(crawl.begin(root, Instant::now()).is_some());
}

/// A deferred visit and a refused job do not count as pages.
#[test]
fn max_pages_counts_only_completed_visits() {
    let mut options = options();
    options.max_pages = Some(1);
    let mut crawl = Crawl::new(options);
    let root = root(&mut crawl);
    for _ in 0..3 {
        crawl.begin(root.clone(), Instant::now()).unwrap();
        crawl.uncount_visit();
    }
    let (job, row) = crawl.seed(&Url::parse("http://site.test/private").unwrap());
    assert!(row.is_none());
    let error = FetchError::new(ErrorClass::Robots, "no");
    let Completion { row, .. } = crawl.refuse(&job.unwrap(), error);
    assert_eq!((row.outcome, row.status, row.tries), (Outcome::Skipped, None, 0));
    assert_eq!((row.depth, row.referrer), (1, None));
    let (job, _) = crawl.seed(&Url::parse("http://site.test/dead").unwrap());
    let error = FetchError::new(ErrorClass::Dns, "no such host");
    let Completion { row, .. } = crawl.refuse(&job.unwrap(), error);
    assert_eq!((row.outcome, row.is_broken()), (Outcome::Failed, true));
    let mut visit = crawl.begin(root.clone(), Instant::now()).unwrap();
    respond(&mut visit, page("", "").as_bytes());
    crawl.complete(&mut visit, Instant::now());
    assert!(crawl.begin(root, Instant::now()).is_none());
    let ending = crawl.end(0, None);
    assert_eq!((ending.done, ending.todo, ending.peak_in_flight), (3, 1, 1));
}

#[test]
fn urls_of_a_sitemap_pass_admission() {
    let mut options = options();
    options.settings.max_depth = Some(1);
    options.settings.include = vec!["page".parse().unwrap()];
    let mut crawl = Crawl::new(options);
    root(&mut crawl);
    let mut seed = |url: &str| {
        let (job, row) = crawl.seed(&Url::parse(url).unwrap());
        (job.map(|job| job.depth), row.map(|row| row.error.unwrap().class))
    };
    assert_eq!(seed("http://site.test/page#part"), (Some(1), None));
    assert_eq!(seed("http://site.test/page"), (None, None), "once");
    assert_eq!(seed("http://elsewhere.test/page"), (None, None), "of the site");
    assert_eq!(seed("http://site.test/other"), (None, None), "included");
    let trap = format!("http://site.test/page{}", "/again".repeat(40));
    assert_eq!(seed(&trap), (None, Some(ErrorClass::Trap)));
}

fn file(limit: u64, response: &[u8]) -> Result<SiteFile, FetchError> {
    let url = Url::parse("http://site.test/robots.txt").unwrap();
    let mut visit = Visit::for_file(&url, limit, &options(), Instant::now());
    respond(&mut visit, response);
    visit.into_site_file()
}

#[test]
fn a_site_file_is_returned_unchanged() {
    let whole = file(5, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde").unwrap();
    assert_eq!((whole.status, &*whole.body, whole.is_whole), (200, &b"abcde"[..], true));
    let html = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<a href=x>";
    assert_eq!(file(99, html).unwrap().body, b"<a href=x>");
    let missing = file(99, b"HTTP/1.1 404 Not Found\r\n\r\nno").unwrap();
    assert_eq!((missing.status, &*missing.body, missing.next_url), (404, &b""[..], None));
    let moved = file(99, b"HTTP/1.1 301 Moved\r\nLocation: //b.test/x\r\n\r\n").unwrap();
    assert_eq!(moved.next_url.unwrap().as_str(), "http://b.test/x");
    let nowhere = file(99, b"HTTP/1.1 302 Found\r\n\r\n").unwrap();
    assert_eq!((nowhere.status, nowhere.next_url), (302, None));
    let busy = file(99, b"HTTP/1.1 503 Busy\r\nRetry-After: 9\r\n\r\n").unwrap();
    assert_eq!(
        (busy.status, busy.deferral.unwrap().retry_after),
        (503, Some(Duration::from_secs(9)))
    );
}

#[test]
fn only_the_beginning_of_a_long_file_is_kept() {
    for framing in ["", "Content-Length: 10\r\n", "Content-Length: 99999999999\r\n"] {
        let response = format!("HTTP/1.1 200 OK\r\n{framing}\r\nabcdefghij");
        let file = file(4, response.as_bytes()).unwrap();
        assert_eq!((&*file.body, file.is_whole), (&b"abcd"[..], false), "{framing}");
    }
}

/// Its own limit is enough: a window of 16 MiB beside it is no reason to cut it.
#[test]
fn a_file_in_br_may_be_as_long_as_any_other() {
    let length = 49 << 20;
    let body = brotli(&vec![b'x'; length]);
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length:";
    let response = [format!("{head} {}\r\n\r\n", body.len()).as_bytes(), &body].concat();
    let file = file(50 << 20, &response).unwrap();
    assert_eq!((file.body.len(), file.is_whole), (length, true));
}

#[test]
fn a_failed_site_file_returns_its_error() {
    for (response, class) in [
        (&b""[..], ErrorClass::Closed),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", ErrorClass::Truncated),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: odd\r\n\r\nabc", ErrorClass::Decode),
        (b"nonsense", ErrorClass::Protocol),
    ] {
        let url = Url::parse("http://site.test/robots.txt").unwrap();
        let mut once = options();
        once.settings.max_tries = 1;
        let mut visit = Visit::for_file(&url, 9, &once, Instant::now());
        respond(&mut visit, response);
        assert_eq!(visit.into_site_file().unwrap_err().class, class);
    }
}
