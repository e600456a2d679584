//! The reports for CI jobs and for people: JUnit, GitHub Actions, SARIF, Markdown,
//! HTML; and the baseline.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs};

use demo_site::scripted::{Reply, Request, Server};
use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::Value;

use crate::program::{ProgramOutput, Running, Scratch, crawl, program, rows, run};

/// A site of two pages with broken links, one of them by a redirect, whose texts have a
/// meaning in every format.
fn site() -> Server {
    Server::start(|request, reply| match request.path() {
        "/" => reply.page(
            "<a href=/b>b</a>\n<a href=/gone>&lt;b&gt; \"it's\" | `*` 100%, ]]> \u{1b}[2J</a> \
             <a href=/moved>moved</a><a href=/x/x/x/>deep</a>",
        ),
        "/b" => reply.page("\n\n  <a href='/gone?a&amp;b=</script>'>x</a><img src=/gone>"),
        "/moved" => reply.status(302, "Found", &[("Location", "/error")], ""),
        "/error" => reply.status(500, "Oh", &[], ""),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap()
}

const BROKEN: [&str; 3] = ["/error", "/gone", "/gone?a&b=%3C/script%3E"];

/// Crawls the site and returns the report, with the site's origin removed.
fn report(site: &Server, arguments: &[&str]) -> String {
    let output = run(&[&["--check", "images", &*site.url("/")], arguments].concat());
    output.expect_code(1).stdout.replace(&site.url(""), "")
}

#[test]
fn junit_has_a_test_case_for_each_url() {
    let site = site();
    let report = report(&site, &["--format", "junit"]);
    let mut reader = Reader::from_str(&report);
    let (mut cases, mut failed, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) | Event::Empty(tag) => {
                let name = tag.try_get_attribute("name").unwrap();
                let name = name.map(|name| name.value.into_owned());
                match tag.name().as_ref() {
                    "testcase" => cases.push(name.unwrap()),
                    "failure" => failed.push(cases.last().unwrap().replace("&amp;", "&")),
                    "skipped" => skipped.push(cases.last().unwrap().clone()),
                    _ => {}
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(cases.len(), 7);
    assert!(cases.is_sorted(), "{cases:?}");
    assert_eq!(failed, BROKEN);
    assert_eq!(skipped, ["/x/x/x/"]);
    assert!(report.contains("<testsuites name=\"crawl\" tests=\"7\" failures=\"3\""), "{report}");
    assert!(report.contains("type=\"status_404\" message=\"404 Not Found\">on /, line 2: &lt;b"));
}

#[test]
fn sarif_has_a_result_for_each_broken_link() {
    let site = site();
    let object: Value = serde_json::from_str(&report(&site, &["--format", "sarif"])).unwrap();
    let run = &object["runs"][0];
    let results = run["results"].as_array().unwrap().iter().map(|result| {
        let place = &result["locations"][0]["physicalLocation"];
        let (page, line) = (&place["artifactLocation"]["uri"], &place["region"]["startLine"]);
        let (rule, text) = (&result["ruleId"], result["message"]["text"].as_str().unwrap());
        let text = text.split(" (").next().unwrap();
        format!("{} {}:{line} {text}", rule.as_str().unwrap(), page.as_str().unwrap())
    });
    assert_eq!(
        results.collect::<Vec<_>>(),
        [
            "status_500 ./:2 500 Internal Server Error: /error",
            "status_404 ./:2 404 Not Found: /gone",
            "status_404 b:3 404 Not Found: /gone",
            "status_404 b:3 404 Not Found: /gone?a&b=%3C/script%3E",
        ]
    );
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let rules: Vec<&Value> = rules.iter().map(|rule| &rule["id"]).collect();
    assert_eq!(rules, ["status_404", "status_500"]);
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
}

#[test]
fn markdown_lists_what_is_broken() {
    let site = site();
    let report = report(&site, &["--format", "markdown"]);
    let expected = "# Links\n\nChecked 6 URLs: 3 are broken \\(4 links lead to them\\); \
        1 redirect; 1 skipped URL \\(crawler trap\\).\n\n\
        - **404 Not Found** /gone\n\x20 - on /, line 2: \\b\\ \"it's\" ";
    let plain = |text: &str| text.replace(['<', '>'], "").replace("(redirected", "\\(redirected");
    let report = plain(&report).replace("moved)\n", "moved\\)\n");
    assert!(report.starts_with(expected), "{report}");
    let second = "- **500 Internal Server Error** /error\n  - on /, line 2: moved \\(redirected by /moved\\)\n";
    assert!(report.contains(second), "{report}");
    assert!(report.contains("\\| \\`\\*\\` 100%, \\]\\]\\"), "{report}");
}

#[test]
fn markdown_by_page_has_what_no_page_links_to() {
    let site = site();
    let (root, gone) = (site.url("/"), site.url("/nothing-links-here"));
    let report = run(&["--by-page", "--format", "markdown", &gone, &root]).expect_code(1).stdout;
    let expected = format!("\n\n## No page links to these\n\n- **404 Not Found** <{gone}>\n");
    assert!(report.ends_with(&expected), "{report}");
}

/// Its text could be a link to another site, or a picture.
#[test]
fn a_link_that_is_no_url_is_text_in_markdown() {
    let site = Server::start(|_, reply| {
        reply.page("<a href='//[x://![i](https://evil.test/p.png)'>x</a>");
    });
    let report = report(&site.unwrap(), &["--format", "markdown"]);
    let item = r"** //\[x://\!\[i\]\(https://evil.test/p.png\)";
    assert!(report.contains(item), "{report}");
}

/// The runner takes a command of this form anywhere in a line of stdout or stderr.
#[test]
fn a_link_text_is_no_command_of_github() {
    let site = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href='//[##[add-mask]x'>x</a><a href=/gone>##[stop-commands]x</a>"),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    for format in ["text", "chapter", "jsonl"] {
        let mut command = crawl(&["-v", "--format", format, &site.url("/")]);
        command.env("GITHUB_ACTIONS", "true");
        let ProgramOutput { stdout, stderr, .. } = Running::start(command).wait().expect_code(1);
        for stream in [&stdout, &stderr] {
            assert!(stream.contains(r"##\u005badd-mask]x") && !stream.contains("##["), "{stream}");
        }
        if format == "jsonl" {
            assert!(rows(&stdout).contains_key("//[##[add-mask]x"), "{stdout}");
        } else {
            assert!(stdout.contains(r"##\u005bstop-commands]x"), "{stdout}");
        }
    }
}

/// The agent takes these commands anywhere in a line, too.
#[test]
fn a_link_text_is_no_command_of_azure() {
    let site = Server::start(|request, reply| match request.path() {
        "/" => reply.page(
            "<a href='//[##vso[task.complete]x'>x</a>\
             <a href=/gone>##vso[task.setvariable]x ##[error]y</a>",
        ),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    for format in ["text", "chapter", "jsonl"] {
        let mut command = crawl(&["-v", "--format", format, &site.url("/")]);
        command.env_remove("GITHUB_ACTIONS").env("TF_BUILD", "True");
        let ProgramOutput { stdout, stderr, .. } = Running::start(command).wait().expect_code(1);
        for stream in [&stdout, &stderr] {
            assert!(stream.contains(r"##vso\u005btask.complete]x"), "{stream}");
            assert!(!stream.contains("##vso[") && !stream.contains("##["), "{stream}");
        }
        if format == "jsonl" {
            assert!(rows(&stdout).contains_key("//[##vso[task.complete]x"), "{stdout}");
        } else {
            assert!(stdout.contains(r"##vso\u005btask.setvariable]x ##\u005berror]y"), "{stdout}");
        }
    }
}

/// Runs the program as a step of GitHub Actions does.
fn run_step(summary: &Scratch, arguments: &[&str]) -> ProgramOutput {
    let mut command = crawl(arguments);
    command.env("GITHUB_STEP_SUMMARY", summary.path());
    Running::start(command).wait()
}

#[test]
fn github_gets_annotations_and_a_summary() {
    let (site, summary) = (site(), Scratch::with("before\n"));
    let root = site.url("/");
    let output = run_step(&summary, &["--check", "images", "--format", "github", &root]);
    let stdout = output.expect_code(1).stdout.replace(&site.url(""), "");
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines[0].contains(" 100%25, ]]"), "{stdout}");
    assert!(lines[0].ends_with("%0Aand 1 more"), "{stdout}");
    assert_eq!(
        lines[1],
        "::error title=Broken link%3A 500 Internal Server Error::/error%0Aon /, line 2: moved"
    );
    assert_eq!(lines[3], "::group::3 broken URLs", "{stdout}");
    assert!(stdout.contains("\n::endgroup::\nChecked 6 URLs: "), "{stdout}");
    let summary = String::from_utf8(summary.read()).unwrap();
    assert!(summary.starts_with("before\n# Links\n\nChecked 6 URLs: "), "{summary}");
    // Other formats leave the summary to others.
    let other = Scratch::new();
    run_step(&other, &["--format", "markdown", &root]).expect_code(1);
    assert_eq!(other.read(), b"");
}

/// GitHub shows no summary that is longer. A control character takes six bytes there.
#[test]
fn a_summary_has_at_most_a_mebibyte() {
    let links: String =
        (0..700).map(|n| format!("<a href='/{n}-{}'>x</a>", "y".repeat(1_900))).collect();
    let texts: String =
        (0..3_000).map(|n| format!("<a href='//[{n}'>{}</a>", "\u{1b}".repeat(80))).collect();
    let site = |links: String| {
        let serve = move |request: &Request, reply: &mut Reply<'_>| match request.path() {
            "/" => reply.page(&links),
            _ => reply.status(404, "Not Found", &[], ""),
        };
        Server::start(serve).unwrap()
    };
    let (long, escaped) = (site(links), site(texts));
    for (site, flags, rest) in [
        (&long, &[][..], " more broken URLs\n"),
        (&long, &["--by-page"], " more links\n"),
        (&escaped, &[], " more broken URLs\n"),
    ] {
        let summary = Scratch::new();
        run_step(&summary, &[&["--format", "github", &*site.url("/")], flags].concat())
            .expect_code(1);
        let summary = String::from_utf8(summary.read()).unwrap();
        assert!(summary.len() <= 1024 * 1024, "{}", summary.len());
        assert!(summary.ends_with(rest), "{}", &summary[summary.len() - 100..]);
    }
}

#[test]
fn redirects_that_are_refused_are_broken_in_html() {
    let site = site();
    let report = report(&site, &["--format", "html", "--redirects", "error"]);
    assert!(report.contains(r#"["/moved",302,"broken","#), "{report}");
}

/// The sum counts all URLs, and so do the numbers below it.
#[test]
fn html_counts_what_it_leaves_out() {
    let report = report(&site(), &["--format", "html", "--broken-only"]);
    for card in ["<b>6</b> checked", "<b>1</b> redirect", "<b>1</b> skipped"] {
        assert!(report.contains(card), "{card}: {report}");
    }
}

/// A redirect in a circle is broken, and has the status of a redirect all the same.
#[test]
fn a_circle_of_redirects_is_no_4xx_in_html() {
    let site = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/a>a</a><a href=/999>9</a>"),
        "/a" => reply.status(301, "Moved", &[("Location", "/b")], ""),
        "/b" => reply.status(301, "Moved", &[("Location", "/a")], ""),
        _ => reply.status(999, "No", &[], ""),
    })
    .unwrap();
    let report = report(&site, &["--format", "html"]);
    let bar = |name: &str| {
        let (_, bar) = report.split_once(&format!(">{name}</text>\n"))?;
        let (parts, number) = bar.split_once("<text ")?;
        Some((parts.matches("broken").count(), number.split(['<', '>']).nth(1)?.to_owned()))
    };
    // A part of a bar names its result twice.
    assert_eq!(bar("3xx"), Some((2, "2".to_owned())), "{report}");
    assert_eq!(bar("other status"), Some((2, "1".to_owned())), "{report}");
    assert_eq!((bar("4xx"), bar("5xx")), (None, None));
}

#[test]
fn html_has_everything_in_one_page() {
    let site = site();
    let report = report(&site, &["--format", "html"]);
    for part in [
        "<b>3</b> broken",
        "<svg viewBox",
        ">2xx</text>\n<rect class=\"fine\"",
        "under 10 ms</text>",
        "rel=\"noreferrer\">/gone</a> <small>2 links</small>",
        "&lt;b&gt; &quot;it&apos;s&quot;",
        "<summary>302 <a href=\"/moved\" ",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    // Nothing is loaded, and nothing ends the script but its own end.
    assert!(!report.contains("<link") && !report.contains("src="), "{report}");
    assert_eq!(report.matches("</script>").count(), 2, "{report}");
    let (_, rest) = report.split_once("<script type=\"application/json\" id=\"rows\">").unwrap();
    let (rows, _) = rest.split_once("</script>").unwrap();
    let rows: Value = serde_json::from_str(rows).unwrap();
    let urls: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row[0].as_str().unwrap()).collect();
    assert_eq!(urls.len(), 7);
    assert!(urls.is_sorted() && BROKEN.iter().all(|url| urls.contains(url)), "{urls:?}");
}

#[test]
fn a_baseline_leaves_what_is_new() {
    let (site, baseline) = (site(), Scratch::new());
    let root = site.url("/");
    let check = |arguments: &[&str], code: i32| {
        let baseline = ["--baseline", baseline.as_str(), root.as_str()];
        let output = run(&[&baseline, arguments].concat()).expect_code(code);
        output.stdout.replace(&site.url(""), "")
    };
    let message = run(&["--baseline", baseline.as_str(), &root]).expect_code(2).stderr;
    assert!(message.contains("--update-baseline"), "{message}");
    let text = check(&["--update-baseline", "--exclude", "gone.a"], 0);
    assert!(
        text.contains(": nothing new that was checked is broken; 2 known to be broken; "),
        "{text}"
    );
    let text = check(&["--exclude", "gone.a"], 0);
    assert!(
        text.starts_with("Checked 5 URLs: nothing new that was checked is broken; 2 known"),
        "{text}"
    );
    let text = check(&[], 1);
    assert!(text.starts_with("404 Not Found  /gone?a&b=%3C/script%3E\n"), "{text}");
    assert!(text.contains(": 1 is newly broken (1 link leads to it); 2 known"), "{text}");
    let object: Value = serde_json::from_str(&check(&["--format", "json"], 1)).unwrap();
    assert_eq!(object["broken"].as_array().unwrap().len(), 1);
    assert_eq!((&object["known_broken"], &object["total"]), (&2.into(), &7.into()));
    let junit = check(&["--format", "junit"], 1);
    assert_eq!(junit.matches("<skipped message=\"broken, and known to be\"/>").count(), 2);
    // A crawl that has not seen all neither forgets what was known nor calls it mended.
    let text = check(&["--max-pages", "1", "--update-baseline"], 0);
    assert!(!text.contains("no more"), "{text}");
    check(&["--exclude", "gone.a"], 0);
    let text = check(&["--exclude", "gone|error"], 0);
    assert!(text.contains("; 2 baseline entries are fixed; "), "{text}");
}

/// A site with a link that leads to `/link` of another one, and a page beyond it; and the
/// status of `/link`.
fn changing_site() -> (Server, Server, Arc<AtomicU16>) {
    let status = Arc::new(AtomicU16::new(404));
    let answered = Arc::clone(&status);
    let other = Server::start(move |_, reply| {
        reply.status(answered.load(Ordering::Relaxed), "", &[("Content-Type", "text/plain")], "");
    })
    .unwrap();
    let link = format!("<a href={}>x</a><a href=/page>y</a>", other.url("/link"));
    let site = Server::start(move |request, reply| match request.path() {
        "/" => reply.page(&link),
        _ => reply.page("<a href=/deep>z</a>"),
    })
    .unwrap();
    (site, other, status)
}

/// A URL is mended if it is fine now, or if a whole crawl does not find it.
#[test]
fn a_baseline_forgets_what_is_fine_and_nothing_else() {
    let (site, _other, status) = changing_site();
    let baseline = Scratch::new();
    let check = |answer, arguments: &[&str], code| {
        status.store(answer, Ordering::Relaxed);
        let root = site.url("/");
        let baseline = [&*root, "--external", "--baseline", baseline.as_str()];
        run(&[&baseline[..], arguments].concat()).expect_code(code).stdout
    };
    let known = || String::from_utf8(baseline.read()).unwrap();
    check(404, &["--update-baseline"], 0);
    assert!(known().contains("status_404"), "{}", known());
    // Broken in another way, it is new and not mended.
    let text = check(410, &[], 1);
    assert!(text.contains("1 is newly broken (1 link leads to it); 0 known"), "{text}");
    assert!(!text.contains("no more"), "{text}");
    check(410, &["--update-baseline"], 0);
    assert!(known().contains("status_410") && !known().contains("status_404"), "{}", known());
    // If it is unsure, it is not known to be mended.
    let text = check(500, &["--update-baseline"], 0);
    assert!(!text.contains("no more"), "{text}");
    assert!(known().contains("status_410"), "{}", known());
    // It is mended, although other URLs are too deep.
    let text = check(200, &["--update-baseline", "--max-depth", "1"], 0);
    assert!(text.contains("; 1 baseline entry is fixed; "), "{text}");
    assert!(!known().contains("status"), "{}", known());
}

#[test]
fn a_crawl_that_does_not_begin_writes_no_baseline() {
    let (baseline, journal) = (Scratch::new(), Scratch::with("no journal"));
    let state = ["--state", journal.as_str(), "localhost:1"];
    run(&[&state[..], &["--baseline", baseline.as_str(), "--update-baseline"]].concat())
        .expect_code(3);
    assert!(!baseline.path().exists());
}

#[test]
fn a_redirect_that_is_known_is_skipped_in_junit() {
    let site = Server::start(|request, reply| match request.path() {
        "/old" => reply.status(301, "Moved", &[("Location", "/")], ""),
        _ => reply.page("<a href=/old>x</a>"),
    })
    .unwrap();
    let (baseline, root) = (Scratch::new(), site.url("/"));
    let arguments = ["--redirects", "error", "--baseline", baseline.as_str(), &root];
    run(&[&arguments[..], &["--update-baseline"]].concat()).expect_code(0);
    let report = run(&[&arguments[..], &["--format", "junit"]].concat()).expect_code(0).stdout;
    assert!(report.contains("skipped=\"1\""), "{report}");
    assert!(report.contains("<skipped message=\"broken, and known to be\"/>"), "{report}");
}

/// A site of 20 pages with a footer, in which a link is broken. Its pages also lead to a host
/// without an address, to fragments that one page lacks, and to redirects.
fn large_site() -> Server {
    Server::start(|request, reply| {
        let number: u32 = request.path()[1..].parse().unwrap_or(0);
        let links: String = match number {
            0 if request.path() != "/" => return moved_or_gone(request.path(), reply),
            0 => (1..20).map(|n| format!("<a href=/{n}>{n}</a>\n")).collect(),
            n => format!(
                "<a href=http://dead.invalid/{n}>d</a><a href=/1#id-{}>i</a><a href=/gone-{}>g</a>\n\
                 <a href=/old>o</a><a href=/later>l</a>",
                n % 4,
                n % 2
            ),
        };
        reply.page(format!("{links}\n<footer><a href=/imprint>Imprint</a></footer>"));
    })
    .unwrap()
}

fn moved_or_gone(path: &str, reply: &mut Reply<'_>) {
    match path {
        "/old" => reply.status(301, "Moved", &[("Location", "/2")], ""),
        "/later" => reply.status(302, "Found", &[("Location", "/3")], ""),
        _ => reply.status(404, "Not Found", &[], ""),
    }
}

/// Crawls the large site and returns the report, with the site's origin removed.
fn large_report(format: &str, flags: &[&str]) -> String {
    let site = large_site();
    let arguments = ["--external", "--check", "fragments", "--format", format, &site.url("/")];
    let output = run(&[&arguments[..], flags].concat());
    output.expect_code(1).stdout.replace(&site.url(""), "")
}

#[test]
fn a_dead_host_and_a_page_without_ids_are_one_entry_each() {
    let text = large_report("text", &["--referrers", "2"]);
    let host = text.split("\n\n").find(|entry| entry.contains("dead.invalid")).unwrap();
    assert_eq!(text.matches("dead.invalid: 19 URLs").count(), 1, "{text}");
    assert!(host.starts_with("DNS  dead.invalid: 19 URLs\n"), "{host}");
    assert!(host.contains("\n    http://dead.invalid/1  on /1, line 1: d\n"), "{host}");
    assert!(host.ends_with("\n    and 17 more (--referrers all lists them)"), "{host}");
    let page = "missing fragment  /1: 4 fragments\n    #id-1  on /1, line 1: i and 4 more\n";
    assert!(text.contains(page), "{text}");
    let markdown = large_report("markdown", &[]);
    let entry = "** dead.invalid: 19 URLs\n  - <http://dead.invalid/1> on </1>, line 1: d\n";
    assert!(markdown.contains(entry), "{markdown}");
    let html = large_report("html", &[]);
    assert!(html.contains("<span>dead.invalid</span> <small>19 URLs, 19 links</small>"), "{html}");
    assert!(html.contains("/1</a> <small>4 fragments, 19 links</small>"), "{html}");
}

#[test]
fn a_link_in_the_layout_is_on_all_pages_and_comes_first() {
    let text = large_report("text", &[]);
    let first = "404 Not Found  /imprint\n    on all 20 pages, first on /, line 21: Imprint\n\n";
    assert!(text.starts_with(first), "{text}");
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(at("  /1: 4 fragments\n") < at("  /gone-1\n") && at("  /gone-1\n") < at("  /gone-0\n"));
    // Whoever wants a list gets it.
    let all = large_report("text", &["--referrers", "all"]);
    assert!(all.starts_with("404 Not Found  /imprint\n    on /, line 21: Imprint\n"), "{all}");
    assert_eq!(all.matches(": Imprint\n").count(), 20, "{all}");
    let markdown = large_report("markdown", &[]);
    assert!(
        markdown.contains("  - on all 20 pages, first on </>, line 21: Imprint\n"),
        "{markdown}"
    );
    let html = large_report("html", &[]);
    assert!(html.contains("/imprint</a> <small>on all 20 pages</small>"), "{html}");
}

#[test]
fn html_says_when_how_long_and_with_what() {
    let secret = ["--header", "X-Token: s3cret", "-u", "me:s3cret"];
    let html = large_report("html", &secret);
    let head = &html[..html.find("</dl>").unwrap()];
    let value = |name: &str| {
        let (_, rest) = head.split_once(&format!("<dt>{name}</dt><dd>")).unwrap();
        rest.split("</dd>").next().unwrap()
    };
    let date = value("Date");
    assert!(date.len() == 23 && date.starts_with("20") && date.ends_with(" UTC"), "{date}");
    assert!(value("Duration").ends_with(" s"), "{head}");
    assert_eq!(value("Program"), concat!("crawl ", env!("CARGO_PKG_VERSION")));
    let command = value("Command");
    assert!(command.contains(" --external "), "{command}");
    assert!(command.contains("&apos;--header=X-Token: ***&apos;"), "{command}");
    assert!(!html.contains("s3cret"), "{command}");
}

#[test]
fn html_lists_redirects_with_the_pages_that_link_to_them() {
    let html = large_report("html", &[]);
    let (_, redirects) = html.split_once("<h2>Redirects</h2>").unwrap();
    let (redirects, _) = redirects.split_once("</section>").unwrap();
    let (permanent, temporary) = redirects.split_once("<h3>Temporary ").unwrap();
    assert!(permanent.contains("301 <a href=\"/old\""), "{permanent}");
    assert!(temporary.contains("302 <a href=\"/later\""), "{temporary}");
    for part in [permanent, temporary] {
        assert!(part.contains("<small>on 19 of 20 pages</small>"), "{part}");
        assert_eq!(part.matches(", line 2: <q>").count(), 19, "{part}");
    }
}

/// Of another site: a page that refuses crawlers, one that limits them, and one that fails.
#[test]
fn html_has_one_name_for_each_result() {
    let other = Server::start(|request, reply| match request.path() {
        "/403" => reply.status(403, "No", &[], ""),
        "/429" => reply.status(429, "Slow", &[("Retry-After", "0")], ""),
        "/500" => reply.status(500, "Oh", &[], ""),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let links: String = [403, 429, 500, 404]
        .map(|n| format!("<a href={}>x</a>", other.url(&format!("/{n}"))))
        .concat();
    let site =
        Server::start(move |_, reply| reply.page(format!("{links}<a href=/#no>y</a>"))).unwrap();
    let arguments = ["--external", "--check", "fragments", "--max-wait", "1s", &site.url("/")];
    let html = run(&[&arguments[..], &["--format", "html"]].concat()).expect_code(1).stdout;
    let html = html.replace(&other.url(""), "").replace(&site.url(""), "");
    for row in [
        r#"["/403",403,"blocked","#,
        r#"["/429",429,"blocked","#,
        r#"["/500",500,"unsure","#,
        r#"["/404",404,"broken","#,
        // The page has answered, and the fragment is no request of its own.
        r#"["/#no",null,"broken","missing fragment: no element has the id 'no'",null,null,null,null]"#,
        r#"["/",200,"fine",null,"text/html","#,
    ] {
        assert!(html.contains(row), "{row}: {html}");
    }
    for (number, name) in
        [(6, "checked"), (2, "broken"), (2, "blocked"), (1, "unsure"), (0, "skipped")]
    {
        assert!(html.contains(&format!("<b>{number}</b> {name}</a>")), "{number} {name}: {html}");
    }
    let sum = "Checked 6 URLs: 2 are broken (2 links lead to them); \
               external: 2 blocked for crawlers, 1 unsure.";
    assert!(html.contains(sum), "{html}");
    assert!(html.contains("<rect class=\"broken\"") && html.contains("<title>2 blocked</title>"));
    let text = run(&[&arguments[..], &["--all"]].concat()).expect_code(1).stdout;
    let line = format!("429  {}  rate limited", other.url("/429"));
    assert!(text.lines().any(|l| l.starts_with(&line) && l.ends_with(" (blocked)")), "{text}");
}

#[test]
fn github_gets_as_many_annotations_as_it_shows() {
    let site = Server::start(|request, reply| match request.path() {
        "/" => reply.page(
            (0..126).map(|n| format!("<a href=/{n}>x</a>\n")).collect::<String>()
                + "<a href=/old>o</a><a href=/page>p</a>",
        ),
        "/old" => reply.status(301, "Moved", &[("Location", "/page")], ""),
        "/page" => reply.page("<a href=/77>y</a>"),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let (summary, root) = (Scratch::new(), site.url("/"));
    let arguments = ["--format", "github", "--redirects", "warn", &*root];
    let stdout = run_step(&summary, &arguments).expect_code(1).stdout.replace(&site.url(""), "");
    assert_eq!(stdout.matches("::error ").count(), 10, "{stdout}");
    assert_eq!(stdout.matches("::warning title=Permanent redirect").count(), 1, "{stdout}");
    assert!(
        stdout.starts_with("::error title=Broken link%3A 404 Not Found::/77%0Aon "),
        "{stdout}"
    );
    assert!(stdout.contains("\n116 more broken URLs: see the summary of this step\n"), "{stdout}");
    let (_, group) = stdout.split_once("::group::126 broken URLs\n").unwrap();
    let (group, _) = group.split_once("::endgroup::\n").unwrap();
    assert_eq!(group.matches("404 Not Found  /").count(), 126, "{group}");
    let summary = String::from_utf8(summary.read()).unwrap();
    assert_eq!(summary.matches("- **404 Not Found**").count(), 126);
    let stdout = run(&arguments).expect_code(1).stdout;
    assert!(stdout.contains("\n116 more broken URLs: see the group above\n"), "{stdout}");
}

#[test]
fn gitlab_gets_an_object_for_each_broken_link() {
    let site = site();
    let objects: Value = serde_json::from_str(&report(&site, &["--format", "gitlab"])).unwrap();
    let objects = objects.as_array().unwrap();
    let places: Vec<_> = objects
        .iter()
        .map(|object| {
            let text = |pointer| object.pointer(pointer).unwrap().to_string().replace('"', "");
            let place = format!("{}:{}", text("/location/path"), text("/location/lines/begin"));
            format!("{} {place} {}", text("/check_name"), text("/severity"))
        })
        .collect();
    assert_eq!(
        places,
        [
            "status_500 ./:2 major",
            "status_404 ./:2 major",
            "status_404 b:3 major",
            "status_404 b:3 major"
        ]
    );
    let fingerprints = |objects: &[Value]| -> Vec<String> {
        objects.iter().map(|object| object["fingerprint"].as_str().unwrap().to_owned()).collect()
    };
    let mut first = fingerprints(objects);
    first.sort();
    first.dedup();
    assert_eq!(first.len(), 4, "each is its own: {objects:?}");
    assert_eq!(objects[0]["description"], "500 Internal Server Error: /error: moved");
}

#[test]
fn a_link_in_a_style_sheet_has_a_line() {
    let site = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<link rel=stylesheet href=/s.css>"),
        "/s.css" => {
            let css = "@import '/gone.css';\n/* \u{fc} */ a { background: url( /gone.png ) }\n";
            reply.status(200, "OK", &[("Content-Type", "text/css")], css);
        }
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let output = run(&[&site.url("/")]).expect_code(1).stdout.replace(&site.url(""), "");
    for place in [
        "404 Not Found  /gone.css\n    on /s.css, line 1: <style>\n",
        "404 Not Found  /gone.png\n    on /s.css, line 2: <style>\n",
    ] {
        assert!(output.contains(place), "{output}");
    }
    let object = run(&["--format", "json", &site.url("/")]).expect_code(1).stdout;
    let object: Value = serde_json::from_str(&object).unwrap();
    let columns: Vec<_> = object["broken"]
        .as_array()
        .unwrap()
        .iter()
        .map(|broken| broken["referrers"][0]["column"].as_u64())
        .collect();
    assert_eq!(columns, [Some(9), Some(25)]);
}

#[test]
fn junit_has_times_and_no_empty_class() {
    let site = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href='//[bad'>x</a><a href=/slow>y</a>"),
        _ => {
            reply.sleep(Duration::from_millis(250));
            reply.page("");
        }
    });
    let site = site.unwrap();
    let report = report(&site, &["--format", "junit"]);
    assert!(
        report.contains("<testcase name=\"//[bad\" classname=\"invalid URL\" time=\"0.000\">"),
        "{report}"
    );
    assert!(!report.contains("classname=\"\""), "{report}");
    let (_, slow) = report.split_once("name=\"/slow\"").unwrap();
    let (_, time) = slow.split_once("time=\"").unwrap();
    let time: f64 = time.split('"').next().unwrap().parse().unwrap();
    assert!((0.25..30.0).contains(&time), "{report}");
    let (_, suite) = report.split_once("<testsuite name=\"links\"").unwrap();
    let (suite, _) = suite.split_once('>').unwrap();
    let (_, timestamp) = suite.split_once("timestamp=\"20").unwrap();
    assert_eq!(timestamp.split('"').next().unwrap().len(), "26-11-29T03:35:43".len(), "{suite}");
    assert!(suite.contains(" time=\""), "{suite}");
}

/// What GitHub's code scanning wants beyond the schema: rules with texts, regions, and paths
/// that are relative.
#[test]
fn sarif_has_what_code_scanning_needs() {
    let site = site();
    let output = run(&["--check", "images", "--format", "sarif", &site.url("/")]).expect_code(1);
    let object: Value = serde_json::from_str(&output.stdout).unwrap();
    let run = &object["runs"][0];
    for rule in run["tool"]["driver"]["rules"].as_array().unwrap() {
        for text in ["shortDescription", "fullDescription", "help"] {
            assert!(rule[text]["text"].as_str().unwrap().ends_with(['.', 'd', 'r']), "{rule}");
        }
        assert_eq!(rule["defaultConfiguration"]["level"], "error");
        assert!(!rule["name"].as_str().unwrap().contains('_'), "{rule}");
    }
    for result in run["results"].as_array().unwrap() {
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["region"]["startLine"].as_u64().unwrap() > 0, "{place}");
        let artifact = &place["artifactLocation"];
        assert!(!artifact["uri"].as_str().unwrap().contains("://"), "{place}");
        let base = artifact["uriBaseId"].as_str().unwrap();
        assert_eq!(run["originalUriBaseIds"][base]["uri"], site.url("/"), "{run}");
    }
}

/// Returns the path of what `.ci/real-peers` has installed.
fn judges() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/judges")
}

#[test]
#[ignore = "needs target/judges: run .ci/real-peers"]
fn each_format_is_valid_by_an_independent_judge() {
    let site = site();
    let judge = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judges/judge.py");
    let schema = Running::start(program(&["--generate", "schema"])).wait().expect_code(0).stdout;
    let schema = Scratch::with(&schema);
    let formats = ["junit", "sarif", "gitlab", "html", "json", "jsonl", "csv"]
        .map(|format| (format, &[][..]));
    let all = ["jsonl", "csv"].map(|format| (format, &["--referrers", "all"][..]));
    for (format, flags) in formats.into_iter().chain(all) {
        let report = Scratch::new();
        let output = format!("{format}:{}", report.as_str());
        let arguments = ["--check", "images", "-q", "-o", &output, &site.url("/")];
        run(&[&arguments, flags].concat()).expect_code(1);
        let mut command = Command::new(judges().join("bin/python"));
        command.arg(&judge).args([format, report.as_str(), schema.as_str()]);
        let verdict = command.output().unwrap();
        let message = String::from_utf8_lossy(&verdict.stderr);
        assert!(verdict.status.success(), "{format}: {message}");
        // A judge that takes anything is none.
        let whole = report.read();
        let half = &whole[..whole.len() / 2];
        report.write(&half[..half.iter().rposition(|byte| *byte == b',').unwrap_or(half.len())]);
        let verdict = command.output().unwrap();
        assert!(!verdict.status.success(), "half a report is valid {format}");
    }
}

/// Loads a page in Chromium and returns its DOM after its scripts have run.
fn dom(page: &Path, wishes: &str) -> String {
    let begun = Instant::now();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(format!("--user-data-dir={}", page.with_extension("profile").display()))
        .arg(format!("file://{}#{wishes}", page.display()))
        .output()
        .unwrap();
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(30), "{took:?} for {wishes}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[ignore = "needs chromium: run .ci/real-peers"]
fn a_browser_sorts_and_filters_a_report_of_50_000_rows() {
    // Traps are rows without a request.
    let traps: String = (0..50_000).map(|n| format!("<a href=/x/x/x/{n}>{n}</a>\n")).collect();
    let site = Server::start(move |request, reply| match request.path() {
        "/" => reply.page(format!("<a href=/gone>gone</a><a href=/a/page>page</a>{traps}")),
        "/a/page" => reply.page("<a href=/gone>gone</a>"),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let folder = env::temp_dir().join(format!("crawl-report-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let page = folder.join("report.html");
    let output = format!("html:{}", page.display());
    run(&["-q", "-o", &output, &site.url("/")]).expect_code(1);
    let first_url = |dom: &str| {
        let (_, body) = dom.split_once("<tbody>").unwrap();
        let (_, link) = body.split_once("href=\"").unwrap();
        link.split('"').next().unwrap().replace(&site.url(""), "")
    };
    let all = dom(&page, "");
    assert!(all.contains(">200 of 50003 shown, 50003 in all<"), "{}", &all[all.len() - 2000..]);
    assert_eq!(first_url(&all), "/");
    assert_eq!(all.matches("<tr class=").count(), 200);
    assert!(all.contains("<span>gone ") && all.contains("<summary>x <small>50000</small>"));
    let by_status = dom(&page, "sort=1&down=1");
    assert_eq!(first_url(&by_status), "/gone");
    assert!(by_status.contains("aria-sort=\"descending\""));
    let found = dom(&page, "search=X%2F77&class=skipped");
    assert!(found.contains(">111 of 111 shown, 50003 in all<"), "one, ten and a hundred");
    assert_eq!(first_url(&found), "/x/x/x/77");
    fs::remove_dir_all(&folder).unwrap();
}
