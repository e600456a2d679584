//! Admission of URLs, for every stage: patterns, maximum depth, stripped query
//! parameters and traps.

use crawl_core::{ErrorClass, Outcome};

use crate::common::{Stage, failed, links, options, page, serve};

#[test]
fn include_and_exclude_patterns_select_links() {
    for stage in Stage::ALL {
        let html = links(["/docs/1", "/docs/draft", "/other"]);
        let site = serve({
            let html = html.clone();
            move |_, reply| reply.page(&html)
        });
        let mut options = options(site.url("/"));
        options.settings.include = vec!["/docs/".parse().unwrap()];
        options.settings.exclude = vec!["draft".parse().unwrap()];
        let crawled = stage.crawl(options);
        crawled.expect([("/", page(&html, 1)), ("/docs/1", page(&html, 1))]);
    }
}

#[test]
fn links_beyond_the_maximum_depth_are_not_followed() {
    for stage in Stage::ALL {
        let site = serve(|request, reply| {
            reply.page(links([format!("{}a", request.path())]));
        });
        let mut options = options(site.url("/"));
        options.settings.max_depth = Some(2);
        let crawled = stage.crawl(options);
        let html = |link: &str| page(links([link]), 1);
        crawled.expect([("/", html("/a")), ("/a", html("/aa")), ("/aa", html("/aaa"))]);
        assert_eq!((crawled.summary.done, crawled.summary.todo), (3, 0));
        assert_eq!(crawled.summary.too_deep, 1);
    }
}

#[test]
fn stripped_query_parameters_make_no_new_urls() {
    for stage in Stage::ALL {
        let html = links(["/?sid=1", "/?a=1&sid=2", "/?sid=3&a=1"]);
        let site = serve({
            let html = html.clone();
            move |_, reply| reply.page(&html)
        });
        let mut options = options(site.url("/?sid=0"));
        options.settings.strip_query = vec!["sid".into()];
        let crawled = stage.crawl(options);
        crawled.expect([("/", page(&html, 2)), ("/?a=1", page(&html, 2))]);
        assert_eq!(site.requests(), 2);
    }
}

/// One trap is found on a page. The other is a root, so its row comes before
/// all others.
#[test]
fn a_url_in_a_trap_is_skipped() {
    for stage in Stage::ALL {
        let site = serve(|_, reply| reply.page(links(["here/"])));
        let mut options = options(site.url("/"));
        options.settings.roots = ["/", "/a/a/a"].map(|path| site.url(path).parse().unwrap()).into();
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
