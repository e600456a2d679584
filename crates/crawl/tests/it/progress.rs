//! The progress line on a terminal.

use std::process::Command;
use std::time::Duration;

use demo_site::scripted::Server;

use crate::program::{Running, crawl};

/// A site that is slow enough for the line to change a few times.
fn site() -> Server {
    Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/slow>slow</a><a href=/missing>missing</a>"),
        "/slow" => {
            reply.sleep(Duration::from_millis(700));
            reply.page("");
        }
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap()
}

/// Runs the program on a pseudo-terminal, made by `script` of util-linux or BSD.
/// Returns stdout and stderr in one.
fn on_a_terminal(arguments: &str) -> String {
    let program = format!("{} --no-robots {arguments}", env!("CARGO_BIN_EXE_crawl"));
    let mut script = Command::new("script");
    if cfg!(target_os = "linux") {
        script.args(["-q", "-e", "-c", &program, "/dev/null"]);
    } else {
        script.args(["-q", "/dev/null", "sh", "-c", &program]);
    }
    script.env("TERM", "xterm").env("COLUMNS", "100");
    Running::start(script).wait().stdout
}

#[test]
fn a_terminal_shows_the_progress_line() {
    let site = site();
    let shown = on_a_terminal(&format!("-v --format jsonl {}", site.url("/")));
    assert!(shown.contains("2 done, 0 queued, 1 in flight, "), "{shown}");
    assert!(shown.contains("/s, 1 broken, 0:0"), "{shown}");
    // The line and the other output do not mix.
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    for whole in ["\"outcome\":\"http_error\"", "[info] "] {
        assert!(lines.iter().any(|line| line.contains(whole)), "{whole}: {shown}");
    }
    for line in lines.iter().filter(|line| line.contains("{\"url\"")) {
        let row = &line[line.find("{\"url\"").unwrap()..];
        assert!(row.ends_with('}') && !row.contains(" done, "), "{shown}");
    }
    let end = lines.last().unwrap().rsplit('\r').next().unwrap();
    assert!(!end.contains("in flight"), "the line is gone in the end: {shown}");
}

/// A CI job shows no terminal, and ends jobs that print nothing.
#[test]
fn without_a_terminal_a_line_comes_every_ten_seconds() {
    let site = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/slow>slow</a>"),
        // Until shortly after the first line.
        _ => {
            reply.sleep(Duration::from_millis(10_700));
            reply.page("");
        }
    })
    .unwrap();
    let start = |arguments: &[&str]| Running::start(crawl(arguments));
    let (root, no_progress) = (site.url("/"), "--no-progress");
    let runs = [start(&[&root]), start(&["-q", &root]), start(&[no_progress, &root])];
    let [with, quiet, without] = runs.map(|run| run.wait().expect_code(0).stderr);
    assert!(with.starts_with("[progress] 1 done, 0 queued, 1 in flight, "), "{with}");
    assert_eq!(with.lines().count(), 1, "{with}");
    assert_eq!((&*quiet, &*without), ("", ""));
}

#[test]
fn the_progress_line_can_be_switched_off() {
    let site = site();
    for flag in ["--no-progress", "-q --format text", "2>/dev/null"] {
        let shown = on_a_terminal(&format!("{} {flag}", site.url("/")));
        assert!(shown.contains("Checked 3 URLs: ") && !shown.contains("in flight"), "{shown}");
    }
}
