//! The programs of all stages against all hostile behaviours at once.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_support::programs::{program, programs};

use super::behaviour::{HostileSite, Theme, absolute_url, compare};
use super::tls::HostileServers;
use super::{LARGE, QUICK, silence, traps};
use crate::common::tls::ROOT_CA;

/// The programs of the stages.
pub(super) const PROGRAMS: [&str; 4] =
    ["stage0-threads", "stage1-callbacks", "stage2-coroutines", "crawl"];

/// The most memory a program may use, in KiB: 100 MB.
const MAX_KIB: u64 = 100_000_000 / 1024;
const TIMEOUT: Duration = Duration::from_secs(120);

/// A guard that kills a process when it is dropped.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A directory that is removed when it is dropped.
pub(super) struct TempDir(PathBuf);

impl TempDir {
    pub(super) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hostile-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a program whose output and log go to these files, and returns its status and its
/// peak memory in KiB. A program that ends within milliseconds may end unseen: then there is
/// no peak, and there was no time to fill much memory.
pub(super) fn run_with_peak_memory(
    command: &mut Command,
    output: &Path,
    log: &Path,
) -> (ExitStatus, Option<u64>) {
    let child = command
        .stdin(Stdio::null())
        .stdout(File::create(output).unwrap())
        .stderr(File::create(log).unwrap())
        .spawn()
        .unwrap();
    wait_with_peak_memory(&mut KillOnDrop(child).0)
}

/// Waits for a process to end, and returns its status and its peak memory in KiB, if it was
/// seen.
fn wait_with_peak_memory(child: &mut Child) -> (ExitStatus, Option<u64>) {
    let (begun, mut peak) = (Instant::now(), None);
    loop {
        peak = peak.max(peak_memory(child.id()));
        if let Some(status) = child.try_wait().unwrap() {
            return (status, peak);
        }
        assert!(begun.elapsed() < TIMEOUT, "the process hangs");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the peak memory of a process in KiB.
fn peak_memory(id: u32) -> Option<u64> {
    // Between fork and exec, the child is still this program, and has its memory.
    if fs::read_link(format!("/proc/{id}/exe")).ok()? == env::current_exe().ok()? {
        return None;
    }
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// A crawl of this test: the servers that it visits, and its flags.
struct Part {
    name: &'static str,
    themes: Vec<Theme>,
    with_tls_servers: bool,
    with_traps: bool,
    flags: &'static [&'static str],
}

/// Servers of plain http that do end a response, and traps. The timeouts and all other
/// limits have their defaults.
fn lively() -> Part {
    Part {
        name: "lively",
        themes: [&QUICK[..], &LARGE].concat(),
        with_tls_servers: false,
        with_traps: true,
        flags: &["-j", "50", "--max-tries", "1"],
    }
}

/// Servers that never answer or never end, and those of TLS, some of which never end
/// either. Timeouts are shorter than by default, so that the test ends soon; they are
/// long enough for the pages beside them, which are small.
fn silent() -> Part {
    Part {
        name: "silent",
        themes: vec![silence::behaviours],
        with_tls_servers: true,
        with_traps: false,
        flags: &["-j", "50", "--max-tries", "1", "--read-timeout", "4s", "--timeout", "10s"],
    }
}

/// All of them. A page of the large ones has to arrive while the servers that never end
/// are waited for, on two cores that four such crawls share.
fn everything() -> Part {
    Part {
        name: "everything",
        // The slowest first, so that they run beside the others from the start.
        themes: [&[silence::behaviours as Theme][..], &QUICK, &LARGE].concat(),
        with_tls_servers: true,
        with_traps: true,
        flags: &["-j", "50", "--max-tries", "1", "--read-timeout", "6s", "--timeout", "25s"],
    }
}

/// All behaviours, with fifty fetches at a time: enough for all servers that never end
/// to be waited for at once. The program reports the expected rows, uses little memory,
/// ends by itself, and writes no terminal control characters.
#[test]
fn crawl_reports_all_behaviours() {
    check_all(["crawl"], &[lively(), silent()]);
}

/// The same for the programs of all stages, with all behaviours in one crawl.
#[test]
#[ignore = "takes half a minute"]
fn every_program_reports_all_behaviours_at_once() {
    check_all(PROGRAMS, &[everything()]);
}

/// Checks these programs at the same time, each of which crawls these parts.
fn check_all<const N: usize>(names: [&'static str; N], parts: &[Part]) {
    let programs = programs(names);
    thread::scope(|scope| {
        for (name, path) in names.into_iter().zip(&programs) {
            for part in parts {
                scope.spawn(move || check(name, path, part));
            }
        }
    });
}

fn check(name: &str, program: &Path, part: &Part) {
    let dir = TempDir::new(&format!("{name}-{}", part.name));
    let (rows, log, root_ca) = (dir.file("rows"), dir.file("log"), dir.file("root.pem"));
    fs::write(&root_ca, ROOT_CA.pem()).unwrap();
    let site = HostileSite::start(&part.themes);
    let tls_servers = part.with_tls_servers.then(HostileServers::new);
    let trap_site = part.with_traps.then(|| traps::site(&traps::SMALL));
    let mut command = Command::new(program);
    command
        .args(["-vv", "--format", "jsonl", "--cacert"])
        .arg(&root_ca)
        .args(part.flags)
        // A server that cuts its robots.txt as well would get no request for pages.
        .args((name == "crawl").then_some("--no-robots"))
        .arg(site.server.url("/"))
        .args(trap_site.as_ref().map(|traps| traps.url("/")))
        .args(tls_servers.iter().flat_map(HostileServers::roots));
    let (status, peak) = run_with_peak_memory(&mut command, &rows, &log);
    let (rows, log) = (read_printable(&rows), read_printable(&log));
    assert_eq!(status.code(), Some(1), "{name}: {status}: {}", warnings(&log));
    assert!(peak.is_some_and(|peak| peak < MAX_KIB), "{name}: {peak:?} KiB");

    let mut actual = parse_rows(name, &rows);
    // What is too long for a URL is shown by its beginning.
    actual.retain(|url, row| row["error"] != "trap" || url.contains("://"));
    if let Some(trap_site) = trap_site {
        let root = trap_site.url("/");
        let of_traps = actual.extract_if(.., |url, _| url.starts_with(&root)).collect();
        traps::check(name, &traps::SMALL, &of_traps, 10_000);
    }
    let origin = site.server.url("");
    let of_site = site.expected().into_iter();
    let of_site = of_site.map(|(path, row)| (absolute_url(&origin, &path), row.json(&origin)));
    let of_tls_servers = tls_servers.iter().flat_map(HostileServers::expected);
    let of_tls_servers = of_tls_servers.map(|(url, row)| (url, row.json("")));
    let expected = of_site.chain(of_tls_servers).collect();
    compare(name, &actual, &expected, |url| {
        tls_servers.as_ref().and_then(|servers| servers.name_of(url)).or_else(|| site.why(url))
    });
}

/// Returns the fields of each row that are compared, in the form of
/// [`ExpectedRow::json`](crate::common::ExpectedRow::json).
fn parse_rows(name: &str, rows: &str) -> BTreeMap<String, Value> {
    let mut parsed = BTreeMap::new();
    for line in rows.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let url = row["url"].as_str().unwrap().to_owned();
        let comparable = json!({
            "outcome": row["outcome"],
            "status": row["status"],
            "error": row["error"].get("class"),
            "next_url": row["next_url"],
            "num_urls": row["num_urls"],
        });
        let previous = parsed.insert(url, comparable);
        assert_eq!(previous, None, "{name}: a second row: {line}");
    }
    parsed
}

/// Returns the lines of a log that are no `[info]`.
fn warnings(log: &str) -> String {
    let lines = log.lines().filter(|line| !line.starts_with("[info]"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Reads a file, and fails if it contains terminal control characters or
/// characters that change the direction of text.
fn read_printable(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let is_terminal_control = |c: char| {
        let is_direction = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        (c.is_control() && c != '\n') || is_direction
    };
    let line = text.lines().find(|line| line.contains(is_terminal_control));
    assert_eq!(line, None, "{}", file.display());
    text
}

/// Neither the reports for people nor the log contain terminal control characters.
#[test]
fn the_report_has_no_terminal_controls() {
    let dir = TempDir::new("report");
    let (report, log) = (dir.file("report"), dir.file("log"));
    let chapter = dir.file("chapter");
    let themes = [
        super::heads::behaviours,
        super::redirects::behaviours,
        super::text::behaviours,
        super::links::behaviours,
    ];
    let site = HostileSite::start(&themes);
    let child = Command::new(program("crawl"))
        .args(["-vv", "--max-tries", "1", "-o", "text:-", "-o"])
        .arg(format!("chapter:{}", chapter.display()))
        .arg(site.server.url("/"))
        .stdin(Stdio::null())
        .stdout(File::create(&report).unwrap())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let (status, _) = wait_with_peak_memory(&mut KillOnDrop(child).0);
    let (report, log) = (read_printable(&report), read_printable(&log));
    assert_eq!(status.code(), Some(1), "{status}: {}", warnings(&log));
    assert!(report.contains(" are broken ("), "{report}");
    assert!(report.contains(r"HTTP/1.1 2\x1b[31m"), "{report}");
    let chapter = read_printable(&chapter);
    assert!(chapter.contains("*** Broken: "), "{chapter}");
    assert!(chapter.contains(r"HTTP/1.1 2\x1b[31m"), "{chapter}");
}
