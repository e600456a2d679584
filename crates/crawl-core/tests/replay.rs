//! A crawl that goes on is the crawl that was never interrupted.
#![allow(clippy::unwrap_used, missing_docs)]

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crawl_core::{
    Conclusion, Crawl, Ending, Finished, Job, Options, Row, Sink, TrapLimits, Verdict,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// What the page of each number links to, or the redirect leads to.
#[derive(Clone, Debug)]
enum Answer {
    Links(Vec<String>),
    Redirect(String),
}

fn answers() -> impl Strategy<Value = Vec<Answer>> {
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
        3 => vec(target.clone(), 0..6).prop_map(Answer::Links),
        1 => target.prop_map(Answer::Redirect),
    ];
    vec(answer, 24)
}

/// A crawl as it goes, and what it has told.
struct Going {
    crawl: Crawl,
    todo: VecDeque<Job>,
    rows: Arc<Mutex<Vec<Row>>>,
    sink: Sink,
    /// The records of a journal.
    records: Vec<String>,
}

impl Going {
    fn new(options: &Options) -> Self {
        let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
        let told = Arc::clone(&rows);
        let mut sink: Sink = Box::new(move |row| told.lock().unwrap().push(row));
        let mut crawl = Crawl::new(options.clone());
        crawl.keep_leads();
        let todo = crawl.roots(&mut sink).into();
        Self { crawl, todo, rows, sink, records: Vec::new() }
    }

    /// Finishes one URL; false if there is none.
    fn step(&mut self, site: &[Answer], begun: Instant) -> bool {
        let Some(job) = self.todo.pop_front() else { return false };
        let Some(mut visit) = self.crawl.begin(job.clone(), begun) else { return true };
        let number: usize = visit.url().path().trim_start_matches('/').parse().unwrap_or(0);
        loop {
            let request = visit.request(&self.crawl.options().clone(), false);
            let is_head = request.starts_with(b"HEAD ");
            visit.receive(response(site.get(number), is_head).as_bytes()).unwrap();
            if visit.judge(Ok(())) == Verdict::Finished {
                break;
            }
        }
        let conclusion = self.crawl.conclude(visit, begun);
        let finished = Finished {
            row: Cow::Borrowed(&conclusion.row),
            purpose: job.purpose,
            redirects_left: job.redirects_left,
            leads: Cow::Borrowed(&conclusion.leads),
            ids: Cow::Borrowed(&conclusion.ids),
        };
        self.records.push(serde_json::to_string(&finished).unwrap());
        self.take(conclusion);
        true
    }

    fn replay(&mut self, records: &[String]) {
        for record in records {
            let finished: Finished<'_> = serde_json::from_str(record).unwrap();
            let url = Arc::clone(&finished.row.url);
            let conclusion = self.crawl.replay(finished);
            self.todo.retain(|job| job.url != url);
            self.take(conclusion);
        }
    }

    fn take(&mut self, conclusion: Conclusion) {
        let Conclusion { row, others, jobs, .. } = conclusion;
        self.todo.extend(jobs);
        others.into_iter().chain([row]).for_each(&mut self.sink);
    }

    fn end(mut self) -> (Vec<Row>, Ending) {
        let ending = self.crawl.end(self.todo.len(), None);
        let rows = self.rows.lock().unwrap().clone();
        assert_eq!(ending.done, rows.len() as u64);
        let urls = ending.done - ending.missing_fragments + ending.todo;
        assert_eq!(ending.admission.seen() as u64, urls);
        (rows, ending)
    }
}

