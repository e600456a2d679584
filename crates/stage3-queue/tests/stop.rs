//! Limits on time, and signals.
#![cfg(unix)]
#![allow(clippy::unwrap_used, missing_docs)]

mod program;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crawl_core::{Ending, Options, Stopped};
use demo_site::scripted::{Reply, Request, Server};
use program::{Running, Scratch, WATCHDOG, crawl, rows, run, wait_until};
use selector_core::VirtualTime;
use stage2_coroutines::EventLoop;
use stage3_queue::Crawler;
use transport::system_look_up;

const SECOND: Duration = Duration::from_secs(1);

/// Crawls where no connection is ever made and the clock jumps. Each time is
/// one at which somebody wants it to stop. Returns how long it took, too.
fn in_virtual_time(asked_at: &[Duration], change: impl FnOnce(&mut Options)) -> (Ending, Duration) {
    let mut options = Options::new(vec!["http://127.0.0.1:9/".parse().unwrap()]);
    options.robots = false;
    options.max_tries = u32::MAX;
    change(&mut options);
    let event_loop = EventLoop::in_world(VirtualTime::new(), Arc::new(system_look_up));
    let crawler = Crawler::builder(options);
    for &at in asked_at {
        let stopper = crawler.stopper();
        event_loop.call_later(at, move || stopper.stop(Stopped::Signal(2)));
    }
    let begun = event_loop.now();
    let ending = crawler.run_on(&event_loop).unwrap();
    (ending, event_loop.now() - begun)
}

#[test]
fn what_is_under_way_has_two_seconds() {
    let (ending, took) = in_virtual_time(&[5 * SECOND], |_| ());
    assert!(matches!(ending.stopped, Some(Stopped::Signal(2))), "{:?}", ending.stopped);
    assert_eq!((ending.done, ending.todo), (0, 1));
    assert_eq!(took, 7 * SECOND);
}

#[test]
fn asked_twice_it_has_none() {
    let (ending, took) = in_virtual_time(&[5 * SECOND, 6 * SECOND], |_| ());
    assert!(matches!(ending.stopped, Some(Stopped::Signal(2))), "{:?}", ending.stopped);
    assert_eq!((ending.done, ending.todo), (0, 1));
    assert_eq!(took, 6 * SECOND);
}

#[test]
fn who_is_done_earlier_is_not_waited_for() {
    let asked_at = Duration::from_millis(50);
    // Between the tries is a pause of 100 to 200 ms.
    let (ending, took) = in_virtual_time(&[asked_at], |options| options.max_tries = 2);
    assert!(matches!(ending.stopped, Some(Stopped::Signal(2))), "{:?}", ending.stopped);
    assert_eq!((ending.done, ending.todo), (1, 0));
    assert!(took <= Duration::from_millis(200), "{took:?}");
}

#[test]
fn the_limit_on_time_is_one() {
    let (ending, took) = in_virtual_time(&[], |options| options.max_time = Some(60 * SECOND));
    assert!(matches!(ending.stopped, Some(Stopped::MaxTime)), "{:?}", ending.stopped);
    assert_eq!((ending.done, ending.todo), (0, 1));
    assert_eq!(took, 62 * SECOND);
    let enough = |options: &mut Options| {
        options.max_time = Some(SECOND);
        options.max_tries = 2;
    };
    let (ending, took) = in_virtual_time(&[], enough);
    assert!(ending.stopped.is_none() && ending.done == 1, "{:?}", ending.stopped);
    assert!(took < SECOND, "{took:?}");
}

/// A page with many more, each after a moment. Their URLs are so long that what
/// is told of 200 of them is more than a pipe holds.
fn long_site() -> Server {
    Server::start(|request: &Request, reply: &mut Reply<'_>| {
        reply.sleep(Duration::from_millis(2));
        let n: u32 = request.path().trim_start_matches('/').parse().unwrap_or(0);
        let links = (1..=50).map(|m| format!("<a href=/{}?{}>x</a>", 50 * n + m, "x".repeat(400)));
        reply.page(links.collect::<String>());
    })
    .unwrap()
}

#[test]
fn interrupted_at_any_moment_it_reports() {
    for after in [1, 2, 17, 60] {
        let server = long_site();
        let program = Running::start(crawl(&["--format", "jsonl", &server.url("/")]));
        wait_until(|| server.requests() >= after);
        program.signal("-INT");
        let ended = program.end().expect_code(130);
        assert!(rows(&ended.stdout).len() as u64 + 10 >= after, "{}", ended.stdout);
        assert!(
            ended.stderr.contains(" left to do: the crawl was interrupted"),
            "{}",
            ended.stderr
        );
    }
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let server = long_site();
        let report = Scratch::new();
        let program = Running::start(crawl(&["-q", "-o", report.as_str(), &server.url("/")]));
        wait_until(|| server.requests() > 5);
        program.signal(signal);
        let ended = program.end().expect_code(code);
        assert_eq!((&*ended.stdout, &*ended.stderr), ("", ""));
        let report = String::from_utf8(report.read()).unwrap();
        assert!(report.starts_with("*** Report ***\n"), "{report}");
        assert!(report.contains("\nTodo: ") && !report.contains("\nTodo: 0\n"), "{report}");
        assert!(report.contains("\nDate: "), "{report}");
    }
}

