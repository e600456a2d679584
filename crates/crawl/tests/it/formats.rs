//! The output formats of the crawler.

use std::collections::BTreeSet;
use std::time::Duration;
use std::{env, fs};

use demo_site::scripted::Server;
use serde_json::{Value, json};

use crate::program::{Running, Scratch, crawl, program, run, wait_until};

/// A root, a page, a picture, a redirect, and two links that lead nowhere.
fn site() -> Server {
    Server::start(|request, reply| match request.path() {
        "/" => reply.page(
            "<a href=/page?a&amp;b>page</a> <a href=/picture>picture</a> <a href=/old>old</a> \
             <a href=/missing>missing</a> <a href=/forbidden>no</a> <a href=/a/a/a/>deep</a>",
        ),
        "/page" => reply.page("<a href=/missing>missing</a>"),
        "/picture" => reply.status(200, "OK", &[("Content-Type", "image/png")], [0; 8]),
        "/old" => reply.status(301, "Moved", &[("Location", "/page?a&b")], ""),
        "/forbidden" => reply.status(403, "No", &[("Content-Type", "text/plain")], "no"),
        _ => reply.status(404, "Not Found", &[("Content-Type", "text/plain")], "gone"),
    })
    .unwrap()
}

const BROKEN: [&str; 2] = ["/forbidden", "/missing"];

/// Crawls the site and returns stdout, with the site's origin removed.
fn stdout_of(site: &Server, arguments: &[&str], code: i32) -> String {
    let output = run(&[&[&*site.url("/")], arguments].concat()).expect_code(code);
    output.stdout.replace(&site.url(""), "")
}

fn urls<'a>(rows: impl IntoIterator<Item = &'a Value>) -> BTreeSet<String> {
    rows.into_iter().map(|row| row["url"].as_str().unwrap().to_owned()).collect()
}

/// Returns the JSON of a referrer whose link is on line 1.
fn referrer(url: &str, column: u32, text: &str) -> Value {
    json!({"url": url, "line": 1, "column": column, "element": "a", "text": text})
}

#[test]
fn json_is_one_object() {
    let site = site();
    let object: Value = serde_json::from_str(&stdout_of(&site, &["--format", "json"], 1)).unwrap();
    assert_eq!(object["schema_version"], 1);
    let rows = object["rows"].as_array().unwrap();
    let lines = stdout_of(&site, &["--format", "jsonl"], 1);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(urls(rows), urls(&lines), "the same rows as line by line");
    assert_eq!(
        object["broken"],
        json!([
            {
                "url": "/forbidden", "status": 403, "error": null,
                "referrers": [referrer("/", 111, "no")], "referrer_count": 1,
            },
            {
                "url": "/missing", "status": 404, "error": null,
                "referrers": [referrer("/", 82, "missing"), referrer("/page?a&b", 1, "missing")],
                "referrer_count": 2,
            },
        ])
    );
    assert_eq!(object["stats"]["status_404"], 1);
    assert_eq!(
        (&object["total"], &object["done"], &object["todo"]),
        (&json!(7), &json!(7), &json!(0))
    );
    assert_eq!((&object["too_deep"], &object["problem"]), (&json!(0), &Value::Null));
    assert!(object["elapsed_ms"].is_u64() && object["date"].is_string());
}

/// The order of referrers does not depend on that of the responses: the smallest is the
/// first.
#[test]
fn referrers_in_reports_are_sorted() {
    for slow in ["/a", "/b", "/c"] {
        let site = Server::start(move |request, reply| match request.path() {
            "/" => reply.page("<a href=/c>c</a><a href=/b>b</a><a href=/a>a</a>"),
            "/none" => reply.status(404, "Not Found", &[], ""),
            path => {
                reply.sleep(Duration::from_millis(if path == slow { 200 } else { 0 }));
                reply.page("<a href=/none>x</a>");
            }
        })
        .unwrap();
        // With a limit on depth, all three pages come before the missing one.
        let arguments = ["--max-depth", "2", "--format"];
        let object = stdout_of(&site, &[&arguments[..], &["json"]].concat(), 1);
        let object: Value = serde_json::from_str(&object).unwrap();
        let referrers = object["broken"][0]["referrers"].as_array().unwrap();
        let urls: Vec<_> = referrers.iter().map(|referrer| referrer["url"].as_str()).collect();
        assert_eq!(urls, ["/a", "/b", "/c"].map(Some));
        for (format, on) in [("text", "    on "), ("chapter", "    found on ")] {
            let text = stdout_of(&site, &[&arguments[..], &[format]].concat(), 1);
            let found: Vec<_> = text.lines().filter(|line| line.starts_with(on)).collect();
            let pages = ["/a", "/b", "/c"].map(|page| format!("{on}{page}, line 1: x"));
            assert_eq!(found, pages);
        }
    }
}

