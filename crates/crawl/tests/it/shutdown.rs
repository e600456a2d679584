//! Graceful shutdown by a signal or by the limit on time.
#![cfg(unix)]

use std::io::Read;
use std::thread;
use std::time::{Duration, Instant};

use asyncio::prelude::*;
use crawl_core::{CrawlSummary, Options, StopReason};
use demo_site::scripted::{Reply, Request, Server};
use serde_json::Value;
use stage2_coroutines::virtual_runtime;
use stage3_queue::Crawler;

use crate::program::{Running, Scratch, WATCHDOG, crawl, rows, run, wait_until};

const SECOND: Duration = Duration::from_secs(1);

/// Crawls on a virtual clock, where no connection is ever established. The crawl
/// is asked to stop at each of the times. Returns its duration, too.
fn in_virtual_time(
    stop_times: &[Duration],
    change: impl FnOnce(&mut Options),
) -> (CrawlSummary, Duration) {
    let mut options = Options::new(vec!["http://127.0.0.1:9/".parse().unwrap()]);
    options.settings.robots = false;
    options.settings.max_tries = u32::MAX;
    change(&mut options);
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let crawler = Crawler::builder(options);
    for &at in stop_times {
        let shutdown = crawler.shutdown_handle();
        event_loop.call_later(at, move || shutdown.stop(StopReason::Signal(2)));
    }
    let begun = event_loop.now();
    let summary = crawler.run_on(runtime).unwrap();
    (summary, event_loop.now() - begun)
}

#[test]
fn fetches_in_flight_have_two_seconds_after_a_stop() {
    let (summary, took) = in_virtual_time(&[5 * SECOND], |_| ());
    assert!(matches!(summary.stopped, Some(StopReason::Signal(2))), "{:?}", summary.stopped);
    assert_eq!((summary.done, summary.todo), (0, 1));
    assert_eq!(took, 7 * SECOND);
}

#[test]
fn a_second_stop_ends_the_crawl_at_once() {
    let (summary, took) = in_virtual_time(&[5 * SECOND, 6 * SECOND], |_| ());
    assert!(matches!(summary.stopped, Some(StopReason::Signal(2))), "{:?}", summary.stopped);
    assert_eq!((summary.done, summary.todo), (0, 1));
    assert_eq!(took, 6 * SECOND);
}

#[test]
fn a_stop_waits_no_longer_than_the_fetches_in_flight_take() {
    let stop_time = Duration::from_millis(50);
    // Between two tries there is a backoff of 100 to 200 ms.
    let (summary, took) = in_virtual_time(&[stop_time], |options| options.settings.max_tries = 2);
    assert!(matches!(summary.stopped, Some(StopReason::Signal(2))), "{:?}", summary.stopped);
    assert_eq!((summary.done, summary.todo), (1, 0));
    assert!(took <= Duration::from_millis(200), "{took:?}");
}

#[test]
fn max_time_begins_a_graceful_shutdown() {
    let (summary, took) = in_virtual_time(&[], |options| options.max_time = Some(5 * SECOND));
    assert!(matches!(summary.stopped, Some(StopReason::MaxTime)), "{:?}", summary.stopped);
    assert_eq!((summary.done, summary.todo), (0, 1));
    assert_eq!(took, 7 * SECOND);
    let enough = |options: &mut Options| {
        options.max_time = Some(SECOND);
        options.settings.max_tries = 2;
    };
    let (summary, took) = in_virtual_time(&[], enough);
    assert!(summary.stopped.is_none() && summary.done == 1, "{:?}", summary.stopped);
    assert!(took < SECOND, "{took:?}");
}

/// A site of many pages, each sent after a moment. Their URLs are so long that the
/// output for 200 of them is more than a pipe holds.
fn long_site() -> Server {
    long_site_with("")
}

/// The same site, with a further link on each page. A link to `/gone` is broken.
fn long_site_with(link: &'static str) -> Server {
    Server::start(move |request: &Request, reply: &mut Reply<'_>| {
        if request.path() == "/gone" {
            return reply.status(404, "Not Found", &[], "");
        }
        reply.sleep(Duration::from_millis(2));
        let n: u32 = request.path().trim_start_matches('/').parse().unwrap_or(0);
        let links = (1..=50).map(|m| format!("<a href=/{}?{}>x</a>", 50 * n + m, "x".repeat(400)));
        reply.page(links.collect::<String>() + link);
    })
    .unwrap()
}

