//! The command line of all stages, tested with the binary of stage 0.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use demo_site::scripted::Server;
use serde_json::Value;
use test_support::programs::program;

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| program("stage0-threads"));

/// Time limit of a run, longer than any of them takes unless it hangs.
const WATCHDOG: Duration = Duration::from_secs(20);

fn binary() -> Command {
    let mut command = Command::new(&*PROGRAM);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the binary to its end. The output must fit into a pipe.
fn run(arguments: &[&str]) -> Output {
    let mut child = binary().args(arguments).spawn().unwrap();
    wait(&mut child);
    child.wait_with_output().unwrap()
}

fn wait(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > WATCHDOG {
            child.kill().unwrap();
            panic!("the process hangs");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A site of a root, a page, a picture, a redirect and a broken link.
fn site() -> Server {
    Server::start(|request, reply| match request.path() {
        "/" => reply.page(
            "<a href=/page>page</a> <a href=/picture>picture</a> <a href=/old>old</a> \
             <a href=/missing>missing</a> <a href=http://elsewhere.test/>elsewhere</a>",
        ),
        "/page" => reply.page("<a href=/missing>missing</a>"),
        "/picture" => reply.status(200, "OK", &[("Content-Type", "image/png")], [0; 8]),
        "/old" => reply.status(301, "Moved", &[("Location", "/page")], ""),
        _ => reply.status(404, "Not Found", &[("Content-Type", "text/plain")], "gone"),
    })
    .unwrap()
}

fn fine_site() -> Server {
    Server::start(|_, reply| reply.page("<a href=/>home</a>")).unwrap()
}

/// A port on which no server listens (tcpmux). A port that was free a moment ago may
/// be that of another test by now.
const CLOSED_PORT: u16 = 1;

/// A temporary file, deleted on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("command-line-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn read(&self) -> String {
        fs::read_to_string(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn exit_code_0_is_nothing_broken_with_an_empty_stderr() {
    let site = fine_site();
    let output = run(&[&site.url("/")]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn exit_code_1_is_something_broken() {
    let site = site();
    let output = run(&[&site.url("/")]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn exit_code_2_is_bad_usage_with_its_flag_named() {
    for (arguments, named) in [
        (&["--exclude", "("][..], &["--exclude", "'('"][..]),
        (&["--include", "("], &["--include", "'('"]),
        (&["--max-depth", "deep"], &["--max-depth", "'deep'"]),
        (&["--strip-query", "a=b"], &["--strip-query", "'a=b'"]),
        (&["--strip-query", "a,,b"], &["--strip-query", "''"]),
        (&["--max-pages", "many"], &["--max-pages", "'many'"]),
        (&["--max-tasks", "0"], &["--max-tasks", "'0'"]),
        (&["-j", "-1"], &["-1"]),
        (&["--max-tries", "0"], &["--max-tries", "'0'"]),
        (&["--max-redirect", "ten"], &["--max-redirect", "'ten'"]),
        (&["--connect-timeout", "0"], &["--connect-timeout", "'0'"]),
        (&["--read-timeout", "1d"], &["--read-timeout", "'1d'"]),
        (&["--timeout", "169h"], &["--timeout", "'169h'"]),
        (&["--max-body-size", "0"], &["--max-body-size", "'0'"]),
        (&["--user-agent", "a\nb"], &["--user-agent"]),
        (&["--cacert", "/no/such/file"], &["--cacert", "'/no/such/file'"]),
        (&["--format", "xml"], &["--format", "'xml'"]),
        (&["--select", "title=a["], &["--select", "'a['"]),
        (&["--select", "title=h1"], &["--select", "--format json"]),
        (&["--strict", "--lenient"], &["--strict", "--lenient"]),
        (&["--verbose", "--quiet"], &["--verbose", "--quiet"]),
        (&["--no-such-flag"], &["--no-such-flag"]),
        (&["ftp://example.com/"], &["URL", "'ftp://example.com/'"]),
        (&["http://"], &["URL", "'http://'"]),
    ] {
        let output = run(&[&["http://localhost/"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        let message = text(&output.stderr);
        assert!(named.iter().all(|name| message.contains(name)), "{message}");
    }
    assert_eq!(run(&[]).status.code(), Some(2));
}

#[test]
fn exit_code_3_is_a_crawl_that_cannot_run() {
    let root = format!("http://127.0.0.1:{CLOSED_PORT}/");
    let output = run(&["--max-tries", "1", &root]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stdout).contains(&format!("{root} - error no connection: ")));
    assert!(text(&output.stderr).contains("[error] no start URL"));
}

#[test]
fn one_root_of_two_is_enough_to_run() {
    let (site, port) = (fine_site(), CLOSED_PORT);
    let output = run(&["--max-tries", "1", &site.url("/"), &format!("localhost:{port}")]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn exit_code_3_is_an_output_that_cannot_be_written() {
    let site = fine_site();
    let output = run(&["-o", "/no/such/directory/rows", &site.url("/")]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("/no/such/directory/rows"));
    assert_eq!(site.requests(), 0, "found out before the crawl");

    let full = Path::new("/dev/full");
    if full.exists() {
        for format in ["text", "chapter", "jsonl"] {
            let output = run(&["-o", "/dev/full", "--format", format, &site.url("/")]);
            assert_eq!(output.status.code(), Some(3), "{format}");
            assert!(text(&output.stderr).contains("[error] the output cannot be written"));
        }
    }
}

#[test]
fn help_and_version_are_printed() {
    let output = run(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let help = text(&output.stdout);
    for word in ["--max-tasks", "max-concurrency", "max-redirects", "Exit codes:", "Scope:"] {
        assert!(help.contains(word), "{word}: {help}");
    }
    // Only the tool stops what is under way when a signal comes.
    assert!(help.contains("130, 143  stopped by Ctrl-C (SIGINT) or SIGTERM, without a report"));
    let version = run(&["--version"]);
    let expected = concat!("stage0-threads ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(text(&version.stdout), expected);
}

#[test]
fn the_report_has_rows_statistics_and_broken_links() {
    let site = site();
    let output = run(&[&site.url("/")]);
    let report = text(&output.stdout).replace(&site.url(""), "");
    let (rows, rest) = report.split_once("\nFinished 5 urls in ").unwrap();
    assert_eq!(
        rows.lines().collect::<Vec<_>>(),
        [
            "*** Report ***",
            "/ 200 text/html utf-8 146 4/4",
            "/missing 404 text/plain none 4",
            "/old 301 redirect /page",
            "/page 200 text/html utf-8 28 0/1",
            "/picture 200 image/png none 8",
        ]
    );
    for line in [
        "          1 error",
        "          2 html",
        "          1 redirect",
        "          1 status_404",
        "Todo: 0",
        "Done: 5",
        "*** Broken: 1 ***",
        "    found on /, line 1: missing",
        "    found on /page, line 1: missing",
    ] {
        assert!(rest.lines().any(|found| found == line), "{line:?} in {report}");
    }
    assert!(rest.contains("(max_tasks=10)"));
    let date = rest.lines().find_map(|line| line.strip_prefix("Date: ")).unwrap();
    assert!(date.ends_with(" GMT"), "{date}");
}

#[test]
fn json_lines_have_all_fields_in_order() {
    const FIELDS: [&str; 14] = [
        "url",
        "status",
        "outcome",
        "next_url",
        "error",
        "content_type",
        "encoding",
        "size",
        "num_urls",
        "num_new_urls",
        "depth",
        "tries",
        "elapsed_ms",
        "referrer",
    ];
    let site = site();
    let output = run(&["--format", "jsonl", &site.url("/")]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "");
    let stdout = text(&output.stdout);
    let mut outcomes = Vec::new();
    for line in stdout.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        assert_eq!(row.as_object().unwrap().len(), FIELDS.len());
        let mut rest = line;
        for field in FIELDS {
            let name = format!("\"{field}\":");
            rest = rest.split_once(&name).unwrap_or_else(|| panic!("{field} in {line}")).1;
        }
        outcomes.push(row["outcome"].as_str().unwrap().to_owned());
    }
    outcomes.sort();
    assert_eq!(outcomes, ["http_error", "other", "page", "page", "redirect"]);
}

#[test]
fn json_lines_come_while_the_crawl_goes_on() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/slow>slow</a>"),
        _ => reply.sleep(WATCHDOG),
    })
    .unwrap();
    let mut child = binary().args(["--format", "jsonl", &server.url("/")]).spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    // The row has arrived, whatever happens to the process now.
    child.kill().unwrap();
    child.wait().unwrap();
    let row: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(row["url"], server.url("/"));
}

#[test]
fn a_closed_pipe_ends_the_crawl_quietly() {
    // A site without end.
    let server = Server::start(|request, reply| {
        let next: u64 = request.path()[1..].parse().unwrap_or(0) + 1;
        reply.page(format!("<a href=/{next}>next</a>"));
    })
    .unwrap();
    let mut child = binary().args(["--format", "jsonl", &server.url("/")]).spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    drop(stdout);
    assert_eq!(wait(&mut child).code(), Some(0));
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert_eq!(message, "");

    let site = site();
    let mut child = binary().arg(site.url("/")).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(wait(&mut child).code(), Some(0), "a report nobody reads");
}

#[test]
fn output_is_written_to_a_file() {
    let site = site();
    let rows = Scratch::new("rows");
    let output = run(&["--format", "jsonl", "-o", rows.path(), &site.url("/")]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stdout),
        "Checked 5 URLs: 1 is broken (2 links lead to it); 1 redirect; not checked: 1 on other sites (--external).\n"
    );
    assert_eq!(rows.read().lines().count(), 5);
    run(&["-o", rows.path(), &site.url("/")]);
    assert!(rows.read().starts_with("*** Report ***\n"), "written anew");
    let output = run(&["-o", "-", &site.url("/")]);
    assert!(text(&output.stdout).starts_with("*** Report ***\n"));
    let output = run(&["-q", &site.url("/")]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
}

#[test]
fn a_root_needs_no_scheme() {
    let site = fine_site();
    for root in [site.address().to_string(), format!("localhost:{}/", site.address().port())] {
        let output = run(&[&root]);
        assert_eq!(output.status.code(), Some(0), "{root}");
        assert!(text(&output.stdout).contains(&format!("http://{}", root.trim_end_matches('/'))));
    }
}

#[test]
fn verbose_prints_a_line_per_row() {
    let site = site();
    let jsonl = |flag| run(&["--format", "jsonl", flag, &site.url("/")]);
    let output = jsonl("-v");
    let stderr = text(&output.stderr).replace(&site.url(""), "");
    assert_eq!(stderr.lines().count(), 6, "{stderr}");
    assert!(stderr.lines().all(|line| line.starts_with("[info] ")), "{stderr}");
    assert!(stderr.contains("[info] /old 301 redirect /page\n"), "{stderr}");
    assert!(stderr.contains("[info] finished 5 URLs in "), "{stderr}");
    assert!(stderr.contains(" 1 broken, 0 left to do"), "{stderr}");
    let output = jsonl("-vv");
    assert!(text(&output.stderr).contains("/picture 200 8 bytes (attempts: 1, "));
}

#[test]
fn quiet_leaves_errors_only() {
    let site = fine_site();
    let excluded = ["--exclude", "/$", &site.url("/")];
    let output = run(&excluded);
    assert!(text(&output.stderr).contains("[warning] "), "{output:?}");
    let output = run(&[&["-q"], &excluded[..]].concat());
    let stderr = text(&output.stderr);
    assert!(!stderr.contains("[warning] ") && stderr.contains("[error] "), "{stderr}");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(site.requests(), 0);
}

#[test]
fn the_scope_flags_reach_the_crawl() {
    let report = |flag, value, root| {
        let site = site();
        let output = run(&[flag, value, &site.url(root)]);
        text(&output.stdout).replace(&site.url(""), "")
    };
    let of_root = report("--max-depth", "0", "/");
    assert!(of_root.contains("\nTodo: 0\nDone: 1\nToo deep: 4\n"), "{of_root}");
    let included = report("--include", "/page$", "/");
    assert!(included.contains("\n/page 200 ") && included.contains("\nDone: 2\n"), "{included}");
    let stripped = report("--strip-query", "x,y", "/?y=1&z&x");
    assert!(stripped.contains("\n/?z 200 "), "{stripped}");
}

#[test]
fn the_limits_reach_the_crawl() {
    let site = site();
    let output = run(&["--max-pages", "2", &site.url("/")]);
    let report = text(&output.stdout);
    assert!(report.contains("\nTodo: 3\nDone: 2\n"), "{report}");
    assert_eq!(site.requests(), 2);
    let output = run(&["--max-body-size", "10", &site.url("/")]);
    assert!(text(&output.stderr).contains("only the first 10 bytes were read"));
    let output = run(&["--max-redirect", "0", &site.url("/old")]);
    assert!(text(&output.stdout).contains("too many redirects"));
}

#[test]
fn the_user_agent_is_sent() {
    let server = Server::start(|request, reply| {
        assert_eq!(request.header("user-agent"), Some("me/1.0"));
        reply.page("");
    })
    .unwrap();
    assert_eq!(run(&["-A", "me/1.0", &server.url("/")]).status.code(), Some(0));
}
