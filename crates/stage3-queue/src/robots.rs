//! Fetches the robots.txt of an origin (RFC 9309), and makes rules of the response.

use std::pin::pin;

use crawl_core::{ErrorClass, FetchError, Job, SiteFile};
use stage2_coroutines::catch;
use url::Url;
use web::robots::{MAX_BYTES, Robots, product_token};

use crate::fetch::{Client, FileError, Redirects};
use crate::frontier::{Gate, Reporting};
use crate::rules::Rules;

/// Fetches the robots.txt of a job.
pub(crate) async fn fetch_robots(
    client: &Client<impl Gate + Reporting>,
    file: &Job,
) -> Result<SiteFile, FileError> {
    let host_answered = true;
    let Ok(url) = Url::parse(&file.url) else {
        // Cannot happen: only valid URLs are admitted.
        let error = FetchError::new(ErrorClass::Protocol, "not a valid URL");
        return Err(FileError { error, host_answered, deferral: None });
    };
    let response = catch(pin!(client.fetch_file(&url, MAX_BYTES + 1, Redirects::OnSite))).await;
    let response = response.unwrap_or_else(|exception| Err(FileError::of_panic(&exception)));
    if let Ok(SiteFile { next_url: Some(next), .. }) = &response {
        let warning =
            format!("{url} redirects to {next}, which is not requested: everything is allowed");
        client.frontier.warn(warning);
    }
    response
}

/// Returns the rules that follow from the response to the request for `url`, or from its
/// failure (RFC 9309 section 2.3.1). A file that makes the parser panic counts as one that
/// could not be fetched.
pub(crate) async fn rules_of(
    url: &str,
    response: &Result<SiteFile, FileError>,
    user_agent: &str,
) -> Rules {
    let parse = async { parse(url, response, user_agent) };
    match catch(pin!(parse)).await {
        Ok(rules) => rules,
        Err(exception) => self::parse(url, &Err(FileError::of_panic(&exception)), user_agent),
    }
}

fn parse(url: &str, response: &Result<SiteFile, FileError>, user_agent: &str) -> Rules {
    let (robots, reason) = match response {
        Ok(SiteFile { status, body, .. }) => {
            let robots = Robots::of_response(*status, body, product_token(user_agent));
            let reason = match status {
                200..=299 => format!("{url} does not allow it"),
                _ => format!("{url} cannot be fetched (status {status}), so nothing is allowed"),
            };
            (robots, reason)
        }
        Err(FileError { error, host_answered: false, .. }) => {
            // Without a connection, the path makes no difference.
            if error.class.is_unreachable() {
                return Rules::NoServer(error.clone());
            }
            let message = format!("{} (while fetching {url})", error.message);
            return Rules::NoServer(FetchError::new(error.class, message));
        }
        Err(FileError { error, .. }) => {
            let reason = format!("{url} cannot be fetched ({error}), so nothing is allowed");
            (Robots::unreachable(), reason)
        }
    };
    Rules::Robots { robots, reason }
}
