//! Tests of whole crawls, of sites that a function generates.

use std::collections::{HashSet, VecDeque};
use std::mem;
use std::sync::mpsc;
use std::time::Instant;

use crawl_core::{
    Crawl, CrawlSummary, ErrorClass, Job, Options, Outcome, Report, Row, Sink, TrapLimits,
};
use url::Url;

/// A limit far above the number of fetches that any of these sites may need.
const MAX_FETCHES: usize = 20_000;

/// The reply of a server: the links of a page, the target of a redirect, or a
/// status.
enum Reply {
    Links(Vec<String>),
    Redirect(String),
    Status(u16),
}

fn links<const N: usize>(links: [&str; N]) -> Reply {
    Reply::Links(links.map(str::to_owned).into())
}

/// Crawls a site that replies at once, and checks the invariants of every crawl.
fn crawl(options: Options, site: impl Fn(&Url) -> Reply) -> (Vec<Row>, CrawlSummary) {
    let (sender, rows) = mpsc::channel();
    let mut sink: Sink = Box::new(move |row| sender.send(row).unwrap());
    let mut crawl = Crawl::new(options.clone());
    let mut todo: VecDeque<Job> = crawl.roots(&mut sink).into();
    let mut fetched = 0;
    while let Some(job) = todo.pop_front() {
        fetched += 1;
        assert!(fetched < MAX_FETCHES, "it does not end: {}", job.url);
        let Some(mut visit) = crawl.begin(job, Instant::now()) else { continue };
        let response = match site(&visit.url().as_str().parse().unwrap()) {
            Reply::Links(links) => {
                let html: String = links.iter().map(|l| format!("<a href='{l}'>x</a>")).collect();
                let length = html.len();
                format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n{html}"
                )
            }
            Reply::Status(status) => {
                format!("HTTP/1.1 {status} Why\r\nContent-Length: 0\r\n\r\n")
            }
            Reply::Redirect(to) => {
                format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
            }
        };
        visit.request(&options, false);
        assert!(visit.receive(response.as_bytes()).is_break());
        visit.judge(Ok(()));
        let mut completion = crawl.complete(&mut visit, Instant::now());
        todo.extend(mem::take(&mut completion.jobs));
        completion.rows().for_each(&mut sink);
    }
    drop(sink);
    let rows: Vec<Row> = rows.iter().collect();
    let summary = crawl.end(0, None);
    assert_eq!(summary.done, rows.len() as u64);
    assert_eq!(summary.admission.seen() as u64, summary.done + summary.todo);
    let urls: HashSet<&str> = rows.iter().map(|row| &*row.url).collect();
    assert_eq!(urls.len(), rows.len(), "one row for each URL");
    for row in rows.iter().filter(|row| row.outcome == Outcome::Skipped) {
        assert_eq!(row.error.as_ref().unwrap().class, ErrorClass::Trap);
        assert_eq!((row.status, row.tries, row.is_broken()), (None, 0, false));
    }
    (rows, summary)
}

fn options() -> Options {
    let mut options = Options::new(vec![Url::parse("http://site.test/").unwrap()]);
    // The defaults end such a site as well, only later.
    options.settings.traps =
        TrapLimits { variants: 500, below: 500, near: 50, ..TrapLimits::default() };
    options
}

fn skipped(rows: &[Row]) -> Vec<&Row> {
    rows.iter().filter(|row| row.outcome == Outcome::Skipped).collect()
}

/// Returns a random number that is always the same for the same URL and `n`.
fn random(url: &Url, n: usize) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (url.as_str(), n).hash(&mut hasher);
    hasher.finish()
}

