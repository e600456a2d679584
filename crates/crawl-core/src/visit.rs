//! One URL, from the first try to the verdict.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use url::{Position, Url};

use crate::address::Urls;
use crate::answer::{Answer, Asked, Receiving, known_status};
use crate::content::encoding_name;
use crate::http::{self, Limits, Method, Progress, ResponseParser};
use crate::page::Page;
use crate::{Address, ErrorClass, FetchError, Job, Options, Outcome, Purpose, Row};

/// How many bytes of a body are read that nobody looks at. To read a few is
/// quicker than to connect anew.
const ENOUGH: u64 = 64 * 1024;

/// Makes every decision about one URL, and waits for nothing.
///
/// In each try, a stage connects, sends what [`Visit::request`] gives, hands in
/// what arrives with [`Visit::receive`], and in the end asks [`Visit::judge`]
/// how to go on.
///
/// While it waits for a response it is small, as there may be many thousands
/// of them: 72 bytes.
#[derive(Debug)]
pub struct Visit {
    job: Job,
    begun: Instant,
    terms: Arc<Terms>,
    tries: u16,
    max_tries: u16,
    method: Method,
    /// There from the first bytes of a response on, or from the first error.
    response: Option<Box<Response>>,
}

/// What the options say about all visits.
#[derive(Debug)]
pub(crate) struct Terms {
    asked: Asked,
    max_tries: u16,
    max_body_size: u64,
    keeps_text: bool,
    seed: u64,
    urls: Urls,
}

impl Terms {
    /// Those of the pages of a crawl.
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            asked: Asked::Page(options.wanted()),
            max_tries: u16::try_from(options.max_tries.max(1)).unwrap_or(u16::MAX),
            max_body_size: options.max_body_size,
            keeps_text: !options.select.is_empty(),
            seed: options.seed,
            urls: Urls::default(),
        }
    }
}

/// What a try has brought.
#[derive(Debug)]
struct Response {
    parser: ResponseParser,
    answer: Answer,
    error: Option<FetchError>,
    page: Option<Page>,
}

impl Response {
    fn new(method: Method, limits: Limits) -> Box<Self> {
        let parser = ResponseParser::new(method, limits);
        Box::new(Self { parser, answer: Answer::default(), error: None, page: None })
    }
}

// ANCHOR: received
/// What the bytes received so far amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The response goes on.
    More,
    /// The response is complete.
    Complete {
        /// Whether the connection can carry another request.
        reusable: bool,
    },
}
// ANCHOR_END: received

// ANCHOR: verdict
/// How to go on after a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Try again after this pause.
    TryAgain(Duration),
    /// It is decided what becomes of the URL.
    Finished,
}
// ANCHOR_END: verdict

/// What is no page of the site, but tells about it: robots.txt, a sitemap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The status of the response.
    pub status: u16,
    /// What is in it, with a status that says so (2xx).
    pub body: Vec<u8>,
    /// Whether that is all of it.
    pub is_whole: bool,
    /// Where a redirect leads.
    pub next_url: Option<Url>,
    /// When the server wants to be asked again.
    pub retry_after: Option<Vec<u8>>,
}

/// What a finished visit leads to.
pub(crate) enum Discovery {
    Nothing,
    /// And the values of its `X-Robots-Tag` headers.
    Page(Page, Vec<Vec<u8>>),
    /// With the fragment of its own that it may have.
    Redirect(Url),
}

impl Visit {
    /// Nobody but [`crate::Crawl`] begins a visit, since it counts them.
    pub(crate) fn new(job: Job, terms: &Arc<Terms>, now: Instant) -> Self {
        // Servers of all kinds are asked, for as little as possible.
        let is_external = job.purpose == Purpose::External;
        let method = if is_external { Method::Head } else { Method::Get };
        Self {
            job,
            begun: now,
            terms: Arc::clone(terms),
            tries: 0,
            max_tries: terms.max_tries,
            method,
            response: None,
        }
    }

    /// A visit of something that is no page of the site: what comes of it is
    /// to be taken with [`Visit::into_file`], and is no row. At most `limit`
    /// bytes of the body are kept, decoded.
    pub fn of_file(url: &Url, limit: u64, options: &Options, now: Instant) -> Self {
        let job = Job::of_file(&url[..Position::AfterQuery]);
        let terms = Terms { asked: Asked::File, max_body_size: limit, ..Terms::new(options) };
        Self::new(job, &Arc::new(terms), now)
    }

