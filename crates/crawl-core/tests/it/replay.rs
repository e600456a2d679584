//! Tests of replay: a crawl that is resumed from a journal equals one that was
//! never interrupted.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crawl_core::{
    Completion, Crawl, CrawlSummary, ErrorClass, ExternalVerdict, FetchError, Finished, Job,
    JournalEntry, LocalAdmission, Options, OutLink, Outcome, Row, Sink, TrapLimits,
    UncheckedReason, Verdict,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// The reply for the URL of each number: the links of a page, a page, or the target of a
/// redirect.
#[derive(Clone, Debug)]
enum Reply {
    Links(Vec<String>),
    Page(String),
    Redirect(String),
}

fn replies() -> impl Strategy<Value = Vec<Reply>> {
    let target = prop_oneof![
        8 => (0..24_usize).prop_map(|n| format!("/{n}")),
        2 => (0..24_usize).prop_map(|n| format!("http://user@site.test/{n}")),
        1 => (0..4_usize).prop_map(|n| format!("//site.test//{n}")),
        1 => (0..8_usize).prop_map(|n| format!("/1?b=%20ü&x={n}")),
        1 => (0..4_usize).prop_map(|n| format!("/a/a/a/{n}")),
        3 => (0..24_usize, 0..4_usize).prop_map(|(n, id)| format!("/{n}#id{id}")),
        2 => (0..24_usize).prop_map(|n| format!("http://elsewhere.test/{n}")),
        1 => Just("/excluded".to_owned()),
    ];
    let answer = prop_oneof![
        3 => vec(target.clone(), 0..6).prop_map(Reply::Links),
        1 => target.prop_map(Reply::Redirect),
    ];
    vec(answer, 24)
}

/// A crawl that is driven step by step, with its queue, rows and journal.
struct TestCrawl {
    crawl: Crawl,
    todo: VecDeque<Job>,
    rows: Arc<Mutex<Vec<Row>>>,
    sink: Sink,
    /// The entries of the journal, as JSON.
    records: Vec<String>,
}

impl TestCrawl {
    fn new(options: &Options) -> Self {
        let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
        let received = Arc::clone(&rows);
        let mut sink: Sink = Box::new(move |row| received.lock().unwrap().push(row));
        let mut crawl = Crawl::new(options.clone());
        crawl.keep_out_links();
        let todo = crawl.roots(&mut sink).into();
        Self { crawl, todo, rows, sink, records: Vec::new() }
    }

    /// Completes one URL; returns false if none is queued.
    fn step(&mut self, site: &[Reply], begun: Instant) -> bool {
        let Some(job) = self.todo.pop_front() else { return false };
        let Some(mut visit) = self.crawl.begin(job.clone(), begun) else { return true };
        let number: usize = visit.url().path().trim_start_matches('/').parse().unwrap_or(0);
        loop {
            let request = visit.request(&self.crawl.options().clone(), false);
            let is_head = request.starts_with(b"HEAD ");
            let response = response(site.get(number), is_head);
            assert!(visit.receive(response.as_bytes()).is_break());
            if visit.judge(Ok(())) == Verdict::Finished {
                break;
            }
        }
        let completion = self.crawl.complete(&mut visit, begun);
        self.records.push(record_of(&job, &completion));
        self.take(completion);
        true
    }

    fn replay(&mut self, records: &[String]) {
        for record in records {
            let entry: JournalEntry<'_> = serde_json::from_str(record).unwrap();
            let url = Arc::clone(&entry.row.url);
            let completion = self.crawl.replay(entry);
            self.todo.retain(|job| job.url != url);
            self.take(completion);
        }
    }

    fn take(&mut self, mut completion: Completion) {
        self.todo.extend(mem::take(&mut completion.jobs));
        completion.rows().for_each(&mut self.sink);
    }