#[test]
fn a_calendar_in_the_query_ends() {
    let (rows, _) = crawl(options(), |url| {
        let month: u32 = url.query().map_or(0, |query| query[6..].parse().unwrap());
        Reply::Links(vec![format!("/calendar?month={}", month + 1), "/".into()])
    });
    // 50 URLs near the root count once, and each one beyond counts 20 times.
    let last = 50 + (500 - 50) / TrapLimits::FAR_COST as usize;
    assert_eq!(rows.len(), 1 + last + 1);
    let skipped = skipped(&rows);
    assert_eq!(skipped.len(), 1);
    assert_eq!(&*skipped[0].url, format!("http://site.test/calendar?month={}", last + 1));
    let referrer = format!("http://site.test/calendar?month={last}");
    assert_eq!(skipped[0].referrer.as_ref(), Some(&referrer));
    let message = &skipped[0].error.as_ref().unwrap().message;
    assert_eq!(message, "too many variants of site.test/calendar");
}

#[test]
fn a_calendar_in_the_path_ends() {
    let (rows, _) = crawl(options(), |url| {
        let mut parts = url.path().split('/').skip(2).map(|part| part.parse().unwrap());
        let (year, month) = (parts.next().unwrap_or(2024_u32), parts.next().unwrap_or(1_u32));
        let (next, day) = (month % 12 + 1, month % 28 + 1);
        let year = year + month / 12;
        Reply::Links(vec![format!("/cal/{year}/{next}"), format!("/cal/{year}/{next}/{day}")])
    });
    assert!(!skipped(&rows).is_empty());
    assert!(rows.len() < 200, "{}", rows.len());
}

#[test]
fn a_link_that_makes_the_path_longer_and_longer_ends() {
    for (link, expected) in [("about/", 3), ("a/b/", 3), ("../x/a/b/", 3), ("./%20/", 3)] {
        let (rows, _) = crawl(options(), |_| links([link]));
        assert_eq!(skipped(&rows).len(), 1, "{link}");
        assert_eq!(rows.len(), expected + 1, "{link}: {rows:#?}");
    }
    let (rows, _) = crawl(options(), |url| {
        Reply::Links(vec![format!("{}/", random(url, 0)), format!("{}/", random(url, 1) % 2)])
    });
    assert!(!skipped(&rows).is_empty());
}

#[test]
fn sites_with_session_identifiers_end() {
    let forms = ["/page{}?sid=N", "/page;jsessionid=N", "/a/s-N/page{}", "http://N@site.test/"];
    for form in forms {
        let (rows, _) = crawl(options(), |url| {
            let link = |n: usize| {
                let page = form.replace("{}", &n.to_string());
                page.replace('N', &random(url, n).to_string())
            };
            Reply::Links((0..3).map(link).collect())
        });
        assert!(!skipped(&rows).is_empty(), "{form}");
    }
}

#[test]
fn redirect_targets_are_checked_for_traps() {
    let (rows, _) = crawl(options(), |url| match url.path() {
        "/" => links(["/in/"]),
        _ => Reply::Redirect(format!("{}in/", url.path())),
    });
    let skipped = skipped(&rows);
    assert_eq!(&*skipped[0].url, "http://site.test/in/in/in/");
    assert_eq!(skipped[0].referrer.as_deref(), Some("http://site.test/in/in/"));
    assert_eq!(rows.len(), 4);
}

#[test]
fn a_root_may_be_refused() {
    let mut options = options();
    options.settings.roots = [Url::parse("http://site.test/a/a/a/").unwrap()].into();
    let (rows, summary) = crawl(options, |_| links([]));
    assert_eq!((rows.len(), summary.done), (1, 1));
    assert_eq!((rows[0].outcome, rows[0].depth, &rows[0].referrer), (Outcome::Skipped, 0, &None));
    let mut report = Report::new();
    report.count(&rows[0]);
    assert_eq!((report.broken(), report.every_root_failed()), (0, true));
}

