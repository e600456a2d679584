//! The visit of one URL, from the first attempt to the row, with retries and their
//! backoff.

use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use url::{Position, Url};

use crate::admission::strip_query::StripQuery;
use crate::deferral::{DeferReason, Deferral, is_server_error, is_throttled};
use crate::finished::{Discovery, Finished};
use crate::memory::MemoryBudget;
use crate::response_body::{
    Expected, Gap, ResponseBody, ResponseSink, has_content, is_redirect, known_status,
};
use crate::{
    CookieJar, Deadline, ErrorClass, ExternalVerdict, FetchError, FetchResult, Job, Options,
    Outcome, Phase, Purpose, Row,
};
use web::body::encoding_name;
use web::http::{self, Limits, Method, Progress, ResponseParser};
use web::page::Page;
use web::robots::{header_forbids_following, product_token};
use web::select::{Selection, select};
use web::{Address, BaseUrl, UrlCache, mask_passwords, remove_password};

/// The number of bytes of an unused body that are read at most, as they come from
/// the server. To discard a few bytes is quicker than to connect anew.
const DISCARD_LIMIT: u64 = 64 * 1024;

/// The fetch of one URL, with its retries. It makes all decisions and never
/// waits.
///
/// In each attempt, a stage connects, sends the bytes of [`Visit::request`], hands
/// the bytes that arrive to [`Visit::receive`], and at last asks
/// [`Visit::judge`] how to go on.
///
/// Many thousands of visits may wait for a response at the same time, so a
/// waiting visit is small: 72 bytes.
#[derive(Debug)]
pub struct Visit {
    job: Job,
    begun: Instant,
    policy: Arc<FetchPolicy>,
    tries: u16,
    max_tries: u16,
    method: Method,
    /// True if the request of the current attempt was made.
    has_request: bool,
    /// True if an attempt has failed.
    has_failed_try: bool,
    /// True if a redirect to the same URL was followed, since it set a cookie.
    has_followed_itself: bool,
    /// The current attempt, allocated at the first bytes of its response or at its
    /// first error.
    attempt: Option<Box<Attempt>>,
}

/// The options that all visits of a crawl share.
#[derive(Debug)]
pub(crate) struct FetchPolicy {
    expected: Expected,
    max_tries: u16,
    max_body_size: u64,
    select: Vec<Selection>,
    /// True if the visible text of a page is hashed.
    hashes_content: bool,
    /// The name of the robot whose `nofollow` is obeyed; `None` if none is.
    robot: Option<String>,
    seed: u64,
    urls: UrlCache,
    memory: Arc<MemoryBudget>,
    cookie_jar: Option<CookieJar>,
    strip_query: StripQuery,
}

impl FetchPolicy {
    /// Creates the policy for the pages of a crawl.
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            expected: Expected::Page(options.extract_options()),
            max_tries: u16::try_from(options.settings.max_tries.max(1)).unwrap_or(u16::MAX),
            max_body_size: options.settings.max_body_size,
            select: options.settings.select.clone(),
            hashes_content: false,
            robot: options
                .settings
                .robots
                .then(|| product_token(&options.settings.user_agent).to_owned()),
            seed: options.seed,
            urls: UrlCache::default(),
            memory: Arc::default(),
            cookie_jar: options.cookie_jar.clone().filter(|_| options.cookies),
            strip_query: StripQuery::new(&options.settings.strip_query),
        }
    }

    /// Returns a policy by which visits also hash the visible text of pages. They have the
    /// memory together with those of this one.
    pub(crate) fn hashing_content(&self, options: &Options) -> Self {
        let memory = Arc::clone(&self.memory);
        Self { hashes_content: true, memory, ..Self::new(options) }
    }
}

/// The state of one attempt: the response as far as it has arrived, or an error.
#[derive(Debug)]
struct Attempt {
    parser: ResponseParser,
    response: ResponseBody,
    error: Option<FetchError>,
    page: Option<Page>,
}

