//! A website that nobody here wrote: two documentation packages of Debian's,
//! served by nginx, crawled by every stage and by wget.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::peer::Peer;
use common::programs::programs;
use common::tls::{ROOT, secure_options};
use common::{Stage, options};
use crawl_core::{Outcome, Row};
use serde_json::Value;

/// nginx, serving the packages with directory listings.
fn nginx() -> Peer {
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/real-site");
    let site = site.canonicalize().unwrap();
    Peer::start(|folder, port, secure_port| {
        let (root, here) = (site.display(), folder.display());
        let config = format!(
            "daemon off; master_process off; pid {here}/pid; error_log {here}/error.log;
            events {{ worker_connections 1024; }}
            http {{
              types {{
                text/html html; text/plain txt; text/css css; image/png png;
                application/javascript js; application/pdf pdf;
              }}
              log_format asked '$http_user_agent|$status|$request_uri';
              access_log {here}/access.log asked;
              client_body_temp_path {here}; proxy_temp_path {here};
              fastcgi_temp_path {here}; uwsgi_temp_path {here}; scgi_temp_path {here};
              server {{
                listen 127.0.0.1:{port}; listen 127.0.0.1:{secure_port} ssl;
                ssl_certificate {here}/chain.pem; ssl_certificate_key {here}/key.pem;
                root {root}; autoindex on;
              }}
            }}"
        );
        fs::write(folder.join("nginx.conf"), config).unwrap();
        let mut command = Command::new("nginx");
        command.arg("-c").arg(folder.join("nginx.conf"));
        command
    })
}

/// The paths that wget asked for and was given.
fn given_to_wget(nginx: &Peer) -> BTreeSet<String> {
    let log = nginx.read("access.log");
    let of_wget = log.lines().filter(|line| line.starts_with("Wget/"));
    of_wget
        .filter_map(|line| line.split_once("|200|"))
        .map(|(_version, path)| path.to_owned())
        .collect()
}

/// Whatever does not depend on which page was fetched first.
fn essence(row: &Row) -> impl PartialEq + std::fmt::Debug {
    let next_url = row.next_url.clone();
    (row.status, row.outcome, next_url, row.size, row.num_urls)
}

#[test]
#[cfg_attr(
    not(has_real_site),
    ignore = "needs nginx, wget and target/real-site: run .ci/real-peers"
)]
fn every_stage_agrees_with_every_other_and_with_wget() {
    let nginx = nginx();
    let root = nginx.origin() + "/";
    let crawls = Stage::ALL.map(|stage| (stage, stage.crawl(options(&root))));
    let (first, expected) = &crawls[0];
    for (stage, crawled) in &crawls {
        assert!(crawled.rows().len() > 400, "{stage:?}: {}", crawled.rows().len());
        let urls = |rows: &std::collections::BTreeMap<String, Row>| {
            rows.keys().cloned().collect::<BTreeSet<_>>()
        };
        assert_eq!(urls(crawled.rows()), urls(expected.rows()), "{stage:?}");
        for (url, row) in crawled.rows() {
            let (here, there) = (essence(row), essence(&expected.rows()[url]));
            assert_eq!(here, there, "{stage:?} differs from {first:?} on {url}");
            assert_ne!(row.outcome, Outcome::Failed, "{stage:?}: {row:?}");
        }
    }

    let copy = nginx.folder.join("copy");
    let status = Command::new("wget")
        .args(["--recursive", "--level=inf", "--quiet", "--execute=robots=off"])
        .arg(format!("--directory-prefix={}", copy.display()))
        .arg(&root)
        .status()
        .unwrap();
    // 8: some link leads nowhere. The packages have such links.
    assert!(matches!(status.code(), Some(0 | 8)), "wget: {status}");
    let by_wget = given_to_wget(&nginx);
    let of = |outcome: Outcome| -> BTreeSet<String> {
        let rows = expected.rows().values();
        rows.filter(|row| row.outcome == outcome)
            .map(|row| row.url[root.len() - 1..].to_owned())
            .collect()
    };
    let is_page = |path: &&String| path.ends_with(".html") || path.ends_with('/');
    let pages: BTreeSet<String> = by_wget.iter().filter(is_page).cloned().collect();
    let (ours, pages) = (of(Outcome::Page), pages);
    let missed: Vec<&String> = ours.difference(&pages).collect();
    assert!(missed.is_empty(), "not found by wget: {missed:?}");
    // wget also takes what a page is made of, images and style sheets, and
    // what its `link` elements name. We follow the links that a reader can:
    // nothing but `<link rel="search">` leads to the one page that differs.
    let more: Vec<&String> = pages.difference(&ours).collect();
    let by_link_element = |path: &&String| path.ends_with("/search.html");
    assert!(more.iter().all(by_link_element), "found by wget only: {more:?}");
    assert_eq!(more.len(), 2, "the same page by two paths");
    let others = of(Outcome::Other);
    let missed: Vec<&String> = others.difference(&by_wget).collect();
    assert!(missed.is_empty(), "not found by wget: {missed:?}");
}

#[test]
#[cfg_attr(
    not(has_real_site),
    ignore = "needs nginx, wget and target/real-site: run .ci/real-peers"
)]
fn every_stage_finds_the_same_over_tls() {
    let nginx = nginx();
    let root = nginx.origin() + "/";
    let expected = Stage::Callbacks.crawl(options(&root));
    for stage in Stage::ALL {
        let crawled = stage.crawl(secure_options(nginx.secure_origin() + "/"));
        assert_eq!(crawled.rows().len(), expected.rows().len(), "{stage:?}");
        for (url, row) in expected.rows() {
            let path = &url[root.len() - 1..];
            let found = crawled.row(path);
            let told = |row: &Row| (row.status, row.outcome, row.size, row.num_urls);
            assert_eq!(told(found), told(row), "{stage:?}: {path}: {found:?}");
        }
    }
}

/// The programs themselves, told on the command line whom to trust.
#[test]
#[cfg_attr(
    not(has_real_site),
    ignore = "needs nginx, wget and target/real-site: run .ci/real-peers"
)]
fn every_program_finds_the_same_with_a_private_authority() {
    let nginx = nginx();
    let root = nginx.secure_origin() + "/";
    let authority = nginx.folder.join("root.pem");
    fs::write(&authority, ROOT.pem()).unwrap();
    let mut options = secure_options(&root);
    // As the programs do.
    options.robots = true;
    let expected = Stage::Callbacks.crawl(options);
    let told = |row: &Value| {
        ["url", "status", "outcome", "size", "num_urls"].map(|field| row[field].to_string())
    };
    let expected: BTreeSet<_> =
        expected.rows().values().map(|row| told(&serde_json::to_value(row).unwrap())).collect();
    for (program, path) in programs() {
        let output = Command::new(&path)
            .args(["--format", "jsonl", "--quiet", "--cacert"])
            .arg(&authority)
            .arg(&root)
            .output()
            .unwrap();
        // 1: some link leads nowhere. The packages have such links.
        assert_eq!(output.status.code(), Some(1), "{program}: {output:?}");
        let rows = String::from_utf8(output.stdout).unwrap();
        let rows = rows.lines().map(|row| told(&serde_json::from_str(row).unwrap()));
        assert_eq!(rows.collect::<BTreeSet<_>>(), expected, "{program}");

        let untrusting = Command::new(&path).arg(&root).output().unwrap();
        assert_eq!(untrusting.status.code(), Some(3), "{program}: {untrusting:?}");
    }
}
