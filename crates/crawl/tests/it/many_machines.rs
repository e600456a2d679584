//! A crawl on many machines, by its flags: begun, joined, shown, reported, forgotten.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use demo_site::scripted::Server;
use demo_site::{DemoSite, Latency, SiteOptions};

use crate::program::{ProgramOutput, Running, Scratch, program, rows, run, wait_until};

/// A server of Redis on a Unix socket.
struct Redis {
    folder: PathBuf,
    child: Child,
}

impl Redis {
    fn start(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("crawl-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let child = Self::spawn(&folder);
        Self { folder, child }
    }

    fn spawn(folder: &PathBuf) -> Child {
        let mut command = Command::new("redis-server");
        command.args([
            "--port",
            "0",
            "--unixsocket",
            "socket",
            "--save",
            "",
            "--appendonly",
            "yes",
        ]);
        command.current_dir(folder).stdout(Stdio::null()).spawn().expect("redis-server")
    }

    fn flags(&self) -> Vec<String> {
        let url = format!("unix://{}", self.folder.join("socket").display());
        ["--frontier", &url, "--crawl", "site"].map(str::to_owned).to_vec()
    }

    /// Returns the command for the program with this frontier.
    fn crawl(&self, arguments: &[&str]) -> Command {
        let mut command = program(arguments);
        command.args(self.flags());
        command
    }

    fn run(&self, arguments: &[&str]) -> ProgramOutput {
        Running::start(self.crawl(arguments)).wait()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn site(latency: Latency) -> DemoSite {
    DemoSite::start(SiteOptions { latency, ..SiteOptions::default() }).unwrap()
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn workers_join_by_the_name_of_the_crawl() {
    let redis = Redis::start("join");
    // Two seconds for all: the second worker joins in time.
    let site = site(Latency::Fixed(Duration::from_millis(200)));
    let expected = rows(&run(&["--format", "jsonl", &site.root()]).stdout);
    let missing = redis.run(&["--status"]);
    assert_eq!(missing.status.code(), Some(3));
    assert!(missing.stderr.contains("there is no crawl 'site'"), "{}", missing.stderr);
    let first = Running::start(redis.crawl(&["--no-robots", "--format", "jsonl", &site.root()]));
    wait_until(|| redis.run(&["--status"]).stdout.contains("1 workers"));
    let second = redis.run(&["--format", "jsonl"]);
    let first = first.wait();
    let codes = (first.status.code(), second.status.code());
    assert!(matches!(codes, (Some(0 | 1), Some(0 | 1))), "{codes:?} {}", second.stderr);
    let (first, second) = (rows(&first.stdout), rows(&second.stdout));
    assert!(!second.is_empty());
    assert_eq!(first.len() + second.len(), expected.len());
    let report = redis.run(&["--report", "--format", "jsonl"]);
    assert_eq!(report.status.code(), Some(1), "{}", report.stderr);
    let report = rows(&report.stdout);
    assert!(report.keys().eq(expected.keys()));
    for (url, row) in &report {
        assert_eq!(row["status"], expected[url]["status"], "{url}");
        assert_eq!(row["outcome"], expected[url]["outcome"], "{url}");
    }
    let status = redis.run(&["--status"]).stdout;
    let done = format!("done: {0} of {0} URLs", expected.len());
    assert!(status.starts_with(&done), "{status}");
    let refused = redis.run(&["--delay", "1s"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(refused.stderr.contains("--delay is 0.0 there and 1.0 here"), "{}", refused.stderr);
    assert_eq!(redis.run(&["--drop"]).status.code(), Some(0));
    assert_eq!(redis.run(&["--status"]).status.code(), Some(3));
}

/// A worker does not know all links, but the first page that has one.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_broken_link_is_told_with_its_page() {
    let redis = Redis::start("page");
    let site = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/gone>x</a>"),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let output = redis.run(&["--no-robots", &site.url("/")]).expect_code(1);
    let on = format!("{}\n    on {}\n", site.url("/gone"), site.url("/"));
    assert!(output.stdout.contains(&on), "{}", output.stdout);
    assert_eq!(redis.run(&["--drop"]).status.code(), Some(0));
    let output = redis.run(&["--no-robots", "--format", "json", &site.url("/")]).expect_code(1);
    let object: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(object["broken"][0]["referrers"][0]["url"], site.url("/"));
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_worker_that_joins_has_the_checks_of_the_crawl() {
    let redis = Redis::start("checks");
    let site = site(Latency::None);
    wait_until(|| redis.folder.join("socket").exists());
    let first = redis.run(&["--no-robots", "--check", "none", &site.root()]);
    assert!(matches!(first.status.code(), Some(0 | 1)), "{}", first.stderr);
    let joined = redis.run(&["--format", "jsonl"]);
    assert_eq!(joined.status.code(), Some(0), "{}", joined.stderr);
    let other = redis.run(&["--check", "images"]);
    assert_eq!(other.status.code(), Some(3));
    assert!(other.stderr.contains("--check is [] there"), "{}", other.stderr);
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn an_interrupted_worker_gives_its_leases_back() {
    let redis = Redis::start("interrupted");
    let site = site(Latency::Fixed(Duration::from_secs(10)));
    let worker = Running::start(redis.crawl(&["--no-robots", &site.root()]));
    wait_until(|| redis.run(&["--status"]).stdout.contains("1 in flight,"));
    worker.signal("-INT");
    worker.signal("-INT");
    assert_eq!(worker.wait().status.code(), Some(130));
    let status = redis.run(&["--status"]).stdout;
    assert!(status.contains("0 in flight, 0 leases expired"), "{status}");
    assert!(status.contains("0 workers"), "{status}");
}

/// The other root is fine, but that is in the report of another worker.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_worker_with_a_root_that_fails_does_not_speak_for_the_others() {
    let redis = Redis::start("root");
    let open = Server::start(|_, reply| reply.page("")).unwrap();
    let closed = Arc::new(AtomicBool::new(false));
    let is_closed = Arc::clone(&closed);
    let other = Server::start(move |_, reply| match is_closed.load(Relaxed) {
        true => reply.status(200, "OK", &[], "User-agent: *\nDisallow: /"),
        false => reply.sleep(Duration::from_secs(20)),
    });
    let other = other.unwrap();
    let roots = [open.url("/"), other.url("/")];
    let roots = roots.each_ref().map(String::as_str);
    let worker = Running::start(redis.crawl(&roots));
    wait_until(|| redis.run(&["--status"]).stdout.contains("1 in flight,"));
    wait_until(|| open.hits("/") == 1 && other.hits("/robots.txt") == 1);
    worker.signal("-INT");
    worker.signal("-INT");
    worker.wait().expect_code(130);
    closed.store(true, Relaxed);
    let output = redis.run(&roots).expect_code(0);
    assert!(output.stdout.contains("1 skipped"), "{}", output.stdout);
    assert_eq!(output.stderr, "");
    // Now none of them can be crawled.
    redis.run(&["--drop"]).expect_code(0);
    let output = redis.run(&roots[1..]).expect_code(3);
    assert!(output.stderr.contains("no start URL could be crawled"), "{}", output.stderr);
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_worker_does_not_wait_for_roots_that_are_excluded() {
    let redis = Redis::start("excluded");
    let closed = Server::start(|_, reply| {
        reply.status(200, "OK", &[], "User-agent: *\nDisallow: /");
    });
    let closed = closed.unwrap();
    wait_until(|| redis.folder.join("socket").exists());
    // The last one is the first one.
    let roots = ["/", "/no", "/#top"].map(|path| closed.url(path));
    let arguments = ["--exclude", "/no$", &roots[0], &roots[1], &roots[2]];
    let output = redis.run(&arguments).expect_code(3);
    assert!(output.stderr.contains("no start URL could be crawled"), "{}", output.stderr);
}

/// The other root may yet have pages.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_report_of_a_crawl_that_goes_on_blames_no_root() {
    let redis = Redis::start("goes-on");
    let text = [("Content-Type", "text/plain")];
    let file = Server::start(move |_, reply| reply.status(200, "OK", &text, "x")).unwrap();
    let slow = Server::start(|_, reply| reply.sleep(Duration::from_secs(20))).unwrap();
    let roots = [file.url("/a.txt"), slow.url("/")];
    let [file, slow] = roots.each_ref().map(String::as_str);
    let worker = Running::start(redis.crawl(&["--no-robots", file, slow]));
    wait_until(|| redis.run(&["--report", "--format", "jsonl"]).stdout.contains("a.txt"));
    let report = redis.run(&["--report"]).expect_code(0);
    assert!(!report.stderr.contains("[error]"), "{}", report.stderr);
    worker.signal("-INT");
    worker.signal("-INT");
    worker.wait();
    // Where it is the only root, it is a problem.
    redis.run(&["--drop"]).expect_code(0);
    redis.run(&["--no-robots", file]).expect_code(0);
    redis.run(&["--report"]).expect_code(3);
    // Settings for hosts are for workers in one process, and a report needs none.
    let config = Scratch::with("[host.'a.test']\ndelay = 2\n");
    redis.run(&["--report", "--config", config.as_str()]).expect_code(3);
    redis.run(&["--config", config.as_str()]).expect_code(2);
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_worker_whose_server_is_gone_says_so() {
    let mut redis = Redis::start("gone");
    let site = site(Latency::Fixed(Duration::from_millis(200)));
    let expected = rows(&run(&["--format", "jsonl", &site.root()]).stdout);
    let wait = ["--frontier-wait", "1s", "--no-robots"];
    let before = site.requests();
    let worker = Running::start(redis.crawl(&[&wait[..], &[&*site.root()]].concat()));
    wait_until(|| site.requests() >= before + 20);
    redis.child.kill().unwrap();
    redis.child.wait().unwrap();
    let output = worker.wait();
    assert_eq!(output.status.code(), Some(3), "{}", output.stderr);
    assert!(output.stderr.contains("socket: "), "{}", output.stderr);
    redis.child = Redis::spawn(&redis.folder);
    // Its leases end after 30 seconds.
    let output = redis.run(&[]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", output.stderr);
    let report = rows(&redis.run(&["--report", "--format", "jsonl"]).stdout);
    assert!(report.keys().eq(expected.keys()));
}

#[test]
fn flags_that_do_not_go_together_are_refused() {
    let frontier = ["--frontier", "redis://127.0.0.1:1/"];
    let of_crawl = [&frontier[..], &["--crawl", "a"]].concat();
    for arguments in [
        &frontier[..],
        &["--crawl", "a"],
        &[&of_crawl[..], &["--sitemap"]].concat(),
        &[&of_crawl[..], &["--max-depth", "1"]].concat(),
        &[&of_crawl[..], &["--state", "x"]].concat(),
        &[&of_crawl[..], &["--record", "x"]].concat(),
        &[&of_crawl[..], &["--replay", "x"]].concat(),
        &[&of_crawl[..], &["--status", "--drop"]].concat(),
        &[&of_crawl[..], &["--status", "http://127.0.0.1:1/"]].concat(),
    ] {
        let output = Running::start(program(arguments)).wait();
        assert_eq!(output.status.code(), Some(2), "{arguments:?} {}", output.stderr);
    }
    let output = Running::start(program(&["--frontier", "http://a/", "--crawl", "a"])).wait();
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stderr.contains("write redis://HOST/"), "{}", output.stderr);
}
