//! A website that nobody here wrote: two documentation packages of Debian's,
//! served by nginx, crawled by every stage and by wget.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use common::tls::{ROOT, secure_options};
use common::{Stage, options};
use crawl_core::{Outcome, Row};

/// nginx, serving the packages with directory listings, until it is dropped.
struct Nginx {
    process: Child,
    folder: PathBuf,
    port: u16,
    secure_port: u16,
}

impl Nginx {
    fn start() -> Self {
        let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/real-site");
        let site = site.canonicalize().unwrap();
        let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [port, secure_port] = free.map(|free| free.local_addr().unwrap().port());
        let folder = std::env::temp_dir().join(format!("real-site-{port}"));
        fs::create_dir_all(&folder).unwrap();
        let intermediate = ROOT.intermediate("Intermediate");
        let identity = intermediate.issue(&["127.0.0.1"]).with(&intermediate);
        fs::write(folder.join("chain.pem"), identity.chain_pem()).unwrap();
        fs::write(folder.join("key.pem"), identity.key_pem()).unwrap();
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
        let path = std::env::var("PATH").unwrap_or_default();
        let process = Command::new("nginx")
            .env("PATH", format!("{path}:/usr/sbin:/usr/local/sbin"))
            .arg("-c")
            .arg(folder.join("nginx.conf"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let nginx = Self { process, folder, port, secure_port };
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "nginx does not answer");
            thread::sleep(Duration::from_millis(20));
        }
        nginx
    }

    fn root(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    fn secure_root(&self) -> String {
        format!("https://127.0.0.1:{}/", self.secure_port)
    }

    /// The paths that wget asked for and was given.
    fn given_to_wget(&self) -> BTreeSet<String> {
        let log = fs::read_to_string(self.folder.join("access.log")).unwrap();
        let of_wget = log.lines().filter(|line| line.starts_with("Wget/"));
        of_wget
            .filter_map(|line| line.split_once("|200|"))
            .map(|(_version, path)| path.to_owned())
            .collect()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Whatever does not depend on which page was fetched first.
fn essence(row: &Row) -> impl PartialEq + std::fmt::Debug {
    let next_url = row.next_url.clone();
    (row.status, row.outcome, next_url, row.size, row.num_urls)
}

#[test]
#[cfg_attr(
    not(has_real_site),
    ignore = "needs nginx, wget and target/real-site: run .ci/real-site"
)]
fn every_stage_agrees_with_every_other_and_with_wget() {
    let nginx = Nginx::start();
    let root = nginx.root();
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
    let by_wget = nginx.given_to_wget();
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
    ignore = "needs nginx, wget and target/real-site: run .ci/real-site"
)]
fn every_stage_finds_the_same_over_tls() {
    let nginx = Nginx::start();
    let root = nginx.root();
    let expected = Stage::Callbacks.crawl(options(&root));
    for stage in Stage::ALL {
        let crawled = stage.crawl(secure_options(nginx.secure_root()));
        assert_eq!(crawled.rows().len(), expected.rows().len(), "{stage:?}");
        for (url, row) in expected.rows() {
            let path = &url[root.len() - 1..];
            let found = crawled.row(path);
            let told = |row: &Row| (row.status, row.outcome, row.size, row.num_urls);
            assert_eq!(told(found), told(row), "{stage:?}: {path}: {found:?}");
        }
    }
}
