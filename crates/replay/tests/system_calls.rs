//! How often the crawl asks the system for something, as `strace` counts it.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::process::Command;
use std::{env, fs};

use common::demo_site;
use common::programs::programs;

const PAGES: u32 = 2000;

/// A page takes one call to send, one to receive, and a part of a wait that
/// tells of many at once.
const MOST_A_PAGE: f64 = 3.0;

/// Connections are kept and a hundred tasks are at it. The rows go to a file,
/// each by a `write` of its own; nothing else is written so.
#[test]
#[cfg_attr(not(has_strace), ignore = "needs strace: run .ci/real-peers")]
fn a_page_takes_few() {
    let site = demo_site(PAGES, |_| ());
    let folder = env::temp_dir().join(format!("system-calls-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (counts, rows) = (folder.join("counts"), folder.join("rows"));
    let [.., (_, crawl)] = programs();
    let status = Command::new("strace")
        .args(["-f", "-c", "-U", "calls,name", "-o"])
        .arg(&counts)
        .arg(crawl)
        .args(["--quiet", "--no-robots", "-j", "100", "-o"])
        .args([rows.as_os_str(), site.url("/").as_ref()])
        .status()
        .unwrap();
    assert!(status.success());
    let (counts, rows) = (fs::read_to_string(counts).unwrap(), fs::read_to_string(rows).unwrap());
    fs::remove_dir_all(folder).unwrap();
    assert!(rows.lines().count() >= PAGES as usize, "{rows}");

    let lines = counts.lines().filter_map(|line| line.trim().split_once(' '));
    let calls: Vec<(u32, &str)> =
        lines.filter_map(|(calls, name)| Some((calls.parse().ok()?, name.trim()))).collect();
    let of = |wanted: fn(&str) -> bool| -> u32 {
        calls.iter().filter(|(_, name)| wanted(name)).map(|(calls, _)| calls).sum()
    };
    assert!(of(|name| name == "write") >= PAGES, "{counts}");
    let a_page = f64::from(of(|name| name != "write" && name != "total")) / f64::from(PAGES);
    println!("{a_page:.2} a page");
    assert!(a_page <= MOST_A_PAGE, "{a_page} a page: {counts}");
}