impl Attempt {
    fn new(method: Method, limits: Limits) -> Box<Self> {
        let parser = ResponseParser::new(method, limits);
        Box::new(Self { parser, response: ResponseBody::default(), error: None, page: None })
    }
}

// ANCHOR: received
/// A response that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// True if the connection can carry another request (keep-alive).
    pub reusable: bool,
}
// ANCHOR_END: received

// ANCHOR: verdict
/// The decision after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Try again after this pause.
    TryAgain(Duration),
    /// The visit is finished, with a response or with an error.
    Finished,
}
// ANCHOR_END: verdict

/// The server to connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server<'v> {
    /// A name, an IPv4 address, or an IPv6 address in brackets.
    pub host: &'v str,
    /// The port.
    pub port: u16,
    /// The host that the certificate has to be for; `None` if the connection
    /// needs no TLS.
    pub tls_host: Option<&'v str>,
}

/// A file that describes the site and is not one of its pages: robots.txt, or a
/// sitemap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteFile {
    /// The status of the response.
    pub status: u16,
    /// The decoded body, empty unless the status is a success (2xx) or 300.
    pub body: Vec<u8>,
    /// True if the body is complete, false if it was cut off at the limit.
    pub is_whole: bool,
    /// The target of a redirect.
    pub next_url: Option<Url>,
    /// The reason to request the file again later, if there is one.
    pub deferral: Option<Deferral>,
}

impl AsRef<Job> for Visit {
    fn as_ref(&self) -> &Job {
        &self.job
    }
}

/// Writes the URL.
impl fmt::Display for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url().as_str())
    }
}

impl Visit {
    /// Creates the visit of a job. Only [`crate::Crawl`] begins visits of pages,
    /// since it counts them.
    pub(crate) fn new(job: Job, policy: &Arc<FetchPolicy>, now: Instant) -> Self {
        // `HEAD` costs an external server as little as possible, and what is played is long.
        let is_head_enough = matches!(job.purpose, Purpose::External | Purpose::Media);
        let method = if is_head_enough { Method::Head } else { Method::Get };
        Self {
            job,
            begun: now,
            policy: Arc::clone(policy),
            tries: 0,
            max_tries: policy.max_tries,
            method,
            has_request: false,
            has_failed_try: false,
            has_followed_itself: false,
            attempt: None,
        }
    }

    /// Creates the visit of a file such as robots.txt. It ends without a row:
    /// [`Visit::into_site_file`] returns its result. At most `limit` bytes of the
    /// decoded body are kept.
    pub fn for_file(url: &Url, limit: u64, options: &Options, now: Instant) -> Self {
        let job = Job::for_file(&url[..Position::AfterQuery]);
        let policy = FetchPolicy {
            expected: Expected::SiteFile,
            max_body_size: limit,
            ..FetchPolicy::new(options)
        };
        Self::new(job, &Arc::new(policy), now)
    }