    fn end(mut self) -> (Vec<Row>, CrawlSummary) {
        let summary = self.crawl.end(self.todo.len(), None);
        let rows = self.rows.lock().unwrap().clone();
        assert_eq!(summary.done, rows.len() as u64);
        let urls = summary.done - summary.missing_fragments + summary.todo;
        assert_eq!(summary.admission.seen() as u64, urls);
        (rows, summary)
    }
}

/// Returns the bytes of a response. Each page has three ids, and loads the target
/// of its last link as an image.
/// Returns the record of a completion in the journal.
fn record_of(job: &Job, completion: &Completion) -> String {
    let entry = JournalEntry {
        content: completion.content,
        sets_cookie: completion.sets_cookie,
        lacks: Cow::Borrowed(&completion.lacks),
        row: Cow::Borrowed(&completion.row),
        purpose: job.purpose,
        redirects_left: job.redirects_left,
        out_links: Cow::Borrowed(&completion.out_links),
        ids: Cow::Borrowed(&completion.ids),
    };
    serde_json::to_string(&entry).unwrap()
}

fn response(answer: Option<&Reply>, is_head: bool) -> String {
    let (status, html) = match answer {
        None => ("404 Not Found", String::new()),
        Some(Reply::Redirect(to)) => {
            return format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
        }
        Some(Reply::Page(html)) => ("200 OK", html.clone()),
        Some(Reply::Links(links)) => {
            let ids = "<p id=id0>\n<p id=id1><p id=id2>";
            let html: String =
                links.iter().map(|l| format!("<a href='{l}'>to {l}</a>\n")).collect();
            let last = links.last().map(|last| format!("<img src='{last}'>"));
            ("200 OK", format!("{ids}{html}{}", last.unwrap_or_default()))
        }
    };
    let length = html.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n\r\n"
    );
    if is_head { head } else { head + &html }
}

fn options(max_depth: Option<u32>) -> Options {
    let mut options = Options::new(vec!["http://site.test/0".parse().unwrap()]);
    options.settings.max_depth = max_depth;
    options.settings.max_redirect = 2;
    options.settings.exclude = vec!["excluded".parse().unwrap()];
    options.settings.strip_query = vec!["b".into()];
    options.settings.traps = TrapLimits { variants: 3, ..TrapLimits::default() };
    options
}

proptest! {
    #[test]
    fn a_resumed_crawl_equals_an_uninterrupted_one(
        site in replies(),
        max_depth in prop_oneof![Just(None), (0..4_u32).prop_map(Some)],
        steps in 0..40_usize,
        check in any::<[bool; 3]>(),
    ) {
        let mut options = options(max_depth);
        [options.settings.external, options.settings.check.images, options.settings.check.fragments] = check;
        let begun = Instant::now();
        let mut uninterrupted = TestCrawl::new(&options);
        for _ in 0..steps {
            uninterrupted.step(&site, begun);
        }
        let mut resumed = TestCrawl::new(&options);
        resumed.replay(&uninterrupted.records);
        // The resumed crawl has the same jobs, in the same order.
        prop_assert_eq!(resumed.todo.make_contiguous(), uninterrupted.todo.make_contiguous());
        while uninterrupted.step(&site, begun) {}
        while resumed.step(&site, begun) {}
        let (rows, summary) = uninterrupted.end();
        let (rows_resumed, summary_resumed) = resumed.end();
        prop_assert_eq!(&rows_resumed, &rows);
        prop_assert_eq!(summary_resumed.too_deep, summary.too_deep);
        for row in &rows {
            let referrers = summary.admission.referrers(&row.url);
            prop_assert_eq!(summary_resumed.admission.referrers(&row.url), referrers);
        }
    }
}

#[test]
fn a_journal_entry_without_a_referrer_is_replayed() {
    let mut crawl = TestCrawl::new(&options(None));
    let site = [Reply::Links(vec!["/1".into()]), Reply::Links(vec!["/2".into()])];
    while crawl.step(&site, Instant::now()) {}
    let mut resumed = TestCrawl::new(&options(None));
    // As if the URL had been found in a sitemap.
    resumed.replay(&crawl.records[1..2]);
    let urls: Vec<_> = resumed.todo.iter().map(|job| job.url.to_string()).collect();
    assert_eq!(urls, ["http://site.test/0", "http://site.test/2"]);
    assert_eq!(resumed.rows.lock().unwrap().len(), 1);
    while resumed.step(&site, Instant::now()) {}
    assert_eq!(resumed.end().1.done, 3);
}

