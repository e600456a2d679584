//! Links on a page and the URLs they resolve to (WHATWG URL and HTML).

use crawl_core::ErrorClass::{InvalidUrl, Trap};
use crawl_core::Options;
use demo_site::scripted::{Reply, Request};

use super::behaviour::{Behaviour, runs, sends};
use crate::common::{failed, links, page, skipped};

fn response(html: &str) -> String {
    let length = html.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n\r\n{html}"
    )
}

/// Replaces HOST and PORT in a text.
fn fill_in(host: &str, html: &str) -> String {
    let port = host.rsplit(':').next().unwrap_or_default();
    html.replace("HOST", host).replace("PORT", port)
}

/// Returns a page with this text, in which HOST stands for the server's host
/// and port, and PORT for its port.
fn shows(path: &str, why: &'static str, html: &str, host: &str, num_urls: u32) -> Behaviour {
    let served = html.to_owned();
    let script = move |request: &Request, reply: &mut Reply<'_>| {
        reply.send(response(&fill_in(request.header("host").unwrap_or_default(), &served)));
    };
    runs(format!("/links/{path}"), why, script, page(fill_in(host, html), num_urls))
}

/// Returns the row of a link that is not a URL, which a page has. Nothing is asked.
fn no_url(link: &str, row: &str) -> Behaviour {
    let expected_row = failed(InvalidUrl).tries(0);
    let behaviour = sends(&format!("no URL: {link}"), "URL, section 4.4", "", expected_row);
    behaviour.unlinked().with_row_url(row.to_owned())
}

/// Returns a page that other pages link to.
fn linked_page(path: &str, why: &'static str) -> Behaviour {
    sends(path, why, response("here"), page("here", 0)).unlinked()
}

pub(crate) fn behaviours(host: &str) -> Vec<Behaviour> {
    const LEADS: &str = "where some lead";
    const REMOVED: &str = "URL, section 4.4: to be removed";
    const ENCODED: &str = "URL, section 4.4: encoded as UTF-8";
    let one_link = |path: &str, why, hrefs: &[&str]| shows(path, why, &links(hrefs), host, 1);
    let no_link = |path: &str, why, hrefs: &[&str]| shows(path, why, &links(hrefs), host, 0);
    vec![
        linked_page("/links/target", LEADS),
        one_link("blanks-around", REMOVED, &[" target ", "\t\ntarget\n", "\x1ftarget\x01"]),
        one_link("tabs-and-line-ends", REMOVED, &["tar\tget", "/li\nnks/\r\ntarget"]),
        one_link("blank-within", ENCODED, &["a b", "a%20b"]),
        linked_page("/links/a%20b", LEADS),
        one_link(
            "backslashes",
            "URL, section 4.4: as slashes",
            &["\\links\\target", "http:\\\\HOST\\links\\target"],
        ),
        one_link(
            "upper-case",
            "URL, section 4.4: lower-cased",
            &["HTTP://HOST/links/target", "hTTp:target"],
        ),
        one_link(
            "no-slashes",
            "URL, section 4.4: special schemes need none",
            &["http:HOST/../target", "http:/links/target", "http:target"],
        ),
        one_link(
            "many-slashes",
            "URL, section 4.4: ignored",
            &["http:////HOST/links/target", "///HOST/links/target"],
        ),
        one_link(
            "numbers-for-hosts",
            "URL, section 3.5: the same address",
            &[
                "//0x7f.1:PORT/links/target",
                "//2130706433:PORT/links/target",
                "//0177.0.0.01:PORT/links/target",
            ],
        ),
        one_link(
            "wide-digits",
            "URL, section 3.3: the same host to Unicode",
            &["//\u{ff11}27.0.0.1:PORT/links/target"],
        ),
        one_link(
            "dots",
            "URL, section 4.4: resolved",
            &["./x/../target", "%2e/%2E%2e/links/target", "/../../links/target"],
        ),
        one_link("fragments", "the same page", &["target#a", "target#\u{1b}[31m", "target#"]),
        one_link(
            "entities",
            "HTML, section 13.2.5.72",
            &["&#116;arget", "t&#x61;rget", "target&num;a"],
        ),
        one_link("unicode", ENCODED, &["\u{fc}\u{202e}", "%C3%BC%E2%80%AE"]),
        linked_page("/links/%C3%BC%E2%80%AE", LEADS),
        one_link("escapes", ENCODED, &["x\u{1b}[31m\u{9b}\u{7f}"]),
        linked_page("/links/x%1B[31m%C2%9B%7F", LEADS),
        one_link("nul", "HTML, section 13.2.5: replaced", &["a\0b"]),
        linked_page("/links/a%EF%BF%BDb", LEADS),
        one_link("bad-escapes", "URL, section 4.4: left as they are", &["%zz%1"]),
        linked_page("/links/%zz%1", LEADS),
        one_link(
            "user",
            "RFC 9110, section 4.2.4: a password is neither sent nor shown",
            &["http://a:b@HOST/links/target?user"],
        ),
        linked_page("/links/target?user", LEADS),
        no_link(
            "outside",
            "not of the site",
            &["http://elsewhere.test/", "//elsewhere.test", "http://127.0.0.1:1/"],
        ),
        no_link(
            "unicode-hosts",
            "not of the site",
            &["//b\u{fc}cher.test/", "//\u{202e}.test/", "//xn--a/", "//\u{ad}/"],
        ),
        no_url("//\u{202e}.test/", "//%E2%80%AE.test/"),
        no_url("//xn--a/", "//xn--a/"),
        no_url("//\u{ad}/", "//%C2%AD/"),
        no_link(
            "other-schemes",
            "not fetched",
            &[
                "javascript:alert(1)",
                "data:text/html,x",
                "mailto:a@a.test",
                "tel:1",
                "blob:x",
                "about:blank",
                "file:///etc/passwd",
                "ftp://HOST/",
                "view-source:HOST",
                "ws://HOST/",
            ],
        ),
        no_link(
            "failures",
            "URL, section 4.4: failures",
            &[
                "http://[",
                "http://a:99999/",
                "http://",
                "//",
                "http://1.2.3.256/",
                "http://a%00b/",
                "http://a b/",
                "//%zz/",
            ],
        ),
        no_url("http://[", "http://["),
        no_url("http://a:99999/", "http://a:99999/"),
        no_url("http://", "http://"),
        no_url("//", "//"),
        no_url("http://1.2.3.256/", "http://1.2.3.256/"),
        no_url("http://a%00b/", "http://a%00b/"),
        no_url("http://a b/", "http://a b/"),
        no_url("//%zz/", "//%zz/"),
        shows(
            "base-outside",
            "HTML, section 2.4.1",
            "<base href=//elsewhere.test/><a href=x>x</a>",
            host,
            0,
        ),
        shows(
            "base-script",
            "HTML, section 4.2.3: not as a base",
            "<base href=javascript:x><a href=target>x</a>",
            host,
            1,
        ),
        shows(
            "base-data",
            "HTML, section 4.2.3: not as a base",
            "<base href=data:x,y><a href=target>x</a>",
            host,
            1,
        ),
        shows(
            "two-bases",
            "HTML, section 4.2.3: the first counts",
            "<base href=/links/><base href=/no/><a href=target>x</a>",
            host,
            1,
        ),
        shows(
            "two-hrefs",
            "HTML, section 13.2.5.33: the first counts",
            "<a href=target href=no>x</a>",
            host,
            1,
        ),
        shows(
            "end-tag",
            "HTML, section 13.2.5: end tags have no attributes",
            "</a href=no>",
            host,
            0,
        ),
        shows(
            "in-comment",
            "HTML, section 13.2.5.45",
            "<!-- <a href=no> --!><a href=target><!-- <a href=no>",
            host,
            1,
        ),
        shows(
            "in-script",
            "HTML, section 13.2.5.15",
            "<script>'<a href=no>'</script><a href=target>",
            host,
            1,
        ),
        shows(
            "in-open-script",
            "HTML, section 13.2.5.15",
            "<a href=target><script><!--<script></script><a href=no>",
            host,
            1,
        ),
        shows(
            "in-title",
            "HTML, section 13.2.5.2",
            "<title><a href=no></title><textarea><a href=no></textarea><a href=target>",
            host,
            1,
        ),
        shows(
            "in-plaintext",
            "HTML, section 13.2.5.5",
            "<a href=target><plaintext></plaintext><a href=no>",
            host,
            1,
        ),
    ]
}