#[test]
fn an_empty_crawl_is_a_json_object_too() {
    let site = Server::start(|_, reply| reply.page("")).unwrap();
    let object = stdout_of(&site, &["--format", "json", "--broken-only"], 0);
    let object: Value = serde_json::from_str(&object).unwrap();
    assert_eq!((&object["rows"], &object["broken"]), (&json!([]), &json!([])));
}

#[test]
fn a_report_without_a_line_replaces_the_one_before() {
    let site = Server::start(|_, reply| reply.page("")).unwrap();
    let file = Scratch::with("an earlier report\n");
    let flags = ["--format", "jsonl", "--broken-only", "-o", file.as_str()];
    run(&[&flags[..], &[&site.url("/")]].concat()).expect_code(0);
    assert_eq!(String::from_utf8_lossy(&file.read()), "");
}

#[test]
fn csv_has_a_line_per_url() {
    let site = site();
    let table = stdout_of(&site, &["--format", "csv"], 1);
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let columns = reader.headers().unwrap().clone();
    let cell = |row: &csv::StringRecord, name: &str| {
        row[columns.iter().position(|column| column == name).unwrap()].to_owned()
    };
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 7);
    let row = |url: &str| rows.iter().find(|row| cell(row, "url") == url).unwrap();
    assert_eq!(cell(row("/missing"), "status"), "404");
    assert_eq!(cell(row("/missing"), "outcome"), "http_error");
    assert_eq!(cell(row("/old"), "next_url"), "/page?a&b");
    assert_eq!(cell(row("/a/a/a/"), "error_class"), "trap");
    assert_eq!(cell(row("/a/a/a/"), "status"), "");
    assert_eq!(cell(row("/picture"), "content_type"), "image/png");
}