    /// What it was begun for.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The URL to fetch.
    pub fn url(&self) -> Address<'_> {
        self.job.address()
    }

    /// The host to ask: a name, an IPv4 address or an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        self.url().host()
    }

    /// The port to ask.
    pub fn port(&self) -> u16 {
        self.url().port()
    }

    /// Both at once.
    pub fn host_and_port(&self) -> (&str, u16) {
        self.url().host_and_port()
    }

    /// Whether the connection is to be secured by TLS.
    pub fn is_secure(&self) -> bool {
        self.url().is_secure()
    }

    /// The host, if the connection to it is to be secured by TLS.
    pub fn secure_host(&self) -> Option<&str> {
        self.is_secure().then(|| self.host())
    }

    /// The bytes to send. From here on, a new response is expected.
    pub fn request(&mut self, options: &Options, keep_alive: bool) -> Vec<u8> {
        self.response = None;
        let url = self.url();
        let headers = options.headers_for(url);
        http::request(self.method, url, &options.user_agent, headers.iter(), keep_alive)
    }

    fn limits(&self) -> Limits {
        // What is not read to its end may have any length.
        let is_page =
            matches!((self.terms.asked, self.job.purpose), (Asked::Page(_), Purpose::Page));
        let body = if is_page { self.terms.max_body_size } else { u64::MAX };
        Limits { body, ..Limits::default() }
    }

    fn response(&mut self) -> &mut Response {
        let (method, limits) = (self.method, self.limits());
        self.response.get_or_insert_with(|| Response::new(method, limits))
    }

    fn answer(&self) -> Option<&Answer> {
        self.response.as_ref().map(|response| &response.answer)
    }

    /// Takes bytes as they came, in any slices.
    ///
    /// # Errors
    /// When they are no valid response, or one beyond a limit.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Received, FetchError> {
        let (method, limits) = (self.method, self.limits());
        let response = self.response.get_or_insert_with(|| Response::new(method, limits));
        let Response { parser, answer, .. } = &mut **response;
        let is_external = self.job.purpose == Purpose::External;
        let asked = if is_external { Asked::Whether } else { self.terms.asked };
        let Terms { max_body_size: limit, keeps_text, ref urls, .. } = *self.terms;
        let url = self.job.address();
        let mut receiving = Receiving { answer, url, urls, asked, limit, keeps_text };
        Ok(match parser.feed(bytes, &mut receiving)? {
            Progress::Complete { unread } => {
                Received::Complete { reusable: unread == 0 && parser.keep_alive() }
            }
            Progress::NeedMore if self.has_enough() => Received::Complete { reusable: false },
            Progress::NeedMore => Received::More,
        })
    }

    /// Whether what is there is known to be there, and nobody looks at the rest.
    fn has_enough(&self) -> bool {
        self.job.purpose != Purpose::Page
            && self.answer().is_some_and(|answer| !answer.is_page() && answer.size >= ENOUGH)
    }

    /// The connection has ended.
    ///
    /// # Errors
    /// When the response has not: it was cut short, or never began.
    pub fn receive_end(&mut self) -> Result<(), FetchError> {
        self.response().parser.end()
    }

    /// When it was taken up.
    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// Whether no try has come to its end yet.
    pub fn is_first_try(&self) -> bool {
        self.tries == 0
    }

    /// Whether any byte of the response has come in this try.
    pub fn has_response(&self) -> bool {
        self.response.as_ref().is_some_and(|response| response.parser.has_begun())
    }

    /// What a failed read or write means at this point.
    pub fn interrupted(&self, error: &io::Error) -> FetchError {
        let (class, when) = if self.has_response() {
            (ErrorClass::Truncated, "in the middle of the response")
        } else {
            (ErrorClass::Closed, "before the response")
        };
        FetchError::new(class, format!("the connection failed {when}: {error}"))
    }

    /// Decides what a try has brought: with `Ok`, a complete response. However
    /// far it came, this is what counts it.
    pub fn judge(&mut self, attempt: Result<(), FetchError>) -> Verdict {
        self.tries = self.tries.saturating_add(1);
        let status = self.answer().and_then(|answer| answer.status);
        if self.method == Method::Head && !is_clear(&attempt, status) {
            // Many a server that refuses `HEAD`, or fails at it, does not at `GET`.
            self.method = Method::Get;
            self.max_tries = self.max_tries.max(self.tries.saturating_add(1));
            self.forget_answer();
            return Verdict::TryAgain(attempt.map_or_else(|_| self.pause(), |()| Duration::ZERO));
        }
        match attempt {
            Ok(()) => {
                let response = self.response();
                match response.answer.finish() {
                    Ok(page) => response.page = page,
                    Err(error) => response.error = Some(error),
                }
                Verdict::Finished
            }
            Err(error) if error.class.is_transient() && self.tries < self.max_tries => {
                self.forget_answer();
                Verdict::TryAgain(self.pause())
            }
            Err(error) => {
                self.response().error = Some(error);
                Verdict::Finished
            }
        }
    }

    /// That there was one is remembered until the next request.
    fn forget_answer(&mut self) {
        if let Some(response) = &mut self.response {
            response.answer = Answer::default();
        }
    }

    /// Doubles from try to try, so that a server in trouble is left in peace.
    ///
    /// One half of it is drawn ("equal jitter"): those who failed in the same
    /// moment, as all do when a server restarts, do not come back in the same
    /// moment. The other half is sure, because with a pause that may be
    /// nothing ("full jitter") all tries might be used up at once.
    fn pause(&self) -> Duration {
        const FIRST: Duration = Duration::from_millis(200);
        const LONGEST: Duration = Duration::from_secs(10);
        let doublings = self.tries.saturating_sub(1).min(16);
        let half = FIRST.saturating_mul(1 << doublings).min(LONGEST) / 2;
        let mut hasher = DefaultHasher::new();
        (self.terms.seed, &*self.job.url, u32::from(self.tries)).hash(&mut hasher);
        // The hash as a fraction of 2^64.
        let drawn = (half.as_nanos() * u128::from(hasher.finish())) >> 64;
        half + Duration::from_nanos(drawn as u64)
    }

    /// The status of the answer, if a complete one has come.
    pub fn status(&self) -> Option<u16> {
        self.response.as_ref().filter(|response| response.error.is_none())?.answer.status
    }

    /// When the server wants to be asked again, in its own words: the header
    /// `Retry-After` (RFC 9110 section 10.2.3).
    pub fn retry_after(&self) -> Option<&[u8]> {
        self.answer()?.retry_after.as_deref()
    }

    /// What has come of a finished [visit of a file](Visit::of_file).
    ///
    /// # Errors
    /// Why there is no answer. That it is too long is none: then the file is
    /// the beginning.
    pub fn into_file(self) -> Result<File, FetchError> {
        let unanswered = || FetchError::new(ErrorClass::Closed, "there was no answer");
        let Response { answer, error, .. } = *self.response.ok_or_else(unanswered)?;
        let next_url = match answer.status.map(known_status) {
            Some(301..=303 | 307 | 308) => redirect_target(&self.job, &answer).ok(),
            _ => None,
        };
        let is_whole = error.is_none();
        match (answer.status, error) {
            (Some(_), Some(error)) if error.class != ErrorClass::TooLarge => Err(error),
            (Some(status), _) => {
                let Answer { file: body, retry_after, .. } = answer;
                Ok(File { status, body, is_whole, next_url, retry_after })
            }
            (None, error) => Err(error.unwrap_or_else(unanswered)),
        }
    }

    /// The job, and what it leads to.
    pub(crate) fn finish(mut self, now: Instant) -> (Job, Row, Discovery) {
        let limits = self.limits();
        let response = self.response.take();
        let mut response = response.unwrap_or_else(|| Response::new(self.method, limits));
        let (outcome, discovery) = response.outcome(&self.job);
        let Response { answer, error, page, .. } = *response;
        let mut row = Row::new(Arc::clone(&self.job.url), self.job.depth);
        row.status = answer.status;
        row.tries = self.tries.into();
        row.size = answer.size;
        row.elapsed_ms = now.duration_since(self.begun).as_millis() as u64;
        row.outcome = outcome;
        row.error = error;
        if let Discovery::Redirect(target) = &discovery {
            row.next_url = Some(target[..Position::AfterQuery].to_owned());
        }
        if let Some(content_type) = answer.content_type {
            row.content_type = Some(content_type.essence);
            row.encoding = content_type.charset;
        }
        if let Some(page) = &page {
            row.encoding = Some(encoding_name(page.encoding));
        }
        // A chain that has used up its budget ends here, but says where it
        // would have led.
        let discovery = match discovery {
            Discovery::Redirect(_) if outcome == Outcome::HttpError => Discovery::Nothing,
            Discovery::Nothing => match page {
                Some(page) => Discovery::Page(page, answer.robots_tags),
                None => Discovery::Nothing,
            },
            other => other,
        };
        (self.job, row, discovery)
    }
}

