//! A writer of requests.

use super::header::{Header, is_field_character};
use crate::Address;
use crate::body::ACCEPT_ENCODING;

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`: the response may have a body.
    Get,
    /// `HEAD`: the response is a head only, whatever its headers say.
    Head,
}

/// Returns the bytes of a request for `url`, in the form of RFC 9112 section 3.
///
/// The fragment of `url` is not sent, and neither are its user name and password.
/// `keep_alive` is true if the connection is wanted for another request
/// afterwards.
///
/// Characters of `user_agent` that could end the header (see
/// [`is_header_value`](super::is_header_value)) are left out, so that it cannot
/// add a header of its own. `headers` are sent in addition to the usual ones; they
/// replace `Accept` and `Accept-Language`.
pub fn request<'a>(
    method: Method,
    url: Address<'_>,
    user_agent: &str,
    headers: impl Iterator<Item = &'a Header> + Clone,
    keep_alive: bool,
) -> Vec<u8> {
    let mut request = String::with_capacity(320);
    request.push_str(match method {
        Method::Get => "GET ",
        Method::Head => "HEAD ",
    });
    request.push_str(url.path_and_query());
    request.push_str(" HTTP/1.1\r\nHost: ");
    // An IPv6 address has its brackets here; a default port is left out.
    request.push_str(url.authority());
    request.push_str("\r\nUser-Agent: ");
    request.extend(user_agent.chars().filter(|&c| is_field_character(c)));
    for (name, value) in DEFAULT_HEADERS {
        if !headers.clone().any(|header| header.is(name)) {
            push_header(&mut request, name, value);
        }
    }
    headers.for_each(|header| push_header(&mut request, &header.name, &header.value));
    request.push_str("\r\nAccept-Encoding: ");
    request.push_str(ACCEPT_ENCODING);
    request.push_str("\r\nConnection: ");
    request.push_str(if keep_alive { "keep-alive" } else { "close" });
    request.push_str("\r\n\r\n");
    request.into_bytes()
}

/// The headers that are sent unless the user sets them.
const DEFAULT_HEADERS: [(&str, &str); 2] = [
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("Accept-Language", "*"),
];

fn push_header(request: &mut String, name: &str, value: &str) {
    for part in ["\r\n", name, ": ", value] {
        request.push_str(part);
    }
}
