//! Resuming a crawl from its journal after it was killed.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use std::time::Duration;

use crawl_core::{CrawlSummary, Options, Row};
use demo_site::scripted::{Reply, Request, Server};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use stage3_queue::Crawler;

use crate::program::{Running, Scratch, WATCHDOG, crawl, rows, run, wait_until};

/// Number of pages of a site. Each one links to two more, to the root, and to a
/// redirect or a missing page.
const PAGES: usize = 60;

fn answer(request: &Request, reply: &mut Reply<'_>) {
    let path = request.path();
    if let Some(n) = path.strip_prefix("/old") {
        return reply.status(301, "Moved Permanently", &[("Location", &format!("/{n}"))], "");
    }
    match path.trim_start_matches('/').parse().unwrap_or(0) {
        n if n < PAGES => {
            let last = if n % 3 == 0 { format!("/old{}", n / 2) } else { format!("/none{n}") };
            let page = format!(
                "<a href=/{}>1</a><a href='/{}?a=1&amp;b'>2</a><a href=/>home</a><a href={last}>x</a>",
                2 * n + 1,
                2 * n + 2,
            );
            reply.page(page);
        }
        _ => reply.status(404, "Not Found", &[], ""),
    }
}

fn site() -> Server {
    Server::start(answer).unwrap()
}

/// Returns the fields of each row that do not depend on time and order.
fn stable_fields(rows: &BTreeMap<String, Value>) -> BTreeMap<&str, Vec<&Value>> {
    let names = ["status", "outcome", "next_url", "error", "content_type", "size", "num_urls"];
    rows.iter().map(|(url, row)| (url.as_str(), names.map(|name| &row[name]).into())).collect()
}

/// Returns the URLs of the whole records in a journal.
fn finished(journal: &Scratch) -> BTreeSet<String> {
    let text = String::from_utf8(journal.read()).unwrap();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n')).skip(2);
    let record = |line: &str| serde_json::from_str::<Value>(&line[9..]).unwrap();
    whole.map(|line| record(line)["row"]["url"].as_str().unwrap().to_owned()).collect()
}

fn hits(server: &Server, urls: &BTreeSet<String>) -> BTreeMap<String, u64> {
    let path = |url: &String| url.strip_prefix(&server.url("")).unwrap().to_owned();
    urls.iter().map(path).map(|path| (path.clone(), server.hits(&path))).collect()
}

/// A linear congruential generator: random numbers that are the same each time.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

#[test]
fn a_crawl_killed_at_any_moment_resumes_and_fetches_nothing_twice() {
    let uninterrupted = site();
    let jsonl = run(&["--format", "jsonl", &uninterrupted.url("/")]).expect_code(1).stdout;
    let expected = rows(&jsonl.replace(&uninterrupted.url(""), ""));
    assert!(expected.len() > 2 * PAGES);

    // Answers `granted` requests, and lets all others wait.
    let granted = Arc::new(AtomicI64::new(0));
    let remaining = Arc::clone(&granted);
    let server = Server::start(move |request, reply| {
        if remaining.fetch_sub(1, SeqCst) <= 0 {
            return reply.sleep(WATCHDOG);
        }
        answer(request, reply);
    })
    .unwrap();
    let (journal, root) = (Scratch::new(), server.url("/"));
    let arguments = ["-j3", "--format", "jsonl", "--state", journal.as_str(), &root];
    let mut random = Lcg(1);
    let mut before = BTreeSet::new();
    for n in 0..20 {
        let hits_before = hits(&server, &before);
        granted.store(random.below(8) as i64, SeqCst);
        let mut killed = Running::start(crawl(&arguments));
        wait_until(|| granted.load(SeqCst) <= 0);
        thread::sleep(Duration::from_micros(random.below(4_000)));
        assert!(killed.is_running(), "it was done too soon, at kill {n}");
        killed.signal("-KILL");
        let killed = killed.wait();
        assert_eq!(killed.status.code(), None);

        let after = finished(&journal);
        assert!(before.is_subset(&after), "at kill {n}");
        assert_eq!(hits(&server, &before), hits_before, "at kill {n}");
        // Only URLs in the journal have been printed.
        for line in killed.stdout.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let row: Value = serde_json::from_str(line).unwrap();
            assert!(after.contains(row["url"].as_str().unwrap()), "at kill {n}: {line}");
        }
        before = after;
    }
    assert!(before.len() > 20, "{}", before.len());
    granted.store(i64::MAX, SeqCst);
    let hits_before = hits(&server, &before);
    let jsonl = run(&arguments).expect_code(1).stdout;
    let found = rows(&jsonl.replace(&server.url(""), ""));
    assert_eq!(stable_fields(&found), stable_fields(&expected));
    assert_eq!(hits(&server, &before), hits_before);
}