impl Response {
    /// What has become of a URL.
    fn outcome(&mut self, job: &Job) -> (Outcome, Discovery) {
        let Some(status) = self.answer.status.filter(|_| self.error.is_none()) else {
            return (Outcome::Failed, Discovery::Nothing);
        };
        match known_status(status) {
            // ANCHOR: outcome_of_a_redirect
            300 if self.answer.location.is_none() => (self.body_outcome(), Discovery::Nothing),
            300..=303 | 307 | 308 => match redirect_target(job, &self.answer) {
                Err(error) => {
                    self.error = Some(error);
                    (Outcome::HttpError, Discovery::Nothing)
                }
                Ok(target) if job.redirects_left == 0 => {
                    self.error = Some(FetchError::new(
                        ErrorClass::RedirectLimit,
                        format!(
                            "the chain of redirects is too long to go on to {}",
                            &target[..Position::AfterQuery]
                        ),
                    ));
                    (Outcome::HttpError, Discovery::Redirect(target))
                }
                Ok(target) => (Outcome::Redirect, Discovery::Redirect(target)),
            },
            // ANCHOR_END: outcome_of_a_redirect
            429 => {
                let message = "the server has no time for more requests";
                self.error = Some(FetchError::new(ErrorClass::RateLimited, message));
                (Outcome::Skipped, Discovery::Nothing)
            }
            400.. => {
                let is_external = job.purpose == Purpose::External;
                if is_external && matches!(status, 403 | 405 | 999) {
                    let message = "blocked? a reader may be let in where a crawler is not";
                    self.error = Some(FetchError::new(ErrorClass::Blocked, message));
                }
                (Outcome::HttpError, Discovery::Nothing)
            }
            _ => (self.body_outcome(), Discovery::Nothing),
        }
    }