#[test]
fn what_is_under_way_ends_and_nothing_else_is_begun() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => {
            reply.page("<a href=/soon>1</a><a href=/never>2</a><a href=/a>3</a><a href=/b>4</a>")
        }
        "/soon" => {
            reply.sleep(Duration::from_millis(300));
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
    let ended = program.end().expect_code(130);
    let found: Vec<_> = rows(&ended.stdout).into_keys().collect();
    assert_eq!(found, ["/", "/soon"].map(|path| server.url(path)));
    assert!(ended.stderr.contains("4 URLs left to do"), "{}", ended.stderr);
    assert_eq!(server.requests(), 3);
    // What was found at the last moment is not forgotten.
    let program = Running::start(crawl(&[&["-j9"], &arguments[..]].concat()));
    wait_until(|| server.hits("/c") > 0);
    assert_eq!((server.hits("/"), server.hits("/soon")), (1, 1));
    drop(program);
}

#[test]
fn a_second_signal_ends_it_although_nobody_reads_what_it_writes() {
    let server = long_site();
    let mut command = crawl(&["--format", "jsonl", &server.url("/")]);
    let mut program = Running::start_unread(&mut command);
    // Until the pipe is full, and the loop hangs in it.
    let mut before = 0;
    wait_until(|| {
        thread::sleep(Duration::from_millis(200));
        let is_stuck = before > 20 && before == server.requests();
        before = server.requests();
        is_stuck
    });
    program.signal("-INT");
    thread::sleep(Duration::from_millis(100));
    assert!(program.is_running());
    program.signal("-INT");
    program.end().expect_code(130);
}

#[test]
fn while_the_report_is_written_a_signal_ends_it_as_usual() {
    let server = long_site();
    let journal = Scratch::new();
    let root = server.url("/");
    let arguments = ["--max-pages", "200", "--state", journal.as_str(), &root];
    let mut program = Running::start_unread(&mut crawl(&arguments));
    let finished = || journal.read().iter().filter(|&&byte| byte == b'\n').count() >= 200 + 2;
    wait_until(finished);
    // Soon it writes more than a pipe holds, to nobody. Before that, a signal
    // may have interrupted the crawl.
    wait_until(|| {
        thread::sleep(Duration::from_millis(500));
        program.signal("-INT");
        thread::sleep(Duration::from_millis(100));
        !program.is_running()
    });
    assert_eq!(program.end().status.code(), None);
}

#[test]
fn max_time_is_kept_and_said() {
    let server = long_site();
    let root = server.url("/");
    let ended = run(&["--max-time", "300ms", &root]).expect_code(0);
    assert!(
        ended.stderr.contains(" left to do: the limit on time was reached"),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.contains("\nTodo: ") && !ended.stdout.contains("\nTodo: 0\n"));
    let broken = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/none>x</a><a href=/never>x</a>"),
        "/none" => reply.status(404, "Not Found", &[], ""),
        _ => reply.sleep(WATCHDOG),
    })
    .unwrap();
    let ended = run(&["--max-time", "1s", &broken.url("/")]).expect_code(1);
    assert!(ended.stderr.contains("1 URL left to do: the limit on time"), "{}", ended.stderr);
    // Enough of it is none.
    let ended = run(&["--max-time", "1h", "--max-depth", "0", &root]).expect_code(0);
    assert!(!ended.stderr.contains("time"), "{}", ended.stderr);
    for value in ["soon", "0", "-1", "8d"] {
        let ended = run(&[&format!("--max-time={value}"), &root]).expect_code(2);
        assert!(ended.stderr.contains("--max-time") && ended.stderr.contains(value));
    }
}

#[test]
fn what_a_limit_left_out_is_said() {
    let server = long_site();
    let said =
        |arguments: &[&str]| run(&[arguments, &[&server.url("/")]].concat()).expect_code(0).stderr;
    let pages = said(&["--max-pages", "1"]);
    assert_eq!(pages, "[warning] 50 URLs left to do: the limit on pages was reached\n");
    let depth = said(&["--max-depth", "0"]);
    assert_eq!(depth, "[warning] 50 URLs too many clicks away\n");
    let both = said(&["--max-depth", "1", "--max-pages", "2"]);
    let both_said = "49 URLs left to do: the limit on pages was reached; 50 URLs too many";
    assert!(both.contains(both_said), "{both}");
    assert_eq!(said(&["-q", "--max-pages", "1"]), "");
}
