//! A real website: two documentation packages of Debian, served by nginx and
//! crawled by every stage and by wget.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crawl_core::{ErrorClass, Outcome, Row};
use serde_json::Value;
use test_support::programs::programs;

use crate::common::real_server::RealServer;
use crate::common::tls::{ROOT_CA, secure_options};
use crate::common::{Stage, options};

/// Starts nginx, which serves the packages with directory listings.
fn nginx() -> RealServer {
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/real-site");
    let site = site.canonicalize().unwrap();
    RealServer::start(|folder, port, secure_port| {
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

/// Returns the paths that wget requested and nginx answered with 200.
fn fetched_by_wget(log: &str) -> BTreeSet<String> {
    let of_wget = log.lines().filter(|line| line.starts_with("Wget/"));
    of_wget
        .filter_map(|line| line.split_once("|200|"))
        .map(|(_version, path)| path.to_owned())
        .collect()
}

/// Returns the fields of a row that do not depend on the order of fetches.
fn comparable(row: &Row) -> impl PartialEq + std::fmt::Debug {
    let next_url = row.next_url.clone();
    (row.status, row.outcome, next_url, row.size, row.num_urls)
}

#[test]
#[ignore = "needs nginx, wget and target/real-site: run .ci/real-peers"]
fn every_stage_finds_the_same_rows_and_the_pages_that_wget_finds() {
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
            let (actual, expected) = (comparable(row), comparable(&expected.rows()[url]));
            assert_eq!(actual, expected, "{stage:?} differs from {first:?} on {url}");
            // A manual has links such as `http://<servername>/`, which are no URLs.
            let is_url = row.error.as_ref().is_none_or(|e| e.class != ErrorClass::InvalidUrl);
            assert_eq!(row.outcome == Outcome::Failed, !is_url, "{stage:?}: {row:?}");
        }
    }

    let copy = nginx.folder.join("copy");
    let status = Command::new("wget")
        .args(["--recursive", "--level=inf", "--quiet", "--execute=robots=off"])
        .arg(format!("--directory-prefix={}", copy.display()))
        .arg(&root)
        .status()
        .unwrap();
    // Status 8: the packages have some broken links.
    assert!(matches!(status.code(), Some(0 | 8)), "wget: {status}");
    let of = |outcome: Outcome| -> BTreeSet<String> {
        let rows = expected.rows().values();
        rows.filter(|row| row.outcome == outcome)
            .map(|row| row.url[root.len() - 1..].to_owned())
            .collect()
    };
    let is_page = |path: &&String| path.ends_with(".html") || path.ends_with('/');
    let (ours, others) = (of(Outcome::Page), of(Outcome::Other));
    // wget finds one more page, by two paths.
    let log = nginx.access_log(|log| {
        let fetched = fetched_by_wget(log);
        fetched.iter().filter(is_page).count() >= ours.len() + 2 && others.is_subset(&fetched)
    });
    let by_wget = fetched_by_wget(&log);
    let pages: BTreeSet<String> = by_wget.iter().filter(is_page).cloned().collect();
    let missed: Vec<&String> = ours.difference(&pages).collect();
    assert!(missed.is_empty(), "not found by wget: {missed:?}");
    // wget also fetches images, style sheets and the targets of `link`
    // elements. The stages follow only links that a reader can follow: only
    // `<link rel="search">` leads to the one page that differs.
    let by_wget_only: Vec<&String> = pages.difference(&ours).collect();
    let by_link_element = |path: &&String| path.ends_with("/search.html");
    assert!(by_wget_only.iter().all(by_link_element), "found by wget only: {by_wget_only:?}");
    assert_eq!(by_wget_only.len(), 2, "the same page by two paths");
    let missed: Vec<&String> = others.difference(&by_wget).collect();
    assert!(missed.is_empty(), "not found by wget: {missed:?}");
}

#[test]
#[ignore = "needs nginx, wget and target/real-site: run .ci/real-peers"]
fn every_stage_finds_the_same_rows_over_tls() {
    let nginx = nginx();
    let root = nginx.origin() + "/";
    let expected = Stage::Callbacks.crawl(options(&root));
    for stage in Stage::ALL {
        let crawled = stage.crawl(secure_options(nginx.secure_origin() + "/"));
        assert_eq!(crawled.rows().len(), expected.rows().len(), "{stage:?}");
        for (url, row) in expected.rows() {
            // A link that is not a URL is on no server.
            let path = url.strip_prefix(&nginx.origin()).unwrap_or(url);
            let actual = crawled.row(path);
            let comparable = |row: &Row| (row.status, row.outcome, row.size, row.num_urls);
            assert_eq!(comparable(actual), comparable(row), "{stage:?}: {path}: {actual:?}");
        }
    }
}

/// The programs of the stages get the certificate authority as a flag.
#[test]
#[ignore = "needs nginx, wget and target/real-site: run .ci/real-peers"]
fn every_program_finds_the_same_rows_with_a_private_authority() {
    let nginx = nginx();
    let root = nginx.secure_origin() + "/";
    let authority = nginx.folder.join("root.pem");
    fs::write(&authority, ROOT_CA.pem()).unwrap();
    let mut options = secure_options(&root);
    // The default of the programs.
    options.settings.robots = true;
    let expected = Stage::Callbacks.crawl(options);
    let comparable = |row: &Value| {
        ["url", "status", "outcome", "size", "num_urls"].map(|field| row[field].to_string())
    };
    let expected: BTreeSet<_> = expected
        .rows()
        .values()
        .map(|row| comparable(&serde_json::to_value(row).unwrap()))
        .collect();
    const PROGRAMS: [&str; 4] =
        ["stage0-threads", "stage1-callbacks", "stage2-coroutines", "crawl"];
    for (program, path) in PROGRAMS.into_iter().zip(programs(PROGRAMS)) {
        let output = Command::new(&path)
            .args(["--format", "jsonl", "--quiet", "--cacert"])
            .arg(&authority)
            // The other programs check links alone.
            .args((program == "crawl").then_some("--check=none"))
            .arg(&root)
            .output()
            .unwrap();
        // Status 1: the packages have some broken links.
        assert_eq!(output.status.code(), Some(1), "{program}: {output:?}");
        let rows = String::from_utf8(output.stdout).unwrap();
        let rows = rows.lines().map(|row| comparable(&serde_json::from_str(row).unwrap()));
        assert_eq!(rows.collect::<BTreeSet<_>>(), expected, "{program}");

        let untrusting = Command::new(&path).arg(&root).output().unwrap();
        assert_eq!(untrusting.status.code(), Some(3), "{program}: {untrusting:?}");
    }
}