    /// Returns the URL to fetch.
    pub fn url(&self) -> Address<'_> {
        self.job.address()
    }

    /// Returns the server to connect to.
    pub fn server(&self) -> Server<'_> {
        let url = self.url();
        let (host, port) = url.host_and_port();
        Server { host, port, tls_host: url.is_secure().then_some(host) }
    }

    /// Returns the bytes of the request, and begins a new attempt.
    pub fn request(&mut self, options: &Options, keep_alive: bool) -> Vec<u8> {
        self.attempt = None;
        self.has_request = true;
        let url = self.url();
        let headers = options.headers_for(url);
        // What the user says is sent as it is.
        let jar = self.policy.cookie_jar.as_ref();
        let jar = jar.filter(|_| !headers.clone().any(|header| header.is("Cookie")));
        let cookies = jar.and_then(|jar| jar.header(url, self.begun));
        let headers = headers.chain(&cookies);
        http::request(self.method, url, &options.settings.user_agent, headers, keep_alive)
    }

    fn limits(&self) -> Limits {
        Limits { body: self.policy.max_body_size, ..Limits::default() }
    }

    fn attempt(&mut self) -> &mut Attempt {
        let (method, limits) = (self.method, self.limits());
        self.attempt.get_or_insert_with(|| Attempt::new(method, limits))
    }

    fn response(&self) -> Option<&ResponseBody> {
        self.attempt.as_ref().map(|attempt| &attempt.response)
    }

    /// Receives bytes of the response, in slices of any size. Returns `Break` when
    /// the response is complete, or with an error when it is not valid or exceeds
    /// a limit.
    pub fn receive(&mut self, bytes: &[u8]) -> ControlFlow<Result<Received, FetchError>> {
        let (method, limits) = (self.method, self.limits());
        let attempt = self.attempt.get_or_insert_with(|| Attempt::new(method, limits));
        let Attempt { parser, response, .. } = &mut **attempt;
        let expected = match (self.job.purpose, self.policy.expected) {
            (Purpose::External, _) => Expected::Existence,
            (Purpose::Sitemap, Expected::Page(options)) => Expected::Sitemap(options),
            // A root.
            (Purpose::Page, Expected::Page(options)) if self.job.depth == 0 => {
                Expected::PageOrSitemap(options)
            }
            (_, expected) => expected,
        };
        let FetchPolicy { max_body_size: limit, ref select, ref urls, memory: ref budget, .. } =
            *self.policy;
        let (keeps_text, hashes_content) = (!select.is_empty(), self.policy.hashes_content);
        let url = self.job.address();
        let mut sink = ResponseSink {
            response,
            url,
            urls,
            expected,
            cookie_jar: self.policy.cookie_jar.as_ref(),
            begun: self.begun,
            limit,
            budget,
            keeps_text,
            hashes_content,
        };
        ControlFlow::Break(match parser.feed(bytes, &mut sink) {
            Ok(Progress::Complete { unread }) => {
                Ok(Received { reusable: unread == 0 && parser.keep_alive() })
            }
            Ok(Progress::NeedMore) if self.can_stop_reading() => Ok(Received { reusable: false }),
            Ok(Progress::NeedMore) => return ControlFlow::Continue(()),
            Err(error) => Err(error),
        })
    }

    /// Receives bytes of the response like [`Visit::receive`], and tells the deadline
    /// that the server has made progress.
    #[inline]
    pub fn receive_within(
        &mut self,
        deadline: &Deadline,
        bytes: &[u8],
        now: Instant,
    ) -> ControlFlow<Result<Received, FetchError>> {
        let flow = self.receive(bytes);
        deadline.enter(self.phase(), now);
        flow
    }

    /// Returns true if the rest of the body is not needed: the body is longer than what is
    /// worth receiving, or what is read of a page.
    fn can_stop_reading(&self) -> bool {
        self.response().is_some_and(|response| {
            let is_long = response.is_discarded() && response.size > DISCARD_LIMIT;
            is_long || response.gap == Some(Gap::Limit)
        })
    }

    /// Returns the phase that the exchange is in after the bytes received so far:
    /// [`Phase::Discard`] if the head of the response is all that matters.
    ///
    /// Of a file that a page loads, or that a reader can open, the body matters as
    /// well: one that does not arrive is broken, although it is not read.
    #[inline]
    pub fn phase(&self) -> Phase {
        let is_external = self.job.purpose == Purpose::External;
        let is_head_enough = |response: &ResponseBody| {
            response.is_discarded() && (is_external || !response.status.is_some_and(has_content))
        };
        if self.response().is_some_and(is_head_enough) { Phase::Discard } else { Phase::Exchange }
    }

    /// Returns true if the error of an attempt is that the rest of the response does not come,
    /// and it is not needed: the head is enough in [`Phase::Discard`], and a body whose checksum
    /// holds is whole, whatever its `Content-Length` says.
    pub fn needs_no_more(&self, error: &FetchError) -> bool {
        matches!(error.class, ErrorClass::Timeout | ErrorClass::Truncated)
            && (self.phase() == Phase::Discard
                || self.response().is_some_and(ResponseBody::has_checksum))
    }

    /// Receives the end of the connection.
    ///
    /// # Errors
    /// When the response is incomplete: it was cut short, or never began.
    pub fn receive_end(&mut self) -> Result<Received, FetchError> {
        self.attempt().parser.end().map(|()| Received { reusable: false })
    }

    /// Receives the error of a connection, in place of its end.
    ///
    /// # Errors
    /// When the response is incomplete. A body that has no length, and ends with the
    /// connection, is complete if TLS alone missed its own end (`close_notify`): many servers
    /// never send it.
    pub fn receive_error(&mut self, error: &io::Error) -> Result<Received, FetchError> {
        let attempt = self.attempt();
        if error.kind() != ErrorKind::UnexpectedEof || !attempt.parser.ends_with_connection() {
            return Err(self.interrupted(error));
        }
        attempt.response.gap = Some(Gap::UnannouncedEnd);
        self.receive_end()
    }

    /// Returns the instant at which the visit began.
    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// Returns true if an attempt has failed.
    pub fn has_failed_try(&self) -> bool {
        self.has_failed_try
    }

    /// Returns true if the request of this attempt was made: there was a connection.
    pub fn has_request(&self) -> bool {
        self.has_request
    }

    /// Finishes the visit with an error that is not the result of an attempt.
    pub fn fail(&mut self, error: FetchError) {
        self.attempt().error = Some(error);
    }

    /// Makes the current attempt the last one, also if it is a `HEAD`.
    pub fn end_retries(&mut self) {
        self.max_tries = 0;
    }

    /// Returns true if a byte of the response to the last request has arrived.
    pub fn has_response(&self) -> bool {
        self.attempt.as_ref().is_some_and(|attempt| attempt.parser.has_begun())
    }

    /// Returns true if what came over a connection that was used before is the answer to the
    /// last request. It is not if nothing came; if it is no response, but the rest of an
    /// earlier one, such as a body after `HEAD`; or if it is a 408, with which a server ends
    /// an idle connection (RFC 9110, section 15.5.9).
    pub fn is_answered<T>(&self, result: &Result<T, FetchError>) -> bool {
        match result {
            Ok(_) => self.status() != Some(408),
            Err(error) if error.class == ErrorClass::Protocol => self.status().is_some(),
            Err(_) => self.has_response(),
        }
    }

    /// Converts the error of a connection, or of the way to one, which ends the attempt.
    /// The kind says if the host has no address (`NotFound`), none for now (`ResourceBusy`), or
    /// none that may be asked (`AddrNotAvailable`); or if the connection cannot be secure
    /// (`InvalidData`), or not without a certificate of ours (`PermissionDenied`), or not for
    /// HTTP/1.1 (`Unsupported`).
    /// Otherwise there was no connection, or it was closed before the response, or the
    /// response is truncated.
    pub fn interrupted(&self, error: &io::Error) -> FetchError {
        let (class, when) = match error.kind() {
            ErrorKind::NotFound => return FetchError::dns(error),
            ErrorKind::ResourceBusy => {
                return FetchError::new(ErrorClass::DnsTemporary, error.to_string());
            }
            // The operating system has other uses for these two.
            ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                return FetchError::new(ErrorClass::Blocked, error.to_string());
            }
            ErrorKind::Unsupported if error.raw_os_error().is_none() => {
                return FetchError::new(ErrorClass::Unsupported, error.to_string());
            }
            ErrorKind::AddrNotAvailable => {
                return FetchError::new(ErrorClass::DeniedAddress, error.to_string());
            }
            ErrorKind::InvalidData => return FetchError::tls(error),
            _ if !self.has_request => (ErrorClass::Connect, "before the request"),
            _ if self.has_response() => (ErrorClass::Truncated, "in the middle of the response"),
            _ => (ErrorClass::Closed, "before the response"),
        };
        FetchError::new(class, format!("the connection failed {when}: {error}"))
    }

    /// Ends an attempt and decides how to go on; `Ok` means a complete response. Every
    /// attempt is counted here, even one that failed before its request, unless the
    /// crawler has refused it.
    pub fn judge(&mut self, result: FetchResult) -> Verdict {
        // What is refused is not tried.
        let is_refusal = result.as_ref().is_err_and(|error| error.class.is_refusal());
        self.tries = self.tries.saturating_add(u16::from(!is_refusal));
        self.has_request = false;
        let is_enough = result.as_ref().is_err_and(|error| self.needs_no_more(error));
        let is_cut = is_enough && self.phase() == Phase::Discard || self.can_stop_reading();
        if is_enough && !is_cut {
            self.note_wrong_length();
        }
        let result = if is_enough { Ok(()) } else { result };
        self.has_failed_try |= result.is_err();
        let may_go_on = self.max_tries > 0;
        let is_head = self.method == Method::Head;
        if may_go_on && is_head && !is_head_enough(&result, self.response()) {
            // Many servers that refuse `HEAD`, or fail at it, or lie, answer `GET`.
            self.method = Method::Get;
            self.max_tries = self.max_tries.max(self.tries.saturating_add(1));
            self.reset_response();
            return Verdict::TryAgain(result.map_or_else(|_| self.backoff(), |()| Duration::ZERO));
        }
        if result.is_ok() && !self.has_followed_itself && self.redirects_to_itself_for_a_cookie() {
            self.has_followed_itself = true;
            self.reset_response();
            return Verdict::TryAgain(Duration::ZERO);
        }
        match result {
            Ok(()) => {
                let url = Arc::clone(&self.job.url);
                let Attempt { response, error, page, .. } = self.attempt();
                response.is_cut = is_cut;
                *error = response.check_end().err();
                let is_whole = error.is_none() && response.gap.is_none();
                *page = response.finish(&url, is_whole);
                Verdict::Finished
            }
            Err(error) if self.is_transient(&error) && self.tries < self.max_tries => {
                self.reset_response();
                Verdict::TryAgain(self.backoff())
            }
            Err(error) => {
                let url = Arc::clone(&self.job.url);
                let attempt = self.attempt();
                // The links that have arrived lead on, although the page is broken.
                if matches!(error.class, ErrorClass::Timeout | ErrorClass::Truncated) {
                    attempt.page = attempt.response.finish(&url, false);
                }
                attempt.error = Some(error);
                Verdict::Finished
            }
        }
    }

    /// Notes that a body ended before its `Content-Length`, although its checksum holds. Some
    /// servers announce the length before they compress it; then nothing is missing.
    fn note_wrong_length(&mut self) {
        let Attempt { parser, response, .. } = self.attempt();
        if parser.content_length() != Some(response.size) {
            response.gap = Some(Gap::WrongLength);
        }
    }

    /// Returns true if the response redirects to the same URL and sets a cookie: with that,
    /// the next response may be another.
    fn redirects_to_itself_for_a_cookie(&self) -> bool {
        self.response().is_some_and(|response| {
            response.sets_cookie
                && response.status.is_some_and(is_redirect)
                && redirect_target(&self.job, response).is_ok_and(|target| {
                    // As the admission would find it, which strips no external one.
                    let mut strip_query = match self.job.purpose {
                        Purpose::External => StripQuery::default(),
                        _ => self.policy.strip_query.clone(),
                    };
                    let target = Address::of(&target);
                    target.is_ok_and(|it| strip_query.strip(it).as_str() == &*self.job.url)
                })
        })
    }

    /// Returns true if another attempt may succeed.
    fn is_transient(&self, error: &FetchError) -> bool {
        error.class.is_transient()
            || self.response().is_some_and(|response| response.memory.is_refused())
    }

    /// Discards the response. [`Visit::has_response`] stays true until the next
    /// request.
    fn reset_response(&mut self) {
        if let Some(attempt) = &mut self.attempt {
            attempt.response = ResponseBody::default();
        }
    }

    /// Returns the pause before the next attempt: exponential backoff with equal
    /// jitter. It doubles from attempt to attempt, so that a server in trouble gets fewer
    /// requests.
    ///
    /// One half of the pause is random: visits that failed at the same moment, as
    /// all do when a server restarts, are not retried at the same moment. The
    /// other half is fixed, because with pauses near zero ("full jitter") all
    /// attempts might be used up at once.
    fn backoff(&self) -> Duration {
        const INITIAL: Duration = Duration::from_millis(200);
        const MAX: Duration = Duration::from_secs(10);
        let doublings = self.tries.saturating_sub(1).min(16);
        let half = INITIAL.saturating_mul(1 << doublings).min(MAX) / 2;
        let mut hasher = DefaultHasher::new();
        (self.policy.seed, &*self.job.url, u32::from(self.tries)).hash(&mut hasher);
        // The hash as a fraction of 2^64.
        let drawn = (half.as_nanos() * u128::from(hasher.finish())) >> 64;
        half + Duration::from_nanos(drawn as u64)
    }

    /// Returns the status of the response, if it is complete.
    pub fn status(&self) -> Option<u16> {
        self.attempt.as_ref().filter(|attempt| attempt.error.is_none())?.response.status
    }

    /// Returns true if the server has no time for this URL now (429 or 503).
    pub fn is_busy(&self) -> bool {
        self.status().is_some_and(is_throttled)
    }

    /// Returns the value of the header `Retry-After` (RFC 9110 section 10.2.3).
    pub fn retry_after(&self) -> Option<Duration> {
        self.response()?.retry_after
    }

    /// Returns the reason to request the URL again later, if there is one.
    pub fn deferral(&self) -> Option<Deferral> {
        let error = self.attempt.as_ref().and_then(|attempt| attempt.error.as_ref());
        if error.is_some_and(|error| error.class == ErrorClass::DnsTemporary) {
            let reason = DeferReason::NoDns;
            let deferral = Deferral { reason, retry_after: None, tries: self.tries.into() };
            return (self.policy.max_tries > 1).then_some(deferral);
        }
        let status = self.status()?;
        let is_external = self.job.purpose == Purpose::External;
        let reason = if is_throttled(status) && !(is_external && status == 429) {
            DeferReason::Throttled
        } else if is_server_error(status) && !is_external && self.policy.max_tries > 1 {
            DeferReason::ServerError(status)
        } else {
            // A link to another site that is throttled is blocked, and not broken, whatever
            // comes of it later. So is one whose server fails: it is unsure.
            return None;
        };
        Some(Deferral { reason, retry_after: self.retry_after(), tries: self.tries.into() })
    }

    /// Returns the file of a finished [visit of a file](Visit::for_file).
    ///
    /// # Errors
    /// When there is no complete response. A file that is too long is not an
    /// error: then its beginning is returned.
    pub fn into_site_file(self) -> Result<SiteFile, FetchError> {
        let no_response = || FetchError::new(ErrorClass::Closed, "the server did not answer");
        let deferral = self.deferral();
        let Attempt { response, error, .. } = *self.attempt.ok_or_else(no_response)?;
        let next_url = match response.status.is_some_and(is_redirect) {
            true => redirect_target(&self.job, &response).ok(),
            false => None,
        };
        let is_whole = error.is_none();
        match (response.status, error) {
            (Some(_), Some(error)) if error.class != ErrorClass::TooLarge => Err(error),
            (Some(status), _) => {
                Ok(SiteFile { status, body: response.file, is_whole, next_url, deferral })
            }
            (None, error) => Err(error.unwrap_or_else(no_response)),
        }
    }

    /// Finishes the visit and returns its local result. The visit is not to be used
    /// again.
    pub fn finish(&mut self, now: Instant) -> Finished {
        let limits = self.limits();
        let deferral = self.deferral();
        let attempt = self.attempt.take();
        let mut attempt = attempt.unwrap_or_else(|| Attempt::new(self.method, limits));
        let (outcome, discovery) = attempt.outcome(&self.job);
        let warning = attempt.response.warning(outcome, self.policy.max_body_size);
        let Attempt { response, error, page, .. } = *attempt;
        let mut row = Row::new(Arc::clone(&self.job.url), self.job.depth);
        row.status = response.status;
        row.tries = self.tries.into();
        let is_counted = !response.is_cut && response.gap.is_none();
        row.size = is_counted.then_some(response.size);
        row.elapsed_ms = now.duration_since(self.begun).as_millis() as u64;
        row.outcome = outcome;
        if self.job.purpose == Purpose::External {
            let class = error.as_ref().map(|error| error.class);
            row.verdict = ExternalVerdict::of(outcome, row.status, class);
        }
        row.error = error;
        if let Discovery::Redirect(target) = &discovery {
            row.next_url = Some(target[..Position::AfterQuery].to_owned());
        }
        if let Some(content_type) = response.content_type {
            row.content_type = Some(content_type.essence);
            row.encoding = content_type.charset;
        }
        // A chain of redirects that has used up its budget ends here. Its row
        // still has the next URL.
        let discovery = match discovery {
            Discovery::Redirect(_) if outcome == Outcome::HttpError => Discovery::Nothing,
            Discovery::Nothing => match page.filter(|_| outcome != Outcome::HttpError) {
                Some(page) => self.policy.read(page, &response.robots_tags, &mut row),
                None => Discovery::Nothing,
            },
            other => other,
        };
        let outcome = row.outcome;
        trace::fetch_end(&self.job.url, row.status, || outcome.name());
        let warning = warning.map(|what| format!("{}: {what}", self.job.url));
        let sets_cookie = response.sets_cookie;
        Finished { row, deferral, warning, sets_cookie, discovery }
    }
}

