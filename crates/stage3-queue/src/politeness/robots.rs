//! The rules in the robots.txt of one origin.

use crawl_core::{ErrorClass, FetchError, SiteFile};
use url::Url;
use web::robots::{Robots, product_token};

use crate::fetch::FileError;

/// The state of an origin's robots.txt.
#[derive(Debug)]
pub(super) enum Rules {
    /// Not fetched yet.
    Unknown,
    /// Being fetched.
    Pending,
    /// Fetched and parsed, or replaced by the default for a failed response.
    Known {
        robots: Robots,
        /// Length of the file, in bytes: about the memory that the rules take.
        length: usize,
        /// Error message for a URL that is not allowed.
        reason: String,
    },
    /// The host did not answer at all. Each of its URLs fails with this error: a
    /// link to a missing host is broken, and not forbidden by the rules of a site.
    NoServer(FetchError),
}

impl Rules {
    /// Returns the rules that the response to the request for `url`, or its
    /// failure, stands for (RFC 9309 section 2.3.1).
    pub(super) fn of_response(
        url: &Url,
        response: &Result<SiteFile, FileError>,
        user_agent: &str,
    ) -> Self {
        let (robots, length, reason) = match response {
            Ok(SiteFile { status, body, .. }) => {
                let robots = Robots::of_response(*status, body, product_token(user_agent));
                let reason = match status {
                    200..=299 => format!("{url} does not allow it"),
                    _ => format!("{url} cannot be had (status {status}), so nothing is allowed"),
                };
                (robots, body.len(), reason)
            }
            Err(FileError { error, host_answered: false }) => {
                let message = format!("{} (asked for {url})", error.message);
                return Self::NoServer(FetchError::new(error.class, message));
            }
            Err(FileError { error, .. }) => {
                let reason = format!("{url} cannot be had ({error}), so nothing is allowed");
                (Robots::unreachable(), 0, reason)
            }
        };
        Self::Known { robots, length, reason }
    }

    /// Returns the approximate memory that the rules take, in bytes.
    pub(super) fn length(&self) -> usize {
        match self {
            Self::Known { length, .. } => *length,
            _ => 0,
        }
    }

    /// Returns the reason why a URL may not be fetched, if there is one.
    pub(super) fn refusal(&self, url: &str) -> Option<FetchError> {
        let (robots, reason) = match self {
            Self::Known { robots, reason, .. } => (robots, reason),
            Self::NoServer(error) => return Some(error.clone()),
            Self::Unknown | Self::Pending => return None,
        };
        if !robots.has_rules() || Url::parse(url).is_ok_and(|url| robots.allows(&url)) {
            return None;
        }
        Some(FetchError::new(ErrorClass::Robots, reason.as_str()))
    }
}
