//! The tests of the original program, once more for every stage.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crawl_core::{ErrorClass, Outcome, ScopeRule};
use demo_site::scripted::Request;

use crate::common::{
    Stage, failed, http_error, links, options, options_for, other, page, redirect, serve,
};

#[test]
fn link() {
    for stage in Stage::ALL {
        let site = serve(|request, reply| match request.path() {
            "/foo" => reply.page(links(["/bar"])),
            _ => reply.status(404, "Not Found", &[], "gone"),
        });
        let crawled = stage.crawl(options(site.url("/foo")));
        crawled.expect([("/foo", page(links(["/bar"]), 1)), ("/bar", http_error(404, 4))]);
        assert_eq!(crawled.row("/foo").num_new_urls, 1);
        assert_eq!(crawled.row("/foo").depth, 0);
        assert_eq!(crawled.row("/bar").depth, 1);
        assert_eq!(crawled.row("/foo").referrer, None);
        assert_eq!(crawled.row("/bar").referrer, Some(site.url("/foo")));
    }
}

#[test]
fn link_cycle() {
    for stage in Stage::ALL {
        let site = serve(|request, reply| match request.path() {
            "/foo" => reply.page(links(["/bar"])),
            _ => reply.page(links(["/foo"])),
        });
        let crawled = stage.crawl(options(site.url("/foo")));
        crawled.expect([("/foo", page(links(["/bar"]), 1)), ("/bar", page(links(["/foo"]), 1))]);
        assert_eq!(crawled.row("/bar").num_new_urls, 0);
        assert_eq!((site.hits("/foo"), site.hits("/bar")), (1, 1));
    }
}

#[test]
fn prohibited_host() {
    for stage in Stage::ALL {
        let other_host = serve(|_, reply| reply.page(""));
        let html = links([other_host.url("/"), "http://example.com/".into()]);
        let site = serve({
            let html = html.clone();
            move |_, reply| reply.page(&html)
        });
        let crawled = stage.crawl(options(site.url("/")));
        crawled.expect([("/", page(html, 0))]);
        assert_eq!(other_host.connections(), 0);
    }
}

/// Strict scope is the same host, with or without `www.`, at the same port.
/// (The original accepted any port.) The limit of one page avoids lookups.
#[test]
fn strict_host_checking() {
    let inside = |port| {
        let hosts = ["localhost", "LOCALHOST", "www.localhost"];
        hosts.map(|host| format!("http://{host}:{port}/on/{host}"))
    };
    let outside = |port| {
        [
            format!("http://shop.localhost:{port}/"),
            format!("http://notlocalhost:{port}/"),
            format!("http://127.0.0.1:{port}/"),
            "http://localhost:1/".to_owned(),
        ]
    };
    let html = move |port| links(inside(port).iter().chain(&outside(port)));
    for stage in Stage::ALL {
        let site = serve(move |request, reply| reply.page(html(requested_port(request))));
        let port = site.address().port();
        let mut options = options(format!("http://localhost:{port}/"));
        options.max_pages = Some(1);
        let crawled = stage.crawl(options);
        crawled.expect([("/", page(html(port), 3))]);
        assert_eq!(crawled.summary.todo, 3);
        for url in inside(port) {
            let url = url.replace("//LOCALHOST", "//localhost");
            assert!(crawled.was_admitted(&url), "{stage:?}: {url}");
        }
    }
}

/// Lenient scope is the same registrable domain, by the public suffix list, at
/// any port. (The original compared the last two labels, so all of `co.uk` was
/// one site.)
#[test]
fn lenient_host_checking() {
    for stage in Stage::ALL {
        let neighbour = serve(|_, reply| reply.page(""));
        let neighbour_port = neighbour.address().port();
        let inside = [
            format!("http://localhost:{neighbour_port}/"),
            "http://shop.example.co.uk/".to_owned(),
            "https://example.co.uk:81/".to_owned(),
        ];
        let outside = [
            neighbour.url("/"),
            "http://other.co.uk/".to_owned(),
            "http://exampleco.uk/".to_owned(),
        ];
        let html = links(inside.iter().chain(&outside));
        let site = serve({
            let html = html.clone();
            move |_, reply| reply.page(&html)
        });
        let root = format!("http://localhost:{}/", site.address().port());
        let mut options = options_for(&[&root, "http://www.example.co.uk/"]);
        options.settings.scope = ScopeRule::Lenient;
        options.max_tasks = Some(1);
        options.max_pages = Some(1);
        let crawled = stage.crawl(options.clone());
        crawled.expect([(&root, page(&html, 3))]);
        for url in &inside {
            assert!(crawled.was_admitted(url), "{stage:?}: {url}");
        }

        options.settings.roots = [root.parse().unwrap()].into();
        options.max_pages = None;
        let crawled = stage.crawl(options);
        crawled.expect([(&root, page(&html, 1)), (&inside[0], page("", 0))]);
        assert_eq!(neighbour.requests(), 1);
    }
}

