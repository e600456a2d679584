//! Tests that all subjects find the same pages, and of what else they have to do alike.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use benches::subjects::{Subject, Work};
use benches::{Crawl, ServerProcess, Site, SubjectProcess};

const PAGES: u32 = 50;
const TASKS: usize = 5;
/// A program that plays the roles.
const PROGRAM: &str = env!("CARGO_BIN_EXE_paired");

/// Crawls a site with all subjects; returns their number. A crawl that does not
/// find each page once, and nothing else, is an error.
fn all_crawl(site: Site) -> usize {
    let server = ServerProcess::start_program(Path::new(PROGRAM), site).unwrap();
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

/// Another process opens the pipe by its path, and what it reads is gone.
#[cfg(target_os = "linux")]
#[test]
fn a_second_crawl_over_tls_reads_no_trust_store_again() {
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    let site = Site { pages: PAGES, is_secure: true, ..Site::default() };
    let server = ServerProcess::start_program(Path::new(PROGRAM), site).unwrap();
    for subject in Subject::all().filter(|subject| subject.can_crawl(site)) {
        let (mut store, mut writer) = std::io::pipe().unwrap();
        let path = format!("/proc/{}/fd/{}", std::process::id(), store.as_raw_fd());
        let mut program = Command::new(PROGRAM);
        program.env("SSL_CERT_FILE", &path).env_remove("SSL_CERT_DIR");
        let crawl = Crawl::new(subject.name, &server, TASKS, false);
        let mut process = SubjectProcess::start_program(program, crawl).unwrap();
        writer.write_all(b"first\n").unwrap();
        drop(writer);
        process.run().unwrap();
        std::fs::write(&path, "second\n").unwrap();
        process.run().unwrap();
        let mut left = String::new();
        store.read_to_string(&mut left).unwrap();
        assert_eq!(left, "second\n", "{}", subject.name);
    }
}

#[test]
fn a_subject_that_fails_is_named_and_not_the_server() {
    let latency = Duration::from_secs(600);
    let site = Site { pages: PAGES, latency, ..Site::default() };
    let mut server = ServerProcess::start_program(Path::new(PROGRAM), site).unwrap();
    // It may not open a descriptor for each of its tasks.
    let mut program = Command::new("sh");
    program.args(["-c", "ulimit -n 30 && exec \"$0\"", PROGRAM]);
    let crawl = Crawl::new("bare-mio", &server, PAGES as usize, true);
    let mut process = SubjectProcess::start_program(program, crawl).unwrap();
    let error = process.memory_in_flight(&mut server, PAGES as usize, false).unwrap_err();
    assert!(error.to_string().starts_with("bare-mio has failed: "), "{error}");
}