#[test]
fn the_report_after_resuming_is_that_of_an_uninterrupted_run() {
    let server = site();
    let root = server.url("/");
    let journal = Scratch::new();
    let report = |limit: &str, journal: &[&str]| {
        let wishes = ["--all", "--referrers", "all", "-j1", "--max-pages", limit, &*root];
        run(&[&wishes, journal].concat()).stdout
    };
    let expected = report("1000", &[]);
    let requests = server.requests();
    for limit in ["1", "2", "50", "1000"] {
        report(limit, &["--state", journal.as_str()]);
    }
    assert_eq!(server.requests(), 2 * requests);
    // Resumes once more when all is done.
    let found = report("1000", &["--state", journal.as_str()]);
    assert_eq!(server.requests(), 2 * requests);
    assert_eq!(found, expected);
    assert!(found.contains("    on "), "{found}");
}

/// Begins or resumes a crawl in this process.
fn resume(root: &str, journal: &Scratch) -> (Vec<Row>, Result<CrawlSummary, String>, Vec<String>) {
    let mut options = Options::new(vec![root.parse().unwrap()]);
    options.settings.robots = false;
    options.max_tasks = Some(1);
    let path = journal.path().to_owned();
    let (send_row, rows) = channel();
    let (send_summary, summary) = channel();
    thread::spawn(move || {
        let (send_warning, warnings) = channel();
        let summary = Crawler::builder(options)
            .on_row(move |row| send_row.send(row).unwrap())
            .on_warning(move |warning| send_warning.send(warning.to_owned()).unwrap())
            .journal(path)
            .run();
        let summary = summary.map_err(|error| error.to_string());
        send_summary.send((summary, warnings.iter().collect())).unwrap();
    });
    let (summary, warnings) = summary.recv_timeout(WATCHDOG).unwrap();
    (rows.iter().collect(), summary, warnings)
}

fn small_site() -> Server {
    let page = |request: &Request, reply: &mut Reply<'_>| match request.path() {
        "/" => reply.page("<a href=/1>1</a><a href=/2>2</a>"),
        _ => reply.page(""),
    };
    Server::start(page).unwrap()
}

/// Returns the finished journal of a small site, and its contents.
fn small_journal(server: &Server) -> (Scratch, Vec<u8>) {
    let journal = Scratch::new();
    let (rows, _, _) = resume(&server.url("/"), &journal);
    assert_eq!(rows.len(), 3);
    let bytes = journal.read();
    (journal, bytes)
}

#[test]
fn a_record_cut_short_at_any_byte_is_cut_off() {
    let server = small_site();
    let (journal, whole) = small_journal(&server);
    let line_begin = |bytes: &[u8]| bytes.iter().rposition(|&b| b == b'\n').map_or(0, |n| n + 1);
    let last = line_begin(&whole[..whole.len() - 1]);
    for end in last..whole.len() {
        journal.write(&whole[..end]);
        let (again, others) = (server.hits("/2"), server.requests());
        let (rows, summary, warnings) = resume(&server.url("/"), &journal);
        let urls: Vec<_> = rows.iter().map(|row| row.url.to_string()).collect();
        assert_eq!(urls, ["/", "/1", "/2"].map(|path| server.url(path)), "{end}");
        assert_eq!(summary.unwrap().done, 3);
        assert_eq!((server.hits("/2"), server.requests()), (again + 1, others + 1), "{end}");
        assert_eq!(warnings.len(), usize::from(end > last), "{end}: {warnings:?}");
        assert!(
            warnings.iter().all(|w| w.contains(journal.as_str()) && w.contains("were removed"))
        );
        let (found, expected) = (journal.read(), &whole[..last]);
        assert!(found.starts_with(expected) && found.ends_with(b"\n"), "{end}");
        assert_eq!(found.iter().filter(|&&byte| byte == b'\n').count(), 5, "{end}");
    }
}