#[test]
fn exclude() {
    for stage in Stage::ALL {
        let html = links(["/fine", "/private/1", "/fine?private"]);
        let site = serve({
            let html = html.clone();
            move |request, reply| match request.path() {
                "/" => reply.page(&html),
                _ => reply.page(""),
            }
        });
        let mut options = options(site.url("/"));
        options.settings.exclude = vec!["/private/".parse().unwrap(), r"\?".parse().unwrap()];
        let crawled = stage.crawl(options);
        crawled.expect([("/", page(html, 1)), ("/fine", page("", 0))]);
        assert_eq!(site.requests(), 2);
    }
}

/// Each root has a scope of its own, and a root that fails is a row like any
/// other.
#[test]
fn roots() {
    // A label has 63 characters at most, so this name is never looked up.
    let not_a_host = format!("http://{}/", "a".repeat(64));
    for stage in Stage::ALL {
        let first = serve(|request, reply| match request.path() {
            "/a" => reply.page(links(["/b", "/c"])),
            _ => reply.page(""),
        });
        let second = serve(|_, reply| reply.page(links(["/d"])));
        let named = format!("http://localhost:{}", second.address().port());
        let (a, b) = (first.url("/a"), first.url("/b"));
        let mut options = options_for(&[&a, &b, &not_a_host, &a, &named]);
        options.settings.max_tries = 2;
        let crawled = stage.crawl(options);
        crawled.expect([
            ("/a", page(links(["/b", "/c"]), 2)),
            ("/b", page("", 0)),
            ("/c", page("", 0)),
            (&not_a_host, failed(ErrorClass::Dns).tries(2)),
            (&format!("{named}/"), page(links(["/d"]), 1)),
            (&format!("{named}/d"), page(links(["/d"]), 1)),
        ]);
    }
}

/// Pages above the root in the path belong to the site as well.
#[test]
fn deep_root() {
    for stage in Stage::ALL {
        let html = links(["../sibling/", "/"]);
        let site = serve({
            let html = html.clone();
            move |request, reply| match request.path() {
                "/deep/root/" => reply.page(&html),
                _ => reply.page(""),
            }
        });
        let crawled = stage.crawl(options(site.url("/deep/root/")));
        crawled.expect([
            ("/deep/root/", page(html, 2)),
            ("/deep/sibling/", page("", 0)),
            ("/", page("", 0)),
        ]);
    }
}

#[test]
fn redirects() {
    for stage in Stage::ALL {
        let site = serve(|request, reply| match request.path() {
            "/dir/foo" => reply.status(302, "Found", &[("Location", "../bar")], ""),
            _ => reply.page(""),
        });
        let crawled = stage.crawl(options(site.url("/dir/foo")));
        crawled.expect([("/dir/foo", redirect(302, "/bar")), ("/bar", page("", 0))]);
        let bar = crawled.row("/bar");
        assert_eq!(bar.depth, 0, "{stage:?}: nobody had to click");
        assert_eq!(bar.referrer, Some(site.url("/dir/foo")));
    }
}

