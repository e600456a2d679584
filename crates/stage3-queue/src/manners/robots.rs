//! What is known of the robots.txt of one origin.

use crawl_core::robots::{Robots, product_token};
use crawl_core::{ErrorClass, FetchError, File};
use url::Url;

/// What its robots.txt says about an origin.
#[derive(Debug)]
pub(super) enum Rules {
    /// Nobody has asked.
    Unknown,
    /// Somebody is asking.
    Asked,
    /// It said this.
    Known {
        robots: Robots,
        /// What to say of a URL that is not allowed.
        reason: String,
    },
}

impl Rules {
    /// What the answer to the request for `url` means (RFC 9309 section 2.3.1).
    pub(super) fn of_answer(
        url: &Url,
        answer: &Result<File, FetchError>,
        user_agent: &str,
    ) -> Self {
        let (robots, reason) = match answer {
            Ok(File { status, body, .. }) => {
                let robots = Robots::of_response(*status, body, product_token(user_agent));
                let reason = match status {
                    200..=299 => format!("{url} does not allow it"),
                    _ => format!("{url} cannot be had (status {status}), so nothing is allowed"),
                };
                (robots, reason)
            }
            Err(error) => {
                let reason = format!("{url} cannot be had ({error}), so nothing is allowed");
                (Robots::unreachable(), reason)
            }
        };
        Self::Known { robots, reason }
    }

    /// Why a URL may not be visited, if that is known.
    pub(super) fn refusal(&self, url: &str) -> Option<FetchError> {
        let Self::Known { robots, reason } = self else {
            return None;
        };
        if !robots.has_rules() || Url::parse(url).is_ok_and(|url| robots.allows(&url)) {
            return None;
        }
        Some(FetchError::new(ErrorClass::Robots, reason.as_str()))
    }
}
