//! A site that is made up as one goes along, crawled without waiting.
#![allow(dead_code)]

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc;
use std::time::Instant;

use crawl_core::{
    Conclusion, Crawl, Ending, ErrorClass, FetchError, Job, Options, Outcome, Received, Row, Sink,
    Verdict,
};
use url::Url;

/// Far more than any of these sites may cost.
const TOO_MANY: usize = 20_000;

/// What a server sends.
pub(crate) enum Reply {
    Page(String),
    /// A body of this media type, perhaps long.
    Body(&'static str, Vec<u8>),
    Redirect(String),
    Status(u16),
    /// Nothing; the connection fails in this way.
    Fails(ErrorClass),
}

pub(crate) fn page(html: impl Into<String>) -> Reply {
    Reply::Page(html.into())
}

pub(crate) fn redirect(to: &str) -> Reply {
    Reply::Redirect(to.to_owned())
}

/// What came of a crawl.
pub(crate) struct Crawled {
    pub(crate) rows: BTreeMap<String, Row>,
    pub(crate) ending: Ending,
    /// The requests, as `GET http://...`, in their order.
    pub(crate) asked: Vec<String>,
}

impl Crawled {
    #[track_caller]
    pub(crate) fn row(&self, url: &str) -> &Row {
        self.rows.get(url).unwrap_or_else(|| panic!("no row for {url}: {:#?}", self.rows))
    }

    /// The URLs of the rows that are broken, with the classes of their errors.
    pub(crate) fn broken(&self) -> Vec<(&str, &str)> {
        let broken = self.rows.values().filter(|row| row.is_broken());
        let class = |row: &Row| row.error.as_ref().map_or("", |error| error.class.name());
        broken.map(|row| (&*row.url, class(row))).collect()
    }

    /// The first referrers of a URL, as `page:line:column element text`, or as
    /// `page` if it is not known where.
    pub(crate) fn mentions(&self, url: &str) -> Vec<String> {
        let (first, _) = self.ending.admission.referrers(url);
        let shown = |referrer: &crawl_core::Referrer<'_>| match referrer.mention {
            Some(mention) => format!(
                "{}:{}:{} {} {}",
                referrer.url,
                mention.place.line,
                mention.place.column,
                mention.element.name(),
                mention.text
            ),
            None => referrer.url.to_owned(),
        };
        first.iter().map(shown).collect()
    }
}

pub(crate) fn options(root: &str) -> Options {
    let mut options = Options::new(vec![Url::parse(root).unwrap()]);
    options.max_tries = 1;
    options
}

/// Crawls a site that answers at once, the first found first, and checks what
/// holds for every crawl.
pub(crate) fn crawl(options: &Options, site: impl Fn(&str, &Url) -> Reply) -> Crawled {
    crawl_from(options, site, VecDeque::pop_front)
}

/// The same with another order.
pub(crate) fn crawl_from(
    options: &Options,
    site: impl Fn(&str, &Url) -> Reply,
    next: impl Fn(&mut VecDeque<Job>) -> Option<Job>,
) -> Crawled {
    let (sender, rows) = mpsc::channel();
    let mut sink: Sink = Box::new(move |row| sender.send(row).unwrap());
    let mut crawl = Crawl::new(options.clone());
    let mut todo: VecDeque<Job> = crawl.roots(&mut sink).into();
    let mut asked = Vec::new();
    while let Some(job) = next(&mut todo) {
        let Some(mut visit) = crawl.begin(job, Instant::now()) else { continue };
        let url = Url::parse(visit.url().as_str()).unwrap();
        loop {
            assert!(asked.len() < TOO_MANY, "it does not end: {url}");
            let request = String::from_utf8(visit.request(options, true)).unwrap();
            let method = request.split(' ').next().unwrap();
            asked.push(format!("{method} {url}"));
            let reply = site(method, &url);
            let attempt = match bytes(method, reply) {
                Ok(response) => receive(&mut visit, &response),
                Err(class) => Err(FetchError::new(class, "as the test has it")),
            };
            if visit.judge(attempt) == Verdict::Finished {
                break;
            }
        }
        let Conclusion { row, others, jobs, .. } = crawl.conclude(visit, Instant::now());
        todo.extend(jobs);
        others.into_iter().chain([row]).for_each(&mut sink);
    }
    drop(sink);
    let ending = crawl.end(0, None);
    let mut by_url = BTreeMap::new();
    for row in rows.iter() {
        assert!(row.error.is_some() || row.outcome != Outcome::Failed);
        let twice = by_url.insert(row.url.to_string(), row);
        assert!(twice.is_none(), "a second row: {twice:?}");
    }
    assert_eq!(ending.done, by_url.len() as u64);
    let seen = ending.admission.seen() as u64;
    assert_eq!(seen + ending.missing_fragments, ending.done + ending.todo);
    Crawled { rows: by_url, ending, asked }
}

/// A piece at a time, as from the network.
fn receive(visit: &mut crawl_core::Visit, response: &[u8]) -> Result<(), FetchError> {
    for piece in response.chunks(16 * 1024) {
        if let Received::Complete { .. } = visit.receive(piece)? {
            return Ok(());
        }
    }
    visit.receive_end()
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
