//! The causes of findings: what a class of errors or a status means, and what to do about it.

use crawl_core::ErrorClass;

/// Returns what a cause means and what to do about it, in one or two sentences; by its kind,
/// see [`Broken::kind`](super::broken::Broken::kind).
pub(super) fn advice(class: Option<ErrorClass>, status: Option<u16>) -> &'static str {
    let Some(class) = class else {
        return match status {
            Some(300..=399) => {
                "The server redirects to another address. Change the links to the new one."
            }
            Some(404 | 410) => {
                "There is nothing at this address. Correct the links, or restore the page."
            }
            Some(401 | 403) => {
                "The server refuses access. Remove the links, or accept the status with --accept."
            }
            Some(400..=499) => "The server refuses the request. Correct the links.",
            Some(500..) => "The server has failed. Repair the server, or check again later.",
            _ => "The server has not answered. Check again later, or remove the links.",
        };
    };
    match class {
        ErrorClass::Dns => {
            "The host has no address. Correct the name, or remove the links to this host."
        }
        ErrorClass::DnsTemporary | ErrorClass::NoRoute => {
            "This machine could not reach the host. Check its network, and check again."
        }
        ErrorClass::Unsupported => {
            "The server wants what this crawler does not have. The link may work in a browser."
        }
        ErrorClass::Connect => {
            "The host does not accept connections. Check again later, or remove the links."
        }
        ErrorClass::Proxy => {
            "The proxy has not led to the server. Check the settings of the proxy."
        }
        ErrorClass::Tls => {
            "A browser would show a warning instead of this page. Renew the certificate, or \
             remove the links."
        }
        ErrorClass::Timeout | ErrorClass::Closed | ErrorClass::Truncated => {
            "The server has not answered completely. Check again later."
        }
        ErrorClass::Protocol | ErrorClass::Decode => {
            "The server sends what a browser cannot read. Repair the server."
        }
        ErrorClass::TooLarge | ErrorClass::Nesting | ErrorClass::TooComplex => {
            "The page exceeds a limit of the crawler, so its links were not checked."
        }
        ErrorClass::RedirectLimit | ErrorClass::RedirectLoop | ErrorClass::RedirectTarget => {
            "The redirects lead to no page. Repair the redirects, or change the links."
        }
        ErrorClass::InvalidUrl => "No browser can follow this link. Correct it.",
        ErrorClass::Fragment => {
            "The page exists, but no element has this id, so a browser shows the top of the \
             page. Correct the links, or restore the id."
        }
        ErrorClass::Blocked => "The server refuses crawlers. The link may work in a browser.",
        ErrorClass::Trap | ErrorClass::Robots | ErrorClass::DeniedAddress => {
            "The crawler has not requested this address."
        }
        ErrorClass::RateLimited => "The server limits the rate of requests. Check again later.",
        ErrorClass::Panic => "The crawler itself has failed here. Please report this bug.",
    }
}