#[test]
fn a_record_that_was_cut_off_is_reported() {
    let server = small_site();
    let (journal, whole) = small_journal(&server);
    journal.write(&whole[..whole.len() - 5]);
    let root = server.url("/");
    // The library checks links alone.
    let arguments = ["--check", "none", "--state", journal.as_str(), &root];
    let stderr = run(&arguments).expect_code(0).stderr;
    assert!(stderr.starts_with(&format!("[warning] the journal {}", journal.as_str())), "{stderr}");
    assert!(stderr.ends_with(" bytes were removed\n"), "{stderr}");
    let stderr = run(&arguments).expect_code(0).stderr;
    assert!(
        stderr.lines().count() == 1 && stderr.contains("is complete; showing its results"),
        "{stderr}"
    );
}

#[test]
fn a_journal_whose_head_is_cut_short_at_any_byte_begins_anew() {
    let server = small_site();
    let (journal, whole) = small_journal(&server);
    let mut line_ends = whole.iter().enumerate().filter(|&(_, &b)| b == b'\n').map(|(n, _)| n + 1);
    let head = line_ends.nth(1).unwrap();
    for end in 0..head {
        journal.write(&whole[..end]);
        let (rows, summary, _) = resume(&server.url("/"), &journal);
        assert_eq!((rows.len(), summary.unwrap().done), (3, 3), "{end}");
        assert!(journal.read().starts_with(&whole[..head]), "{end}");
    }
}

/// Checks that the journal is refused with these words, and not changed.
#[track_caller]
fn assert_refused(journal: &Scratch, arguments: &[&str], words: &[&str]) {
    let before = journal.read();
    let server = small_site();
    let root = server.url("/");
    let arguments = [&["--state", journal.as_str(), &root], arguments].concat();
    let output = run(&arguments).expect_code(3);
    assert_eq!(output.stdout, "");
    for word in words.iter().chain(&[journal.as_str()]) {
        assert!(output.stderr.contains(word), "{word}: {}", output.stderr);
    }
    assert_eq!(server.requests(), 0);
    assert_eq!(journal.read(), before);
}

#[test]
fn a_journal_damaged_in_the_middle_is_refused() {
    let server = small_site();
    let (journal, whole) = small_journal(&server);
    let newline = |n: usize| {
        whole.iter().enumerate().filter(|&(_, &b)| b == b'\n').map(|(n, _)| n).nth(n).unwrap()
    };
    for (at, line) in [(newline(2) - 1, 3), (newline(2), 3), (newline(3) - 9, 4)] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        journal.write(&damaged);
        let (rows, summary, _) = resume(&server.url("/"), &journal);
        let message = summary.unwrap_err();
        assert!(message.ends_with(&format!("line {line} is damaged")), "{message}");
        assert!(message.contains(journal.as_str()), "{message}");
        assert_eq!(rows, [], "nothing is told of it");
        assert_eq!(journal.read(), damaged);
    }
    let mut damaged = whole.clone();
    damaged[newline(0) + 20] ^= 1;
    journal.write(&damaged);
    assert_refused(&journal, &[], &["line 2 is damaged"]);
    // With `--fresh` the crawl begins anew.
    let (arguments, requests) = (["--state", journal.as_str(), "--fresh"], server.requests());
    run(&[&arguments[..], &[&server.url("/")]].concat()).expect_code(0);
    assert_eq!(server.requests(), requests + 3);
}

