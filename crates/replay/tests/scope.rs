//! Images, fragments and what leaves the site: every stage asks for them in the
//! same way, though only the last has a flag for all of it.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use common::{Crawled, Stage, options, serve};
use crawl_core::Check;
use demo_site::scripted::{Reply, Request};

fn elsewhere(request: &Request, reply: &mut Reply<'_>) {
    let length = [("Content-Length", "1000000")];
    match (request.method.as_str(), request.path()) {
        ("HEAD", "/fine") => reply.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"),
        ("HEAD", "/no-head") => reply.status(405, "Not Allowed", &[("Content-Length", "0")], ""),
        ("HEAD", "/closes") => reply.close(),
        ("HEAD", "/away") => reply.status(302, "Found", &[("Location", "/gone")], ""),
        ("HEAD", _) => reply.send("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\n"),
        (_, "/no-head" | "/closes") => reply.status(200, "OK", &length, vec![b' '; 1_000_000]),
        _ => reply.status(404, "Not Found", &[], "not found"),
    }
}

/// What a crawl tells, without what depends on the time or the order.
fn told(crawled: &Crawled) -> BTreeMap<String, String> {
    let rows = crawled.rows().values().map(|row| {
        let class = row.error.as_ref().map(|error| error.class);
        (row.url.to_string(), format!("{:?} {:?} {class:?}", row.status, row.outcome))
    });
    rows.collect()
}

#[test]
fn every_stage_asks_in_the_same_way() {
    let mut first: Option<BTreeMap<String, String>> = None;
    let asked = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&asked);
    let other = serve(move |request, reply| {
        noted.lock().unwrap().insert(format!("{} {}", request.method, request.target));
        elsewhere(request, reply);
    });
    let away = ["/fine", "/no-head", "/closes", "/away"].map(|path| other.url(path));
    let site = serve(move |request, reply| match request.path() {
        "/" => {
            let links: String = away.iter().map(|url| format!("<a href={url}>x</a>")).collect();
            let more = "<img src=/there><img src=/gone><a href=/page#no>x</a><a href=#yes id=yes>";
            reply.page(links + more);
        }
        "/page" => reply.page("<p id=nothing><a href=/#yes>x</a>"),
        "/there" => reply.status(200, "OK", &[("Content-Type", "image/png")], vec![0; 300_000]),
        _ => reply.status(404, "Not Found", &[], ""),
    });
    for stage in Stage::ALL {
        asked.lock().unwrap().clear();
        let mut options = options(site.url("/"));
        options.external = true;
        options.check = Check { images: true, fragments: true, ..Check::default() };
        let crawled = stage.crawl(options);
        let told = told(&crawled);
        let of = |url: String| told.get(&url).map(String::as_str);
        for path in ["/fine", "/no-head", "/closes"] {
            assert_eq!(of(other.url(path)), Some("Some(200) Other None"), "{stage:?} {path}");
        }
        assert_eq!(of(other.url("/gone")), Some("Some(404) HttpError None"), "{stage:?}");
        assert_eq!(of(site.url("/there")), Some("Some(200) Other None"), "{stage:?}");
        assert_eq!(of(site.url("/page#no")), Some("Some(200) Failed Some(Fragment)"), "{stage:?}");
        assert_eq!(told.len(), 10, "{stage:?}: {told:#?}");
        let expected = [
            "GET /closes",
            "GET /gone",
            "GET /no-head",
            "HEAD /away",
            "HEAD /closes",
            "HEAD /fine",
            "HEAD /gone",
            "HEAD /no-head",
        ];
        let asked: Vec<String> = asked.lock().unwrap().iter().cloned().collect();
        assert_eq!(asked, expected, "{stage:?}");
        let first = first.get_or_insert_with(|| told.clone());
        assert_eq!(*first, told, "{stage:?}");
    }
}
