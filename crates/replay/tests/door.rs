//! Who is let in, and who is not, for every stage.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{Stage, failed, links, options, page, serve};
use crawl_core::{ErrorClass, Outcome};

#[test]
fn include() {
    for stage in Stage::ALL {
        let html = links(["/docs/1", "/docs/draft", "/other"]);
        let site = serve({
            let html = html.clone();
            move |_, reply| reply.page(&html)
        });
        let mut options = options(site.url("/"));
        options.include = vec!["/docs/".parse().unwrap()];
        options.exclude = vec!["draft".parse().unwrap()];
        let crawled = stage.crawl(options);
        crawled.expect([("/", page(&html, 1)), ("/docs/1", page(&html, 1))]);
    }
}

#[test]
fn max_depth() {
    for stage in Stage::ALL {
        let site = serve(|request, reply| {
            reply.page(links([format!("{}a", request.path())]));
        });
        let mut options = options(site.url("/"));
        options.max_depth = Some(2);
        let crawled = stage.crawl(options);
        let html = |link: &str| page(links([link]), 1);
        crawled.expect([("/", html("/a")), ("/a", html("/aa")), ("/aa", html("/aaa"))]);
        assert_eq!((crawled.ending.done, crawled.ending.todo), (3, 0));
        assert_eq!(crawled.ending.too_deep, 1);
    }
}

#[test]
fn strip_query() {
    for stage in Stage::ALL {
        let html = links(["/?sid=1", "/?a=1&sid=2", "/?sid=3&a=1"]);
        let site = serve({
            let html = html.clone();
            move |_, reply| reply.page(&html)
        });
        let mut options = options(site.url("/?sid=0"));
        options.strip_query = vec!["sid".into()];
        let crawled = stage.crawl(options);
        crawled.expect([("/", page(&html, 2)), ("/?a=1", page(&html, 2))]);
        assert_eq!(site.requests(), 2);
    }
}

/// One is found on a page; the other is a root, and a row before all others.
#[test]
fn traps() {
    for stage in Stage::ALL {
        let site = serve(|_, reply| reply.page(links(["here/"])));
        let mut options = options(site.url("/"));
        options.roots.push(site.url("/a/a/a").parse().unwrap());
        let crawled = stage.crawl(options);
        let html = || page(links(["here/"]), 1);
        let skipped = || failed(ErrorClass::Trap).outcome(Outcome::Skipped).tries(0);
        crawled.expect([
            ("/", html()),
            ("/here/", html()),
            ("/here/here/", html()),
            ("/here/here/here/", skipped()),
            ("/a/a/a", skipped()),
        ]);
        let trap = crawled.row("/here/here/here/");
        assert_eq!((trap.depth, &trap.referrer), (3, &Some(site.url("/here/here/"))));
        assert_eq!(crawled.row("/a/a/a").referrer, None);
        assert_eq!(site.requests(), 3);
    }
}