#[test]
fn a_crawl_interrupted_at_any_moment_writes_its_report() {
    for after in [1, 2, 17, 60] {
        let server = long_site();
        let program = Running::start(crawl(&["--format", "jsonl", &server.url("/")]));
        wait_until(|| server.requests() >= after);
        program.signal("-INT");
        let output = program.wait().expect_code(130);
        assert!(rows(&output.stdout).len() as u64 + 10 >= after, "{}", output.stdout);
        assert!(output.stderr.starts_with("[warning] stopping: "), "{}", output.stderr);
        assert!(
            output.stderr.contains(" left to do: the crawl was interrupted"),
            "{}",
            output.stderr
        );
    }
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let server = long_site();
        let report = Scratch::new();
        let program = Running::start(crawl(&[
            "-q",
            "-o",
            &format!("chapter:{}", report.as_str()),
            &server.url("/"),
        ]));
        wait_until(|| server.requests() > 5);
        program.signal(signal);
        let output = program.wait().expect_code(code);
        assert_eq!((&*output.stdout, &*output.stderr), ("", ""));
        let report = String::from_utf8(report.read()).unwrap();
        assert!(report.starts_with("*** Report ***\n"), "{report}");
        assert!(report.contains("\nTodo: ") && !report.contains("\nTodo: 0\n"), "{report}");
        assert!(report.contains("\nDate: "), "{report}");
    }
}

#[test]
fn fetches_in_flight_finish_and_no_new_fetch_starts() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => {
            reply.page("<a href=/soon>1</a><a href=/never>2</a><a href=/a>3</a><a href=/b>4</a>")
        }
        "/soon" => {
            reply.sleep(SECOND);
            reply.page("<a href=/c>x</a>");
        }
        _ => reply.sleep(WATCHDOG),
    })
    .unwrap();
    let journal = Scratch::new();
    let root = server.url("/");
    let arguments = ["--format", "jsonl", "--state", journal.as_str(), &root];
    let program = Running::start(crawl(&[&["-j2"], &arguments[..]].concat()));
    wait_until(|| server.hits("/soon") + server.hits("/never") == 2);
    program.signal("-INT");
    let output = program.wait().expect_code(130);
    let urls: Vec<_> = rows(&output.stdout).into_keys().collect();
    assert_eq!(urls, ["/", "/soon"].map(|path| server.url(path)));
    assert!(output.stderr.contains("4 URLs left to do"), "{}", output.stderr);
    assert_eq!(server.requests(), 3);
    // The URLs found during the shutdown are in the journal.
    let program = Running::start(crawl(&[&["-j9"], &arguments[..]].concat()));
    wait_until(|| server.hits("/c") > 0);
    assert_eq!((server.hits("/"), server.hits("/soon")), (1, 1));
    drop(program);
}

#[test]
fn a_second_signal_ends_a_crawl_that_is_blocked_on_its_output() {
    let server = long_site();
    let mut command = crawl(&["--format", "jsonl", &server.url("/")]);
    let mut program = Running::start_unread(&mut command);
    wait_until_stuck(&server);
    program.signal("-INT");
    thread::sleep(Duration::from_millis(100));
    assert!(program.is_running());
    program.signal("-INT");
    program.wait().expect_code(130);
}

/// Waits until the pipe of a program is full and its loop is blocked on it.
fn wait_until_stuck(server: &Server) {
    let mut before = 0;
    wait_until(|| {
        thread::sleep(Duration::from_millis(200));
        let is_stuck = before > 20 && before == server.requests();
        before = server.requests();
        is_stuck
    });
}

