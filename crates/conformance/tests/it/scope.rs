//! Checks of images, fragments and external links: every stage makes the same
//! requests for them, though only the last stage has flags for all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use crawl_core::Check;
use demo_site::scripted::{Reply, Request};

use crate::common::{Crawled, Stage, options, serve};

/// Answers the requests to the other host.
fn serve_other_host(request: &Request, reply: &mut Reply<'_>) {
    let length = [("Content-Length", "1000000")];
    match (request.method.as_str(), request.path()) {
        ("HEAD", "/fine") => reply
            .send("HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 1000000\r\n\r\n"),
        ("HEAD", "/no-head") => reply.status(405, "Not Allowed", &[("Content-Length", "0")], ""),
        ("HEAD", "/closes") => reply.close(),
        ("HEAD", "/away") => reply.status(302, "Found", &[("Location", "/gone")], ""),
        ("HEAD", _) => reply.send("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\n"),
        (_, "/away") => reply.status(302, "Found", &[("Location", "/gone")], ""),
        (_, "/no-head" | "/closes") => reply.status(200, "OK", &length, vec![b' '; 1_000_000]),
        _ => reply.status(404, "Not Found", &[], "not found"),
    }
}

/// Returns the rows by URL, without the fields that depend on time or order.
fn comparable_rows(crawled: &Crawled) -> BTreeMap<String, String> {
    let rows = crawled.rows().values().map(|row| {
        let class = row.error.as_ref().map(|error| error.class);
        (row.url.to_string(), format!("{:?} {:?} {class:?}", row.status, row.outcome))
    });
    rows.collect()
}

#[test]
fn every_stage_makes_the_same_requests() {
    let mut first: Option<BTreeMap<String, String>> = None;
    let requested = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&requested);
    let other = serve(move |request, reply| {
        seen.lock().unwrap().insert(format!("{} {}", request.method, request.target));
        serve_other_host(request, reply);
    });
    let external_links = ["/fine", "/no-head", "/closes", "/away"].map(|path| other.url(path));
    let site = serve(move |request, reply| match request.path() {
        "/" => {
            let links: String =
                external_links.iter().map(|url| format!("<a href={url}>x</a>")).collect();
            let internal_links =
                "<img src=/there><img src=/gone><a href=/page#no>x</a><a href=#yes id=yes>";
            reply.page(links + internal_links);
        }
        "/page" => reply.page("<p id=nothing><a href=/#yes>x</a>"),
        "/there" => reply.status(200, "OK", &[("Content-Type", "image/png")], vec![0; 300_000]),
        _ => reply.status(404, "Not Found", &[], ""),
    });
    for stage in Stage::ALL {
        requested.lock().unwrap().clear();
        let mut options = options(site.url("/"));
        options.settings.external = true;
        options.settings.check = Check { images: true, fragments: true, ..Check::default() };
        let crawled = stage.crawl(options);
        let rows = comparable_rows(&crawled);
        let row_of = |url: String| rows.get(&url).map(String::as_str);
        for path in ["/fine", "/no-head", "/closes"] {
            assert_eq!(row_of(other.url(path)), Some("Some(200) Other None"), "{stage:?} {path}");
        }
        assert_eq!(row_of(other.url("/gone")), Some("Some(404) HttpError None"), "{stage:?}");
        assert_eq!(row_of(site.url("/there")), Some("Some(200) Other None"), "{stage:?}");
        assert_eq!(
            row_of(site.url("/page#no")),
            Some("Some(200) Failed Some(Fragment)"),
            "{stage:?}"
        );
        assert_eq!(rows.len(), 10, "{stage:?}: {rows:#?}");
        let expected = [
            "GET /away",
            "GET /closes",
            "GET /gone",
            "GET /no-head",
            "HEAD /away",
            "HEAD /closes",
            "HEAD /fine",
            "HEAD /gone",
            "HEAD /no-head",
        ];
        let requested: Vec<String> = requested.lock().unwrap().iter().cloned().collect();
        assert_eq!(requested, expected, "{stage:?}");
        let first = first.get_or_insert_with(|| rows.clone());
        assert_eq!(*first, rows, "{stage:?}");
    }
}