/// A process that is being started holds the open files of this one for a moment, and
/// their locks.
#[test]
fn a_journal_that_was_refused_is_not_locked() {
    let server = small_site();
    let (journal, mut contents) = small_journal(&server);
    let last = contents.len() - 2;
    contents[last] ^= 1;
    contents.extend_from_slice(b"more\n");
    journal.write(&contents);
    let (stop, stopped) = channel::<()>();
    let starter = thread::spawn(move || {
        while stopped.try_recv() == Err(TryRecvError::Empty) {
            Command::new("true").status().unwrap();
        }
    });
    for _ in 0..500 {
        let message = resume(&server.url("/"), &journal).1.unwrap_err();
        assert!(message.ends_with("line 5 is damaged"), "{message}");
    }
    drop(stop);
    starter.join().unwrap();
}

#[test]
fn a_file_that_is_no_journal_is_refused() {
    for contents in ["precious", "precious\n", "\n", "crawl journals\n", "\0\0\0"] {
        for arguments in [&[][..], &["--fresh"]] {
            let precious = Scratch::with(contents);
            assert_refused(&precious, arguments, &["not a journal of a crawl"]);
        }
    }
    let server = small_site();
    let output = run(&["--state", "/no/such/directory/state", &server.url("/")]).expect_code(3);
    assert!(output.stderr.contains("/no/such/directory/state"), "{}", output.stderr);
    let output = run(&["--state", "/dev/null", &server.url("/")]).expect_code(3);
    assert!(output.stderr.contains("not a regular file"), "{}", output.stderr);
}

#[test]
fn a_journal_of_another_version_is_refused() {
    let refused = |format| {
        let journal = Scratch::with(format!("crawl journal, format {format}\nwho knows\n"));
        let why = format!("in format {format}");
        assert_refused(&journal, &[], &["another version", &why, "--fresh"]);
        journal
    };
    let (_earlier, journal) = (refused(1), refused(3));
    let server = small_site();
    run(&["--state", journal.as_str(), "--fresh", &server.url("/")]).expect_code(0);
    assert!(journal.read().starts_with(b"crawl journal, format 2\n"));
}

#[test]
fn a_second_process_is_refused() {
    let server = Server::start(|_, reply| reply.sleep(WATCHDOG)).unwrap();
    let journal = Scratch::new();
    let _first = Running::start(crawl(&["--state", journal.as_str(), &server.url("/")]));
    wait_until(|| server.requests() > 0);
    assert_refused(&journal, &[], &["another crawl is using it"]);
    assert_refused(&journal, &["--fresh"], &["another crawl is using it"]);
}

#[test]
fn fresh_begins_anew() {
    let server = small_site();
    let journal = Scratch::new();
    let root = server.url("/");
    let with = |more: &[&str]| {
        let arguments = [&["--format", "jsonl", "--state", journal.as_str(), &root], more].concat();
        (rows(&run(&arguments).expect_code(0).stdout).len(), server.requests())
    };
    assert_eq!(with(&["--fresh"]), (3, 3));
    assert_eq!(with(&[]), (3, 3));
    assert_eq!(with(&["--fresh"]), (3, 6));
    assert_eq!(with(&[]), (3, 6));
    let output = run(&["--fresh", &root]).expect_code(2);
    assert!(output.stderr.contains("--state"), "{}", output.stderr);
}