/// With `--referrers`, JSON Lines and CSV have the links to what is broken, as JSON has them.
#[test]
fn lines_of_broken_urls_have_their_referrers() {
    let links = "<a href=/gone>x</a><a href=/moved>y</a><a href=/fine>z</a>";
    let pages: String = (10..25).map(|n| format!("<a href=/{n}>{n}</a>")).collect();
    let site = Server::start(move |request, reply| match request.path() {
        "/" => reply.page(format!("{pages}<a href=/gone>x</a>")),
        "/gone" => reply.status(404, "Not Found", &[], ""),
        "/moved" => reply.status(302, "Moved", &[("Location", "/gone")], ""),
        "/fine" => reply.page(""),
        _ => reply.page(links),
    })
    .unwrap();
    let object: Value = serde_json::from_str(&stdout_of(&site, &["--format", "json"], 1)).unwrap();
    let broken = &object["broken"][0];
    assert_eq!((&broken["url"], &broken["referrer_count"]), (&json!("/gone"), &json!(17)));

    let lines = |referrers: &str| -> Vec<Value> {
        let lines = stdout_of(&site, &["--format", "jsonl", "--referrers", referrers], 1);
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let rows = lines("all");
    let (last, others) = rows.split_last().unwrap();
    for name in ["url", "status", "referrers", "referrer_count"] {
        assert_eq!(last[name], broken[name]);
    }
    assert_eq!(last["outcome"], "http_error");
    let first = last["referrers"].as_array().unwrap().iter().any(|r| r["url"] == last["referrer"]);
    assert!(first, "{last}");
    assert_eq!(others.len(), 18);
    assert!(others.iter().all(|row| row.get("referrers").is_none()), "{others:?}");
    let rows = lines("2");
    let last = rows.last().unwrap();
    assert_eq!(
        last["referrers"].as_array().unwrap()[..],
        broken["referrers"].as_array().unwrap()[..2]
    );
    assert_eq!(last["referrer_count"], 17);

    let cells = |referrers: &str| -> Vec<String> {
        let table = stdout_of(&site, &["--format", "csv", "--referrers", referrers], 1);
        let mut reader = csv::Reader::from_reader(table.as_bytes());
        assert_eq!(reader.headers().unwrap().iter().next_back(), Some("referrers"));
        reader
            .records()
            .map(|record| record.unwrap().iter().next_back().unwrap().to_owned())
            .collect()
    };
    let mut pages: Vec<String> = (10..25).map(|n| format!("/{n}")).collect();
    pages.insert(0, "/".into());
    let (last, others) = (cells("all").pop().unwrap(), cells("all"));
    assert_eq!(last, pages.join(" "));
    assert!(others[..18].iter().all(String::is_empty), "{others:?}");
    assert_eq!(cells("3").pop().unwrap(), "/ /10 /11");
    let only = stdout_of(&site, &["--format", "csv", "--referrers", "all", "--broken-only"], 1);
    assert_eq!(only.lines().count(), 2, "{only}");
}

#[test]
fn a_sitemap_lists_the_pages() {
    let site = site();
    let sitemap = stdout_of(&site, &["--format", "sitemap"], 1);
    let lines: Vec<&str> = sitemap.lines().collect();
    assert_eq!(lines[0], r#"<?xml version="1.0" encoding="UTF-8"?>"#);
    assert_eq!(lines[1], r#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">"#);
    let pages: BTreeSet<&str> = lines[2..lines.len() - 1].iter().copied().collect();
    let expected = ["<url><loc>/</loc></url>", "<url><loc>/page?a&amp;b</loc></url>"];
    assert_eq!(pages, BTreeSet::from(expected));
    assert_eq!(*lines.last().unwrap(), "</urlset>");
}

#[test]
fn text_lists_what_is_broken_and_ends_with_a_sum() {
    let site = site();
    assert_eq!(
        stdout_of(&site, &[], 1),
        "404 Not Found  /missing\n    on /, line 1: missing\n    \
         on /page?a&b, line 1: missing\n\n\
         403 Forbidden  /forbidden\n    on /, line 1: no\n\n\
         Checked 6 URLs: 2 are broken (3 links lead to them); 1 redirect; 1 skipped URL (crawler trap).\n"
    );
    let fine = Server::start(|_, reply| reply.page("<a href=/>home</a>")).unwrap();
    assert_eq!(stdout_of(&fine, &[], 0), "Checked 1 URL: nothing is broken.\n");
    let root = Server::start(|_, reply| reply.status(500, "Oh", &[], "")).unwrap();
    assert_eq!(
        stdout_of(&root, &[], 1),
        "500 Internal Server Error  /\n    start URL\n\n\
         Checked 1 URL: 1 is broken.\n"
    );
}

#[test]
fn text_lists_every_url_on_request() {
    let site = site();
    let report = stdout_of(&site, &["--all"], 1);
    let (rows, _) = report.split_once("\n\n").unwrap();
    assert_eq!(
        rows.lines().collect::<Vec<_>>(),
        [
            "200  /",
            "  -  /a/a/a/  skipped: crawler trap: a part of the path repeats 3 times",
            "403  /forbidden",
            "404  /missing",
            "301  /old -> /page?a&b",
            "200  /page?a&b",
            "200  /picture",
        ]
    );
    assert!(report.ends_with(" 1 redirect; 1 skipped URL (crawler trap).\n"), "{report}");
}

#[test]
fn text_can_be_grouped_by_page() {
    let site = site();
    assert_eq!(
        stdout_of(&site, &["--by-page"], 1),
        "/\n    line 1: 404 Not Found  /missing (missing)\n    \
         line 1: 403 Forbidden  /forbidden (no)\n\n\
         /page?a&b\n    line 1: 404 Not Found  /missing (missing)\n\n\
         Checked 6 URLs: 2 are broken (3 links lead to them); 1 redirect; 1 skipped URL (crawler trap).\n"
    );
}

/// A site with 40 pages, of 51, each of which links to `/gone`, by a redirect or directly.
fn often_broken() -> Server {
    Server::start(|request, reply| match request.path() {
        "/" => reply.page((0..50).map(|n| format!("<a href=/{n}>x</a> ")).collect::<String>()),
        path if path.starts_with("/4") && path.len() > 2 => reply.page("fine"),
        "/moved" => reply.status(301, "Moved", &[("Location", "/gone")], ""),
        "/gone" => reply.status(404, "Not Found", &[], ""),
        path if path.len() == 2 => reply.page("<a href=/moved>by a redirect</a>"),
        _ => reply.page("<a href=/gone>directly</a>"),
    })
    .unwrap()
}

#[test]
fn as_many_referrers_are_listed_as_wished() {
    let site = often_broken();
    for (wish, shown) in [(&[][..], 10), (&["--referrers", "3"], 3), (&["--referrers", "all"], 40)]
    {
        let report = stdout_of(&site, wish, 1);
        assert_eq!(report.matches("\n    on /").count(), shown, "{report}");
        let more = format!("\n    and {} more (", 40 - shown);
        assert_eq!(report.contains(&more), shown < 40, "{report}");
        assert!(report.contains("    on /0, line 1: by a redirect (redirected by /moved)\n"));
    }
    let object: Value = serde_json::from_str(&stdout_of(&site, &["--format", "json"], 1)).unwrap();
    let referrers = object["broken"][0]["referrers"].as_array().unwrap();
    assert_eq!((referrers.len(), &object["broken"][0]["referrer_count"]), (31, &json!(31)));
    let redirect = referrers.iter().find(|referrer| referrer["url"] == "/moved").unwrap();
    assert_eq!(redirect["referrers"].as_array().unwrap().len(), 10);
    assert_eq!(redirect["referrers"][9]["text"], "by a redirect");
}

/// Otherwise two reports could not be compared.
#[test]
fn reports_of_two_crawls_of_a_site_are_equal() {
    let site = often_broken();
    for arguments in [&[][..], &["--by-page"], &["--all", "--referrers", "all"]] {
        let reports = [0; 3].map(|_| stdout_of(&site, arguments, 1));
        assert!(reports[1] == reports[0] && reports[2] == reports[0], "{arguments:?}");
    }
}

/// A file of a full disk, and a pipe that is closed.
#[test]
fn a_report_that_cannot_be_written_in_the_end_keeps_no_other_back() {
    let site = site();
    let (junit, baseline) = (Scratch::new(), Scratch::new());
    let output = format!("junit:{}", junit.as_str());
    let is_written = || {
        let text = |file: &Scratch| String::from_utf8(file.read()).unwrap();
        assert!(text(&junit).trim_end().ends_with("</testsuites>"), "{}", text(&junit));
        assert!(text(&baseline).contains("/missing"), "{}", text(&baseline));
        junit.write("");
        baseline.write("{\"schema_version\":1,\"broken\":[]}");
    };
    let with_baseline = ["--baseline", baseline.as_str(), "--update-baseline"];
    let arguments = ["-o", "text:/dev/full", "-o", &output];
    stdout_of(&site, &[&arguments[..], &with_baseline].concat(), 3);
    is_written();
    let mut command = crawl(&["-o", "text:-", "-o", &output, &site.url("/")]);
    command.args(with_baseline);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = command.stdout(writer).status().unwrap();
    assert!(status.code().is_some(), "{status}");
    is_written();
}

/// `head` ends no report but its own, and the crawl if there is no other.
#[test]
fn a_reader_that_closes_its_pipe_keeps_no_other_report_back() {
    let site = site();
    let code_of = |arguments: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        crawl(arguments).arg(site.url("/")).stdout(writer).status().unwrap().code()
    };
    let object = Scratch::new();
    let output = format!("json:{}", object.as_str());
    // Whether the pipe is the first or the last.
    for outputs in [["-o", "jsonl:-", "-o", &output], ["-o", &output, "-o", "jsonl:-"]] {
        assert_eq!(code_of(&outputs), Some(1));
        let whole: Value = serde_json::from_slice(&object.read()).unwrap();
        assert_eq!((&whole["total"], whole["rows"].as_array().unwrap().len()), (&json!(7), 7));
        object.write("");
    }
    // Nor does a file beside the reports end too early.
    let record = Scratch::new();
    assert_eq!(code_of(&["--format", "jsonl", "--record", record.as_str()]), Some(1));
    let replayed = run(&["--replay", record.as_str(), "--format", "jsonl"]).expect_code(1);
    assert_eq!(replayed.stdout.lines().count(), 7);

    let requests = site.requests();
    assert_eq!(code_of(&["-j1", "--format", "jsonl"]), Some(0));
    assert!(site.requests() < requests + 3, "{} {requests}", site.requests());
}

#[test]
fn reports_go_to_several_files_and_the_sum_to_the_terminal() {
    let site = site();
    let (object, table) = (Scratch::new(), Scratch::new());
    let outputs = [format!("json:{}", object.as_str()), format!("csv:{}", table.as_str())];
    let arguments = ["-o", &outputs[0], "-o", &outputs[1]];
    let sum = "Checked 6 URLs: 2 are broken (3 links lead to them); 1 redirect; 1 skipped URL (crawler trap).\n";
    assert_eq!(stdout_of(&site, &arguments, 1), sum);
    let parsed: Value = serde_json::from_slice(&object.read()).unwrap();
    assert_eq!(parsed["total"], 7);
    assert_eq!(csv::Reader::from_reader(&*table.read()).records().count(), 7);
    // A report on stdout stays alone, and so does one in a file that is stdout.
    let lines = stdout_of(&site, &[&["--format", "jsonl"], &arguments[..2]].concat(), 1);
    assert!(lines.lines().all(|line| line.starts_with("{\"url\"")), "{lines}");
    let lines = stdout_of(&site, &["-o", "jsonl:/dev/stdout"], 1);
    assert!(lines.lines().all(|line| line.starts_with("{\"url\"")), "{lines}");
    assert_eq!(stdout_of(&site, &[&["-q"], &arguments[..]].concat(), 1), "");
}

#[test]
fn quiet_leaves_the_exit_code_and_what_is_asked_for() {
    let site = site();
    let output = run(&["-q", &site.url("/")]).expect_code(1);
    assert_eq!((&*output.stdout, &*output.stderr), ("", ""));
    assert!(
        stdout_of(&site, &["-q", "--format", "text"], 1)
            .ends_with(" skipped URL (crawler trap).\n")
    );
}

#[test]
fn json_says_why_the_crawl_has_ended() {
    let site = site();
    let json_of = |arguments: &[&str], code| -> Value {
        let arguments = [&["--format", "json"], arguments].concat();
        serde_json::from_str(&stdout_of(&site, &arguments, code)).unwrap()
    };
    let all = json_of(&[], 1);
    assert_eq!((&all["stopped"], &all["left_out"]), (&Value::Null, &Value::Null));
    let some = json_of(&["--max-pages", "2"], 0);
    assert_eq!(some["stopped"], "max_pages");
    assert!(some["left_out"].as_str().unwrap().contains("--max-pages"), "{some}");
    let none = run(&["--format", "json", "--max-tries", "1", "http://127.0.0.1:1/"]);
    let none: Value = serde_json::from_str(&none.expect_code(3).stdout).unwrap();
    assert!(
        none["problem"].as_str().unwrap().starts_with("no start URL could be crawled: "),
        "{none}"
    );
}

#[test]
fn the_report_of_the_chapter_has_a_line_for_each_url() {
    let site = site();
    let report = stdout_of(&site, &["--format", "chapter"], 1);
    let (rows, rest) = report.split_once("\nFinished 7 urls in ").unwrap();
    assert_eq!(
        rows.lines().collect::<Vec<_>>(),
        [
            "*** Report ***",
            "/ 200 text/html utf-8 160 6/6",
            "/a/a/a/ - skipped crawler trap: a part of the path repeats 3 times",
            "/forbidden 403 text/plain none 2",
            "/missing 404 text/plain none 4",
            "/old 301 redirect /page?a&b",
            "/page?a&b 200 text/html utf-8 28 0/1",
            "/picture 200 image/png none 8",
        ]
    );
    let (_, broken) = rest.split_once("\n\n*** Broken: 2 ***\n").unwrap();
    assert_eq!(
        broken,
        "/forbidden 403 text/plain none 2\n    found on /, line 1: no\n\
         /missing 404 text/plain none 4\n    found on /, line 1: missing\n    \
         found on /page?a&b, line 1: missing\n"
    );
}

#[test]
fn a_broken_url_is_listed_with_the_redirects_that_lead_to_it() {
    let site = Server::start(|request, reply| match request.path() {
        "/" => reply.page("\n\n<a href=/old>here</a><img src=/old>"),
        "/old" => reply.status(301, "Moved", &[("Location", "/older")], ""),
        "/older" => reply.status(301, "Moved", &[("Location", "/gone")], ""),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let report = stdout_of(&site, &["--format", "chapter", "--check", "images"], 1);
    let (_, broken) = report.split_once("*** Broken: 1 ***\n").unwrap();
    assert_eq!(
        broken,
        "/gone 404 none none 0\n    found on /older\n        found on /old\n            \
         found on /, line 3: here\n"
    );
}

#[test]
fn broken_only_leaves_out_all_other_urls() {
    let site = site();
    let report = stdout_of(&site, &["--format", "chapter", "--broken-only"], 1);
    assert!(report.starts_with("Finished 7 urls in "), "{report}");
    assert!(report.contains("\n*** Broken: 2 ***\n/forbidden 403 "), "{report}");
    for format in ["json", "jsonl", "csv"] {
        let stdout = stdout_of(&site, &["--broken-only", "--format", format], 1);
        assert!(BROKEN.iter().all(|url| stdout.contains(url)), "{stdout}");
        assert!(!stdout.contains("/picture") && !stdout.contains("/old"), "{stdout}");
    }
    let output = run(&["--broken-only", "--format", "sitemap", "localhost"]).expect_code(2);
    assert!(output.stderr.contains("--broken-only"), "{}", output.stderr);
}

#[test]
fn accepted_statuses_are_not_broken() {
    let site = site();
    let report = stdout_of(&site, &["--format", "chapter", "--accept", "403"], 1);
    assert!(report.contains("*** Broken: 1 ***\n/missing"), "{report}");
    let report = stdout_of(&site, &["--format", "chapter", "--accept", "400..=403,404"], 0);
    assert!(!report.contains("Broken") && report.contains(" 1 status_404\n"), "{report}");
    assert!(report.contains("  2 accepted\n") && !report.contains(" error\n"), "{report}");
    stdout_of(&site, &["--accept", "400..404"], 1);
    let blocked = Server::start(|_, reply| reply.status(999, "Denied", &[], "")).unwrap();
    stdout_of(&blocked, &["--accept", "999"], 0);
    stdout_of(&blocked, &[], 1);
}

#[test]
fn color_is_shown_on_terminals_or_on_request() {
    const RED: &str = "\u{1b}[31m404 Not Found  /missing\u{1b}[0m\n";
    let site = site();
    assert!(!stdout_of(&site, &[], 1).contains('\u{1b}'));
    assert!(!stdout_of(&site, &["--color", "never"], 1).contains('\u{1b}'));
    let report = stdout_of(&site, &["--color", "always"], 1);
    assert!(report.contains(RED), "{report}");
    for (variable, is_red) in [("CLICOLOR_FORCE", true), ("NO_COLOR", false)] {
        let mut command = crawl(&[&site.url("/")]);
        command.env(variable, "1");
        let output = Running::start(command).wait();
        assert_eq!(output.stdout.contains('\u{1b}'), is_red, "{variable}");
    }
    // Colored text is escaped, too.
    let site = Server::start(|_, reply| {
        reply.status(404, "No", &[("Content-Type", "\u{9b}2J\u{1b}]0;x")], "");
    });
    let report = stdout_of(&site.unwrap(), &["--color", "always"], 1);
    assert!(!report.replace("\u{1b}[31m", "").replace("\u{1b}[0m", "").contains('\u{1b}'));
}

#[test]
fn a_crawl_that_cannot_run_is_still_a_json_object() {
    // With one file descriptor there is an event queue, but no way to wake it. One that the
    // test has inherited would take its place.
    let mut command = std::process::Command::new("sh");
    let binary = env!("CARGO_BIN_EXE_crawl");
    command.args([
        "-c",
        &format!("exec 3>&-; ulimit -n 4; exec {binary} --format json http://localhost:1/"),
    ]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(object["problem"].is_string(), "{object}");
    assert_eq!(object["done"], Value::Null);
}

#[test]
fn a_crawl_that_is_interrupted_is_still_a_json_object() {
    for (signals, code) in [(1, 130), (2, 130)] {
        let site = Server::start(|request, reply| {
            let n: u64 = request.path()[1..].parse().unwrap_or(0);
            if n > 20 {
                reply.sleep(Duration::from_secs(2));
            }
            reply.page(format!("<a href=/{}>on</a> <a href=/{}>on</a>", 2 * n + 1, 2 * n + 2));
        })
        .unwrap();
        let program = Running::start(crawl(&["--format", "json", &site.url("/")]));
        wait_until(|| site.requests() > 25);
        for _ in 0..signals {
            program.signal("-INT");
        }
        let output = program.wait().expect_code(code);
        let object: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(object["rows"].as_array().unwrap().len() as u64, object["done"]);
        assert!(object["todo"].as_u64().unwrap() > 0);
        assert_eq!(object["stopped"], "signal");
        assert!(object["left_out"].as_str().unwrap().contains("interrupted"), "{object}");
    }
}

#[test]
fn the_extension_of_a_file_chooses_the_format() {
    let site = often_broken();
    let folder = env::temp_dir().join(format!("crawl-extensions-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for (name, beginning) in [
        ("r.html", "<!DOCTYPE html>"),
        ("r.json", "{\""),
        ("r.jsonl", "{\""),
        ("r.csv", "url,"),
        ("r.md", "# Links"),
        ("r.sarif", "{"),
        ("r.txt", "404 Not Found"),
    ] {
        let file = folder.join(name);
        run(&["-o", file.to_str().unwrap(), &site.url("/")]).expect_code(1);
        let report = fs::read_to_string(&file).unwrap();
        assert!(report.to_lowercase().starts_with(&beginning.to_lowercase()), "{name}: {report}");
        assert_eq!(name == "r.sarif", report.contains("\"runs\""), "{name}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// Returns the fields that a schema describes.
fn described(schema: &Value, at: &str) -> BTreeSet<String> {
    let fields = schema.pointer(at).unwrap_or_else(|| panic!("{at}: {schema}"));
    fields["properties"].as_object().unwrap().keys().cloned().collect()
}

fn keys(object: &Value) -> BTreeSet<String> {
    object.as_object().unwrap().keys().cloned().collect()
}

/// The schema and the page about the rows describe every field that there is, and no other.
#[test]
fn the_schema_describes_every_field() {
    let schema = Running::start(program(&["--generate", "schema"])).wait().expect_code(0).stdout;
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let site = site();
    let flags = ["--format", "json", "--external", "--redirects", "warn"];
    let report: Value = serde_json::from_str(&stdout_of(&site, &flags, 1)).unwrap();
    assert_eq!(keys(&report), described(&schema, ""));
    let lines = ["--format", "jsonl", "--referrers", "all", "--external"];
    let flags = [&lines[..], &["--select", "a=a"]].concat();
    let dead = Server::start(|_, reply| {
        reply.page("<a href=http://127.0.0.1:1/>dead</a>".to_owned() + &"<div>".repeat(3_000));
    });
    let mut fields = BTreeSet::new();
    for (site, code) in [(&site, 1), (&dead.unwrap(), 1)] {
        for line in stdout_of(site, &flags, code).lines() {
            fields.extend(keys(&serde_json::from_str(line).unwrap()));
        }
    }
    let row = described(&schema, "/$defs/row");
    assert_eq!(fields, row);
    let mut broken = keys(&report["broken"][0]);
    broken.extend(keys(&report["moved"][0]));
    assert_eq!(broken, described(&schema, "/$defs/broken"));
    let mut referrer = described(&schema, "/$defs/referrer");
    assert!(referrer.remove("referrers"), "a redirect has its own");
    assert_eq!(keys(&report["broken"][0]["referrers"][0]), referrer);
    // The page in the book has each of them, and each class of errors.
    let book = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/rows.md");
    let book = std::fs::read_to_string(book).unwrap();
    let classes = schema.pointer("/$defs/error/properties/class/enum").unwrap();
    let classes =
        classes.as_array().unwrap().iter().map(|class| class.as_str().unwrap().to_owned());
    for name in described(&schema, "").into_iter().chain(row).chain(broken).chain(classes) {
        assert!(book.contains(&format!("\n| `{name}` | ")), "{name}");
    }
}
