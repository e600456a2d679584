//! `kill -USR1` makes a running crawl print where each of its tasks waits.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use demo_site::scripted::Server;

use crate::program::program;

const SOON: Duration = Duration::from_secs(20);

/// A process, killed when this is dropped.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the program, and returns the lines of its stderr as they come.
fn start(arguments: &[&str]) -> (Guard, Receiver<String>) {
    let mut command = program(arguments);
    let mut crawl = Guard(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let stderr = BufReader::new(crawl.0.stderr.take().unwrap());
    let (sender, lines) = channel();
    thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|l| sender.send(l)));
    (crawl, lines)
}

#[test]
fn a_waiting_crawl_prints_its_tasks() {
    let server = Server::start(|_, reply| reply.sleep(Duration::from_secs(60))).unwrap();
    let (crawl, lines) = start(&["--max-tasks", "3", &server.url("/")]);
    let deadline = Instant::now() + SOON;
    while server.requests() == 0 {
        assert!(Instant::now() < deadline, "the crawl does not ask for anything");
        thread::sleep(Duration::from_millis(5));
    }

    let pid = crawl.0.id().to_string();
    assert!(Command::new("kill").args(["-USR1", &pid]).status().unwrap().success());
    let printed: Vec<String> = (0..4).map(|_| lines.recv_timeout(SOON).unwrap()).collect();

    assert_eq!(printed[0], "3 tasks");
    let reading =
        format!("reading from {} at crates/stage2-coroutines/src/net/io.rs:", server.address());
    let is_reading = printed.iter().filter(|line| line.contains(&reading)).count();
    let is_idle = printed.iter().filter(|line| line.contains("waiting for an item of a queue at"));
    assert_eq!((is_reading, is_idle.count()), (1, 2), "{printed:#?}");
    for n in 0..3 {
        let named = format!("task worker {n}, spawned at crates/stage3-queue/src/crawler.rs:");
        assert!(printed.iter().any(|line| line.contains(&named)), "{printed:#?}");
    }
}

/// The hosts that are waited for are printed with the time and the reason.
#[test]
fn a_wait_for_a_busy_host_is_printed() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.status(429, "No", &[("Retry-After", "50")], ""),
        _ => reply.status(404, "Not Found", &[], ""),
    });
    let server = server.unwrap();
    let (crawl, lines) = start(&[&server.url("/")]);
    let expected = format!("  waiting for {} for another ", server.address());
    let deadline = Instant::now() + SOON;
    let line = loop {
        assert!(Instant::now() < deadline, "the wait is not printed");
        if server.hits("/") == 1 {
            let pid = crawl.0.id().to_string();
            assert!(Command::new("kill").args(["-USR1", &pid]).status().unwrap().success());
        }
        thread::sleep(Duration::from_millis(100));
        let printed: Vec<String> = lines.try_iter().collect();
        if let Some(line) = printed.into_iter().find(|line| line.starts_with(&expected)) {
            break line;
        }
    };
    assert!(line.ends_with(": rate limited (429)"), "{line}");
}
