//! What is known of the robots.txt of one origin.

use crawl_core::robots::{Robots, product_token};
use crawl_core::{ErrorClass, FetchError, File};
use url::Url;

use crate::client::NoFile;

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
        /// Of the file, in bytes; the rules take some such amount of memory.
        length: usize,
        /// What to say of a URL that is not allowed.
        reason: String,
    },
    /// There is nobody who answers, which is what becomes of every URL: a link
    /// to nobody is broken, and not for the rules of a site.
    Nobody(FetchError),
}

impl Rules {
    /// What the answer, or that there is none, to the request for `url` means (RFC 9309 section 2.3.1).
    pub(super) fn of_answer(url: &Url, answer: &Result<File, NoFile>, user_agent: &str) -> Self {
        let (robots, length, reason) = match answer {
            Ok(File { status, body, .. }) => {
                let robots = Robots::of_response(*status, body, product_token(user_agent));
                let reason = match status {
                    200..=299 => format!("{url} does not allow it"),
                    _ => format!("{url} cannot be had (status {status}), so nothing is allowed"),
                };
                (robots, body.len(), reason)
            }
            Err(NoFile { error, is_anybody_there: false }) => {
                let message = format!("{} (asked for {url})", error.message);
                return Self::Nobody(FetchError::new(error.class, message));
            }
            Err(NoFile { error, .. }) => {
                let reason = format!("{url} cannot be had ({error}), so nothing is allowed");
                (Robots::unreachable(), 0, reason)
            }
        };
        Self::Known { robots, length, reason }
    }

    /// How much memory they take, about, in bytes.
    pub(super) fn length(&self) -> usize {
        match self {
            Self::Known { length, .. } => *length,
            _ => 0,
        }
    }

    /// Why a URL may not be visited, if that is known.
    pub(super) fn refusal(&self, url: &str) -> Option<FetchError> {
        let (robots, reason) = match self {
            Self::Known { robots, reason, .. } => (robots, reason),
            Self::Nobody(error) => return Some(error.clone()),
            Self::Unknown | Self::Asked => return None,
        };
        if !robots.has_rules() || Url::parse(url).is_ok_and(|url| robots.allows(&url)) {
            return None;
        }
        Some(FetchError::new(ErrorClass::Robots, reason.as_str()))
    }
}
