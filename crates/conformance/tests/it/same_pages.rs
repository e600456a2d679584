//! The rows of all stages for the demo site are the same.

use demo_site::Connections;

use crate::common::{Stage, demo_site, expect_all_of, expect_requested_once, options};

/// The site has every special case. Each stage finds all of its URLs, requests
/// none of them twice, and reports the same rows.
#[test]
fn all_stages_report_the_same_rows() {
    for connections in [Connections::KeepAlive, Connections::Close] {
        let rows = Stage::ALL.map(|stage| {
            let site = demo_site(200, |site| {
                site.special_cases = true;
                site.connections = connections;
            });
            let crawled = stage.crawl(options(site.root()));
            expect_all_of(&site, &crawled);
            expect_requested_once(&site);
            let rows = crawled.rows().values().map(|row| {
                let comparable = crawled.comparable(row);
                let path = row.url.replace(&site.url(""), "");
                (path, comparable, row.content_type.clone(), row.encoding.clone())
            });
            rows.collect::<Vec<_>>()
        });
        let [first, others @ ..] = rows;
        for other in others {
            assert_eq!(first, other);
        }
    }
}