/// Nothing reads the rows, or nothing reads the report: one signal ends it, within
/// seconds, and the exit code is that of the signal.
#[test]
fn one_signal_ends_a_program_whose_output_is_blocked() {
    let rows = |format: &str, signal: &str, code: i32| {
        let server = long_site();
        let mut command = crawl(&["--format", format, &server.url("/")]);
        let program = Running::start_unread(&mut command);
        wait_until_stuck(&server);
        program.signal(signal);
        let begun = Instant::now();
        let output = program.wait().expect_code(code);
        assert!(begun.elapsed() < 10 * SECOND, "{:?}", begun.elapsed());
        let (warning, error) = output.stderr.split_once('\n').unwrap();
        assert!(warning.starts_with("[warning] stopping: "), "{warning}");
        assert_eq!(error, "[error] the output is blocked; the rest of it is lost\n");
    };
    let report = || {
        let server = long_site();
        let program = Running::start_unread(&mut crawl(&["--format", "chapter", &server.url("/")]));
        wait_until(|| server.requests() > 400);
        program.signal("-TERM");
        let begun = Instant::now();
        program.wait().expect_code(143);
        assert!(begun.elapsed() < 12 * SECOND, "{:?}", begun.elapsed());
    };
    thread::scope(|scope| {
        scope.spawn(|| rows("jsonl", "-TERM", 143));
        scope.spawn(|| rows("csv", "-INT", 130));
        scope.spawn(report);
    });
}

/// Signals and the limit on time are heard while pages are selected from, each of which
/// takes all the steps that it may, and no row is lost.
#[test]
fn a_crawl_whose_pages_take_long_is_ended_in_time() {
    let html = "<p>".repeat(20_000);
    let ended = |flags: &[&str], signal: Option<&str>, code| {
        let html = html.clone();
        let serve = move |request: &Request, reply: &mut Reply<'_>| match request.path() {
            "/" => {
                reply.page((0..500).map(|n| format!("<a href=/{n}>{n}</a>")).collect::<String>())
            }
            _ => reply.page(&html),
        };
        let server = Server::start(serve).unwrap();
        let root = server.url("/");
        let always = ["-j", "100", "--format", "jsonl", "--select", "one=p:has(~ h1)"];
        let program = Running::start(crawl(&[&always, flags, &[&*root]].concat()));
        let mut begun = Instant::now();
        if let Some(signal) = signal {
            wait_until(|| server.requests() >= 5);
            begun = Instant::now();
            program.signal(signal);
        }
        let output = program.wait().expect_code(code);
        // What is in flight has two seconds.
        assert!(begun.elapsed() < 30 * SECOND, "{flags:?}: {:?}", begun.elapsed());
        assert!(!output.stderr.contains("blocked"), "{}", output.stderr);
        let rows = rows(&output.stdout);
        assert!(rows.len() > 1 && rows.len() < 300, "{}", rows.len());
    };
    thread::scope(|scope| {
        scope.spawn(|| ended(&[], Some("-TERM"), 143));
        scope.spawn(|| ended(&["--max-time", "1s"], None, 0));
    });
}

/// The limit on time ends it as well.
#[test]
fn the_limit_on_time_ends_a_program_whose_output_is_blocked() {
    let server = long_site();
    let begun = Instant::now();
    let mut command = crawl(&["--format", "jsonl", "--max-time", "2s", &server.url("/")]);
    let output = Running::start_unread(&mut command).wait().expect_code(3);
    assert!(begun.elapsed() < 12 * SECOND, "{:?}", begun.elapsed());
    assert_eq!(output.stderr, "[error] the output is blocked; the rest of it is lost\n");
}