/// Returns the pages that take long to parse in debug mode.
pub(crate) fn large(host: &str) -> Vec<Behaviour> {
    const ENOUGH: &str =
        "RFC 9110, section 4.1: 8,000 bytes are to be supported; 64 KiB are no URL";
    const LINEAR: &str = "work that grows with the page, and not faster";
    let numbered =
        |prefix: &'static str| (0..100_000).map(move |n| format!("<a href={prefix}{n}>x</a>"));
    let outside: String = numbered("//elsewhere.test/").collect();
    let fragments: String = numbered("target#").collect();
    let nested = "<b>".repeat(1_000_000) + "<a href=target>x</a>";
    let crossed = "<a><table>".repeat(20_000) + "<a href=target>x</a>";
    let attributes = format!(
        "<a {}href=target>x</a>",
        (0..20_000).map(|n| format!("a{n}=b ")).collect::<String>()
    );
    let long_name = format!("<{0} {0}={0}><a href=target>x</a>", "x".repeat(100_000));
    let open = "<a href='".repeat(50_000);
    let comments = "<!--".repeat(50_000) + &"<!-->".repeat(50_000) + "<a href=target>x</a>";
    let less_than = "<".repeat(100_000) + "<a href=target>x</a>";
    let entities = "&".repeat(100_000) + &"&not".repeat(50_000) + "<a href=target>x</a>";
    let limit = Options::new(Vec::new()).settings.traps.url_bytes;
    let long = "x".repeat(60_000);
    let longer = "x".repeat(64 * 1024);
    let longest = "x".repeat(4 << 20);
    let long_url = format!("http://{host}/links/{long}");
    vec![
        shows("many-outside", LINEAR, &outside, host, 0),
        shows("many-fragments", LINEAR, &fragments, host, 1),
        shows("nested", LINEAR, &nested, host, 1),
        shows("crossed", LINEAR, &crossed, host, 1),
        shows("many-attributes", LINEAR, &attributes, host, 1),
        shows("long-names", LINEAR, &long_name, host, 1),
        shows(
            "open-quotes",
            "HTML, section 13.2.5.1: eof-in-tag, which is dropped",
            &open,
            host,
            0,
        ),
        shows("comments", LINEAR, &comments, host, 1),
        shows("less-than", LINEAR, &less_than, host, 1),
        shows("many-entities", LINEAR, &entities, host, 1),
        shows("long-url", "a URL has a limit; its row is as long", &links([&long]), host, 1),
        shows("longer-url", ENOUGH, &links([&longer]), host, 0),
        shows("longest-url", ENOUGH, &links([&longest, "target"]), host, 1),
        sends(&long_url[..=limit][7 + host.len()..], "never asked", "", skipped(Trap)).unlinked(),
    ]
}
