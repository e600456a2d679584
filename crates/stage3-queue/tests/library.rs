//! The crawler as a part of other programs.
#![allow(clippy::unwrap_used, missing_docs)]

mod program;

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crawl_core::{Options, Outcome, Stopped};
use demo_site::scripted::Server;
use program::{Running, WATCHDOG, wait_until};
use stage2_coroutines::EventLoop;
use stage3_queue::Crawler;

fn options(server: &Server) -> Options {
    let mut options = Options::new(vec![server.url("/").parse().unwrap()]);
    options.robots = false;
    options
}

/// Cargo puts examples beside the directory in which the test lies.
fn example(name: &str, arguments: &[&str]) -> Command {
    let test = env::current_exe().unwrap();
    let target = test.parent().unwrap().parent().unwrap();
    let path: PathBuf = target.join("examples").join(format!("{name}{}", env::consts::EXE_SUFFIX));
    assert!(path.exists(), "{path:?} is not built: `cargo test --test` builds no examples");
    let mut command = Command::new(path);
    command.args(arguments);
    command
}

#[test]
fn a_job_fails_on_broken_links() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/a>a</a><a href=/b>b</a>"),
        "/a" | "/b" => reply.page("<a href=/none>x</a><a href=/>home</a>"),
        "/fine" => reply.page("<a href=/fine>me</a>"),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let run = |arguments: &[&str]| Running::start(example("broken_links", arguments)).end();

    let ended = run(&[&server.url("/")]).expect_code(1);
    let told = ended.stdout.replace(&server.url(""), "");
    let by = |n: &str| told.contains(&format!("    /{n}:1\n"));
    assert!(told.starts_with("/none: status 404\n    /"), "{told}");
    assert!(by("a") && by("b") && told.ends_with("\n4 checked, 1 broken\n"), "{told}");

    let ended = run(&[&server.url("/fine")]).expect_code(0);
    assert_eq!(ended.stdout, "1 checked, 0 broken\n");
    assert!(run(&[]).expect_code(3).stderr.starts_with("usage: "));
    assert!(run(&["no URL"]).expect_code(3).stderr.contains("relative URL"));
}

#[test]
fn rows_come_while_it_crawls() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/a>a</a>"),
        _ => reply.status(500, "Oops", &[], ""),
    })
    .unwrap();
    let (sender, rows) = channel();
    let crawler = Crawler::builder(options(&server)).on_row(move |row| sender.send(row).unwrap());
    let event_loop = EventLoop::new().unwrap();
    let ending = crawler.run_on(&event_loop).unwrap();
    let rows: Vec<_> = rows.iter().map(|row| (row.url.to_string(), row.outcome)).collect();
    let expected = [(server.url("/"), Outcome::Page), (server.url("/a"), Outcome::HttpError)];
    assert_eq!(rows, expected);
    assert_eq!((ending.done, ending.todo), (2, 0));
    assert!(ending.stopped.is_none());
    // Whoever does not want them need not take them.
    assert_eq!(Crawler::builder(options(&server)).run().unwrap().done, 2);
}

#[test]
fn another_thread_may_stop_it() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/never>x</a>"),
        _ => reply.sleep(WATCHDOG),
    })
    .unwrap();
    let options = options(&server);
    let (send_stopper, stopper) = channel();
    let (send_ending, ending) = channel();
    let crawling = thread::spawn(move || {
        let crawler = Crawler::builder(options);
        send_stopper.send(crawler.stopper()).unwrap();
        send_ending.send(crawler.run().unwrap()).unwrap();
    });
    let stopper = stopper.recv_timeout(WATCHDOG).unwrap();
    wait_until(|| server.hits("/never") > 0);
    thread::sleep(Duration::from_millis(10));
    stopper.stop(Stopped::Signal(2));
    stopper.stop(Stopped::Signal(15));
    let ending = ending.recv_timeout(WATCHDOG).unwrap();
    crawling.join().unwrap();
    assert!(matches!(ending.stopped, Some(Stopped::Signal(2))), "{:?}", ending.stopped);
    assert_eq!((ending.done, ending.todo), (1, 1));
    // Too late, and harmless.
    stopper.stop(Stopped::Signal(2));
}

#[test]
fn stopped_before_it_begins_it_asks_for_nothing() {
    let server = Server::start(|_, reply| reply.page("")).unwrap();
    let crawler = Crawler::builder(options(&server));
    crawler.stopper().stop(Stopped::Signal(2));
    let ending = crawler.run().unwrap();
    assert_eq!((ending.done, ending.todo, server.requests()), (0, 1, 0));
    assert!(ending.stopped.is_some());
}
