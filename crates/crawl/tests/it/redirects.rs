//! Redirects: what they mean is for the user to say, but loops are always broken.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use demo_site::scripted::Server;
use serde_json::{Value, json};

use crate::program::{Scratch, run};

fn site() -> Server {
    Server::start(|request, reply| {
        let mut moved = |status, to: &str| reply.status(status, "Moved", &[("Location", to)], "");
        match request.path() {
            "/old" => moved(301, "/new"),
            "/later" => moved(302, "/new"),
            "/a" => moved(307, "/b"),
            "/b" => moved(308, "/a#x"),
            "/" => reply.page("<a href=/old>one</a>\n<a href=/later>two</a><a href=/page>x</a>"),
            "/page" => reply.page("<p>\n<a href=/old>three</a>"),
            "/loop" => reply.page("<a href=/a>x</a>"),
            "/one" => moved(302, "/two"),
            "/two" => moved(303, "/three?x"),
            "/three" => moved(301, "/one"),
            "/self" => moved(302, "/self"),
            "/longer" => reply.page("<p>\n<a href=/one>y</a>"),
            _ => reply.page(""),
        }
    })
    .unwrap()
}

/// A site can have any number of redirects to one another, each with a link of its own.
#[test]
fn a_long_way_of_redirects_is_told_in_part() {
    const REDIRECTS: usize = 2_000;
    let site = Server::start(|request, reply| {
        let number = request.path().strip_prefix("/r").and_then(|n| n.parse::<usize>().ok());
        match number {
            Some(n) if n < REDIRECTS => {
                let next = format!("/r{}", n + 1);
                reply.status(302, "Found", &[("Location", &*next)], "");
            }
            Some(_) => reply.status(404, "Not Found", &[], ""),
            None => reply
                .page((0..REDIRECTS).map(|n| format!("<a href=/r{n}>x</a>")).collect::<String>()),
        }
    })
    .unwrap();
    let root = site.url("/");
    let report = run(&[&root, "--format", "text", "--referrers", "all"]).expect_code(1).stdout;
    let places = report.lines().filter(|line| line.trim_start().starts_with("on ")).count();
    assert!((20..=22).contains(&places), "{places}");
    let json = run(&[&root, "--format", "json"]).expect_code(1).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    let (mut depth, mut referrer) = (0, &json["broken"][0]);
    while let Some(next) = referrer["referrers"].as_array().and_then(|list| list.last()) {
        (depth, referrer) = (depth + 1, next);
    }
    assert_eq!(depth, 21);
}

#[test]
fn redirects_are_fine_or_listed_or_broken() {
    let site = site();
    let (root, url) = (site.url("/"), |path: &str| site.url(path));
    let fine = run(&[&root]).expect_code(0).stdout;
    assert_eq!(fine, "Checked 5 URLs: nothing is broken; 2 redirects.\n");
    assert_eq!(run(&[&root, "--redirects", "ok"]).expect_code(0).stdout, fine);
    let permanent = format!(
        "301 Moved Permanently  {}\n    now at {}\n    on {root}, line 1: one\n    \
         on {}, line 2: three\n\n",
        url("/old"),
        url("/new"),
        url("/page"),
    );
    let warned = run(&[&root, "--redirects", "warn"]).expect_code(0).stdout;
    let sum =
        "Checked 5 URLs: nothing is broken; 1 permanent redirect: update the links; 2 redirects.\n";
    assert_eq!(warned, format!("{permanent}{sum}"));
    let warned = |format| run(&[&root, "--redirects", "warn", "--format", format]).expect_code(0);
    let markdown = warned("markdown").stdout;
    let moved = format!(
        "## Permanent redirects\n\n- **301 Moved Permanently to {}** <{}>\n  - on <{root}>, line 1: ",
        url("/new"),
        url("/old"),
    );
    assert!(markdown.contains(&moved), "{markdown}");
    let json: Value = serde_json::from_str(&warned("json").stdout).unwrap();
    assert_eq!(json["broken"], json!([]));
    assert_eq!(json["moved"][0]["next_url"], url("/new"));
    assert_eq!(json["moved"][0]["referrer_count"], 2);
    let broken = run(&[&root, "--redirects", "error"]).expect_code(1).stdout;
    let temporary = format!(
        "302 Found  {}\n    now at {}\n    on {root}, line 2: two\n\n",
        url("/later"),
        url("/new"),
    );
    assert!(broken.starts_with(&format!("{permanent}{temporary}")), "{broken}");
    assert!(broken.contains("2 are broken (3 links lead to them)"), "{broken}");
    let json = run(&[&root, "--redirects", "error", "--format", "json"]).expect_code(1).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["broken"][1]["next_url"], url("/new"));
    assert_eq!(json["broken"][1]["referrer_count"], 2);
    let page = run(&[&root, "--redirects", "error", "--by-page"]).expect_code(1).stdout;
    assert!(page.contains(&format!("301 Moved Permanently to {}  {}", url("/new"), url("/old"))));
}

