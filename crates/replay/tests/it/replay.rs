//! Tests of the whole program, on small sites.

use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use demo_site::scripted::Server;

/// A time after which a test counts as hanging.
const WATCHDOG: Duration = Duration::from_secs(60);

fn replay(arguments: &[&str]) -> Output {
    let child = Command::new(env!("CARGO_BIN_EXE_replay"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (sender, output) = channel();
    thread::spawn(move || sender.send(child.wait_with_output().unwrap()));
    output.recv_timeout(WATCHDOG).expect("the program hangs")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn all_stages_agree_on_the_demo_site() {
    let output = replay(&["--pages", "30", "--slow-pages", "20", "--delay", "5ms"]);
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(text(&output.stderr), "", "no progress for nobody");
    for stage in ["0 threads", "1 callbacks", "2 coroutines", "3 queue"] {
        let lines = stdout.lines().filter(|line| line.starts_with(stage));
        assert_eq!(lines.count(), 2, "{stdout}");
    }
    assert_eq!(stdout.matches("All agree").count(), 2, "{stdout}");
}

#[test]
fn a_site_that_changes_between_two_crawls_is_reported() {
    // The first request gets a redirect, the others a page.
    let server = Server::start(|request, reply| match request.path() {
        "/" if request.connection == 1 => reply.status(302, "Found", &[("Location", "/x")], ""),
        _ => reply.page("<a href=/>home</a>"),
    })
    .unwrap();
    let output = replay(&["--stages", "0,1", &server.url("/")]);
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(stdout.contains("disagree on 2 URLs"), "{stdout}");
    assert!(stdout.contains("status 302, outcome \"redirect\""), "{stdout}");
    assert!(stdout.contains("1 callbacks: not found"), "{stdout}");
    assert!(!stdout.contains("All agree"), "{stdout}");
}

#[test]
fn a_site_that_cannot_be_served_is_an_error() {
    let output = replay(&["--pages", "0"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("[error] "), "{output:?}");
}
