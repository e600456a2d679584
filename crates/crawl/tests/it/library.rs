//! The crawler as a library in other programs.

use std::cell::RefCell;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crawl_core::{Options, Outcome, StopReason};
use demo_site::scripted::Server;
use stage2_coroutines::system_runtime;
use stage3_queue::Crawler;

use crate::program::{Running, WATCHDOG, wait_until};

fn options(server: &Server) -> Options {
    let mut options = Options::new(vec![server.url("/").parse().unwrap()]);
    options.settings.robots = false;
    options
}

/// Returns the command for an example. Cargo puts examples beside the directory of
/// the test.
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
fn the_link_checker_fails_on_broken_links() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/a>a</a><a href=/b>b</a>"),
        "/a" | "/b" => reply.page("<a href=/none>x</a><a href=/>home</a>"),
        "/fine" => reply.page("<a href=/fine>me</a>"),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let run = |arguments: &[&str]| Running::start(example("broken_links", arguments)).wait();

    let output = run(&[&server.url("/")]).expect_code(1);
    let stdout = output.stdout.replace(&server.url(""), "");
    let by = |n: &str| stdout.contains(&format!("    /{n}:1\n"));
    assert!(stdout.starts_with("/none: status 404\n    /"), "{stdout}");
    assert!(by("a") && by("b") && stdout.ends_with("\n4 checked, 1 broken\n"), "{stdout}");

    let output = run(&[&server.url("/fine")]).expect_code(0);
    assert_eq!(output.stdout, "1 checked, 0 broken\n");
    assert!(run(&[]).expect_code(3).stderr.starts_with("usage: "));
    assert!(run(&["no URL"]).expect_code(3).stderr.contains("relative URL"));
}

#[test]
fn the_example_fails_when_nothing_was_checked() {
    let server = Server::start(|request, reply| match request.path() {
        "/robots.txt" => {
            let rules = "User-agent: *\nDisallow: /forbidden\n";
            reply.status(200, "OK", &[("Content-Type", "text/plain")], rules);
        }
        "/away" => reply.status(302, "Found", &[("Location", "http://localhost:1/")], ""),
        "/manual.pdf" => reply.status(200, "OK", &[("Content-Type", "application/pdf")], "PDF"),
        _ => reply.page(""),
    })
    .unwrap();
    for (path, reason) in [
        ("/away", "which is not part of the site"),
        ("/manual.pdf", "it has no links to check"),
        ("/forbidden", "robots"),
    ] {
        let output = Running::start(example("broken_links", &[&server.url(path)])).wait();
        let stdout = output.expect_code(1).stdout;
        assert!(stdout.contains(", 0 broken\n") && stdout.contains(reason), "{path}: {stdout}");
    }
}

#[test]
fn rows_arrive_while_the_crawl_runs() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/a>a</a>"),
        _ => reply.status(500, "Oops", &[], ""),
    })
    .unwrap();
    let (sender, rows) = channel();
    let crawler = Crawler::builder(options(&server)).on_row(move |row| sender.send(row).unwrap());
    let runtime = system_runtime().unwrap();
    let _event_loop = runtime.event_loop().clone();
    let summary = crawler.run_on(runtime).unwrap();
    let rows: Vec<_> = rows.iter().map(|row| (row.url.to_string(), row.outcome)).collect();
    let expected = [(server.url("/"), Outcome::Page), (server.url("/a"), Outcome::HttpError)];
    assert_eq!(rows, expected);
    assert_eq!((summary.done, summary.todo), (2, 0));
    assert!(summary.stopped.is_none());
    // Without `on_row`, the rows are dropped.
    assert_eq!(Crawler::builder(options(&server)).run().unwrap().done, 2);
}

#[test]
fn another_thread_may_stop_the_crawl() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/never>x</a>"),
        _ => reply.sleep(WATCHDOG),
    })
    .unwrap();
    let options = options(&server);
    let (send_shutdown, shutdown) = channel();
    let (send_summary, summary) = channel();
    let crawling = thread::spawn(move || {
        let crawler = Crawler::builder(options);
        send_shutdown.send(crawler.shutdown_handle()).unwrap();
        send_summary.send(crawler.run().unwrap()).unwrap();
    });
    let shutdown = shutdown.recv_timeout(WATCHDOG).unwrap();
    wait_until(|| server.hits("/never") > 0);
    thread::sleep(Duration::from_millis(10));
    shutdown.stop(StopReason::Signal(2));
    shutdown.stop(StopReason::Signal(15));
    let summary = summary.recv_timeout(WATCHDOG).unwrap();
    crawling.join().unwrap();
    assert!(matches!(summary.stopped, Some(StopReason::Signal(2))), "{:?}", summary.stopped);
    assert_eq!((summary.done, summary.todo), (1, 1));
    // Stopping after the end does nothing.
    shutdown.stop(StopReason::Signal(2));
}