#[test]
fn a_row_says_how_many_urls_a_page_links_to() {
    let mut options = options();
    options.settings.max_depth = Some(1);
    options.settings.exclude = vec!["excluded".parse().unwrap()];
    let (rows, summary) = crawl(options, |url| match url.path() {
        "/" => links([
            "/1",
            "/1#x",
            "/./1",
            "/2",
            "/",
            "/a/a/a/",
            "/a/a/a/",
            "/excluded",
            "mailto:x@x.test",
            "http://else.test/",
        ]),
        "/1" => links(["/", "/2", "/deep", "/deep?2", "/deep"]),
        _ => links(["/deep"]),
    });
    let counts = |path: &str| {
        let url = format!("http://site.test{path}");
        let row = rows.iter().find(|row| *row.url == *url).unwrap();
        (row.num_urls, row.num_new_urls)
    };
    assert_eq!(counts("/"), (4, 3), "1, 2, itself and a trap");
    assert_eq!(counts("/1"), (4, 0));
    assert_eq!(counts("/2"), (1, 0));
    assert_eq!((summary.done, summary.todo, summary.too_deep), (4, 0, 2));
}

#[test]
fn skipped_urls_are_counted() {
    let mut options = options();
    options.settings.max_depth = Some(1);
    let (rows, summary) = crawl(options, |_| links(["a/a/a/", "b?c"]));
    let mut report = Report::new();
    rows.iter().for_each(|row| report.count(row));
    let counts: Vec<_> = report.counts().filter(|(name, _)| name.starts_with("skip")).collect();
    assert_eq!(counts, [("skip", 1), ("skip_trap", 1)]);
    assert_eq!((summary.todo, summary.done, report.broken()), (0, 3, 0));
}

#[test]
fn a_status_that_the_user_accepts_is_not_broken() {
    let mut options = options();
    options.settings.accept = vec![403..=403, 500..=503];
    for (status, is_broken) in [(403, false), (404, true), (502, false), (504, true)] {
        let (rows, _) = crawl(options.clone(), |_| Reply::Status(status));
        assert_eq!((rows[0].outcome, rows[0].is_broken()), (Outcome::HttpError, is_broken));
        // All links to what is broken are kept, and else one.
        let (_, summary) = crawl(options.clone(), |url| match url.path() {
            "/" => links(["/a", "/b", "/x"]),
            "/x" => Reply::Status(status),
            _ => links(["/x"]),
        });
        let (referrers, _) = summary.admission.referrers("http://site.test/x");
        assert_eq!(referrers.len(), if is_broken { 3 } else { 1 }, "{status}");
    }
}

/// A user who starts at `example.org` and is redirected to `example.com` must
/// learn why there are no pages.
#[test]
fn a_root_that_redirects_off_the_site_is_a_warning() {
    let (_, summary) = crawl(options(), |url| match url.path() {
        "/" => Reply::Redirect("/moved".into()),
        _ => Reply::Redirect("http://other.test/?q#f".into()),
    });
    assert_eq!(
        summary.problem.as_deref(),
        Some(
            "http://site.test/moved redirects to http://other.test/?q, which is not part of the site: \
             to crawl it, use it as a start URL, or add --follow-root"
        )
    );
    // A link that leads off the site is no warning.
    let (_, summary) = crawl(options(), |url| match url.path() {
        "/" => links(["/away"]),
        _ => Reply::Redirect("http://other.test/".into()),
    });
    assert_eq!(summary.problem, None);
}

/// It is one only if no page was read, and only where links are followed.
#[test]
fn a_root_that_redirects_to_what_is_left_out_is_a_problem() {
    let problem = |target: &str, change: &dyn Fn(&mut Options)| {
        let mut options = options();
        change(&mut options);
        let site = |url: &Url| match url.path() {
            "/" => Reply::Redirect(target.to_owned()),
            _ => links([]),
        };
        crawl(options, site).1.problem
    };
    let exclude = |options: &mut Options| options.settings.exclude = vec!["login".parse().unwrap()];
    assert_eq!(
        problem("/login", &exclude).as_deref(),
        Some("http://site.test/ redirects to http://site.test/login, which is not crawled")
    );
    let trap = problem("/a/a/a/", &|_| ()).unwrap();
    assert!(trap.contains("/a/a/a/, which is not crawled: crawler trap: "), "{trap}");
    assert_eq!(problem("/login", &|_| ()), None);
    for change in [
        &|options: &mut Options| {
            let root = "http://site.test/2".parse().unwrap();
            options.settings.roots = options.settings.roots.iter().cloned().chain([root]).collect();
        },
        &|options: &mut Options| options.settings.max_depth = Some(0),
        // Its row is broken.
        &|options: &mut Options| options.settings.max_redirect = 0,
    ] as [&dyn Fn(&mut Options); 3]
    {
        let both = |options: &mut Options| {
            exclude(options);
            change(options);
        };
        assert_eq!(problem("/login", &both), None);
    }
}

