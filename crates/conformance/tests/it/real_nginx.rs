//! A site served by nginx, with compression, server-side includes and a limit
//! on the requests per connection.

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use test_support::programs::program;

use crate::common::real_server::{RealServer, expect_table};
use crate::common::tls::secure_options;
use crate::common::{Stage, links};

/// The number of requests that nginx accepts on one connection.
const KEEPALIVE_REQUESTS: u64 = 7;
const PAGES: usize = 60;

fn nginx() -> RealServer {
    RealServer::start(|folder, port, secure_port| {
        let here = folder.display();
        let site = folder.join("site");
        fs::create_dir_all(site.join("folder")).unwrap();
        let write = |name: &str, text: &str| fs::write(site.join(name), text).unwrap();
        let special = [
            "/folder",
            "/moved",
            "/away",
            "/gone",
            "/silent",
            "/text",
            "/included.html",
            "/large.html",
            "/missing",
        ];
        let pages = (1..=PAGES).map(|n| format!("/page-{n}.html"));
        write("index.html", &links(pages.chain(special.map(str::to_owned))));
        for n in 1..=PAGES {
            write(&format!("page-{n}.html"), &page());
        }
        write("folder/file.txt", "text");
        write("included.html", "<!--#include virtual=\"/page-1.html\" -->");
        write("large.html", &(" ".repeat(300_000) + &links(["/last.html"])));
        write("last.html", "");
        let config = format!(
            "daemon off; master_process off; pid {here}/pid; error_log {here}/error.log;
            events {{ worker_connections 1024; }}
            http {{
              types {{ text/html html; text/plain txt; }}
              log_format asked '$connection $connection_requests $request_uri';
              access_log {here}/access.log asked;
              client_body_temp_path {here}; proxy_temp_path {here};
              fastcgi_temp_path {here}; uwsgi_temp_path {here}; scgi_temp_path {here};
              keepalive_requests {KEEPALIVE_REQUESTS};
              gzip on; gzip_min_length 0; gzip_vary on;
              server {{
                listen 127.0.0.1:{port}; listen 127.0.0.1:{secure_port} ssl;
                ssl_certificate {here}/chain.pem; ssl_certificate_key {here}/key.pem;
                root {here}/site; autoindex on;
                location = /moved {{ return 301 /page-1.html; }}
                location = /away {{ return 302 http://example.test/; }}
                location = /gone {{ return 410; }}
                location = /silent {{ return 444; }}
                location = /text {{ default_type text/plain; return 200 text; }}
                location = /included.html {{ ssi on; }}
              }}
            }}"
        );
        fs::write(folder.join("nginx.conf"), config).unwrap();
        let mut command = Command::new("nginx");
        command.arg("-e").arg(folder.join("error.log"));
        command.arg("-c").arg(folder.join("nginx.conf"));
        command
    })
}

fn page() -> String {
    "<p>Something that can be compressed.</p>\n".repeat(50) + &links(["/"])
}

fn table() -> String {
    let size = page().len();
    let large = 300_000 + links(["/last.html"]).len();
    let mut table = format!(
        "/               page 200 * {}
        /folder          redirect 301 ORIGIN/folder/
        /folder/         page 200 * 2
        /folder/file.txt other 200 text/plain 4
        /moved           redirect 301 ORIGIN/page-1.html
        /away            redirect 302 http://example.test/
        /gone            http_error 410
        /silent          failed closed
        /text            other 200 text/plain *
        /included.html   page 200 {size} 1
        /large.html      page 200 {large} 1
        /last.html       page 200 0 0
        /missing         http_error 404\n",
        PAGES + 9
    );
    for n in 1..=PAGES {
        writeln!(table, "/page-{n}.html page 200 {size} 1").unwrap();
    }
    table
}

#[test]
#[ignore = "needs nginx: run .ci/real-peers"]
fn every_page_is_found_over_http_and_https() {
    for stage in Stage::ALL {
        let nginx = nginx();
        for origin in [nginx.origin(), nginx.secure_origin()] {
            let crawled = stage.crawl(secure_options(format!("{origin}/")));
            expect_table(&crawled, &origin, &table());
        }
        // A crawl that keeps connections reached the limit, and each response
        // still took one request.
        let expected = 2 * (table().lines().count() - 1);
        let log = nginx.access_log(|log| answered(log) >= expected);
        let on_one_connection =
            log.lines().map(|line| line.split(' ').nth(1).unwrap().parse().unwrap());
        let max = if stage == Stage::Queue { KEEPALIVE_REQUESTS } else { 1 };
        assert_eq!(on_one_connection.max(), Some(max), "{stage:?}");
        assert_eq!(answered(&log), expected, "{stage:?}");
    }
}

/// Returns the number of requests in a log that were answered. `/silent` is not counted: with a
/// kept connection its missing response looks like a stale connection, so the request is
/// sent once more.
fn answered(log: &str) -> usize {
    log.lines().filter(|line| !line.ends_with("/silent")).count()
}

/// Each crawl is recorded, and replayed by another process, which asks nginx nothing.
#[test]
#[ignore = "needs nginx: run .ci/real-peers"]
fn thirty_crawls_are_replayed_to_the_last_event() {
    let crawl = program("crawl");
    let nginx = nginx();
    let file = |n: usize, name: &str| nginx.folder.join(format!("{n}-{name}"));
    let run = |arguments: &[&OsStr], rows: PathBuf, trace: PathBuf| {
        let mut command = Command::new(&crawl);
        command.args(["-q", "--format", "jsonl"]).args(arguments).arg("-o").arg(&rows);
        let code = command.arg("--trace").arg(&trace).status().unwrap().code();
        (code, fs::read(rows).unwrap(), fs::read(trace).unwrap())
    };
    let mut recorded = Vec::new();
    for n in 0..30 {
        let origin = if n % 2 == 0 { nginx.origin() } else { nginx.secure_origin() };
        let tasks = (n % 12 + 1).to_string();
        let record = file(n, "record");
        let arguments =
            [OsStr::new("--record"), record.as_ref(), "-k".as_ref(), "-j".as_ref(), tasks.as_ref()];
        let arguments = [&arguments[..], &[origin.as_ref()]].concat();
        recorded.push(run(&arguments, file(n, "rows"), file(n, "trace.json")));
        assert!(recorded[n].1.split(|byte| *byte == b'\n').count() > PAGES, "crawl {n}");
    }
    // `robots.txt` instead of `/silent`.
    let expected = recorded.len() * table().lines().count();
    let log = nginx.access_log(|log| answered(log) >= expected);
    assert_eq!(answered(&log), expected);
    let asked = log.lines().count();
    for (n, recorded) in recorded.iter().enumerate() {
        let record = file(n, "record");
        let arguments = [OsStr::new("--replay"), record.as_ref()];
        let replayed = run(&arguments, file(n, "rows again"), file(n, "again.json"));
        assert!(replayed == *recorded, "crawl {n}: {}", String::from_utf8_lossy(&replayed.1));
    }
    assert_eq!(nginx.read("access.log").lines().count(), asked);
}
