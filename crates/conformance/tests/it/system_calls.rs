//! The number of system calls per page, as `strace` counts them.

use std::process::Command;
use std::{env, fs};

use test_support::programs::program;

use crate::common::demo_site;

const PAGES: u32 = 2000;

/// The most system calls per page: one to send, one to receive, and a share of
/// a wait that returns many events at once.
const MAX_PER_PAGE: f64 = 3.0;

/// A hundred tasks crawl over kept connections. The rows go to a file, each by
/// a `write` of its own. Nothing else uses `write`, so it is not counted.
#[test]
#[ignore = "needs strace: run .ci/real-peers"]
fn a_page_takes_at_most_three_system_calls() {
    let site = demo_site(PAGES, |_| ());
    let folder = env::temp_dir().join(format!("system-calls-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (counts, rows) = (folder.join("counts"), folder.join("rows"));
    let crawl = program("crawl");
    let status = Command::new("strace")
        .args(["-f", "-c", "-U", "calls,name", "-o"])
        .arg(&counts)
        .arg(crawl)
        .args(["--quiet", "--no-robots", "-j", "100", "--format", "chapter", "-o"])
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
    let of = |is_counted: fn(&str) -> bool| -> u32 {
        calls.iter().filter(|(_, name)| is_counted(name)).map(|(calls, _)| calls).sum()
    };
    assert!(of(|name| name == "write") >= PAGES, "{counts}");
    let per_page = f64::from(of(|name| name != "write" && name != "total")) / f64::from(PAGES);
    println!("{per_page:.2} a page");
    assert!(per_page <= MAX_PER_PAGE, "{per_page} a page: {counts}");
}
