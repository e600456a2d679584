//! Sites that are made up as one goes along, and never end.

use crawl_core::{ErrorClass, Outcome};
use demo_site::scripted::{Reply, Request};

use crate::common::{Stage, links, options, serve};

type Script = fn(&Request, &mut Reply<'_>);

/// Where each begins, and what it leads to.
const TRAPS: [(&str, Script); 8] = [
    ("/calendar?month=0", |request, reply| {
        let month: i64 = request.target.rsplit('=').next().unwrap().parse().unwrap();
        let months = [month - 1, month + 1].map(|month| format!("/calendar?month={month}"));
        reply.page(links(months));
    }),
    ("/session?id=0", |request, reply| {
        let id: u64 = request.target.rsplit('=').next().unwrap().parse().unwrap();
        let next = (0..10).map(|n| format!("/session?id={}", id * 10 % 1_000_000_007 + n));
        reply.page(links(next));
    }),
    ("/deeper/", |_, reply| reply.page(links(["x/y/z/", "u/v/w/"]))),
    ("/relative/", |_, reply| reply.page(links(["relative/", "other/", "same/"]))),
    ("/counted/0/", |request, reply| {
        let depth = request.target.matches('/').count();
        reply.page(links([format!("{depth}/")]));
    }),
    ("/longer?", |request, reply| reply.page(links([format!("{}0123456789", request.target)]))),
    ("/parameters;a=0", |request, reply| {
        let n = request.target.len();
        reply.page(links([format!("{}{}", request.target, n % 10)]));
    }),
    ("/redirects?0", |request, reply| {
        let target = format!("{}1", request.target);
        reply.status(302, "Found", &[("Location", &target)], "");
    }),
];

/// Each ends, as rows that say so, and the page beside it is found.
#[test]
fn sites_without_end() {
    for stage in Stage::ALL {
        let begins = TRAPS.map(|(path, _)| path);
        let site = serve(move |request, reply| {
            let is_of = |(path, _): &&(&str, Script)| {
                let name = path.split(['?', ';', '/']).nth(1).unwrap();
                request.target[1..].starts_with(name)
            };
            match (&*request.target, TRAPS.iter().find(is_of)) {
                ("/", _) => reply.page(links(begins.into_iter().chain(["/beside"]))),
                ("/beside", _) => reply.page(""),
                (_, Some((_, script))) => script(request, reply),
                _ => reply.status(404, "Not Found", &[], ""),
            }
        });
        let mut options = options(site.url("/"));
        options.traps.near = 4;
        options.traps.variants = 100;
        options.traps.below = 100;
        options.traps.url_bytes = 200;
        options.traps.segments = 12;
        let crawled = stage.crawl(options);
        assert_eq!(crawled.row("/beside").outcome, Outcome::Page, "{stage:?}");
        let rows = crawled.rows();
        assert!(rows.len() < 1500, "{stage:?}: {}", rows.len());
        for (path, row) in rows {
            let is_trap = row.error.as_ref().is_some_and(|e| e.class == ErrorClass::Trap);
            assert_eq!(row.outcome == Outcome::Skipped, is_trap, "{stage:?}: {path}: {row:?}");
        }
        for path in begins {
            let name = &path[..=path[1..].find(['?', ';', '/']).unwrap()];
            let begins_with = |url: &&String| url.contains(name);
            let all = rows.keys().filter(begins_with).count();
            println!("{stage:?}: {name}: {all} rows");
            assert!(all > 3, "{stage:?}: {name}: {all} rows");
        }
    }
}