/// With levels, an image is a shorter way than a link, also on the page that has both,
/// in whatever order pages are fetched, and in a crawl that is resumed.
#[test]
fn what_is_linked_to_and_loaded_has_the_depth_of_its_page() {
    let links = |targets: &[&str]| Reply::Links(targets.iter().map(|t| t.to_string()).collect());
    // The last link of a page is its image.
    let sites = [
        [links(&["/1", "/2", "/9"]), links(&["/3", "/9"]), links(&["/3"]), links(&["/4"])],
        [links(&["/2", "/1", "/9"]), links(&["/3", "/9"]), links(&["/3"]), links(&["/4"])],
    ];
    for site in sites {
        let mut options = options(Some(2));
        options.settings.check.images = true;
        let mut whole = TestCrawl::new(&options);
        while whole.step(&site, Instant::now()) {}
        for finished in 0..=whole.records.len() {
            let mut resumed = TestCrawl::new(&options);
            resumed.replay(&whole.records[..finished]);
            while resumed.step(&site, Instant::now()) {}
            let rows = resumed.end().0;
            let depth = |path: &str| rows.iter().find(|r| r.url.ends_with(path)).map(|r| r.depth);
            // As an image of the page 2; a link of an image is a click.
            assert_eq!((depth("/3"), depth("/4")), (Some(1), Some(2)), "{finished}");
        }
    }
}

#[test]
fn a_replayed_skip_does_not_count_as_a_page() {
    let mut options = options(None);
    options.max_pages = Some(1);
    let mut crawl = Crawl::new(options);
    let job = crawl.roots(&mut (Box::new(|_| ()) as Sink)).remove(0);
    let row = r#"{"url":"http://site.test/0","outcome":"skipped","status":null,"next_url":null,
        "error":{"class":"trap","message":"as robots.txt might"},"content_type":null,
        "encoding":null,"size":0,"num_urls":0,"num_new_urls":0,"depth":0,"tries":0,
        "elapsed_ms":0,"referrer":null}"#;
    let record = format!(r#"{{"row":{row},"redirects_left":2}}"#);
    let completion = crawl.replay(serde_json::from_str(&record).unwrap());
    assert_eq!(completion.row.url, job.url);
    crawl.roll_back(&completion);
    let summary = crawl.replay(serde_json::from_str(&record).unwrap()).row.outcome;
    assert_eq!(summary, completion.row.outcome);
    // It does not count for the limit on pages, and is not in flight.
    assert!(crawl.begin(job, Instant::now()).is_some());
    let summary = crawl.end(0, None);
    assert_eq!((summary.done, summary.peak_in_flight), (1, 1));
}

/// The request for robots.txt has shown that the host does not exist.
#[test]
fn a_failure_without_a_request_does_not_count_as_a_page() {
    let mut options = options(None);
    options.max_pages = Some(1);
    let mut crawl = Crawl::new(options);
    let root = crawl.roots(&mut (Box::new(|_| ()) as Sink)).remove(0);
    let row = r#"{"url":"http://site.test/1","outcome":"failed","status":null,"next_url":null,
        "error":{"class":"dns","message":"no such host"},"content_type":null,
        "encoding":null,"size":0,"num_urls":0,"num_new_urls":0,"depth":1,"tries":0,
        "elapsed_ms":0,"referrer":null}"#;
    let record = format!(r#"{{"row":{row},"redirects_left":2}}"#);
    crawl.replay(serde_json::from_str(&record).unwrap());
    assert!(crawl.begin(root.clone(), Instant::now()).is_some());
    assert!(crawl.begin(root, Instant::now()).is_none());
}