impl FetchPolicy {
    /// Reads a page: makes the selections for its row, and decides if its links
    /// are followed.
    fn read(&self, mut page: Page, robots_tags: &[Vec<u8>], row: &mut Row) -> Discovery {
        if page.is_html {
            row.encoding = Some(encoding_name(page.encoding));
        }
        if let Some(text) = page.text.take().filter(|_| row.outcome == Outcome::Page) {
            match select(&String::from_utf8_lossy(&text), &self.select) {
                Ok(selected) => row.selected = Some(selected),
                Err(error) => row.select_error = Some(error),
            }
        }
        let is_nofollow = self.robot.as_ref().is_some_and(|robot| {
            let forbids = |tag: &Vec<u8>| header_forbids_following(tag, robot);
            page.found.is_nofollow(robot) || robots_tags.iter().any(forbids)
        });
        Discovery::Page(page, is_nofollow)
    }
}

impl Attempt {
    /// Decides the outcome of the visit by the status of the response.
    fn outcome(&mut self, job: &Job) -> (Outcome, Discovery) {
        let Some(status) = self.response.status.filter(|_| self.error.is_none()) else {
            let outcome = self.error.as_ref().map_or(Outcome::Failed, Outcome::without_response);
            return (outcome, Discovery::Nothing);
        };
        let has_location = self.response.location.is_some();
        match known_status(status) {
            // ANCHOR: outcome_of_a_redirect
            300 if !has_location => (self.body_outcome(), Discovery::Nothing),
            _ if self.response.is_page_without_location() && self.response.size > 0 => {
                (self.body_outcome(), Discovery::Nothing)
            }
            300..=303 | 307 | 308 => match redirect_target(job, &self.response) {
                Err(error) => {
                    self.error = Some(error);
                    (Outcome::HttpError, Discovery::Nothing)
                }
                Ok(target) if target[..Position::AfterQuery] == *job.url => {
                    let why = "the URL redirects to itself";
                    self.error = Some(FetchError::new(ErrorClass::RedirectLoop, why));
                    (Outcome::HttpError, Discovery::Redirect(target))
                }
                Ok(target) if job.redirects_left == 0 => {
                    self.error = Some(FetchError::new(
                        ErrorClass::RedirectLimit,
                        format!(
                            "the chain of redirects is too long to follow to {}",
                            &target[..Position::AfterQuery]
                        ),
                    ));
                    (Outcome::HttpError, Discovery::Redirect(target))
                }
                Ok(target) => (Outcome::Redirect, Discovery::Redirect(target)),
            },
            // ANCHOR_END: outcome_of_a_redirect
            429 => {
                let message = "rate limited (429)";
                self.error = Some(FetchError::new(ErrorClass::RateLimited, message));
                (Outcome::Skipped, Discovery::Nothing)
            }
            400.. => {
                let is_external = job.purpose == Purpose::External;
                if is_external && matches!(status, 403 | 405 | 999) {
                    let message = "the server refuses crawlers; it may work in a browser";
                    self.error = Some(FetchError::new(ErrorClass::Blocked, message));
                }
                (Outcome::HttpError, Discovery::Nothing)
            }
            _ => (self.body_outcome(), Discovery::Nothing),
        }
    }

