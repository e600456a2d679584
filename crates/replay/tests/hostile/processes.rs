//! The binaries of all stages against everything at once.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::behaviour::{Site, Theme, compare, whole};
use crate::common::tls::ROOT;
use crate::tls::Strangers;
use crate::{LARGE, QUICK, silence, traps};

/// The package of each stage, and its binary.
const STAGES: [(&str, &str); 4] = [
    ("stage0-threads", "stage0-threads"),
    ("stage1-callbacks", "stage1-callbacks"),
    ("stage2-coroutines", "stage2-coroutines"),
    ("stage3-queue", "crawl"),
];

/// What the whole of it may take.
const MOST_KIB: u64 = 100_000_000 / 1024;
const PATIENCE: Duration = Duration::from_secs(120);

/// A process that does not outlive its test.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A directory that is gone after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hostile-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The binary of a stage. It lies beside our own when the workspace is tested
/// as a whole.
fn binary(package: &str, name: &str) -> PathBuf {
    let own = Path::new(env!("CARGO_BIN_EXE_replay"));
    let binary = own.with_file_name(name);
    if !binary.exists() {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--locked", "-p", package]);
        if own.components().any(|part| part.as_os_str() == "release") {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success(), "{package} cannot be built");
    }
    binary
}

/// Waits for the end, and returns how it ended and the most memory it has had,
/// in KiB.
fn watch(child: &mut Child) -> (ExitStatus, u64) {
    let (begun, mut peak) = (Instant::now(), 0);
    loop {
        peak = peak.max(peak_memory(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            return (status, peak);
        }
        assert!(begun.elapsed() < PATIENCE, "the process hangs");
        thread::sleep(Duration::from_millis(5));
    }
}

fn peak_memory(id: u32) -> Option<u64> {
    // For a moment, what is to become another program is this one still, and has
    // its memory.
    if fs::read_link(format!("/proc/{id}/exe")).ok()? == env::current_exe().ok()? {
        return None;
    }
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Time is all that is not the default, for it is no limit on anything but how
/// long this takes: some thirty never answer, or never end, and for each the
/// default is four tries of up to half a minute.
const LITTLE_TIME: [&str; 6] = ["--read-timeout", "3s", "--timeout", "8s", "--max-tries", "2"];

/// Whatever a server can do, all of it in one crawl, with twenty fetches at a
/// time and the default limits on sizes and numbers: everything is told as it
/// should be, nothing takes much memory, it ends by itself, and a terminal
/// hears no command.
#[test]
fn everything_at_once() {
    thread::scope(|scope| {
        for (package, name) in STAGES {
            scope.spawn(move || println!("{name}: at most {} KiB", check(package, name)));
        }
    });
}

/// Returns the most memory that the program has had, in KiB.
fn check(package: &str, name: &str) -> u64 {
    let scratch = Scratch::new(name);
    let (rows, log, root) = (scratch.file("rows"), scratch.file("log"), scratch.file("root.pem"));
    fs::write(&root, ROOT.pem()).unwrap();
    // The slowest first, so that the others need not wait for them in the end.
    let site = Site::of(&[&[silence::behaviours as Theme][..], &QUICK, &LARGE].concat());
    let strangers = Strangers::new();
    let endless = traps::site(&traps::SOON);
    let child = Command::new(binary(package, name))
        .args(["-j", "20", "-vv", "--format", "jsonl", "--cacert"])
        .arg(&root)
        .args(LITTLE_TIME)
        // What cuts its robots.txt short as well is not asked for pages.
        .args((name == "crawl").then_some("--no-robots"))
        .args([site.server.url("/"), endless.url("/")])
        .args(strangers.roots())
        .stdin(Stdio::null())
        .stdout(File::create(&rows).unwrap())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let (status, peak) = watch(&mut Guard(child).0);
    let (rows, log) = (printable(&rows), printable(&log));
    assert_eq!(status.code(), Some(1), "{name}: {status}: {}", complaints(&log));
    assert!(peak > 0 && peak < MOST_KIB, "{name}: {peak} KiB");

    let (of_traps, found): (BTreeMap<_, _>, _) =
        told(name, &rows).into_iter().partition(|(url, _)| url.starts_with(&endless.url("/")));
    traps::check(name, &traps::SOON, &of_traps, 10_000);
    let origin = site.server.url("");
    let own = site.expected().into_iter();
    let own = own.map(|(path, told)| (whole(&origin, &path), told.json(&origin)));
    let of_strangers = strangers.expected().into_iter();
    let of_strangers = of_strangers.map(|(url, told)| (url, told.json("")));
    let expected = own.chain(of_strangers).collect();
    compare(name, &found, &expected, |url| strangers.name_of(url).or_else(|| site.why(url)));
    peak
}

/// What each row tells, as [`Told::json`](crate::common::Told::json) has it.
fn told(name: &str, rows: &str) -> BTreeMap<String, Value> {
    let mut told = BTreeMap::new();
    for line in rows.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let url = row["url"].as_str().unwrap().to_owned();
        let parts = json!({
            "outcome": row["outcome"],
            "status": row["status"],
            "error": row["error"].get("class"),
            "next_url": row["next_url"],
            "num_urls": row["num_urls"],
        });
        let before = told.insert(url, parts);
        assert_eq!(before, None, "{name}: a second row: {line}");
    }
    told
}

/// What a process has said beyond what it was asked to.
fn complaints(log: &str) -> String {
    let lines = log.lines().filter(|line| !line.starts_with("[info]"));
    lines.collect::<Vec<_>>().join("\n")
}

/// What was written, which has nothing in it that a terminal could take for a
/// command, nor what turns text around.
fn printable(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let is_command = |c: char| {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        (c.is_control() && c != '\n') || turns
    };
    let line = text.lines().find(|line| line.contains(is_command));
    assert_eq!(line, None, "{}", file.display());
    text
}

/// The same holds for the report, and for what is said meanwhile.
#[test]
fn the_report_is_printable() {
    let scratch = Scratch::new("report");
    let (report, log) = (scratch.file("report"), scratch.file("log"));
    let themes = [
        crate::heads::behaviours,
        crate::redirects::behaviours,
        crate::text::behaviours,
        crate::links::behaviours,
    ];
    let site = Site::of(&themes);
    let child = Command::new(binary("stage3-queue", "crawl"))
        .args(["-vv", "--max-tries", "1", &site.server.url("/")])
        .stdin(Stdio::null())
        .stdout(File::create(&report).unwrap())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let (status, _) = watch(&mut Guard(child).0);
    let (report, log) = (printable(&report), printable(&log));
    assert_eq!(status.code(), Some(1), "{status}: {}", complaints(&log));
    assert!(report.contains("*** Broken: "), "{report}");
    assert!(report.contains(r"HTTP/1.1 200 \x1b[31m"), "{report}");
}
