//! The limits of the process, and hostile text from servers, tested with the binary
//! of stage 0.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Barrier, LazyLock};

use demo_site::scripted::Server;
use test_support::programs::program;

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| program("stage0-threads"));

/// Sixty pages that are answered only when all are requested, and a process that
/// starts with half as many file descriptors.
#[test]
fn the_soft_limit_on_descriptors_is_raised() {
    const PAGES: usize = 60;
    let all_requested = Barrier::new(PAGES);
    let site = Server::start(move |request, reply| match request.path() {
        "/" => reply.page((0..PAGES).map(|n| format!("<a href=/{n}>")).collect::<String>()),
        _ => {
            all_requested.wait();
            reply.page("");
        }
    })
    .unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -S -n 30 && exec \"$0\" \"$@\""])
        .arg(&*PROGRAM)
        .args(["-j", "60"])
        .args(["--max-tries", "1", "--read-timeout", "5s", &site.url("/")])
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}");
    assert!(stdout.contains("Done: 61"), "{stdout}");
}

/// Control characters of terminals, changes of the writing direction and line
/// separators, in every place where a server may put them.
#[test]
fn no_control_characters_from_a_server_reach_a_terminal() {
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
    for format in ["text", "chapter", "jsonl"] {
        let output = Command::new(&*PROGRAM)
            .args(["-vv", "--max-tries", "1", "--format", format, &site.url("/")])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        for stream in [&output.stdout, &output.stderr] {
            let text = std::str::from_utf8(stream).unwrap();
            assert!(text.contains("/length"), "{text:?}");
            let control_characters =
                text.chars().filter(|&c| web::is_terminal_control(c) && c != '\n');
            assert_eq!(control_characters.collect::<String>(), "", "{text:?}");
        }
        // In JSON Lines, every line is a row.
        let stdout = String::from_utf8(output.stdout).unwrap();
        let is_made_of_rows = stdout.lines().all(|line| line.starts_with("{\"url\":"));
        assert_eq!(is_made_of_rows, format == "jsonl", "{stdout}");
    }
}
