//! Features of the tool in combination: sitemaps with a journal, formats with
//! errors.
#![cfg(unix)]

use std::process::Command;
use std::sync::{Arc, OnceLock};

use demo_site::scripted::Server;

use crate::program::{ProgramOutput, Running, Scratch, rows};

/// Runs the program, which asks for robots.txt, to its end.
fn run(arguments: &[&str]) -> ProgramOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawl"));
    command.args(arguments);
    Running::start(command).wait()
}

/// A site whose pages are named only by its sitemap, which is named only by its
/// robots.txt.
fn site_of_sitemap() -> Server {
    let root = Arc::new(OnceLock::<String>::new());
    let known = Arc::clone(&root);
    let server = Server::start(move |request, reply| {
        let root = known.get().map_or("", String::as_str);
        match request.path() {
            "/robots.txt" => reply.status(200, "OK", &[], format!("Sitemap: {root}map")),
            "/map" => {
                let urls = ["1", "2", "3"].map(|n| format!("<url><loc>{root}{n}</loc></url>"));
                reply.status(200, "OK", &[], format!("<urlset>{}</urlset>", urls.concat()));
            }
            "/" | "/1" | "/2" | "/3" => reply.page(""),
            _ => reply.status(404, "Not Found", &[], ""),
        }
    });
    let server = server.unwrap();
    root.set(server.url("/")).unwrap();
    server
}

/// Sitemaps are no part of the journal, so they are read again on a resume. By then
/// there may be no job left that would fetch the robots.txt that names them.
#[test]
fn a_resumed_crawl_finds_the_pages_that_sitemaps_name() {
    let server = site_of_sitemap();
    let (journal, root) = (Scratch::new(), server.url("/"));
    let arguments =
        ["--sitemap", "-j1", "--format", "jsonl", "--state", journal.as_str(), root.as_str()];
    for limit in ["1", "2", "9"] {
        let output = run(&[&arguments[..], &["--max-pages", limit]].concat()).expect_code(0);
        assert_eq!(rows(&output.stdout).len(), limit.parse::<usize>().unwrap().min(4));
    }
    assert_eq!(["/", "/1", "/2", "/3"].map(|path| server.hits(path)), [1; 4]);
    assert_eq!(["/robots.txt", "/sitemap.xml"].map(|path| server.hits(path)), [3, 0]);
}

/// The reason is on stderr, whatever the format and wherever the report goes.
#[test]
fn the_reason_why_nothing_was_crawled_is_on_stderr() {
    let closed = Server::start(|request, reply| match request.path() {
        "/robots.txt" => reply.status(200, "OK", &[], "User-agent: *\nDisallow: /"),
        path => panic!("{path}"),
    });
    let closed = closed.unwrap();
    let root = closed.url("/");
    let output = run(&["-q", "-o", "/dev/null", &root]).expect_code(3);
    let expected = format!(
        "[error] no start URL could be crawled: {root}: robots.txt: {root}robots.txt does not allow it\n"
    );
    assert_eq!(output.stderr, expected);
}

#[test]
fn a_root_that_is_excluded_is_said_to_be() {
    for flags in [["--exclude", "."], ["--for-host", "localhost:1 check=false"]] {
        let output = run(&[&flags[..], &["localhost:1"]].concat()).expect_code(3);
        let problem = "[error] no start URL could be crawled: --exclude matches all of them\n";
        assert!(output.stderr.ends_with(problem), "{flags:?}: {}", output.stderr);
    }
}

/// Without the warning, a CI job that keeps its journal would see the same old rows
/// for ever.
#[test]
fn a_journal_with_nothing_left_to_do_is_a_warning() {
    let server = site_of_sitemap();
    let (journal, root) = (Scratch::new(), server.url("/"));
    let arguments = ["--state", journal.as_str(), root.as_str()];
    assert_eq!(run(&arguments).expect_code(0).stderr, "");
    let output = run(&arguments).expect_code(0);
    assert!(output.stderr.contains(journal.as_str()), "{}", output.stderr);
    assert!(output.stderr.contains("--fresh"), "{}", output.stderr);
    assert_eq!(run(&[&arguments[..], &["--fresh"]].concat()).expect_code(0).stderr, "");
    assert_eq!(server.hits("/"), 2);
}

/// An empty table or sitemap would say that there are no pages.
#[test]
fn a_crawl_that_could_not_begin_leaves_the_last_report_alone() {
    let (report, journal) = (Scratch::with("the last report"), Scratch::with("no journal"));
    for format in ["text", "jsonl", "csv", "sitemap"] {
        let arguments = ["--format", format, "--state", journal.as_str(), "localhost"];
        assert_eq!(run(&arguments).expect_code(3).stdout, "", "{format}");
        run(&[&arguments[..], &["-o", report.as_str()]].concat()).expect_code(3);
        assert_eq!(report.read(), b"the last report", "{format}");
    }
    // JSON has a field for the reason.
    let output = run(&["--format", "json", "--state", journal.as_str(), "localhost"]);
    assert!(output.expect_code(3).stdout.contains("\"problem\":\"the journal"));
}