/// Neither in the crawl that has it from a cache, nor in one that is resumed from its
/// journal.
#[test]
fn what_an_earlier_crawl_has_asked_does_not_count_as_a_page() {
    let known = [(200, Outcome::Other), (404, Outcome::HttpError), (429, Outcome::Skipped)];
    for (status, outcome) in known {
        let mut options = options(None);
        (options.max_pages, options.settings.external) = (Some(2), true);
        let external = (0..3).map(|n| format!("http://elsewhere.test/{n}"));
        let links = external.chain(["/1".to_owned(), "/2".to_owned()]).collect();
        let mut begun = TestCrawl::new(&options);
        assert!(begun.step(&[Reply::Links(links)], Instant::now()));
        let ours = begun.todo.split_off(3);
        for job in mem::take(&mut begun.todo) {
            let fill = |row: Row| Row { status: Some(status), outcome, ..row };
            let completion =
                begun.crawl.settle_known(&job, Finished::of_earlier_crawl(&job, fill).unwrap());
            begun.records.push(record_of(&job, &completion));
        }
        let mut resumed = TestCrawl::new(&options);
        resumed.replay(&begun.records);
        for mut crawl in [begun.crawl, resumed.crawl] {
            let begins = |job: &Job| crawl.begin(job.clone(), Instant::now()).is_some();
            assert_eq!(ours.iter().map(begins).collect::<Vec<_>>(), [true, false], "{status}");
        }
    }
}

/// A status may be accepted in one run, and not in the run that resumes it.
#[test]
fn what_is_blocked_is_not_broken_in_a_crawl_that_is_resumed() {
    let mut options = options(None);
    (options.settings.external, options.settings.accept) = (true, vec![403..=403]);
    let mut begun = TestCrawl::new(&options);
    assert!(begun.step(&[Reply::Links(vec!["http://elsewhere.test/0".into()])], Instant::now()));
    let job = begun.todo.pop_front().unwrap();
    let fill = |row: Row| Row { status: Some(403), outcome: Outcome::HttpError, ..row };
    let completion =
        begun.crawl.settle_known(&job, Finished::of_earlier_crawl(&job, fill).unwrap());
    assert_eq!((completion.row.verdict, completion.row.is_broken()), (None, false));
    begun.records.push(record_of(&job, &completion));
    options.settings.accept = Vec::new();
    let mut resumed = TestCrawl::new(&options);
    resumed.replay(&begun.records);
    let rows = resumed.rows.lock().unwrap();
    assert_eq!(rows[1].verdict, Some(ExternalVerdict::Blocked));
}

/// The base of its page, which makes it none, is not in the journal.
#[test]
fn a_link_that_was_no_url_is_none_after_resuming() {
    for base in ["mailto:a@b.test", "about:blank"] {
        let html = format!("<base href={base}><a href=next>x</a><a href='http://[/'>x</a>");
        let site = [Reply::Page(html)];
        let mut whole = TestCrawl::new(&options(None));
        while whole.step(&site, Instant::now()) {}
        let mut resumed = TestCrawl::new(&options(None));
        resumed.replay(&whole.records);
        assert_eq!(resumed.todo, []);
        let entry: JournalEntry<'_> = serde_json::from_str(&whole.records[0]).unwrap();
        assert_eq!(LocalAdmission::new(options(None)).candidates_of(&entry), []);
        // An earlier version has not kept the reason.
        let is_known = entry.out_links.iter().map(|out_link| out_link.no_url.is_some());
        assert_eq!(is_known.collect::<Vec<_>>(), [true, true]);
        let without = |out_link: &OutLink| OutLink { no_url: None, ..out_link.clone() };
        let out_links = entry.out_links.iter().map(without).collect();
        let record = serde_json::to_string(&JournalEntry { out_links, ..entry }).unwrap();
        assert!(!record.contains("no_url"), "{record}");
        let mut earlier = TestCrawl::new(&options(None));
        earlier.replay(&[record]);
        assert_eq!(earlier.todo.len(), 1);
        let rows = whole.end().0;
        assert_eq!((resumed.end().0, rows.len()), (rows.clone(), 3));
    }
}

