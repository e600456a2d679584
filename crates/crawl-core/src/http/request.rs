//! The requests a crawler makes.

use super::Header;
use super::response::Method;
use crate::Address;
use crate::content::ACCEPT_ENCODING;

/// A request for `url` in the form of RFC 9112 section 3, ready to be sent.
///
/// The fragment of `url` stays here, and so do a user name and password. `keep_alive` says whether the connection is wanted
/// for another request afterwards.
///
/// Characters of `user_agent` that could end the header (see
/// [`is_header_value`]) are left out, so it cannot add one of its own.
/// `headers` are sent beside ours, or instead of what we say we accept.
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
    // IPv6 addresses come with their brackets, a default port not at all.
    request.push_str(url.authority());
    request.push_str("\r\nUser-Agent: ");
    request.extend(user_agent.chars().filter(|&c| is_field_character(c)));
    for (name, value) in WISHES {
        if !headers.clone().any(|header| header.is(name)) {
            push(&mut request, name, value);
        }
    }
    headers.for_each(|header| push(&mut request, &header.name, &header.value));
    request.push_str("\r\nAccept-Encoding: ");
    request.push_str(ACCEPT_ENCODING);
    request.push_str("\r\nConnection: ");
    request.push_str(if keep_alive { "keep-alive" } else { "close" });
    request.push_str("\r\n\r\n");
    request.into_bytes()
}

/// What a request asks for, unless the user asks for something else.
const WISHES: [(&str, &str); 2] = [
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("Accept-Language", "*"),
];

fn push(request: &mut String, name: &str, value: &str) {
    for part in ["\r\n", name, ": ", value] {
        request.push_str(part);
    }
}

/// Whether `text` can be sent as the value of a header and arrives as it is:
/// printable ASCII, blanks within, none at the ends, and not empty (RFC 9110
/// section 5.5, without its obsolete bytes above 127).
pub fn is_header_value(text: &str) -> bool {
    !text.is_empty() && text == text.trim() && text.chars().all(is_field_character)
}

fn is_field_character(c: char) -> bool {
    matches!(c, '\t' | ' '..='~')
}
