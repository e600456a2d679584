//! robots.txt (RFC 9309): fetches the file of an origin, and keeps its rules.

use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use crawl_core::{ErrorClass, FetchError, Job, SiteFile};
use serde::{Deserialize, Serialize};
use stage2_coroutines::catch;
use url::Url;
use web::robots::{MAX_BYTES, Robots, product_token};

use crate::fetch::{Client, FileError, Redirects};
use crate::frontier::Frontier;
use crate::politeness::Deferrals;

/// Fetches the robots.txt for which a job is.
pub(crate) async fn fetch_robots(
    client: &Client<impl Frontier>,
    file: &Job,
) -> Result<SiteFile, FileError> {
    let host_answered = true;
    let Ok(url) = Url::parse(&file.url) else {
        // Cannot happen: only valid URLs are admitted.
        let error = FetchError::new(ErrorClass::Protocol, "no valid URL");
        return Err(FileError { error, host_answered });
    };
    let response = catch(pin!(client.fetch_file(&url, MAX_BYTES + 1, Redirects::OnSite))).await;
    let response = response.unwrap_or_else(|exception| Err(FileError::of_panic(&exception)));
    if let Ok(SiteFile { next_url: Some(next), .. }) = &response {
        let warning = format!("{url} leads to {next}, which is not asked: it forbids nothing");
        client.frontier.warn(warning);
    }
    response
}

/// The state of an origin's robots.txt.
#[derive(Debug)]
pub(crate) enum RulesState {
    /// Not fetched yet. The deferrals of the file, if it was busy.
    Unknown(Option<Box<Deferrals>>),
    /// Being fetched.
    Pending,
    Known(Rc<Rules>),
}

impl Default for RulesState {
    fn default() -> Self {
        Self::Unknown(None)
    }
}

impl RulesState {
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }

    /// Returns the deferrals of a file that was busy.
    pub(crate) fn deferrals(self) -> Option<Box<Deferrals>> {
        if let Self::Unknown(deferrals) = self { deferrals } else { None }
    }

    fn known(&self) -> Option<&Rules> {
        if let Self::Known(rules) = self { Some(rules) } else { None }
    }

    /// Returns the error of an origin that does not answer.
    pub(crate) fn dead(&self) -> Option<&FetchError> {
        if let Some(Rules::NoServer(error)) = self.known() { Some(error) } else { None }
    }

    /// Returns about the memory that the rules take, in bytes.
    pub(crate) fn size(&self) -> usize {
        if let Some(Rules::Robots { robots, .. }) = self.known() { robots.memory() } else { 0 }
    }

    /// Drops rules that take memory, and returns how much, in bytes.
    pub(crate) fn forget(&mut self) -> usize {
        let size = self.size();
        if size > 0 {
            *self = Self::default();
        }
        size
    }

    /// Returns the reason why a URL may not be fetched, if there is one.
    pub(crate) fn refusal(&self, url: &str) -> Option<FetchError> {
        match self.known()? {
            Rules::Robots { robots, .. } if !robots.has_rules() => None,
            rules => match Url::parse(url) {
                Ok(url) => rules.refusal(&url),
                // Cannot happen: only valid URLs are admitted.
                Err(error) => Some(FetchError::new(ErrorClass::Protocol, error.to_string())),
            },
        }
    }
}

/// The rules of one origin.
#[derive(Debug, Serialize, Deserialize)]
pub enum Rules {
    /// The robots.txt was fetched and parsed, or is replaced by the default for a
    /// failed response.
    Robots {
        /// The rules.
        robots: Robots,
        /// Error message for a URL that is not allowed.
        reason: String,
    },
    /// The host does not answer at all. Each of its URLs fails with this error: a
    /// link to a missing host is broken, and not forbidden by the rules of a site.
    NoServer(FetchError),
}

impl Rules {
    /// Returns the rules of an origin that forbids nothing.
    pub fn none() -> Self {
        Self::Robots { robots: Robots::default(), reason: String::new() }
    }

    /// Returns the rules that the response to the request for `url`, or its
    /// failure, stands for (RFC 9309 section 2.3.1). A file whose parsing panics counts as
    /// one that cannot be had.
    pub(crate) async fn of_response(
        url: &str,
        response: &Result<SiteFile, FileError>,
        user_agent: &str,
    ) -> Self {
        let parse = async { Self::parse(url, response, user_agent) };
        catch(pin!(parse)).await.unwrap_or_else(|exception| {
            Self::parse(url, &Err(FileError::of_panic(&exception)), user_agent)
        })
    }

    fn parse(url: &str, response: &Result<SiteFile, FileError>, user_agent: &str) -> Self {
        let (robots, reason) = match response {
            Ok(SiteFile { status, body, .. }) => {
                let robots = Robots::of_response(*status, body, product_token(user_agent));
                let reason = match status {
                    200..=299 => format!("{url} does not allow it"),
                    _ => format!("{url} cannot be had (status {status}), so nothing is allowed"),
                };
                (robots, reason)
            }
            Err(FileError { error, host_answered: false }) => {
                // Without a connection, the path makes no difference.
                if matches!(error.class, ErrorClass::Dns | ErrorClass::Connect | ErrorClass::Tls) {
                    return Self::NoServer(error.clone());
                }
                let message = format!("{} (asked for {url})", error.message);
                return Self::NoServer(FetchError::new(error.class, message));
            }
            Err(FileError { error, .. }) => {
                let reason = format!("{url} cannot be had ({error}), so nothing is allowed");
                (Robots::unreachable(), reason)
            }
        };
        Self::Robots { robots, reason }
    }

    /// Returns the rules for a host that is given up, since its last attempts have
    /// ended with errors like this one.
    pub fn of_dead_host(host: &str, error: &FetchError) -> Self {
        let message = format!("{host} is given up, it does not answer: {}", error.message);
        Self::NoServer(FetchError::new(error.class, message))
    }

    /// Returns the reason why a URL may not be fetched, if there is one.
    pub fn refusal(&self, url: &Url) -> Option<FetchError> {
        match self {
            Self::Robots { robots, .. } if robots.allows(url) => None,
            Self::Robots { reason, .. } => {
                Some(FetchError::new(ErrorClass::Robots, reason.as_str()))
            }
            Self::NoServer(error) => Some(error.clone()),
        }
    }

    /// Returns the delay between two requests that the file asks for.
    pub fn crawl_delay(&self) -> Option<Duration> {
        if let Self::Robots { robots, .. } = self { robots.crawl_delay() } else { None }
    }
}
