//! The rules of one origin: what its robots.txt allows. This is a value only; `robots` fetches
//! the file.

use std::time::Duration;

use crawl_core::{ErrorClass, FetchError};
use serde::{Deserialize, Serialize};
use url::Url;
use web::robots::Robots;

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

    /// Returns the rules for a host that is given up, since its last attempts have
    /// ended with errors like this one.
    pub fn of_dead_host(host: &str, error: &FetchError) -> Self {
        let message = format!("{host} was given up, it does not answer: {}", error.message);
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

    /// Returns the delay between two requests that the file demands.
    pub fn crawl_delay(&self) -> Option<Duration> {
        if let Self::Robots { robots, .. } = self { robots.crawl_delay() } else { None }
    }
}