#[test]
fn redirects_in_a_circle_are_broken() {
    let site = site();
    for policy in ["ok", "warn", "error"] {
        let arguments = [&*site.url("/loop"), "--redirects", policy];
        let report = run(&arguments).expect_code(1).stdout;
        let expected = format!(
            "redirect loop  {}\n    the redirects go round in a circle through {}\n    on {}, line 1: x\n\n\
             Checked 3 URLs: 1 is broken (1 link leads to it); 1 redirect.\n",
            site.url("/a"),
            site.url("/b"),
            site.url("/loop"),
        );
        assert_eq!(report, expected, "{policy}");
        let arguments = [&*site.url("/longer"), "--redirects", policy, "--format", "json"];
        let json: Value = serde_json::from_str(&run(&arguments).expect_code(1).stdout).unwrap();
        let rows = json["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 4, "each URL has one row: {rows:?}");
        let referrer = json!({"url": site.url("/longer"), "line": 2, "column": 1, "element": "a", "text": "y"});
        let message = format!("the redirects go round in a circle through {}", site.url("/two"));
        let expected = json!([{
            "url": site.url("/one"), "status": 302,
            "error": {"class": "redirect_loop", "message": message},
            "referrers": [referrer], "referrer_count": 1,
        }]);
        assert_eq!(json["broken"], expected, "{policy}");
    }
    run(&[&site.url("/loop"), "--accept", "300..=399"]).expect_code(0);
    // No link leads to the one with which the crawl begins.
    let report = run(&[&site.url("/b")]).expect_code(1).stdout;
    let loop_of = |path: &str, target: &str| {
        let (url, target) = (site.url(path), site.url(target));
        format!("redirect loop  {url}\n    the redirects go round in a circle through {target}\n")
    };
    let begun = "    start URL\n\nChecked 2 URLs: 1 is broken; 1 redirect.\n";
    assert_eq!(report, loop_of("/b", "/a") + begun);
    let report = run(&[&site.url("/self")]).expect_code(1).stdout;
    assert!(report.contains("the URL redirects to itself\n    start URL\n"), "{report}");
}

/// A site with circles of two and of three redirects, each of which links enter at two
/// places; another redirect leads into the second one. One of them is slow.
fn circles(slow: &'static str) -> Server {
    Server::start(move |request, reply| {
        if request.path() == slow {
            reply.sleep(Duration::from_millis(40));
        }
        let mut moved = |to: &str| reply.status(301, "Moved", &[("Location", to)], "");
        match request.path() {
            "/ping" => moved("/pong?x"),
            "/pong" => moved("/ping?s=1#y"),
            "/one" => moved("/two"),
            "/two" => moved("/three"),
            "/three" => moved("/one"),
            "/into" => moved("/three"),
            "/" => reply.page(
                "<a href=/ping>a</a><a href=/pong?x>b</a><a href=/one>c</a>\n\
                 <a href=/two>d</a><a href=/into>e</a><a href=/page>f</a>",
            ),
            "/page" => reply.page("<a href=/ping>g</a><a href=/two>h</a>"),
            _ => reply.page(""),
        }
    })
    .unwrap()
}

/// The report does not depend on the order of the responses, although that decides which
/// redirect closes a circle.
#[test]
fn each_link_into_a_circle_of_redirects_is_broken() {
    let found = |target: &str, next: &str, places: &[&str]| {
        let places: String = places.iter().map(|place| format!("    on {place}\n")).collect();
        format!(
            "redirect loop  {target}\n    the redirects go round in a circle through {next}\n{places}\n"
        )
    };
    let expected = [
        found("/one", "/two", &["/, line 1: c"]),
        found("/ping", "/pong?x", &["/, line 1: a", "/page, line 1: g"]),
        found("/pong?x", "/ping", &["/, line 1: b"]),
        found("/three", "/one", &["/, line 2: e (redirected by /into)"]),
        found("/two", "/three", &["/, line 2: d", "/page, line 1: h"]),
        "Checked 8 URLs: 5 are broken (7 links lead to them); 1 redirect.\n".to_owned(),
    ];
    let check = &|slow| {
        let mut all = Vec::new();
        let site = circles(slow);
        let report = |arguments: &[&str]| {
            let root = site.url("/");
            run(&[&["--strip-query", "s", &*root], arguments].concat())
                .expect_code(1)
                .stdout
                .replace(&site.url(""), "")
        };
        for tasks in ["1", "10"] {
            for policy in ["ok", "warn"] {
                let text = report(&["-j", tasks, "--redirects", policy]);
                // The redirect into a circle is permanent itself.
                let text = text.replace("; 1 permanent redirect: update the links", "");
                let (into, at) = (text.find("301 Moved"), text.find("redirect loop  /ping"));
                assert_eq!(into.is_some(), policy == "warn", "{text}");
                assert_eq!(at, Some(0), "{text}");
                assert!(expected.iter().all(|part| text.contains(part)), "{slow} {tasks}: {text}");
            }
            let broken = |format: &str| -> Value {
                serde_json::from_str(&report(&["-j", tasks, "--format", format])).unwrap()
            };
            let json = broken("json");
            let urls: Vec<_> =
                json["broken"].as_array().unwrap().iter().map(|b| &b["url"]).collect();
            assert_eq!(urls, ["/one", "/ping", "/pong?x", "/three", "/two"]);
            let pages: Vec<_> =
                json.pointer("/broken/1/referrers").unwrap().as_array().unwrap().iter().collect();
            assert_eq!((pages.len(), &json["broken"][1]["referrer_count"]), (2, &json!(2)));
            assert!(json["broken"].as_array().unwrap().iter().all(|b| b["status"] == 301));
            let results = broken("sarif")["runs"][0]["results"].as_array().unwrap().len();
            assert_eq!(results, 7);
            for flag in ["-v", "--broken-only"] {
                let junit = report(&["-j", tasks, "--format", "junit", flag]);
                assert!(junit.contains(" failures=\"5\" "), "{junit}");
                assert_eq!(junit.matches("<failure ").count(), 5, "{junit}");
            }
            let chapter = report(&["-j", tasks, "--format", "chapter"]);
            let (_, listed) = chapter.split_once("\n*** Broken: 2 ***\n").unwrap();
            assert_eq!(listed.matches(" error redirect loop").count(), 2, "{listed}");
            all.push(report(&["-j", tasks, "--all"]));
        }
        let refused = report(&["--redirects", "error"]);
        assert!(refused.contains("6 are broken (8 links lead to them)"), "{refused}");
        all
    };
    let slow_ones = ["/ping", "/pong", "/one", "/two", "/three", "/into", "/page"];
    let all: Vec<String> = thread::scope(|scope| {
        let threads = slow_ones.map(|slow| scope.spawn(move || check(slow)));
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let lines = "301  /ping -> /pong?x\n301  /pong?x -> /ping?s=1\n301  /three -> /one\n";
    assert!(all[0].contains(lines), "{}", all[0]);
    assert!(all.iter().all(|report| *report == all[0]), "{all:?}");
}

/// A baseline knows a circle, whatever the order of the responses.
#[test]
fn a_baseline_knows_all_of_a_circle() {
    let baseline = Scratch::new();
    let is_second = Arc::new(AtomicBool::new(false));
    let second = Arc::clone(&is_second);
    let site = Server::start(move |request, reply| {
        let slow = if second.load(Ordering::Relaxed) { "/pong" } else { "/ping" };
        if request.path() == slow {
            reply.sleep(Duration::from_millis(300));
        }
        match request.path() {
            "/ping" => reply.status(302, "Moved", &[("Location", "/pong")], ""),
            "/pong" => reply.status(302, "Moved", &[("Location", "/ping")], ""),
            _ => reply.page("<a href=/ping>a</a><a href=/pong>b</a>"),
        }
    })
    .unwrap();
    let arguments = [&*site.url("/"), "--redirects", "error", "--baseline", baseline.as_str()];
    let written = run(&[&arguments[..], &["--update-baseline"]].concat()).expect_code(0).stdout;
    assert!(written.contains("nothing new is broken; 2 known to be broken"), "{written}");
    assert_eq!(String::from_utf8(baseline.read()).unwrap().matches("redirect_loop").count(), 2);
    for _ in 0..2 {
        let known = run(&arguments).expect_code(0).stdout;
        assert!(known.contains("nothing new is broken; 2 known to be broken"), "{known}");
        is_second.store(true, Ordering::Relaxed);
    }
}

/// Links enter the circle at one redirect, and the other one has the error.
#[test]
fn a_circle_that_is_known_is_no_broken_row() {
    let baseline = Scratch::new();
    let site = Server::start(|request, reply| match request.path() {
        "/ping" => reply.status(302, "Moved", &[("Location", "/pong")], ""),
        "/pong" => reply.status(302, "Moved", &[("Location", "/ping")], ""),
        _ => reply.page("<a href=/ping>a</a>"),
    })
    .unwrap();
    let check = |arguments: &[&str], code| {
        let baseline = [&*site.url("/"), "--baseline", baseline.as_str()];
        run(&[&baseline[..], arguments].concat()).expect_code(code).stdout
    };
    let sum = "nothing new is broken; 1 known to be broken; ";
    for flags in [&["--update-baseline"][..], &["--update-baseline"], &[]] {
        let text = check(flags, 0);
        assert!(text.contains(sum) && !text.contains("no more"), "{text}");
        let known = String::from_utf8(baseline.read()).unwrap();
        assert_eq!(known.matches("redirect_loop").count(), 2, "{known}");
    }
    for policy in ["ok", "error"] {
        let rows = check(&["--broken-only", "--format", "jsonl", "--redirects", policy], 0);
        assert_eq!(rows, "", "{policy}");
    }
    let chapter = check(&["--format", "chapter"], 0);
    assert!(!chapter.contains("*** Broken"), "{chapter}");
}
