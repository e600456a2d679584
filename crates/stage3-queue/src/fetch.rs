//! The fetch of one URL, as in stage 2, over connections that are kept alive.

use crawl_core::{
    Deadline, Deferral, ErrorClass, FetchError, FetchResult, Options, Phase, Received, SiteFile,
    Verdict, Visit,
};
use stage2_coroutines::{
    Connection, Elapsed, EventLoop, Exception, read_all, sleep, timeout_at, write_all,
};
use url::Url;

use crate::connector::Connector;
use crate::frontier::Gate;
use crate::health::Health;

/// The HTTP client that all fetches share: of pages, robots.txt files and sitemaps,
/// all with the same deadlines and limits.
pub(crate) struct Client<G> {
    pub(crate) event_loop: EventLoop,
    pub(crate) options: Options,
    pub(crate) connector: Connector,
    /// Of the frontier a fetch needs the gate only.
    pub(crate) frontier: G,
}

/// The failure to fetch a file.
pub(crate) struct FileError {
    pub(crate) error: FetchError,
    /// True if at least a response began, or if a redirect led here.
    pub(crate) host_answered: bool,
    /// The reason to request the file again later, if there is one.
    pub(crate) deferral: Option<Deferral>,
}

impl FileError {
    /// Returns the failure of a panic.
    pub(crate) fn of_panic(exception: &Exception) -> Self {
        let error = FetchError::new(ErrorClass::Panic, exception.to_string());
        Self { error, host_answered: true, deferral: None }
    }
}

impl<G: Gate> Client<G> {
    // ANCHOR: fetch
    /// Fetches a URL: makes one attempt after another, with a pause (backoff)
    /// between two of them, until the visit is finished. The gate knows when its host may
    /// get another request, and whether it should.
    pub(crate) async fn fetch(&self, visit: &mut Visit) {
        loop {
            let now = self.event_loop.now();
            let deadline = Deadline::for_url(visit.url(), &self.options, now);
            // The deadline moves whenever the server sends something. When it has
            // passed, the attempt is dropped where it waits, and so is its connection.
            let attempt = self.attempt(visit, &deadline);
            let result = timeout_at(&self.event_loop, || deadline.at(), attempt).await;
            let late = |Elapsed| deadline.check(self.event_loop.now());
            let result = result.unwrap_or_else(late);
            match self.judge(visit, result) {
                Verdict::TryAgain(backoff) => sleep(&self.event_loop, backoff).await,
                Verdict::Finished => return,
            }
            // Boxed, since it is rare and would make every fetch larger.
            if let Err(error) = Box::pin(self.frontier.wait_turn(visit.url())).await {
                return visit.fail(error);
            }
        }
    }
    // ANCHOR_END: fetch

    /// Decides how to go on after an attempt.
    fn judge(&self, visit: &mut Visit, result: FetchResult) -> Verdict {
        let result = self.connector.explained(visit, result);
        let error = match &result {
            // An error in a body that nobody needs says nothing about the host.
            Err(error) if !visit.needs_no_more(error) => Some(error),
            _ => None,
        };
        if self.frontier.record_attempt(visit, error) == Health::GivenUp {
            visit.end_retries();
        }
        visit.judge(result)
    }

    // ANCHOR: attempt
    /// Makes one attempt: over an idle connection if there is one, and otherwise over a new one.
    async fn attempt(&self, visit: &mut Visit, deadline: &Deadline) -> FetchResult {
        if let Some(result) = self.attempt_over_idle(visit, deadline).await {
            return result;
        }
        if visit.has_request() {
            // The server had closed the idle connection. It may do so (RFC 9112,
            // section 9.3.1), and the attempt goes on with a new one.
            deadline.enter(Phase::Pause, self.event_loop.now());
            Box::pin(self.frontier.wait_turn(visit.url())).await?;
            deadline.enter(Phase::Lookup, self.event_loop.now());
        }
        let mut connection = self.connector.connect(visit, deadline).await?;
        let received = self.exchange(&mut connection, visit, deadline).await?;
        self.connector.keep(visit, connection, received);
        Ok(())
    }