/// The limit counts the redirects of one chain. (The original only logged a
/// line when the limit was reached.)
#[test]
fn redirect_limit() {
    for stage in Stage::ALL {
        let site = serve(|request, reply| {
            let step: u32 = request.path()[1..].parse().unwrap();
            let next = format!("/{}", step + 1);
            reply.status(301, "Moved", &[("Location", &next)], "");
        });
        let mut options = options(site.url("/1"));
        options.settings.max_redirect = 2;
        let limit = http_error(301, 0).error(ErrorClass::RedirectLimit);
        stage.crawl(options.clone()).expect([
            ("/1", redirect(301, "/2")),
            ("/2", redirect(301, "/3")),
            ("/3", limit.clone().next_url("/4")),
        ]);
        options.settings.max_redirect = 0;
        stage.crawl(options).expect([("/1", limit.next_url("/2"))]);
        assert_eq!((site.hits("/1"), site.requests()), (2, 4));
    }
}

#[test]
fn redirect_cycle() {
    for stage in Stage::ALL {
        let site = serve(|request, reply| {
            let other = match request.path() {
                "/foo" => "/bar",
                _ => "/foo",
            };
            reply.status(307, "Elsewhere", &[("Location", other)], "");
        });
        let crawled = stage.crawl(options(site.url("/foo")));
        // The original says nothing. No reader gets anywhere on a loop.
        let closed = http_error(307, 0).error(ErrorClass::RedirectLoop).next_url("/foo");
        crawled.expect([("/foo", redirect(307, "/bar")), ("/bar", closed)]);
        assert_eq!((site.hits("/foo"), site.hits("/bar")), (1, 1));
    }
}

/// Two redirect chains that meet are followed as one from there on.
#[test]
fn redirect_join() {
    for stage in Stage::ALL {
        let site = serve(|request, reply| {
            let next = match request.path() {
                "/foo" | "/bar" => "/baz",
                "/baz" => "/quux",
                _ => return reply.page(""),
            };
            reply.status(302, "Found", &[("Location", next)], "");
        });
        let crawled = stage.crawl(options_for(&[&site.url("/foo"), &site.url("/bar")]));
        crawled.expect([
            ("/foo", redirect(302, "/baz")),
            ("/bar", redirect(302, "/baz")),
            ("/baz", redirect(302, "/quux")),
            ("/quux", page("", 0)),
        ]);
        assert_eq!((site.hits("/baz"), site.hits("/quux")), (1, 1));
    }
}

#[test]
fn max_tasks() {
    for stage in Stage::ALL {
        let html = links((0..20).map(|n| format!("/{n}")));
        let site = serve(move |request, reply| match request.path() {
            "/" => reply.page(&html),
            _ => {
                reply.sleep(Duration::from_millis(10));
                reply.page("");
            }
        });
        let mut options = options(site.url("/"));
        options.max_tasks = Some(2);
        let crawled = stage.crawl(options);
        assert_eq!(crawled.rows().len(), 21);
        assert_eq!(site.peak_in_flight(), 2, "{stage:?}");
        assert_eq!(crawled.summary.peak_in_flight, 2, "{stage:?}");
    }
}

#[test]
fn max_tries() {
    for stage in Stage::ALL {
        let requests = AtomicU32::new(0);
        let site = serve(move |_, reply| match requests.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => reply.close(),
            _ => reply.page("at last"),
        });
        let mut options = options(site.url("/"));
        options.settings.max_tries = 3;
        let crawled = stage.crawl(options);
        crawled.expect([("/", page("at last", 0).tries(3))]);
        assert_eq!(site.hits("/"), 3);

        let site = serve(|_, reply| reply.close());
        for max_tries in [1, 2] {
            let mut options = self::options(site.url("/"));
            options.settings.max_tries = max_tries;
            let crawled = stage.crawl(options);
            crawled.expect([("/", failed(ErrorClass::Closed).tries(max_tries))]);
        }
        assert_eq!(site.hits("/"), 3, "{stage:?}: one try, and then two");
    }
}