/// An output that is read slowly is not taken for blocked, whether it has many lines or
/// one: JSON has all pages that link to a broken URL in an object.
#[test]
fn a_report_that_is_read_slowly_is_whole() {
    let report_of = |arguments: &[&str]| {
        let server = long_site_with("<a href=/gone>x</a>");
        let mut command = crawl(&[arguments, &[&*server.url("/")]].concat());
        let mut program = Running::start_unread(&mut command);
        wait_until(|| server.requests() > 500);
        program.signal("-TERM");
        let mut pipe = program.unread();
        let mut report = Vec::new();
        // The first 200 KB in pieces, for longer than a blocked output may take.
        let begun = Instant::now();
        loop {
            let mut piece = vec![0; 8 * 1024];
            let length = pipe.read(&mut piece).unwrap();
            if length == 0 {
                break;
            }
            report.extend_from_slice(&piece[..length]);
            if report.len() < 200 << 10 {
                thread::sleep(Duration::from_millis(350));
            }
        }
        program.wait().expect_code(143);
        assert!(begun.elapsed() > 5 * SECOND, "{:?}", begun.elapsed());
        String::from_utf8(report).unwrap()
    };
    let chapter = || {
        let report = report_of(&["--format", "chapter"]);
        assert!(report.contains("\nDate: "), "{report}");
    };
    let json = || {
        let report = report_of(&["--format", "json", "--broken-only"]);
        let report: Value = serde_json::from_str(&report).unwrap();
        assert!(report["broken"][0]["referrers"].as_array().unwrap().len() > 400, "{report}");
    };
    thread::scope(|scope| {
        scope.spawn(chapter);
        scope.spawn(json);
    });
}

#[test]
fn a_signal_during_the_report_ends_the_process_as_usual() {
    let server = long_site();
    let journal = Scratch::new();
    let root = server.url("/");
    let state = ["--state", journal.as_str(), &root];
    let arguments = [&["--format", "chapter", "--max-pages", "200"], &state[..]].concat();
    let mut program = Running::start_unread(&mut crawl(&arguments));
    let finished = || journal.read().iter().filter(|&&byte| byte == b'\n').count() >= 200 + 2;
    wait_until(finished);
    // Soon it writes more than a pipe holds, and nothing reads it. A signal before
    // that may interrupt the crawl instead.
    wait_until(|| {
        thread::sleep(Duration::from_millis(500));
        program.signal("-INT");
        thread::sleep(Duration::from_millis(100));
        !program.is_running()
    });
    assert_eq!(program.wait().status.code(), None);
}

#[test]
fn max_time_is_kept_and_reported() {
    let server = long_site();
    let root = server.url("/");
    let output = run(&["--format", "chapter", "--max-time", "300ms", &root]).expect_code(0);
    assert!(output.stderr.contains(" left to do: --max-time was reached"), "{}", output.stderr);
    assert!(output.stdout.contains("\nTodo: ") && !output.stdout.contains("\nTodo: 0\n"));
    let broken = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/none>x</a><a href=/never>x</a>"),
        "/none" => reply.status(404, "Not Found", &[], ""),
        _ => reply.sleep(WATCHDOG),
    })
    .unwrap();
    let output = run(&["--max-time", "1s", &broken.url("/")]).expect_code(1);
    assert!(output.stderr.contains("1 URL left to do: --max-time"), "{}", output.stderr);
    // A limit that is not reached is not mentioned.
    let output = run(&["--max-time", "1h", "--max-depth", "0", &root]).expect_code(0);
    assert!(!output.stderr.contains("time"), "{}", output.stderr);
    for value in ["soon", "0", "-1", "8d"] {
        let output = run(&[&format!("--max-time={value}"), &root]).expect_code(2);
        assert!(output.stderr.contains("--max-time") && output.stderr.contains(value));
    }
}

#[test]
fn urls_that_a_limit_left_out_are_reported() {
    let server = long_site();
    let stderr_of =
        |arguments: &[&str]| run(&[arguments, &[&server.url("/")]].concat()).expect_code(0).stderr;
    let pages = stderr_of(&["--max-pages", "1"]);
    assert_eq!(pages, "[warning] 50 URLs left to do: --max-pages was reached\n");
    // A limit on depth is a wish, and the report counts what is beyond it.
    let depth = run(&["--max-depth", "0", &server.url("/")]).expect_code(0);
    assert_eq!(depth.stderr, "");
    assert_eq!(
        depth.stdout,
        "Checked 1 URL: nothing that was checked is broken; 50 URLs beyond --max-depth.\n"
    );
    let both = run(&["--max-depth", "1", "--max-pages", "2", &server.url("/")]).expect_code(0);
    let both_limits =
        "; 49 URLs left to do: --max-pages was reached; 50 URLs beyond --max-depth.\n";
    assert!(both.stdout.ends_with(both_limits), "{}", both.stdout);
    assert_eq!(stderr_of(&["-q", "--max-pages", "1"]), "");
}
