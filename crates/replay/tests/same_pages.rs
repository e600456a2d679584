//! Every stage finds the same pages.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{Stage, demo_site, expect_all_of, expect_asked_once, options};
use demo_site::Connections;

/// A site with every oddity there is: each stage finds all of it, asks for
/// nothing twice, and tells the same of each URL.
#[test]
fn all_stages_tell_the_same() {
    for connections in [Connections::KeepAlive, Connections::Close] {
        let told = Stage::ALL.map(|stage| {
            let site = demo_site(200, |site| {
                site.special_cases = true;
                site.connections = connections;
            });
            let crawled = stage.crawl(options(site.root()));
            expect_all_of(&site, &crawled);
            expect_asked_once(&site);
            let types = crawled.rows().values().map(|row| {
                let told = crawled.told(row);
                let path = row.url.replace(&site.url(""), "");
                (path, told, row.content_type.clone(), row.encoding.clone())
            });
            types.collect::<Vec<_>>()
        });
        let [first, others @ ..] = told;
        for other in others {
            assert_eq!(first, other);
        }
    }
}
