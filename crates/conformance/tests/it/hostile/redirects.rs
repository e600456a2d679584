//! Redirects: their targets, statuses and chains.

use crawl_core::ErrorClass::{RedirectLimit, RedirectLoop, RedirectTarget, TooLarge};
use crawl_core::Options;

use super::behaviour::{Behaviour, runs, sends};
use crate::common::{failed, http_error, other, page, redirect};

/// Returns a response with this status and location.
fn response_to(status: u16, location: &str) -> String {
    format!("HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
}

pub(crate) fn behaviours(_: &str) -> Vec<Behaviour> {
    let mut all = targets();
    all.extend(unusable());
    all.extend(statuses());
    all.extend(chains());
    all
}

fn targets() -> Vec<Behaviour> {
    const REFERENCE: &str = "RFC 9110, section 10.2.2: any URI reference";
    const SELF: &str = "asked once, wherever it leads";
    const LOOP: &str = "no reader gets anywhere";
    const OUTSIDE: &str = "a redirect like any other, but nobody goes there";
    const TARGET: &str = "/redirects/target";
    let redirects = |path: &str, why, location: &str, target: &str| {
        sends(&format!("/redirects/{path}"), why, response_to(302, location), redirect(302, target))
    };
    let closes_loop = |path: &str, location: &str, target: &str| {
        let expected_row = http_error(302, 0).error(RedirectLoop).next_url(target);
        sends(&format!("/redirects/{path}"), LOOP, response_to(302, location), expected_row)
    };
    vec![
        sends("/redirects/target", "where some lead", page_response("here"), page("here", 0)),
        redirects("absolute-path", REFERENCE, TARGET, TARGET),
        redirects("relative", REFERENCE, "target", TARGET),
        redirects("upwards", REFERENCE, "../../../redirects/./target", TARGET),
        redirects("with-fragment", "a fragment stays with the client", "target#part", TARGET),
        redirects(
            "blanks-around",
            "RFC 9110, section 5.5: none of the value",
            " \t target \t",
            TARGET,
        ),
        redirects("backslashes", "WHATWG URL: as slashes", "\\redirects\\target", TARGET),
        redirects(
            "many-slashes",
            "WHATWG URL: those before a host do not count",
            "///elsewhere.test/",
            "http://elsewhere.test/",
        ),
        redirects("tab-within", "WHATWG URL: to be left out", "/redirects/tar\tget", TARGET),
        redirects("scheme-only", "WHATWG URL: relative to the same scheme", "http:target", TARGET),
        redirects("upper-case", "WHATWG URL: schemes are", "HTTP:target", TARGET),
        redirects("8-bit", "WHATWG URL: encoded as UTF-8", "\u{fc}", "/redirects/%C3%BC"),
        sends("/redirects/%C3%BC", "where one leads", page_response("here"), page("here", 0)),
        sends(
            "/redirects/8-bit-latin",
            "browsers: bytes that are no UTF-8 stay as they are",
            b"HTTP/1.1 302 Moved\r\nLocation: caf\xe9\r\nContent-Length: 0\r\n\r\n",
            redirect(302, "/redirects/caf%E9"),
        ),
        sends("/redirects/caf%E9", "where one leads", page_response("here"), page("here", 0)),
        redirects("bidi", "WHATWG URL: encoded", "\u{202e}", "/redirects/%E2%80%AE"),
        sends("/redirects/%E2%80%AE", "where one leads", page_response("here"), page("here", 0)),
        closes_loop("itself", "/redirects/itself", "/redirects/itself"),
        closes_loop("fragment-only", "#top", "/redirects/fragment-only"),
        redirects("query-only", SELF, "?a=b", "/redirects/query-only?a=b"),
        closes_loop("query-only?a=b", "?a=b", "/redirects/query-only?a=b").unlinked(),
        redirects("one", SELF, "another", "/redirects/another"),
        closes_loop("another", "one", "/redirects/one").unlinked(),
        redirects(
            "outside",
            OUTSIDE,
            "http://elsewhere.test/?\u{9b}",
            "http://elsewhere.test/?%C2%9B",
        ),
        redirects("outside-without-scheme", OUTSIDE, "//elsewhere.test", "http://elsewhere.test/"),
        redirects("another-port", OUTSIDE, "http://127.0.0.1:1/", "http://127.0.0.1:1/"),
        redirects("to-https", OUTSIDE, "https://elsewhere.test/", "https://elsewhere.test/"),
        redirects(
            "unicode-host",
            "WHATWG URL: in Punycode",
            "//b\u{fc}cher.test",
            "http://xn--bcher-kva.test/",
        ),
        redirects(
            "forty-kilobytes",
            OUTSIDE,
            &format!("//elsewhere.test/{}", "x".repeat(40_000)),
            &format!("http://elsewhere.test/{}", "x".repeat(40_000)),
        ),
        runs(
            "/redirects/with-user",
            "RFC 9110, section 4.2.4: a password is neither sent nor shown",
            |request, reply| {
                let host = request.header("host").unwrap_or_default();
                reply.send(response_to(
                    302,
                    &format!("http://user:word@{host}/redirects/target?user"),
                ));
            },
            redirect(302, "/redirects/target?user"),
        ),
        sends("/redirects/target?user", "where one leads", page_response("here"), page("here", 0))
            .unlinked(),
        sends(
            "/redirects/two-locations",
            "no rule for what must not be (RFC 9110, section 5.3): the first counts",
            "HTTP/1.1 302 Found\r\nLocation: target\r\nLocation: http://elsewhere.test/\r\n\
             Content-Length: 0\r\n\r\n",
            redirect(302, TARGET),
        ),
        sends(
            "/redirects/with-page",
            "what comes with a redirect is not searched",
            "HTTP/1.1 301 Moved\r\nLocation: target\r\nContent-Type: text/html\r\n\
             Content-Length: 18\r\n\r\n<a href=/no>no</a>",
            redirect(301, TARGET).size(18),
        ),
        sends(
            "/redirects/with-rubbish",
            "what comes with a redirect is not decoded",
            "HTTP/1.1 301 Moved\r\nLocation: target\r\nContent-Type: text/html\r\n\
             Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\ntext",
            redirect(301, TARGET).size(4),
        ),
    ]
}

fn unusable() -> Vec<Behaviour> {
    const NONE: &str = "a redirect has to lead somewhere";
    const INVALID: &str = "WHATWG URL: a failure";
    const SCHEME: &str = "only http and https are followed";
    let unusable_target = |path: &str, why, location: &str| {
        let expected_row = http_error(302, 0).error(RedirectTarget);
        sends(&format!("/redirects/{path}"), why, response_to(302, location), expected_row)
    };
    vec![
        sends(
            "/redirects/no-location",
            NONE,
            "HTTP/1.1 302 Found\r\nContent-Length: 4\r\n\r\ntext",
            http_error(302, 4).error(RedirectTarget),
        ),
        sends(
            "/redirects/page-without-location",
            "Fetch, HTTP-redirect fetch: without a location, the response is what it is",
            "HTTP/1.1 308 Moved\r\nContent-Type: text/html\r\nContent-Length: 18\r\n\r\n\
             <a href=/>home</a>",
            page("<a href=/>home</a>", 1).status(308),
        ),
        sends(
            "/redirects/nothing-without-location",
            NONE,
            "HTTP/1.1 301 Moved\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n",
            http_error(301, 0).error(RedirectTarget),
        ),
        unusable_target("empty", NONE, ""),
        unusable_target("blank", NONE, " \t "),
        unusable_target("open-bracket", INVALID, "http://["),
        unusable_target("no-host", INVALID, "https://"),
        unusable_target("bad-port", INVALID, "http://a.test:99999/"),
        unusable_target("bad-host", INVALID, "http://a<b>.test/"),
        unusable_target("bad-address", INVALID, "http://1.2.3.256/"),
        unusable_target("blank-in-host", INVALID, "http://a b.test/"),
        unusable_target("bad-punycode", INVALID, "http://xn--\u{fc}.test/"),
        unusable_target("file", SCHEME, "file:///etc/passwd"),
        unusable_target("javascript", SCHEME, "javascript:alert(1)"),
        unusable_target("data", SCHEME, "data:text/html,<a href=/>home</a>"),
        unusable_target("mail", SCHEME, "mailto:a@a.test"),
        unusable_target("ftp", SCHEME, "ftp://127.0.0.1/"),
        unusable_target("web-socket", SCHEME, "ws://127.0.0.1/"),
        unusable_target("view-source", SCHEME, "view-source:http://127.0.0.1/"),
        unusable_target("unknown-scheme", SCHEME, "crawl://127.0.0.1/"),
        sends(
            "/redirects/escape",
            "RFC 9110, section 5.5: with other controls, it is of no use",
            response_to(302, "/\x1b[31m"),
            http_error(302, 0).error(RedirectTarget),
        ),
        sends(
            "/redirects/hundred-kilobytes",
            "a head has a limit",
            response_to(302, &"x".repeat(100_000)),
            failed(TooLarge),
        ),
    ]
}

fn statuses() -> Vec<Behaviour> {
    const TARGET: &str = "/redirects/target";
    const UNKNOWN: &str = "RFC 9110, section 15: an unknown 3xx is read as 300";
    let moved = |status: u16| {
        let path = format!("/redirects/{status}");
        sends(
            &path,
            "RFC 9110, section 15.4",
            response_to(status, TARGET),
            redirect(status, TARGET),
        )
    };
    let unmoved = |path: &str, status: u16, why| {
        sends(
            &format!("/redirects/{path}"),
            why,
            response_to(status, TARGET),
            other(0).status(status),
        )
    };
    vec![
        moved(300),
        moved(301),
        moved(302),
        moved(303),
        moved(307),
        moved(308),
        sends(
            "/redirects/300-without-location",
            "RFC 9110, section 15.4.1: a list to choose from",
            "HTTP/1.1 300 Choose\r\nContent-Type: text/html\r\nContent-Length: 18\r\n\r\n\
             <a href=/>home</a>",
            page("<a href=/>home</a>", 1).status(300),
        ),
        unmoved("304", 304, "RFC 9110, section 15.4.5: nobody has asked whether it is modified"),
        unmoved("305", 305, "RFC 9110, section 15.4.6: deprecated, for it could lead anywhere"),
        sends("/redirects/310", UNKNOWN, response_to(310, TARGET), redirect(310, TARGET)),
        sends("/redirects/399", UNKNOWN, response_to(399, TARGET), redirect(399, TARGET)),
        sends(
            "/redirects/399-without-location",
            UNKNOWN,
            "HTTP/1.1 399 What?\r\nContent-Type: text/html\r\nContent-Length: 18\r\n\r\n\
             <a href=/>home</a>",
            page("<a href=/>home</a>", 1).status(399),
        ),
        unmoved(
            "200-with-location",
            200,
            "RFC 9110, section 10.2.2: only 201 and 3xx have a use for it",
        ),
        unmoved(
            "201-with-location",
            201,
            "RFC 9110, section 15.3.2: what was made, not where to go",
        ),
        sends(
            "/redirects/404-with-location",
            "RFC 9110, section 10.2.2: only 201 and 3xx have a use for it",
            response_to(404, TARGET),
            http_error(404, 0),
        ),
    ]
}

/// Returns a chain with one redirect more than are followed.
fn chains() -> Vec<Behaviour> {
    const CHAIN: &str = "RFC 9110, section 15.4: a client is to detect endless redirects";
    let max = Options::new(Vec::new()).settings.max_redirect;
    let link = |n: u32| {
        let next = format!("/redirects/chain/{}", n + 1);
        let expected_row = if n == max {
            http_error(307, 0).error(RedirectLimit).next_url(&next)
        } else {
            redirect(307, &next)
        };
        let link =
            sends(&format!("/redirects/chain/{n}"), CHAIN, response_to(307, &next), expected_row);
        if n == 0 { link } else { link.unlinked() }
    };
    (0..=max).map(link).collect()
}

fn page_response(html: &str) -> String {
    let length = html.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n{html}")
}