/// Each page has three ids, and loads what it links to last.
fn response(answer: Option<&Answer>, is_head: bool) -> String {
    let (status, html) = match answer {
        None => ("404 Not Found", String::new()),
        Some(Answer::Redirect(to)) => {
            return format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
        }
        Some(Answer::Links(links)) => {
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
    options.max_depth = max_depth;
    options.max_redirect = 2;
    options.exclude = vec!["excluded".parse().unwrap()];
    options.strip_query = vec!["b".into()];
    options.traps = TrapLimits { variants: 3, ..TrapLimits::default() };
    options
}

proptest! {
    #[test]
    fn a_crawl_that_goes_on_is_the_one_that_was_not_interrupted(
        site in answers(),
        max_depth in prop_oneof![Just(None), (0..4_u32).prop_map(Some)],
        steps in 0..40_usize,
        check in any::<[bool; 3]>(),
    ) {
        let mut options = options(max_depth);
        [options.external, options.check.images, options.check.fragments] = check;
        let begun = Instant::now();
        let mut undisturbed = Going::new(&options);
        for _ in 0..steps {
            undisturbed.step(&site, begun);
        }
        let mut gone_on = Going::new(&options);
        gone_on.replay(&undisturbed.records);
        // Found in another order, perhaps, where somebody came nearer later.
        prop_assert_eq!(gone_on.todo.make_contiguous(), undisturbed.todo.make_contiguous());
        while undisturbed.step(&site, begun) {}
        while gone_on.step(&site, begun) {}
        let (rows, ending) = undisturbed.end();
        let (rows_gone_on, ending_gone_on) = gone_on.end();
        prop_assert_eq!(&rows_gone_on, &rows);
        prop_assert_eq!(ending_gone_on.too_deep, ending.too_deep);
        for row in &rows {
            let referrers = ending.admission.referrers(&row.url);
            prop_assert_eq!(ending_gone_on.admission.referrers(&row.url), referrers);
        }
    }
}

#[test]
fn a_url_that_nothing_has_led_to_is_finished_all_the_same() {
    let mut going = Going::new(&options(None));
    let site = [Answer::Links(vec!["/1".into()]), Answer::Links(vec!["/2".into()])];
    while going.step(&site, Instant::now()) {}
    let mut gone_on = Going::new(&options(None));
    // As if a sitemap had named it.
    gone_on.replay(&going.records[1..2]);
    let urls: Vec<_> = gone_on.todo.iter().map(|job| job.url.to_string()).collect();
    assert_eq!(urls, ["http://site.test/0", "http://site.test/2"]);
    assert_eq!(gone_on.rows.lock().unwrap().len(), 1);
    while gone_on.step(&site, Instant::now()) {}
    assert_eq!(gone_on.end().1.done, 3);
}

#[test]
fn what_was_refused_when_its_turn_came_has_not_been_asked() {
    let mut options = options(None);
    options.max_pages = Some(1);
    let mut crawl = Crawl::new(options);
    let job = crawl.roots(&mut (Box::new(|_| ()) as Sink)).remove(0);
    let row = r#"{"url":"http://site.test/0","outcome":"skipped","status":null,"next_url":null,
        "error":{"class":"trap","message":"as robots.txt might"},"content_type":null,
        "encoding":null,"size":0,"num_urls":0,"num_new_urls":0,"depth":0,"tries":0,
        "elapsed_ms":0,"referrer":null}"#;
    let record = format!(r#"{{"row":{row},"redirects_left":2}}"#);
    let conclusion = crawl.replay(serde_json::from_str(&record).unwrap());
    assert_eq!(conclusion.row.url, job.url);
    crawl.take_back(&conclusion);
    let ending = crawl.replay(serde_json::from_str(&record).unwrap()).row.outcome;
    assert_eq!(ending, conclusion.row.outcome);
    // It has cost nothing of the limit on pages, and is not under way.
    assert!(crawl.begin(job, Instant::now()).is_some());
    let ending = crawl.end(0, None);
    assert_eq!((ending.done, ending.peak_in_flight), (1, 1));
}

/// It was found out with the robots.txt that there is nobody to ask.
#[test]
fn what_nobody_was_asked_for_takes_no_page_of_the_limit() {
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

#[test]
fn a_stopped_crawl_begins_nothing() {
    let mut going = Going::new(&options(None));
    let site = [Answer::Links(vec!["/1".into(), "/2".into()])];
    assert!(going.step(&site, Instant::now()));
    going.crawl.stop();
    while going.step(&site, Instant::now()) {}
    let (rows, ending) = going.end();
    assert_eq!((rows.len(), ending.todo), (1, 2));
}

#[test]
fn what_could_not_be_kept_is_left_to_do() {
    let mut crawl = Crawl::new(options(None));
    let job = crawl.roots(&mut (Box::new(|_| ()) as Sink)).remove(0);
    let mut visit = crawl.begin(job, Instant::now()).unwrap();
    visit.request(&crawl.options().clone(), false);
    let page = "<a href=/1>1</a><a href=/a/a/a/>trap</a>";
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
        page.len()
    );
    visit.receive((head + page).as_bytes()).unwrap();
    visit.judge(Ok(()));
    let conclusion = crawl.conclude(visit, Instant::now());
    assert_eq!((conclusion.jobs.len(), conclusion.others.len()), (1, 1));
    crawl.take_back(&conclusion);
    let ending = crawl.end(0, None);
    assert_eq!((ending.done, ending.todo), (0, 3));
    assert_eq!(ending.admission.seen(), 3);
}