    fn body_outcome(&self) -> Outcome {
        match self.page {
            Some(_) => Outcome::Page,
            None => Outcome::Other,
        }
    }
}

// ANCHOR: redirect_target
fn redirect_target(job: &Job, answer: &Answer) -> Result<Url, FetchError> {
    let unusable = |why: String| FetchError::new(ErrorClass::RedirectTarget, why);
    // An empty one would lead back here; it is what is left of a mistake.
    let Some(location) = answer.location.as_ref().filter(|l| !l.is_empty()) else {
        return Err(unusable("a redirect without a usable Location".into()));
    };
    let shown = || http::printable(location);
    let target = Url::parse(&job.url)
        .and_then(|url| url.join(&String::from_utf8_lossy(location)))
        .map_err(|error| unusable(format!("Location {}: {error}", shown())))?;
    if !matches!(target.scheme(), "http" | "https") {
        return Err(unusable(format!("Location {} is not http", shown())));
    }
    Ok(target)
}
// ANCHOR_END: redirect_target

/// Whether the answer to a `HEAD` is as good as that to a `GET`: it says that
/// the URL is there, or asks to be left in peace (429), or there was nobody to
/// ask.
fn is_clear(attempt: &Result<(), FetchError>, status: Option<u16>) -> bool {
    match attempt {
        Ok(()) => status.is_some_and(|status| known_status(status) < 400 || status == 429),
        Err(error) => {
            matches!(error.class, ErrorClass::Dns | ErrorClass::Connect | ErrorClass::Tls)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every fetch in flight has one.
    #[test]
    fn it_is_small() {
        assert!(size_of::<Visit>() <= 72, "{} bytes", size_of::<Visit>());
    }
}
