//! A test that all subjects find the same pages.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;

use benches::subjects::{Subject, Work};
use benches::{Crawl, ServerProcess, Site};

const PAGES: u32 = 50;
const TASKS: usize = 5;

/// Crawls a site with all subjects; returns their number. A crawl that does not
/// find each page once, and nothing else, is an error.
fn all_crawl(site: Site) -> usize {
    let server = ServerProcess::start_program(Path::new(env!("CARGO_BIN_EXE_paired")), site);
    let server = server.unwrap();
    let subjects = Subject::all().filter(|subject| subject.can_crawl(site));
    let crawl = |subject: Subject| {
        let crawl = Crawl::new(subject.name, &server, TASKS, !site.is_html);
        let run = subject.run(Work::new(&crawl).unwrap()).unwrap();
        assert_eq!(run.pages, PAGES, "{}", subject.name);
    };
    subjects.map(crawl).count()
}

#[test]
fn every_subject_finds_every_page() {
    let site = Site { pages: PAGES, ..Site::default() };
    assert!(all_crawl(site) >= 7);
    assert!(all_crawl(Site { keep_alive: false, ..site }) >= 7);
    assert!(all_crawl(Site { is_html: false, ..site }) >= 7);
    // A page larger than the scratch buffer.
    assert!(all_crawl(Site { page_size: 200 * 1024, ..site }) >= 7);
    assert!(all_crawl(Site { is_secure: true, ..site }) >= 5);
}
