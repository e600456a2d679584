//! Levels: with a limit on depth, every stage has the same rows and depths, however
//! slow some responses are.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use crate::common::{Stage, links, options, serve};

/// A page with two ways to it: the shorter way is the slower one. What lies behind it is
/// within the limit on that way only. The same with a redirect and a redirect's target.
#[test]
fn the_shorter_way_counts_although_it_is_slower() {
    const SITE: [(&str, &[&str]); 8] = [
        ("/", &["/slow", "/quick"]),
        ("/quick", &["/quicker"]),
        ("/quicker", &["/both", "/target"]),
        ("/slow", &["/both", "/moved"]),
        ("/both", &["/behind"]),
        ("/target", &["/beyond"]),
        ("/behind", &["/too-deep"]),
        ("/beyond", &[]),
    ];
    let site = serve(|request, reply| {
        let path = request.path();
        if matches!(path, "/slow" | "/moved") {
            thread::sleep(Duration::from_millis(150));
        }
        match SITE.iter().find(|(page, _)| *page == path) {
            Some((_, targets)) => reply.page(links(*targets)),
            None if path == "/moved" => {
                reply.status(302, "Found", &[("Location", "/target")], "");
            }
            None => reply.status(404, "Not Found", &[], ""),
        }
    });
    let expected: BTreeMap<String, u32> = [
        ("/", 0),
        ("/slow", 1),
        ("/quick", 1),
        ("/quicker", 2),
        ("/both", 2),
        ("/moved", 2),
        ("/target", 2),
        ("/behind", 3),
        ("/beyond", 3),
    ]
    .map(|(path, depth)| (site.url(path), depth))
    .into();
    for stage in Stage::ALL {
        let mut options = options(site.url("/"));
        (options.settings.max_depth, options.max_tasks) = (Some(3), Some(8));
        let crawled = stage.crawl(options);
        let rows = crawled.rows().values();
        let depths = rows.map(|row| (row.url.to_string(), row.depth)).collect();
        assert_eq!(expected, depths, "{stage:?}");
    }
}
