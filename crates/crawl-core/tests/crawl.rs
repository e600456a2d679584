//! A whole crawl, of sites that are made up as one goes along.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::{HashSet, VecDeque};
use std::sync::mpsc;
use std::time::Instant;

use crawl_core::{
    Conclusion, Crawl, Ending, ErrorClass, Job, Options, Outcome, Report, Row, Sink, TrapLimits,
};
use url::Url;

/// Far more than any of these sites may cost.
const TOO_MANY: usize = 20_000;

/// What a page links to, or where it redirects to.
enum Answer {
    Links(Vec<String>),
    Redirect(String),
    Status(u16),
}

fn links<const N: usize>(links: [&str; N]) -> Answer {
    Answer::Links(links.map(str::to_owned).into())
}

/// Crawls a site that answers at once, and checks what holds for every crawl.
fn crawl(options: Options, site: impl Fn(&Url) -> Answer) -> (Vec<Row>, Ending) {
    let (sender, rows) = mpsc::channel();
    let mut sink: Sink = Box::new(move |row| sender.send(row).unwrap());
    let mut crawl = Crawl::new(options.clone());
    let mut todo: VecDeque<Job> = crawl.roots(&mut sink).into();
    let mut fetched = 0;
    while let Some(job) = todo.pop_front() {
        fetched += 1;
        assert!(fetched < TOO_MANY, "it does not end: {}", job.url);
        let Some(mut visit) = crawl.begin(job, Instant::now()) else { continue };
        let response = match site(&visit.url().as_str().parse().unwrap()) {
            Answer::Links(links) => {
                let html: String = links.iter().map(|l| format!("<a href='{l}'>x</a>")).collect();
                let length = html.len();
                format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n{html}"
                )
            }
            Answer::Status(status) => {
                format!("HTTP/1.1 {status} Why\r\nContent-Length: 0\r\n\r\n")
            }
            Answer::Redirect(to) => {
                format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
            }
        };
        visit.request(&options, false);
        visit.receive(response.as_bytes()).unwrap();
        visit.judge(Ok(()));
        let Conclusion { row, others, jobs, .. } = crawl.conclude(visit, Instant::now());
        todo.extend(jobs);
        others.into_iter().chain([row]).for_each(&mut sink);
    }
    drop(sink);
    let rows: Vec<Row> = rows.iter().collect();
    let ending = crawl.end(0, None);
    assert_eq!(ending.done, rows.len() as u64);
    assert_eq!(ending.admission.seen() as u64, ending.done + ending.todo);
    let urls: HashSet<&str> = rows.iter().map(|row| &*row.url).collect();
    assert_eq!(urls.len(), rows.len(), "one row for each URL");
    for row in rows.iter().filter(|row| row.outcome == Outcome::Skipped) {
        assert_eq!(row.error.as_ref().unwrap().class, ErrorClass::Trap);
        assert_eq!((row.status, row.tries, row.is_broken()), (None, 0, false));
    }
    (rows, ending)
}

fn options() -> Options {
    let mut options = Options::new(vec![Url::parse("http://site.test/").unwrap()]);
    // The defaults end such a site as well, only later.
    options.traps = TrapLimits { variants: 500, below: 500, near: 50, ..TrapLimits::default() };
    options
}

fn skipped(rows: &[Row]) -> Vec<&Row> {
    rows.iter().filter(|row| row.outcome == Outcome::Skipped).collect()
}

/// Anything, but always the same for the same URL and number.
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
        Answer::Links(vec![format!("/calendar?month={}", month + 1), "/".into()])
    });
    // 50 clicks near the root, and each one beyond that counts 20 times.
    let last = 50 + (500 - 50) / TrapLimits::FAR_COST as usize;
    assert_eq!(rows.len(), 1 + last + 1);
    let skipped = skipped(&rows);
    assert_eq!(skipped.len(), 1);
    assert_eq!(&*skipped[0].url, format!("http://site.test/calendar?month={}", last + 1));
    let referrer = format!("http://site.test/calendar?month={last}");
    assert_eq!(skipped[0].referrer.as_ref(), Some(&referrer));
    let message = &skipped[0].error.as_ref().unwrap().message;
    assert_eq!(message, "there are too many variants of site.test/calendar");
}

#[test]
fn a_calendar_in_the_path_ends() {
    let (rows, _) = crawl(options(), |url| {
        let mut parts = url.path().split('/').skip(2).map(|part| part.parse().unwrap());
        let (year, month) = (parts.next().unwrap_or(2024_u32), parts.next().unwrap_or(1_u32));
        let (next, day) = (month % 12 + 1, month % 28 + 1);
        let year = year + month / 12;
        Answer::Links(vec![format!("/cal/{year}/{next}"), format!("/cal/{year}/{next}/{day}")])
    });
    assert!(!skipped(&rows).is_empty());
    assert!(rows.len() < 200, "{}", rows.len());
}

#[test]
fn a_link_that_makes_the_path_longer_and_longer_ends() {
    for (link, most) in [("about/", 3), ("a/b/", 3), ("../x/a/b/", 3), ("./%20/", 3)] {
        let (rows, _) = crawl(options(), |_| links([link]));
        assert_eq!(skipped(&rows).len(), 1, "{link}");
        assert_eq!(rows.len(), most + 1, "{link}: {rows:#?}");
    }
    let (rows, _) = crawl(options(), |url| {
        Answer::Links(vec![format!("{}/", random(url, 0)), format!("{}/", random(url, 1) % 2)])
    });
    assert!(!skipped(&rows).is_empty());
}