    fn body_outcome(&self) -> Outcome {
        match &self.page {
            Some(page) if page.is_html => Outcome::Page,
            _ => Outcome::Other,
        }
    }
}

// ANCHOR: redirect_target
fn redirect_target(job: &Job, response: &ResponseBody) -> Result<Url, FetchError> {
    let unusable = |why: String| FetchError::new(ErrorClass::RedirectTarget, why);
    // An empty `Location` would lead back to the same URL; it is a mistake.
    let Some(location) = response.location.as_ref().filter(|l| !l.is_empty()) else {
        return Err(unusable("the redirect has no usable Location".into()));
    };
    let text = http::text_of_header(location);
    let shown = || match mask_passwords(&text) {
        Cow::Borrowed(_) => http::printable(location),
        Cow::Owned(masked) => http::printable(masked.as_bytes()),
    };
    let mut target = Url::parse(&job.url)
        .and_then(|url| BaseUrl::resolve(&url, &text))
        .map_err(|error| unusable(format!("Location {}: {error}", shown())))?;
    if target.as_str().len() > BaseUrl::MAX_BYTES {
        return Err(unusable(format!("Location {} is too long", shown())));
    }
    if !matches!(target.scheme(), "http" | "https") {
        return Err(unusable(format!("Location {} is not http", shown())));
    }
    // Like that of a link, its password is not sent.
    remove_password(&mut target);
    Ok(target)
}
// ANCHOR_END: redirect_target

/// Returns true if the result of a `HEAD` makes a `GET` unnecessary: the URL leads to a
/// file that is not a page and is not searched for links, the server says that it has no time
/// and for how long (429 always does), or it cannot be reached.
fn is_head_enough(result: &FetchResult, response: Option<&ResponseBody>) -> bool {
    let is_enough = |response: &ResponseBody| match response.status {
        Some(200..=299) if response.is_discarded() => {
            response.content_type.as_ref().is_some_and(|content_type| {
                !content_type.essence.is_empty() && !content_type.is_html()
            })
        }
        Some(503) => response.retry_after.is_some(),
        status => status == Some(429),
    };
    match result {
        Ok(()) => response.is_some_and(is_enough),
        Err(error) => error.class.is_refusal() || error.class.is_unreachable(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every fetch in flight has a visit.
    #[test]
    fn a_visit_is_small() {
        assert!(size_of::<Visit>() <= 72, "{} bytes", size_of::<Visit>());
    }
}