    /// Makes an attempt over an idle connection. Returns `None` if there is none, or if it was
    /// dead: a dead connection may give no other sign than its silence.
    async fn attempt_over_idle(
        &self,
        visit: &mut Visit,
        deadline: &Deadline,
    ) -> Option<FetchResult> {
        let mut idle = self.connector.take_idle(visit)?;
        let result = self.exchange(&mut idle, visit, deadline).await;
        if !visit.is_answered(&result) {
            return None;
        }
        Some(result.map(|received| self.connector.keep(visit, idle, received)))
    }
    // ANCHOR_END: attempt

    /// Sends the request and reads the response to its end.
    async fn exchange(
        &self,
        connection: &mut Connection,
        visit: &mut Visit,
        deadline: &Deadline,
    ) -> Result<Received, FetchError> {
        let event_loop = &self.event_loop;
        deadline.enter(Phase::Exchange, event_loop.now());
        let sent = write_all(connection, &self.connector.request(visit, &self.options)).await;
        sent.map_err(|error| visit.interrupted(&error))?;
        let receive = |bytes: &[u8]| {
            let now = event_loop.now();
            visit.receive_within(deadline, bytes, now)
        };
        let response = read_all(connection, receive).await;
        match response {
            Ok(Some(received)) => received,
            Ok(None) => visit.receive_end(),
            Err(error) => visit.receive_error(&error),
        }
    }

    /// Fetches a file that is not a page, such as a robots.txt, and keeps at most
    /// `limit` bytes of it. Follows as many redirects as for a page, and at least
    /// five. Where the chain is longer, or leads off the site, its last response is
    /// the result.
    ///
    /// # Errors
    /// When there is no complete response.
    pub(crate) async fn fetch_file(
        &self,
        url: &Url,
        limit: usize,
        redirects: Redirects,
    ) -> Result<SiteFile, FileError> {
        // RFC 9309 section 2.3.1.2: at least five redirects should be followed.
        let max_redirect = self.options.settings.max_redirect.max(5);
        let (mut url, mut followed, mut host_answered) = (url.clone(), 0, false);
        loop {
            let now = self.event_loop.now();
            let mut visit = Visit::for_file(&url, limit as u64, &self.options, now);
            if followed > 0 {
                let turn = self.frontier.wait_turn(visit.url()).await;
                turn.map_err(|error| FileError { error, host_answered, deferral: None })?;
            }
            self.fetch(&mut visit).await;
            host_answered |= visit.has_response();
            let deferral = visit.deferral();
            let file = visit.into_site_file();
            let file = file.map_err(|error| FileError { error, host_answered, deferral })?;
            let Some(next) = &file.next_url else { return Ok(file) };
            if followed == max_redirect || !self.may_follow(&url, next, redirects).await {
                return Ok(file);
            }
            url = next.clone();
            followed += 1;
        }
    }

    /// Returns true if a redirect of a file may be followed: it stays on its site or
    /// within the scope of the crawl, and robots.txt allows the target.
    async fn may_follow(&self, url: &Url, next: &Url, redirects: Redirects) -> bool {
        let rule = self.options.settings.scope;
        // Mostly it stays on its site, and there may be many start URLs.
        let mut sites = [url].into_iter().chain(&*self.options.settings.roots);
        sites.any(|site| rule.is_same_site(site, next))
            && (redirects == Redirects::OnSite || self.refusal(next).await.is_none())
    }

    /// Returns the reason why robots.txt forbids a file, if it does.
    pub(crate) async fn refusal(&self, url: &Url) -> Option<FetchError> {
        if !self.options.settings.robots {
            return None;
        }
        match self.frontier.rules(&site_file(url, "/")).await {
            Some(rules) => rules.refusal(url),
            None => {
                Some(FetchError::new(ErrorClass::Robots, "the robots.txt of its host is not known"))
            }
        }
    }
}

/// The redirects of a file that are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redirects {
    /// Those that stay on the site. Nothing forbids a request for a robots.txt.
    OnSite,
    /// Those of them that robots.txt allows.
    Allowed,
}

/// Returns the URL of the file with this path at the origin of `url`.
pub(crate) fn site_file(url: &Url, path: &str) -> Url {
    let mut file = url.clone();
    // Fails for URLs without a host only, which are never crawled.
    let _ = file.set_username("").and_then(|()| file.set_password(None));
    file.set_path(path);
    file.set_query(None);
    file.set_fragment(None);
    file
}
