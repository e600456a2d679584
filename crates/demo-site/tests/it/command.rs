//! Tests of the binary `demo-site`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

use crate::common::get;

/// A running `demo-site`, killed when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn demo_site(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_demo-site"));
    command.args(arguments);
    command
}

fn start(arguments: &[&str]) -> (Running, String) {
    let mut command = demo_site(arguments);
    let mut running = Running(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    let stdout = running.0.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    (running, line)
}

fn run(arguments: &[&str]) -> Output {
    demo_site(arguments).output().unwrap()
}

#[test]
fn the_first_line_is_the_url_of_the_root() {
    let (_running, line) = start(&[
        "--pages=20",
        "--links=3",
        "--page-size=2K",
        "--seed=5",
        "--delay=20ms",
        "--delay-max=0.2s",
        "--close",
        "--no-special",
        "--listen=127.0.0.1:0",
    ]);
    let address = line.strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/\n").unwrap().parse().unwrap();
    let requested = Instant::now();
    let page = get(address, "/page/19");
    assert!(requested.elapsed().as_millis() >= 20);
    assert_eq!((page.status, page.body.len()), (200, 2048));
    assert_eq!(page.text().matches("<a href").count(), 3);
    assert_eq!(page.field("connection"), Some("close"));
    assert_eq!(get(address, "/page/20").status, 404);
    assert_eq!(get(address, "/special/").status, 404);
}

#[test]
fn busy_pages_are_busy_whenever_they_are_asked() {
    let (_running, line) = start(&["--pages=5", "--busy=2"]);
    let address = line.strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/\n").unwrap().parse().unwrap();
    for _ in 0..2 {
        for (path, status) in [("/", 200), ("/page/1", 429), ("/page/2", 429), ("/page/3", 200)] {
            assert_eq!(get(address, path).status, status, "{path}");
        }
    }
    assert_eq!(get(address, "/page/1").field("retry-after"), Some("5"));
}

#[test]
fn a_bad_value_is_named_with_its_flag() {
    for (flag, value) in [
        ("--pages", "0"),
        ("--pages", "many"),
        ("--links", "0"),
        ("--page-size", "8X"),
        ("--page-size", "2G"),
        ("--seed", "-1"),
        ("--delay", "soon"),
        ("--delay-max", "-1s"),
        ("--listen", "localhost"),
    ] {
        let output = run(&[&format!("{flag}={value}")]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{flag} {value}");
        assert!(error.contains(flag) && error.contains(value), "{error}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_greatest_delay_below_the_least_is_refused() {
    let output = run(&["--delay=2s", "--delay-max=1s"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("--delay-max 1s") && error.contains("--delay 2s"));
}

#[test]
fn an_address_in_use_is_an_error() {
    let (_running, line) = start(&[]);
    let address = line.trim().trim_start_matches("http://").trim_end_matches('/');
    let output = run(&["--listen", address]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains(address), "{error}");
}
