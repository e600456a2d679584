//! Responses that are not as whole as they should be: what browsers show is fine, and the
//! links that have arrived are checked.

use demo_site::scripted::{Reply, Server};
use serde_json::Value;

use crate::program::{Scratch, run};

const HTML: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

/// Crawls a site whose only page, and each of those it links to, has this answer, and returns
/// the report. The page has a link to `/gone` in it.
fn report_of(arguments: &[&str], answer: impl Fn(&mut Reply<'_>) + Send + Sync + 'static) -> Value {
    let site = Server::start(move |request, reply| match request.path() {
        "/" => reply.page("<a href=/page#there>x</a><a href=/page#beyond>x</a>"),
        "/page" => answer(reply),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let root = site.url("/");
    let fixed = ["--format", "json", "--check", "+fragments", "--max-tries", "1", &root];
    let report = run(&[&fixed, arguments].concat()).stdout;
    let mut report: Value = serde_json::from_str(&report.replace(&site.url(""), "")).unwrap();
    let urls: Vec<Value> =
        report["broken"].as_array().unwrap().iter().map(|broken| broken["url"].clone()).collect();
    report["broken"] = urls.into();
    report
}

#[test]
fn a_page_over_the_size_limit_is_read_to_the_limit() {
    let long = format!("<p id=there><a href=/gone>x</a>{}<p id=beyond>", " ".repeat(2 << 20));
    let html = long.clone();
    let report = report_of(&["--max-body-size", "1M"], move |reply| reply.page(&html));
    assert_eq!(report["broken"], serde_json::json!(["/gone"]));
    assert_eq!(report["warnings"], serde_json::json!(["/page: only the first 1 MB were read"]));
    assert_eq!(report["unchecked_fragments"], 1);

    let folder = Scratch::new();
    std::fs::create_dir(folder.path()).unwrap();
    for (name, text) in [
        ("index.html", "<a href=a.html>x</a><a href=b.md>x</a>"),
        ("a.html", &*long),
        ("b.md", &*format!("[x](gone-2)\n{}", "words\n".repeat(400_000))),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let arguments = [folder.as_str(), "--max-body-size", "1M", "--format", "json"];
    let report = run(&arguments).expect_code(1).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["broken"].as_array().unwrap().len(), 2, "{report}");
    assert_eq!(report["warnings"].as_array().unwrap().len(), 2, "{report}");
}

#[test]
fn what_arrived_of_a_cut_page_is_checked() {
    let report = report_of(&[], |reply| {
        let head = format!("{HTML}Content-Length: 999\r\n\r\n");
        // Half a link, and half an address in a style sheet, are none.
        reply.send(head + "<p id=there><a href=/gone>x</a><style>a { b: url(/hal");
        reply.close();
    });
    assert_eq!(report["broken"], serde_json::json!(["/gone", "/page"]));
    assert_eq!(report["unchecked_fragments"], 1);
    let report = report_of(&[], |reply| {
        let head = format!("{HTML}Content-Length: 999\r\n\r\n");
        reply.send(head + "<a href=/gone>x</a><a href=/hal");
        reply.close();
    });
    assert_eq!(report["broken"], serde_json::json!(["/gone", "/page"]));
    assert_eq!(report["unchecked_fragments"], 2);
}

/// A link is not a redirect, even on a page that is broken.
#[test]
fn a_redirect_to_a_cut_page_that_links_back_is_not_a_circle() {
    let site = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/cut>x</a><a href=/moved>x</a>"),
        "/cut" => {
            reply.send(format!("{HTML}Content-Length: 999\r\n\r\n<a href=/moved>x</a>"));
            reply.close();
        }
        _ => reply.status(302, "Found", &[("Location", "/cut")], ""),
    })
    .unwrap();
    let output = run(&["-j", "1", "--max-tries", "1", &site.url("/")]).expect_code(1);
    let text = output.stdout.replace(&site.url(""), "");
    assert!(text.contains("/cut") && !text.contains("redirect loop"), "{text}");
}

#[test]
fn a_redirect_status_without_location_may_be_a_page() {
    let report = report_of(&[], |reply| {
        let html = "<p id=there><a href=/gone>x</a>";
        reply.status(308, "Permanent Redirect", &[("Content-Type", "text/html")], html);
    });
    assert_eq!(report["broken"], serde_json::json!(["/gone", "/page#beyond"]));
    let warning = "/page: the server answers 308 without saying where to (Location): its page was \
                   taken instead";
    assert_eq!(report["warnings"], serde_json::json!([warning]));
}