#[test]
fn a_crawl_stopped_before_it_begins_sends_no_request() {
    let server = Server::start(|_, reply| reply.page("")).unwrap();
    let crawler = Crawler::builder(options(&server));
    crawler.shutdown_handle().stop(StopReason::Signal(2));
    let summary = crawler.run().unwrap();
    assert_eq!((summary.done, summary.todo, server.requests()), (0, 1, 0));
    assert!(summary.stopped.is_some());
}

#[test]
fn callbacks_may_borrow_and_need_not_be_send() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/a>a</a> <a href=/b>b</a>"),
        _ => reply.page(""),
    })
    .unwrap();
    let mut options = Options::new(vec![server.url("/").parse().unwrap()]);
    options.settings.robots = false;
    let rows = Rc::new(RefCell::new(Vec::new()));
    let (mut is_watched, mut num_rows) = (false, 0);
    let summary = Crawler::builder(options)
        .on_row(|row| {
            num_rows += 1;
            rows.borrow_mut().push(row.url);
        })
        .watch(Duration::from_secs(1), |_| is_watched = true)
        .run()
        .unwrap();
    assert_eq!((summary.done, num_rows, rows.borrow().len()), (3, 3, 3));
    assert!(is_watched);
}

#[test]
fn a_panic_of_the_sink_reaches_the_caller_even_at_the_last_row() {
    let server = Server::start(|_, reply| reply.page("")).unwrap();
    let options = Options::new(vec![server.url("/").parse().unwrap()]);
    let crawl = || Crawler::builder(options).on_row(|row| panic!("of {:?}", row.outcome)).run();
    let panic = catch_unwind(AssertUnwindSafe(crawl)).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>().unwrap(), "of Page");
}

/// A small shop: two products with the same title, and a picture that is missing.
fn shop() -> Server {
    Server::start(|request, reply| match request.path() {
        "/" => reply.page(
            "<title>Shop</title><meta name=description content='All, cheap'>\
             <a href=/1>1</a><a href=/2>2</a><img src=/gone.png>",
        ),
        "/1" | "/2" => {
            let price = request.path()[1..].parse::<u32>().unwrap() * 10;
            reply.page(format!(
                "<title>Product</title><link rel=canonical href=/1><h1>Lamp</h1>\
                 <p class=price>{price} EUR</p>"
            ));
        }
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap()
}

/// Returns the output of an example, without the origin of the site.
fn output_of(name: &str, site: &Server, selections: &[&str], code: i32) -> String {
    let root = site.url("/");
    let command = example(name, &[&[&*root], selections].concat());
    Running::start(command).wait().expect_code(code).stdout.replace(&site.url(""), "")
}

/// The library checks what the program checks, and so does its example.
#[test]
fn the_link_checker_finds_what_the_program_finds() {
    let site = shop();
    let found = output_of("broken_links", &site, &[], 1);
    assert!(found.starts_with("/gone.png: status 404\n    /:1\n"), "{found}");
}

#[test]
fn the_audit_is_a_table_of_titles() {
    assert_eq!(
        output_of("audit", &shop(), &[], 0),
        "url,clicks,title,pages with this title,canonical,description\n\
         /,0,Shop,1,,\"All, cheap\"\n/1,1,Product,2,/1,\n/2,1,Product,2,/1,\n"
    );
}

#[test]
fn the_extraction_is_a_line_for_each_page_with_data() {
    let lines = output_of("extract", &shop(), &["name=h1", "price=.price"], 0);
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    let expected = [("1", "10"), ("2", "20")].map(|(page, price)| {
        format!(
            "{{\"selected\":{{\"name\":[\"Lamp\"],\"price\":[\"{price} EUR\"]}},\"url\":\"/{page}\"}}"
        )
    });
    assert_eq!(lines, expected);
}