#[test]
fn identifiers_of_visits_end() {
    let forms = ["/page{}?sid=N", "/page;jsessionid=N", "/a/s-N/page{}", "http://N@site.test/"];
    for form in forms {
        let (rows, _) = crawl(options(), |url| {
            let link = |n: usize| {
                let page = form.replace("{}", &n.to_string());
                page.replace('N', &random(url, n).to_string())
            };
            Answer::Links((0..3).map(link).collect())
        });
        assert!(!skipped(&rows).is_empty(), "{form}");
    }
}

#[test]
fn redirects_fall_into_traps_too() {
    let (rows, _) = crawl(options(), |url| match url.path() {
        "/" => links(["/in/"]),
        _ => Answer::Redirect(format!("{}in/", url.path())),
    });
    let skipped = skipped(&rows);
    assert_eq!(&*skipped[0].url, "http://site.test/in/in/in/");
    assert_eq!(skipped[0].referrer.as_deref(), Some("http://site.test/in/in/"));
    assert_eq!(rows.len(), 4);
}

#[test]
fn a_root_may_be_refused() {
    let mut options = options();
    options.roots = vec![Url::parse("http://site.test/a/a/a/").unwrap()];
    let (rows, ending) = crawl(options, |_| links([]));
    assert_eq!((rows.len(), ending.done), (1, 1));
    assert_eq!((rows[0].outcome, rows[0].depth, &rows[0].referrer), (Outcome::Skipped, 0, &None));
    let mut report = Report::new();
    report.count(&rows[0]);
    assert_eq!((report.broken(), report.every_root_failed()), (0, true));
}

#[test]
fn a_row_says_how_many_urls_a_page_links_to() {
    let mut options = options();
    options.max_depth = Some(1);
    options.exclude = vec!["excluded".parse().unwrap()];
    let (rows, ending) = crawl(options, |url| match url.path() {
        "/" => links([
            "/1",
            "/1#x",
            "/./1",
            "/2",
            "/",
            "/a/a/a/",
            "/a/a/a/",
            "/excluded",
            "mailto:x",
            "http://else.test/",
        ]),
        "/1" => links(["/", "/2", "/deep", "/deep?2", "/deep"]),
        _ => links(["/deep"]),
    });
    let told = |path: &str| {
        let url = format!("http://site.test{path}");
        let row = rows.iter().find(|row| *row.url == *url).unwrap();
        (row.num_urls, row.num_new_urls)
    };
    assert_eq!(told("/"), (4, 3), "1, 2, itself and a trap");
    assert_eq!(told("/1"), (4, 0));
    assert_eq!(told("/2"), (1, 0));
    assert_eq!((ending.done, ending.todo, ending.too_deep), (4, 0, 2));
}

#[test]
fn what_was_left_out_is_counted() {
    let mut options = options();
    options.max_depth = Some(1);
    let (rows, ending) = crawl(options, |_| links(["a/a/a/", "b?c"]));
    let mut report = Report::new();
    rows.iter().for_each(|row| report.count(row));
    let counts: Vec<_> = report.counts().filter(|(name, _)| name.starts_with("skip")).collect();
    assert_eq!(counts, [("skip", 1), ("skip_trap", 1)]);
    assert_eq!((ending.todo, ending.done, report.broken()), (0, 3, 0));
}

#[test]
fn a_status_that_the_user_accepts_is_not_broken() {
    let mut options = options();
    options.accept = vec![403..=403, 500..=503];
    for (status, is_broken) in [(403, false), (404, true), (502, false), (504, true)] {
        let (rows, _) = crawl(options.clone(), |_| Answer::Status(status));
        assert_eq!((rows[0].outcome, rows[0].is_broken()), (Outcome::HttpError, is_broken));
    }
}

/// A user who names `example.org` and is sent to `example.com` wants to hear why
/// there are no pages.
#[test]
fn a_root_that_leads_away_is_said() {
    let (_, ending) = crawl(options(), |url| match url.path() {
        "/" => Answer::Redirect("/moved".into()),
        _ => Answer::Redirect("http://other.test/?q#f".into()),
    });
    assert_eq!(
        ending.warnings,
        ["http://site.test/moved redirects to http://other.test/?q, which is not of the site: \
          to crawl that, begin there"]
    );
    // That a link leads away is nothing to speak of.
    let (_, ending) = crawl(options(), |url| match url.path() {
        "/" => links(["/away"]),
        _ => Answer::Redirect("http://other.test/".into()),
    });
    assert!(ending.warnings.is_empty());
}

/// Where many URLs are known, the door looks at all that a page leads to before
/// it decides about the first of it. That makes no difference to anybody.
#[test]
fn what_a_page_leads_to_does_not_depend_on_how_much_is_known() {
    let counts = [10, 17_000].map(|many| {
        let mut options = Options::new(vec![Url::parse("http://site.test/").unwrap()]);
        options.max_pages = Some(2);
        options.strip_query = vec!["s".into()];
        let (rows, ending) = crawl(options, |url| match url.path() {
            "/" => Answer::Links((0..many).map(|n| format!("/{n}")).collect()),
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
        let (first, count) = ending.admission.referrers("http://site.test/5");
        let first: Vec<String> = first.iter().map(|referrer| referrer.url.to_owned()).collect();
        (row.num_urls, row.num_new_urls, first, count, ending.admission.seen() - many)
    });
    assert_eq!(counts[0], counts[1]);
    let first = ["http://site.test/", "http://site.test/0"].map(str::to_owned).into();
    assert_eq!(counts[0], (4, 2, first, 2, 3));
}