/// Otherwise the last run would tell only of the pages that it has asked itself.
#[test]
fn what_a_page_leaves_out_is_told_by_a_resumed_crawl() {
    // Each link is long by its base: together, they take more than the memory for a page.
    let base = "x".repeat(1_900);
    let links: String = (0..10_000).map(|n| format!("<a href={n}>x</a>")).collect();
    let html = format!("<base href=/{base}/><a rel=nofollow href=hidden>x</a>{links}");
    let site = [Reply::Page(html)];
    let mut whole = TestCrawl::new(&options(None));
    assert!(whole.step(&site, Instant::now()));
    let mut resumed = TestCrawl::new(&options(None));
    resumed.replay(&whole.records);
    let [whole, resumed] = [whole, resumed].map(|crawl| {
        let summary = crawl.end().1;
        (summary.unchecked.count(UncheckedReason::Nofollow), summary.warnings)
    });
    let (nofollow, warnings) = &whole;
    assert_eq!((*nofollow, warnings.len()), (1, 1));
    assert!(warnings[0].contains("more links than fit into memory"), "{warnings:?}");
    assert_eq!(resumed, whole);
}

/// A report reads the records of a crawl by many in any order.
#[test]
fn a_root_that_leads_nowhere_is_a_problem_in_any_order_of_records() {
    let mut whole = TestCrawl::new(&options(None));
    assert!(whole.step(&[Reply::Redirect("/1".into())], Instant::now()));
    let target = whole.todo.pop_front().unwrap();
    let error = || FetchError::new(ErrorClass::Robots, "robots.txt does not allow it");
    let completion = whole.crawl.refuse(&target, error());
    whole.records.push(record_of(&target, &completion));
    let problem = |records: &[String]| {
        let mut crawl = TestCrawl::new(&options(None));
        crawl.replay(records);
        crawl.crawl.end(0, None).problem
    };
    let (url, why) = ("http://site.test/1", error());
    let told = format!("http://site.test/0 redirects to {url}, which is not crawled: {why}");
    assert_eq!(problem(&whole.records), Some(told));
    whole.records.reverse();
    let told = format!("a start URL redirects to {url}, which is not crawled: {why}");
    assert_eq!(problem(&whole.records), Some(told));
    // A root that is not allowed itself leads to nothing.
    let mut refused = TestCrawl::new(&options(None));
    let root = refused.todo.pop_front().unwrap();
    let completion = refused.crawl.refuse(&root, error());
    assert_eq!(problem(&[record_of(&root, &completion)]), None);
}

#[test]
fn a_stopped_crawl_begins_nothing() {
    let mut crawl = TestCrawl::new(&options(None));
    let site = [Reply::Links(vec!["/1".into(), "/2".into()])];
    assert!(crawl.step(&site, Instant::now()));
    crawl.crawl.stop();
    while crawl.step(&site, Instant::now()) {}
    let (rows, summary) = crawl.end();
    assert_eq!((rows.len(), summary.todo), (1, 2));
}

#[test]
fn a_completion_that_is_rolled_back_is_todo() {
    let mut crawl = Crawl::new(options(None));
    let job = crawl.roots(&mut (Box::new(|_| ()) as Sink)).remove(0);
    let mut visit = crawl.begin(job, Instant::now()).unwrap();
    visit.request(&crawl.options().clone(), false);
    let page = "<a href=/1>1</a><a href=/a/a/a/>trap</a>";
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
        page.len()
    );
    assert!(visit.receive((head + page).as_bytes()).is_break());
    visit.judge(Ok(()));
    let completion = crawl.complete(&mut visit, Instant::now());
    assert_eq!((completion.jobs.len(), completion.others.len()), (1, 1));
    crawl.roll_back(&completion);
    let summary = crawl.end(0, None);
    assert_eq!((summary.done, summary.todo), (0, 3));
    assert_eq!(summary.admission.seen(), 3);
}
