//! Tests that a tiny crawler with a naive link extractor finds exactly the
//! expected URLs from the root.

use std::collections::{BTreeMap, BTreeSet};

use demo_site::{Connections, DemoSite, Expected, Kind, SiteOptions};

use crate::common::{Client, Response};

/// The links that are not ASCII: their bytes in the page, and the URL that the
/// WHATWG URL Standard makes of them when the page is decoded. (Computed with the
/// codecs of another language.)
const DECODED: &[(&[u8], &str)] = &[
    (b"/menu/caf\xe9", "/menu/caf%C3%A9"),
    (b"/menu/5\x80", "/menu/5%E2%82%AC"),
    (b"/menu/\x83\x81\x83\x6a\x83\x85\x81\x5b", "/menu/%E3%83%A1%E3%83%8B%E3%83%A5%E3%83%BC"),
    ("/menu/na\u{ef}ve".as_bytes(), "/menu/na%C3%AFve"),
    (b"/menu/\xec\xe5\xed\xfe", "/menu/%D0%BC%D0%B5%D0%BD%D1%8E"),
];

#[test]
fn a_crawler_finds_the_expected_urls_and_no_others() {
    for connections in [Connections::KeepAlive, Connections::Close] {
        for special_cases in [true, false] {
            let site = DemoSite::start(SiteOptions {
                seed: 11,
                pages: 300,
                links_per_page: 4,
                page_size: 600,
                special_cases,
                connections,
                ..SiteOptions::default()
            })
            .unwrap();
            let results = crawl(&site);
            assert_eq!(results, expected(&site));
            assert!(results.len() >= 300);
            let hits = site.all_hits();
            assert!(hits.values().all(|hits| *hits == 1), "{hits:?}");
            assert_eq!(hits.len(), results.len());
            assert_eq!(site.requests(), results.len() as u64);
        }
    }
}

#[test]
fn a_site_of_any_size_is_reachable_from_the_root() {
    for (pages, links_per_page) in [(1, 0), (1, 3), (2, 1), (40, 1), (100, 2), (100, 99), (5, 50)] {
        let site = DemoSite::start(SiteOptions {
            pages,
            links_per_page,
            special_cases: false,
            ..SiteOptions::default()
        })
        .unwrap();
        assert_eq!(crawl(&site), expected(&site), "{pages}, {links_per_page}");
    }
}

/// Returns what the site expects. That a redirect closes a loop is not in its response.
fn expected(site: &DemoSite) -> Vec<Expected> {
    let kind = |kind| match kind {
        Kind::Loop { status, target } => Kind::Redirect { status, target },
        kind => kind,
    };
    site.expected().into_iter().map(|e| Expected { path: e.path, kind: kind(e.kind) }).collect()
}

/// Crawls the site over one connection at a time.
fn crawl(site: &DemoSite) -> Vec<Expected> {
    let mut todo = vec!["/".to_owned()];
    let mut seen = BTreeSet::from(["/".to_owned()]);
    let mut results = BTreeMap::new();
    let mut client = None;
    while let Some(path) = todo.pop() {
        let response = client.get_or_insert_with(|| Client::connect(site.address())).get(&path);
        if response.field("connection") == Some("close") {
            client = None;
        }
        let links = links(&path, &response);
        let location = response.field("location").unwrap_or_default();
        let kind = kind(&path, &response);
        let redirect = matches!(kind, Kind::Redirect { .. });
        let next = match redirect {
            true => vec![resolve(&path, location).unwrap()],
            false => links,
        };
        results.insert(path, kind);
        todo.extend(next.into_iter().filter(|next| seen.insert(next.clone())));
    }
    results.into_iter().map(|(path, kind)| Expected { path, kind }).collect()
}

fn kind(path: &str, response: &Response) -> Kind {
    let status = response.status;
    if let Some(location) = response.field("location") {
        let target = resolve(path, location).unwrap();
        let target = String::leak(target);
        return Kind::Redirect { status, target };
    }
    if status != 200 {
        return Kind::Error { status };
    }
    let content_type = response.field("content-type").unwrap();
    let content_type = content_type.split(';').next().unwrap();
    if is_html(content_type) {
        return Kind::Page;
    }
    let content_type = String::leak(content_type.to_owned());
    Kind::Other { content_type }
}

fn is_html(content_type: &str) -> bool {
    ["text/html", "application/xhtml+xml"].contains(&content_type)
}

/// Returns the paths on this site that a page links to.
fn links(path: &str, response: &Response) -> Vec<String> {
    let content_type = response.field("content-type").unwrap();
    if response.status != 200 || !is_html(content_type.split(';').next().unwrap()) {
        return Vec::new();
    }
    let text = match response.body.strip_prefix(b"\xff\xfe") {
        Some(utf_16) => {
            let units = utf_16.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
            String::from_utf16(&units.collect::<Vec<_>>()).unwrap().into_bytes()
        }
        None => response.body.clone(),
    };
    let mut base = path.to_owned();
    let mut links = Vec::new();
    for start in 0..text.len() {
        let (before, rest) = text.split_at(start);
        let Some((name, rest)) = rest.split_at_checked(5) else {
            break;
        };
        if !name.eq_ignore_ascii_case(b"href=") {
            continue;
        }
        let value = match rest[0] {
            quote @ (b'"' | b'\'') => rest[1..].split(|byte| *byte == quote).next(),
            _ => rest.split(|byte| b" >".contains(byte)).next(),
        };
        let value = value.unwrap();
        let decoded = DECODED.iter().find(|(raw, _)| *raw == value);
        let value = decoded.map_or_else(
            || String::from_utf8(value.to_vec()).unwrap(),
            |(_, decoded)| (*decoded).to_owned(),
        );
        let value = value.replace("&amp;", "&").replace("&#x26;", "&");
        if before.ends_with(b"<base ") {
            base = value;
        } else {
            links.extend(resolve(&base, value.trim()));
        }
    }
    links
}

/// Resolves a reference (RFC 3986, section 5.2), as far as the links of this site
/// need it; `None` for links to other hosts.
fn resolve(base: &str, reference: &str) -> Option<String> {
    let reference = reference.split('#').next().unwrap();
    let is_external = reference.starts_with("//")
        || reference.find(':').is_some_and(|colon| !reference[..colon].contains(['/', '?']));
    if is_external {
        return None;
    }
    let base_path = base.split('?').next().unwrap();
    let (path, query) = match reference.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (reference, String::new()),
    };
    let path = match path {
        "" => base_path.to_owned(),
        path if path.starts_with('/') => path.to_owned(),
        path => format!("{}/{path}", base_path.rsplit_once('/').unwrap().0),
    };
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/').skip(1) {
        match segment {
            "." => {}
            ".." => _ = segments.pop(),
            segment => segments.push(segment),
        }
    }
    if path.ends_with("/.") || path.ends_with("/..") {
        segments.push("");
    }
    Some(format!("/{}{query}", segments.join("/")))
}
