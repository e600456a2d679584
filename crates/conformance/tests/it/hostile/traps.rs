//! Crawler traps: sites that generate links without end.

use std::collections::BTreeMap;

use demo_site::scripted::{Reply, Request, Server};
use serde_json::Value;

use crate::common::{Stage, links, options, serve};

/// A trap: the target of its first request, and its script.
type Trap = (&'static str, fn(&Request, &mut Reply<'_>));

/// The traps that the default limits end after five thousand pages at most.
pub(crate) const SMALL: [Trap; 6] = [
    ("/calendar?month=0", |request, reply| {
        let month: i64 = request.target.rsplit('=').next().unwrap().parse().unwrap();
        let months = [month - 1, month + 1].map(|month| format!("/calendar?month={month}"));
        reply.page(links(months));
    }),
    ("/deeper/", |_, reply| reply.page(links(["x/y/z/", "u/v/w/"]))),
    ("/counted/0/", |request, reply| {
        let depth = request.target.matches('/').count();
        reply.page(links([format!("{depth}/")]));
    }),
    ("/longer?", longer),
    ("/parameters;a=0", longer),
    ("/redirects?0", |request, reply| {
        let target = format!("{}1", request.target);
        reply.status(302, "Found", &[("Location", &target)], "");
    }),
];

/// The traps that the default limits end only after a hundred thousand or a
/// million pages.
const LARGE: [Trap; 2] = [
    ("/session?id=0", |request, reply| {
        let id: u64 = request.target.rsplit('=').next().unwrap().parse().unwrap();
        let next = (0..10).map(|n| format!("/session?id={}", id * 10 % 1_000_000_007 + n));
        reply.page(links(next));
    }),
    ("/relative/", |_, reply| reply.page(links(["relative/", "other/", "same/"]))),
];

fn longer(request: &Request, reply: &mut Reply<'_>) {
    reply.page(links([format!("{}0123456789", request.target)]));
}

/// Returns the prefix of all paths of a trap.
fn prefix(begin: &str) -> &str {
    &begin[..=begin[1..].find(['?', ';', '/']).unwrap()]
}

/// Starts a site whose root links to these traps and to a control page.
pub(crate) fn site(traps: &[Trap]) -> Server {
    let traps = traps.to_vec();
    serve(move |request, reply| {
        let is_of = |(begin, _): &&Trap| request.target.starts_with(prefix(begin));
        match (&*request.target, traps.iter().find(is_of)) {
            ("/", _) => reply.page(links(traps.iter().map(|(begin, _)| *begin).chain(["/beside"]))),
            ("/beside", _) => reply.page(""),
            (_, Some((_, script))) => script(request, reply),
            _ => reply.status(404, "Not Found", &[], ""),
        }
    })
}

/// Fails unless each trap was entered and ended by a limit that its rows name,
/// with fewer than `max` URLs in all, and the control page was found. The rows
/// have the form of [`ExpectedRow::json`](crate::common::ExpectedRow::json).
pub(crate) fn check(crawler: &str, traps: &[Trap], rows: &BTreeMap<String, Value>, max: usize) {
    assert!(rows.len() < max, "{crawler}: {} URLs", rows.len());
    for (url, row) in rows {
        let is_trap = row["error"] == "trap";
        assert_eq!(row["outcome"] == "skipped", is_trap, "{crawler}: {url}: {row}");
    }
    let control = rows.iter().find(|(url, _)| url.ends_with("/beside"));
    assert_eq!(control.unwrap().1["outcome"], "page", "{crawler}");
    for (begin, _) in traps {
        let prefix = prefix(begin);
        let is_of = |(url, _): &(&String, &Value)| {
            let path = url.splitn(4, '/').nth(3).unwrap();
            path.starts_with(&prefix[1..])
        };
        let all = rows.iter().filter(is_of).count();
        assert!(all > 3, "{crawler}: {prefix}: {all} rows");
        let end = if prefix == "/redirects" { "redirect_limit" } else { "trap" };
        let mut end_rows = rows.iter().filter(is_of).filter(|(_, row)| row["error"] == end);
        assert!(end_rows.next().is_some(), "{crawler}: {prefix}: {all} rows");
    }
}

#[test]
fn every_trap_is_ended_by_a_limit() {
    let traps = [&SMALL[..], &LARGE].concat();
    for stage in Stage::ALL {
        let site = site(&traps);
        let mut options = options(site.url("/"));
        options.settings.traps.near = 4;
        options.settings.traps.variants = 100;
        options.settings.traps.below = 100;
        options.settings.traps.url_bytes = 200;
        options.settings.traps.segments = 12;
        let crawled = stage.crawl(options);
        let rows = crawled.rows().iter();
        let rows = rows.map(|(url, row)| (url.clone(), crawled.comparable(row).json(""))).collect();
        check(&format!("{stage:?}"), &traps, &rows, 1500);
    }
}
