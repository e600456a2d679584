//! What the process does about its own limits, and what a server may make it
//! write, through the binary of this stage.
#![allow(clippy::unwrap_used, missing_docs)]

use std::process::{Command, Stdio};
use std::sync::Barrier;

use demo_site::scripted::Server;

const BINARY: &str = env!("CARGO_BIN_EXE_stage0-threads");

/// Sixty pages that are answered together or not at all, and a process that
/// begins with half as many descriptors.
#[test]
fn the_soft_limit_on_descriptors_is_raised() {
    const PAGES: usize = 60;
    let all_there = Barrier::new(PAGES);
    let site = Server::start(move |request, reply| match request.path() {
        "/" => reply.page((0..PAGES).map(|n| format!("<a href=/{n}>")).collect::<String>()),
        _ => {
            all_there.wait();
            reply.page("");
        }
    })
    .unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -S -n 30 && exec \"$0\" \"$@\"", BINARY, "-j", "60"])
        .args(["--max-tries", "1", "--read-timeout", "5s", &site.url("/")])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("Done: 61"), "{told}");
}

/// Text that a terminal obeys, that turns the direction of writing, or that
/// begins a line of its own, in every place where a server may put it.
#[test]
fn nothing_a_server_says_commands_a_terminal() {
    const EVIL: &str = "\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{202e}\u{2028}\u{7f}\u{8}";
    let site = Server::start(|request, reply| match request.path() {
        "/" => reply.page(format!(
            "<a href='/type'>x</a><a href='/charset'>x</a><a href='/moved'>x</a>\
             <a href='/status'>x</a><a href='/coding'>x</a><a href='/length'>x</a>\
             <a href='/{EVIL}'>x</a><a href='http://{EVIL}/'>x</a><a href='/missing'>x</a>"
        )),
        "/type" => reply.status(200, "OK", &[("Content-Type", EVIL)], ""),
        "/charset" => {
            let content_type = format!("text/html; charset={EVIL}");
            reply.status(200, "OK", &[("Content-Type", &content_type)], "");
        }
        "/moved" => reply.status(302, "Found", &[("Location", &format!("//{EVIL}"))], ""),
        "/status" => reply.send(format!("HTTP/1.1 2{EVIL} OK\r\n\r\n")),
        "/coding" => {
            let headers = [("Content-Type", "text/html"), ("Content-Encoding", EVIL)];
            reply.status(200, "OK", &headers, "");
        }
        "/length" => reply.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {EVIL}\r\n\r\n")),
        _ => reply.status(404, EVIL, &[], EVIL),
    })
    .unwrap();
    for format in ["text", "jsonl"] {
        let output = Command::new(BINARY)
            .args(["-vv", "--max-tries", "1", "--format", format, &site.url("/")])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        for stream in [&output.stdout, &output.stderr] {
            let told = std::str::from_utf8(stream).unwrap();
            assert!(told.contains("/length"), "{told:?}");
            let commands = told.chars().filter(|&c| crawl_core::is_command(c) && c != '\n');
            assert_eq!(commands.collect::<String>(), "", "{told:?}");
        }
        // A line for each row, in the form that is made of lines.
        let told = String::from_utf8(output.stdout).unwrap();
        let is_made_of_rows = told.lines().all(|line| line.starts_with("{\"url\":"));
        assert_eq!(is_made_of_rows, format == "jsonl", "{told}");
    }
}
