//! A site of the public internet that leads the crawler to addresses behind the
//! firewall of the user: by links, redirects, images, robots.txt and sitemaps.

use crawl_core::{ErrorClass, Options, Outcome};
use sim_net::{Request, Response, not_found, page, redirect, response, text};

use crate::common::{Crawled, class, crawl, options};

const ROOT: &str = "http://93.184.215.14/";

/// Denied in any case.
const ALWAYS: [&str; 8] = [
    "169.254.169.254",
    "169.254.0.1",
    "100.100.100.200",
    "[fe80::1]",
    "[fd00:ec2::254]",
    "[fd00:42::42]",
    "[::ffff:a9fe:a9fe]",
    "[64:ff9b::a9fe:a9fe]",
];

/// Denied with `--deny-private`.
const PRIVATE: [&str; 6] =
    ["127.0.0.1", "10.0.0.9", "192.168.1.1", "[::1]", "[fd12::1]", "[::ffff:ac10:1]"];

fn hosts() -> impl Iterator<Item = &'static str> {
    ALWAYS.into_iter().chain(PRIVATE)
}

/// Returns the options of a crawl that asks whatever it is led to.
fn all_options(deny_private: bool) -> Options {
    let mut options = options(&[ROOT]);
    (options.settings.external, options.settings.sitemap) = (true, true);
    (options.settings.check.images, options.settings.check.styles) = (true, true);
    options.settings.deny_private = deny_private;
    options
}

/// The site of [`ROOT`], and hosts that answer with a page.
fn site(request: &Request) -> Response {
    let urls = |path: &str| hosts().map(|host| format!("http://{host}{path}")).collect::<Vec<_>>();
    match &*request.path {
        "/robots.txt" if request.host == "93.184.215.14" => {
            let sitemaps = urls("/map.xml");
            text(format!(
                "Sitemap: http://93.184.215.14/map\nSitemap: {}",
                sitemaps.join("\nSitemap: ")
            ))
        }
        "/map" => {
            let locations = urls("/mapped").join("</loc></url><url><loc>");
            text(format!("<urlset><url><loc>{locations}</loc></url></urlset>"))
        }
        "/" if request.host == "93.184.215.14" => {
            let mut html = String::new();
            for (n, (link, image)) in urls("/link").iter().zip(urls("/image")).enumerate() {
                html +=
                    &format!("<a href=\"{link}\">l</a><img src=\"{image}\"><a href=/to/{n}>r</a>");
            }
            response("200 OK", "Content-Type: text/html\r\n", html)
        }
        path if path.starts_with("/to/") => {
            let n: usize = path["/to/".len()..].parse().unwrap();
            redirect(&urls("/redirected")[n])
        }
        "/robots.txt" => not_found(),
        _ => page([""; 0]),
    }
}

/// Fails if a denied host was asked for anything, or one of its URLs is not a row.
fn expect_denied(crawled: &Crawled, host: &str) {
    assert_eq!(crawled.requests_to(host), [], "{host}");
    let rows: Vec<_> = crawled.rows.iter().filter(|row| row.url.contains(host)).collect();
    for path in ["link", "image", "redirected"] {
        assert!(rows.iter().any(|row| row.url.ends_with(path)), "{host}/{path}: {rows:?}");
    }
    for row in rows {
        assert_eq!((row.outcome, row.tries), (Outcome::Skipped, 0), "{row:?}");
        assert_eq!(class(row), Some(ErrorClass::DeniedAddress), "{row:?}");
    }
}

#[test]
fn a_public_site_leads_to_no_denied_address() {
    for (robots, deny_private) in [(true, false), (true, true), (false, false), (false, true)] {
        let mut options = all_options(deny_private);
        options.settings.robots = robots;
        let crawled = crawl(options, site);
        ALWAYS.iter().for_each(|host| expect_denied(&crawled, host));
        for host in PRIVATE {
            if deny_private {
                expect_denied(&crawled, host);
            } else {
                assert_ne!(crawled.requests_to(host), [], "{host}");
            }
        }
    }
}

/// A robots.txt that is on a denied host is not fetched from there, and so there are no
/// rules.
#[test]
fn robots_txt_does_not_lead_to_a_denied_address() {
    for host in ["169.254.169.254", "10.0.0.9"] {
        let crawled = crawl(all_options(true), move |request| match &*request.path {
            "/robots.txt" => redirect(&format!("http://{host}/robots.txt")),
            _ => page([""; 0]),
        });
        assert_eq!(crawled.requests_to(host), []);
        let row = crawled.row(ROOT);
        assert_eq!((row.outcome, class(row)), (Outcome::Page, None), "{row:?}");
    }
}

/// From a root on the same kind of network, its neighbours may be asked.
#[test]
fn the_kind_of_a_root_is_permitted() {
    let mut options = options(&["http://10.0.0.1/"]);
    (options.settings.external, options.settings.deny_private) = (true, true);
    let crawled = crawl(options, |request| match &*request.path {
        "/" => page(["http://192.168.1.1/", "http://127.0.0.1/", "http://169.254.169.254/"]),
        _ => not_found(),
    });
    assert_ne!(crawled.requests_to("192.168.1.1"), []);
    for url in ["http://127.0.0.1/", "http://169.254.169.254/"] {
        assert_eq!(class(crawled.row(url)), Some(ErrorClass::DeniedAddress));
    }
}
