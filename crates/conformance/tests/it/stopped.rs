//! Programs that are stopped and continued, by Ctrl-Z or because a laptop sleeps. Each
//! stop interrupts system calls.
#![cfg(target_os = "linux")]

use std::io::{self, Read};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use demo_site::Latency;
use demo_site::scripted::Server;
use serde_json::Value;
use test_support::programs::programs;

use crate::common::{WATCHDOG, demo_site};

const PROGRAMS: [&str; 4] = ["stage0-threads", "stage1-callbacks", "stage2-coroutines", "crawl"];
const PAGES: u32 = 60;
const SILENT_ROOTS: u32 = 20;
/// Long enough for a page that is sent, however often both ends are stopped.
const READ_TIMEOUT: Duration = Duration::from_secs(1);

/// They find every page, and silent servers, half of them over TLS, are timeouts:
/// neither before their time nor as another error.
#[test]
fn stopped_programs_find_all_the_same() {
    let paths = programs(PROGRAMS);
    let silent = |stream: &mut TcpStream, _| {
        let _ = io::copy(stream, &mut io::sink());
    };
    let silent = Server::start_raw(silent).unwrap();
    let silent_root = |n| {
        let scheme = if n % 2 == 0 { "http" } else { "https" };
        format!("{scheme}://{}/{n}", silent.address())
    };
    let silent_roots: Vec<String> = (0..SILENT_ROOTS).map(silent_root).collect();
    thread::scope(|scope| {
        for path in &paths {
            let silent_roots = &silent_roots;
            scope.spawn(move || {
                let latency = Latency::Fixed(Duration::from_millis(20));
                let site = demo_site(PAGES, |options| options.latency = latency);
                let root = site.url("/");
                let mut command = Command::new(path);
                command.args(["-q", "-j", "20", "--max-tries", "1", "--format", "jsonl"]);
                command.args(["--read-timeout", "1s", &root]).args(silent_roots);
                // Only this one asks for robots.txt.
                command.args(path.ends_with("crawl").then_some("--no-robots"));
                let rows = stopped_and_continued(&mut command);
                let name = path.display();
                for root in silent_roots {
                    let row = rows.iter().find(|row| row["url"] == **root).unwrap();
                    let elapsed = row["elapsed_ms"].as_u64().unwrap();
                    assert_eq!(row["error"]["class"], "timeout", "{name}: {row}");
                    assert!(u128::from(elapsed) >= READ_TIMEOUT.as_millis(), "{name}: {row}");
                }
                let is_page = |row: &&Value| row["outcome"] == "page";
                assert_eq!(rows.iter().filter(is_page).count(), PAGES as usize, "{name}");
            });
        }
    });
}

/// Runs a program, stops and continues it again and again, and returns its rows.
fn stopped_and_continued(command: &mut Command) -> Vec<Value> {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let output = thread::spawn(move || {
        let mut output = String::new();
        stdout.read_to_string(&mut output).map(|_| output)
    });
    let begun = Instant::now();
    let stop = format!("kill -STOP {0} && kill -CONT {0}", child.id());
    let mut stops = 0;
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > WATCHDOG {
            let _ = child.kill();
            panic!("it does not end: {command:?}");
        }
        let stopped = Command::new("sh").args(["-c", &stop]).status().unwrap();
        stops += u32::from(stopped.success());
        thread::sleep(Duration::from_millis(1));
    }
    // The first may come before it has begun.
    assert!(stops > 1, "stopped {stops} times: {command:?}");
    let output = output.join().unwrap().unwrap();
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