#[test]
fn other_options_are_refused_by_name() {
    let server = small_site();
    let root = server.url("/");
    let journal = Scratch::new();
    let arguments = ["--state", journal.as_str(), "--exclude", "x", &root];
    run(&arguments).expect_code(0);
    let before = journal.read();
    let requests = server.requests();
    for (more, words) in [
        (&["--max-depth", "3"][..], &["--max-depth was none and is 3"][..]),
        (&["--lenient"], &[r#"scope was "strict" and is "lenient""#]),
        (&["--include", "a"], &[r#"--include was [] and is ["a"]"#]),
        (&["--exclude", "y"], &[r#"--exclude was ["x"] and is ["x","y"]"#]),
        (&["--strip-query", "*"], &["--strip-query"]),
        (&["--check", "images"], &["--check was [", r#"] and is ["images"]"#]),
        (&["--external"], &["--external was false and is true"]),
        (&["--max-redirect", "1"], &["--max-redirect was 10 and is 1"]),
        (&["http://other.test"], &["URL was", "http://other.test/"]),
        (&["--max-depth", "3", "--lenient"], &["--max-depth", "; ", "scope"]),
    ] {
        let output = run(&[&arguments, more].concat()).expect_code(3);
        for word in words.iter().chain(&["started with other settings", journal.as_str()]) {
            assert!(output.stderr.contains(word), "{word}: {}", output.stderr);
        }
        assert_eq!(output.stdout, "");
    }
    assert_eq!(journal.read(), before);
    // Options that do not decide which URLs are found may differ.
    let more = ["-j7", "--max-pages", "9", "--max-time", "1h", "-A", "me", "--timeout", "9"];
    run(&[&arguments[..], &more].concat()).expect_code(0);
    assert_eq!(server.requests(), requests);
}

#[test]
fn a_full_disk_stops_the_crawl_and_loses_nothing() {
    let server = site();
    let journal = Scratch::new();
    let (program, root) = (env!("CARGO_BIN_EXE_crawl"), server.url("/"));
    // Simulated by a limit on the file size, in blocks of 512 or 1024 bytes.
    let script = r#"trap "" XFSZ; ulimit -f 16; exec "$0" "$@""#;
    let mut command = Command::new("sh");
    let arguments = ["--no-robots", "--format", "jsonl", "--state", journal.as_str(), &root];
    command.args(["-c", script, program]).args(arguments);
    let output = Running::start(command).wait().expect_code(3);
    assert!(output.stderr.contains("[error] the journal "), "{}", output.stderr);
    assert!(output.stderr.contains(journal.as_str()), "{}", output.stderr);
    assert!(output.stderr.contains("left to do: the journal"), "{}", output.stderr);
    let printed: BTreeSet<_> = rows(&output.stdout).into_keys().collect();
    assert_eq!(printed, finished(&journal));
    assert!(printed.len() > 3, "{printed:?}");
    let hits_before = hits(&server, &printed);
    let jsonl = run(&arguments[1..]).expect_code(1).stdout;
    assert!(rows(&jsonl).len() > 2 * PAGES);
    assert_eq!(hits(&server, &printed), hits_before);
}

fn damage() -> impl Strategy<Value = Vec<(usize, u8)>> {
    vec((any::<usize>(), 1..=u8::MAX), 0..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_journal_with_any_damage_is_refused_or_resumed_correctly(
        damage in damage(),
        end in prop_oneof![Just(usize::MAX), any::<usize>()],
        more in vec(any::<u8>(), 0..20),
    ) {
        let server = small_site();
        let (journal, whole) = small_journal(&server);
        let mut bytes = whole.clone();
        for (at, difference) in damage {
            bytes[at % whole.len()] ^= difference;
        }
        if end < usize::MAX {
            bytes.truncate(end % whole.len());
        }
        bytes.extend(more);
        journal.write(&bytes);
        let (rows, summary, _) = resume(&server.url("/"), &journal);
        match summary {
            Ok(summary) => {
                prop_assert_eq!((summary.done, summary.todo, rows.len()), (3, 0, 3));
                let (rows_again, summary, warnings) = resume(&server.url("/"), &journal);
                prop_assert_eq!(summary.unwrap().done, 3);
                prop_assert_eq!((rows_again, warnings.len()), (rows, 1));
                prop_assert!(warnings[0].contains("is complete; showing its results"), "{}", warnings[0]);
            }
            Err(message) => {
                prop_assert!(message.contains(journal.as_str()), "{}", message);
                prop_assert_eq!(journal.read(), bytes);
                prop_assert_eq!(rows, vec![]);
            }
        }
    }
}
