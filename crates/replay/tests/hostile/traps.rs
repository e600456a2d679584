//! Sites that are made up as one goes along, and never end.

use std::collections::BTreeMap;

use demo_site::scripted::{Reply, Request, Server};
use serde_json::Value;

use crate::common::{Stage, links, options, serve};

/// Where one begins, and what it leads to.
type Trap = (&'static str, fn(&Request, &mut Reply<'_>));

/// Those that the default limits end after some five thousand pages at most.
pub(crate) const SOON: [Trap; 6] = [
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

/// Those that the default limits end as well, but only after a hundred
/// thousand pages, or a million.
const LATE: [Trap; 2] = [
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

/// What all paths of a trap begin with.
fn name(begin: &str) -> &str {
    &begin[..=begin[1..].find(['?', ';', '/']).unwrap()]
}

/// A page that leads to these, and to one that nothing is wrong with.
pub(crate) fn site(traps: &[Trap]) -> Server {
    let traps = traps.to_vec();
    serve(move |request, reply| {
        let is_of = |(begin, _): &&Trap| request.target.starts_with(name(begin));
        match (&*request.target, traps.iter().find(is_of)) {
            ("/", _) => reply.page(links(traps.iter().map(|(begin, _)| *begin).chain(["/beside"]))),
            ("/beside", _) => reply.page(""),
            (_, Some((_, script))) => script(request, reply),
            _ => reply.status(404, "Not Found", &[], ""),
        }
    })
}

/// Fails unless each of them was gone into, and ended by a limit that is named,
/// after this many URLs in all, and the page beside them was found. What each
/// row tells is given as [`Told::json`](crate::common::Told::json) has it.
pub(crate) fn check(who: &str, traps: &[Trap], rows: &BTreeMap<String, Value>, most: usize) {
    assert!(rows.len() < most, "{who}: {} URLs", rows.len());
    for (url, told) in rows {
        let is_trap = told["error"] == "trap";
        assert_eq!(told["outcome"] == "skipped", is_trap, "{who}: {url}: {told}");
    }
    let beside = rows.iter().find(|(url, _)| url.ends_with("/beside"));
    assert_eq!(beside.unwrap().1["outcome"], "page", "{who}");
    for (begin, _) in traps {
        let name = name(begin);
        let is_of = |(url, _): &(&String, &Value)| {
            let path = url.splitn(4, '/').nth(3).unwrap();
            path.starts_with(&name[1..])
        };
        let all = rows.iter().filter(is_of).count();
        assert!(all > 3, "{who}: {name}: {all} rows");
        let end = if name == "/redirects" { "redirect_limit" } else { "trap" };
        let mut ends = rows.iter().filter(is_of).filter(|(_, told)| told["error"] == end);
        assert!(ends.next().is_some(), "{who}: {name}: {all} rows");
    }
}

/// Each ends, as rows that say so, and the page beside it is found.
#[test]
fn sites_without_end() {
    let traps = [&SOON[..], &LATE].concat();
    for stage in Stage::ALL {
        let site = site(&traps);
        let mut options = options(site.url("/"));
        options.traps.near = 4;
        options.traps.variants = 100;
        options.traps.below = 100;
        options.traps.url_bytes = 200;
        options.traps.segments = 12;
        let crawled = stage.crawl(options);
        let rows = crawled.rows().iter();
        let rows = rows.map(|(url, row)| (url.clone(), crawled.told(row).json(""))).collect();
        check(&format!("{stage:?}"), &traps, &rows, 1500);
    }
}
