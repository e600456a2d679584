//! A crawl of a site that a function generates, without sockets and waiting.
#![allow(dead_code)]

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::mpsc;
use std::time::Instant;

use crawl_core::{
    Crawl, CrawlSummary, ErrorClass, FetchError, Job, Options, Outcome, Row, Sink, Verdict,
};
use url::Url;

/// A limit far above the number of requests that any of these sites may need.
const MAX_REQUESTS: usize = 20_000;

/// The reply of a server.
pub(crate) enum Reply {
    Page(String),
    /// A body of this media type, perhaps long.
    Body(&'static str, Vec<u8>),
    Redirect(String),
    Status(u16),
    /// No response: the connection fails with an error of this class.
    Fails(ErrorClass),
}

pub(crate) fn page(html: impl Into<String>) -> Reply {
    Reply::Page(html.into())
}

pub(crate) fn redirect(to: &str) -> Reply {
    Reply::Redirect(to.to_owned())
}

/// The result of a crawl.
pub(crate) struct Crawled {
    pub(crate) rows: BTreeMap<String, Row>,
    pub(crate) summary: CrawlSummary,
    /// The requests, as `GET http://...`, in their order.
    pub(crate) requests: Vec<String>,
}

impl Crawled {
    #[track_caller]
    pub(crate) fn row(&self, url: &str) -> &Row {
        self.rows.get(url).unwrap_or_else(|| panic!("no row for {url}: {:#?}", self.rows))
    }

    /// Returns the URLs of the broken rows, with the classes of their errors.
    pub(crate) fn broken(&self) -> Vec<(&str, &str)> {
        let broken = self.rows.values().filter(|row| row.is_broken());
        let class = |row: &Row| row.error.as_ref().map_or("", |error| error.class.name());
        broken.map(|row| (&*row.url, class(row))).collect()
    }

    /// Returns the first referrers of a URL, as `page:line:column element text`,
    /// or as `page` if there is no link context.
    pub(crate) fn link_contexts(&self, url: &str) -> Vec<String> {
        let (first, _) = self.summary.admission.referrers(url);
        let shown = |referrer: &crawl_core::Referrer<'_>| match referrer.context {
            Some(context) => format!(
                "{}:{}:{} {} {}",
                referrer.url,
                context.position.line,
                context.position.column,
                context.element.name(),
                context.text
            ),
            None => referrer.url.to_owned(),
        };
        first.iter().map(shown).collect()
    }
}

pub(crate) fn options(root: &str) -> Options {
    let mut options = Options::new(vec![Url::parse(root).unwrap()]);
    options.settings.max_tries = 1;
    options
}

/// Crawls a site that replies at once, in the order in which URLs are found, and
/// checks the invariants of every crawl.
pub(crate) fn crawl(options: &Options, site: impl Fn(&str, &Url) -> Reply) -> Crawled {
    crawl_from(options, site, VecDeque::pop_front)
}

/// Crawls a site as [`crawl`] does, in the order that `next` chooses.
pub(crate) fn crawl_from(
    options: &Options,
    site: impl Fn(&str, &Url) -> Reply,
    next: impl Fn(&mut VecDeque<Job>) -> Option<Job>,
) -> Crawled {
    let (sender, rows) = mpsc::channel();
    let mut sink: Sink = Box::new(move |row| sender.send(row).unwrap());
    let mut crawl = Crawl::new(options.clone());
    let mut todo: VecDeque<Job> = crawl.roots(&mut sink).into();
    let mut requests = Vec::new();
    while let Some(job) = next(&mut todo) {
        let Some(mut visit) = crawl.begin(job, Instant::now()) else { continue };
        let url = Url::parse(visit.url().as_str()).unwrap();
        loop {
            assert!(requests.len() < MAX_REQUESTS, "it does not end: {url}");
            let request = String::from_utf8(visit.request(options, true)).unwrap();
            let method = request.split(' ').next().unwrap();
            requests.push(format!("{method} {url}"));
            let reply = site(method, &url);
            let attempt = match bytes(method, reply) {
                Ok(response) => receive(&mut visit, &response),
                Err(class) => Err(FetchError::new(class, "as the test has it")),
            };
            if visit.judge(attempt) == Verdict::Finished {
                break;
            }
        }
        let mut completion = crawl.complete(&mut visit, Instant::now());
        todo.extend(mem::take(&mut completion.jobs));
        completion.rows().for_each(&mut sink);
    }
    drop(sink);
    let summary = crawl.end(0, None);
    let mut by_url = BTreeMap::new();
    for row in rows.iter() {
        assert!(row.error.is_some() || row.outcome != Outcome::Failed);
        let duplicate = by_url.insert(row.url.to_string(), row);
        assert!(duplicate.is_none(), "a second row: {duplicate:?}");
    }
    assert_eq!(summary.done, by_url.len() as u64);
    let seen = summary.admission.seen() as u64;
    assert_eq!(seen + summary.missing_fragments, summary.done + summary.todo);
    Crawled { rows: by_url, summary, requests }
}

/// Receives a response in pieces, as from the network.
fn receive(visit: &mut crawl_core::Visit, response: &[u8]) -> Result<(), FetchError> {
    let received = response.chunks(16 * 1024).try_for_each(|piece| visit.receive(piece));
    let received = received.break_value().unwrap_or_else(|| visit.receive_end());
    received.map(|_| ())
}

fn bytes(method: &str, reply: Reply) -> Result<Vec<u8>, ErrorClass> {
    let (status, header, body) = match reply {
        Reply::Page(html) => (200, "Content-Type: text/html".to_owned(), html.into_bytes()),
        Reply::Body(media_type, body) => (200, format!("Content-Type: {media_type}"), body),
        Reply::Redirect(to) => (302, format!("Location: {to}"), Vec::new()),
        Reply::Status(status) => (status, "X: y".to_owned(), b"an error".to_vec()),
        Reply::Fails(class) => return Err(class),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status} Text\r\n{header}\r\nContent-Length: {length}\r\n\r\n");
    let body = if method == "HEAD" { Vec::new() } else { body };
    Ok([head.into_bytes(), body].concat())
}