/// A hundred warnings hide neither what the result lacks, nor a second problem, nor their
/// number.
#[test]
fn what_was_left_out_is_told_after_a_hundred_other_warnings() {
    let mut options = options();
    (options.settings.max_pages_per_host, options.settings.check.relations) = (Some(1), true);
    let mut crawl = Crawl::new(options.clone());
    (0..105).for_each(|n| crawl.warn(format!("early {n}")));
    let root = crawl.roots(&mut |_| ()).remove(0);
    let mut visit = crawl.begin(root, Instant::now()).unwrap();
    visit.request(&options, false);
    // A page with more links in its head than are taken.
    let (html, links) = ("<a href=/1>x</a>", "\"/\",".repeat(1_100));
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length";
    let response = format!("{head}: {}\r\nSpeculation-Rules: {links}\r\n\r\n{html}", html.len());
    assert!(visit.receive(response.as_bytes()).is_break());
    visit.judge(Ok(()));
    crawl.complete(&mut visit, Instant::now());
    ["one problem", "another"].into_iter().for_each(|problem| crawl.fail(problem.to_owned()));
    let CrawlSummary { warnings, problem, .. } = crawl.end(0, None);
    assert_eq!(problem.as_deref(), Some("one problem"));
    assert!(warnings[0].contains("/ has more links than fit into memory"), "{warnings:?}");
    assert!(warnings[2].ends_with("other new links not followed: 1"), "{warnings:?}");
    assert_eq!((warnings.len(), &*warnings[1], &*warnings[3]), (101, "another", "early 0"));
    assert_eq!(warnings[100], "8 more warnings are not shown");
}

/// The second end tells nothing again.
#[test]
fn a_crawl_may_be_ended_twice() {
    let mut crawl = Crawl::new(options());
    ["one problem", "another"].into_iter().for_each(|problem| crawl.fail(problem.to_owned()));
    (0..105).for_each(|n| crawl.warn(format!("early {n}")));
    assert_eq!(crawl.end(0, None).warnings.len(), 101);
    assert_eq!(crawl.end(0, None).warnings, [""; 0]);
}

/// If many URLs are known, the admission prefetches the records of all links of a
/// page before it decides about the first one.
#[test]
fn the_prefetch_does_not_change_any_decision() {
    let counts = [10, 17_000].map(|many| {
        let mut options = Options::new(vec![Url::parse("http://site.test/").unwrap()]);
        options.max_pages = Some(2);
        options.settings.strip_query = vec!["s".into()];
        let (rows, summary) = crawl(options, |url| match url.path() {
            "/" => Reply::Links((0..many).map(|n| format!("/{n}")).collect()),
            _ => links([
                "/5",
                "/5?s=1",
                "/6#a",
                "/new",
                "/new",
                "http://[",
                "http://else.test/",
                "/0?s&b",
            ]),
        });
        let row = rows.iter().find(|row| &*row.url == "http://site.test/0").unwrap();
        let (first, count) = summary.admission.referrers("http://site.test/5");
        let first: Vec<String> = first.iter().map(|referrer| referrer.url.to_owned()).collect();
        (row.num_urls, row.num_new_urls, first, count, summary.admission.seen() - many)
    });
    assert_eq!(counts[0], counts[1]);
    let first = ["http://site.test/", "http://site.test/0"].map(str::to_owned).into();
    // Among those seen is one that is not a URL.
    assert_eq!(counts[0], (4, 2, first, 2, 4));
}