/// Encoding labels have their WHATWG meaning, so `ascii` is windows-1252.
#[test]
fn encoding() {
    const BYTES: &[u8] = b"<a href=/caf\xe9>link</a>";
    const TEXT: &str = "<a href=/café>link</a>";
    for stage in Stage::ALL {
        let site = serve(|request, reply| {
            let mut html = |charset, html: &[u8]| {
                let content_type = format!("text/html{charset}");
                reply.status(200, "OK", &[("Content-Type", &content_type)], html);
            };
            match request.path() {
                "/" => html("", links(["/none", "/utf-8", "/ascii"]).as_bytes()),
                "/none" => html("", TEXT.as_bytes()),
                "/utf-8" => html("; charset=UTF-8", TEXT.as_bytes()),
                "/ascii" => html(";charset=\"ascii\"", BYTES),
                _ => reply.page(""),
            }
        });
        let crawled = stage.crawl(options(site.url("/")));
        crawled.expect([
            ("/", page(links(["/none", "/utf-8", "/ascii"]), 3)),
            ("/none", page(TEXT, 1)),
            ("/utf-8", page(TEXT, 1)),
            ("/ascii", page(BYTES, 1)),
            ("/caf%C3%A9", page("", 0)),
        ]);
        for (path, encoding) in
            [("/none", "utf-8"), ("/utf-8", "utf-8"), ("/ascii", "windows-1252")]
        {
            assert_eq!(crawled.row(path).encoding.as_deref(), Some(encoding));
        }
    }
}

/// The content type of a row is that of the server, in lower case and without
/// parameters.
#[test]
fn content_type() {
    const TYPES: [(&str, Option<&str>, Option<&str>, Outcome); 6] = [
        ("/none", None, None, Outcome::Other),
        ("/html", Some("text/html"), Some("text/html"), Outcome::Page),
        ("/shouted", Some("Text/HTML; charset=x"), Some("text/html"), Outcome::Page),
        ("/xhtml", Some("application/xhtml+xml"), Some("application/xhtml+xml"), Outcome::Page),
        ("/plain", Some("text/plain"), Some("text/plain"), Outcome::Other),
        ("/image", Some("image/png"), Some("image/png"), Outcome::Other),
    ];
    for stage in Stage::ALL {
        let site = serve(|request, reply| {
            let entry = TYPES.iter().find(|(path, ..)| *path == request.path());
            match entry {
                None => reply.page(links(TYPES.map(|(path, ..)| path))),
                Some((_, None, ..)) => reply.status(200, "OK", &[], "text"),
                Some((_, Some(given), ..)) => {
                    reply.status(200, "OK", &[("Content-Type", given)], "text");
                }
            }
        });
        let crawled = stage.crawl(options(site.url("/")));
        for (path, _, content_type, outcome) in TYPES {
            let row = crawled.row(path);
            assert_eq!(row.content_type.as_deref(), content_type, "{path}");
            assert_eq!((row.outcome, row.size), (outcome, Some(4)), "{path}");
        }
    }
}

/// Only HTML is searched for links. (The original searched XML as well, as if
/// it were HTML.)
#[test]
fn non_html() {
    for stage in Stage::ALL {
        let hidden = links(["/hidden"]);
        let size = hidden.len();
        let site = serve(move |request, reply| {
            let content_type = match request.path() {
                "/" => return reply.page(links(["/xml", "/image", "/text"])),
                "/xml" => "application/xml",
                "/image" => "image/png",
                _ => "text/plain",
            };
            reply.status(200, "OK", &[("Content-Type", content_type)], &hidden);
        });
        let crawled = stage.crawl(options(site.url("/")));
        crawled.expect([
            ("/", page(links(["/xml", "/image", "/text"]), 3)),
            ("/xml", other(size)),
            ("/image", other(size)),
            ("/text", other(size)),
        ]);
    }
}

#[test]
fn non_http() {
    let html = |port| {
        links([
            format!("ftp://127.0.0.1:{port}/file"),
            "mailto:somebody@127.0.0.1".to_owned(),
            "javascript:alert('/script')".to_owned(),
            "data:text/html,<a href=/data>".to_owned(),
            "http://".to_owned(),
        ])
    };
    for stage in Stage::ALL {
        let site = serve(move |request, reply| reply.page(html(requested_port(request))));
        let crawled = stage.crawl(options(site.url("/")));
        // The last one is not a URL, which the original does not say.
        let no_url = failed(ErrorClass::InvalidUrl).tries(0);
        crawled.expect([("/", page(html(site.address().port()), 0)), ("http://", no_url)]);
    }
}

/// Returns the port of the server from the `Host` header of a request.
fn requested_port(request: &Request) -> u16 {
    let host = request.header("host").unwrap();
    host.rsplit(':').next().unwrap().parse().unwrap()
}
