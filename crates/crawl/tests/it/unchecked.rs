//! What the last line says of URLs that were not checked, and when that is the result.

use std::sync::Mutex;

use demo_site::scripted::{Reply, Request, Server};
use serde_json::Value;

use crate::program::{ProgramOutput, Running, Scratch, program};

fn serve(handler: impl Fn(&Request, &mut Reply<'_>) + Send + Sync + 'static) -> Server {
    Server::start(handler).unwrap()
}

/// Runs the program to its end. Unlike most tests, it obeys robots.
fn crawl(arguments: &[&str]) -> ProgramOutput {
    Running::start(program(arguments)).wait()
}

fn not_found(reply: &mut Reply<'_>) {
    reply.status(404, "Not Found", &[], "");
}

/// A page that links to one URL of each kind.
const PAGE: &str = "<a href=/fine>fine</a><a href=http://other.test/>other</a>\
    <a href=http://other.test/#part>again</a><a rel=nofollow href=/hidden>hidden</a>\
    <a href=mailto:me@a.test>mail</a><a href=javascript:go()>go</a>\
    <a href=/private/1>private</a><a href=/paper.pdf>paper</a>\
    <a href=/fine#/route>route</a><a href=/deep>deep</a>";

fn site() -> Server {
    serve(|request, reply| match request.path() {
        "/" => reply.page(PAGE),
        "/fine" => reply.page("<a rel=nofollow href=/deep>deep</a>"),
        "/deep" => reply.page("<a href=/deeper>deeper</a>"),
        "/paper.pdf" => reply.status(200, "OK", &[("Content-Type", "application/pdf")], "x"),
        _ => not_found(reply),
    })
}

const ARGUMENTS: [&str; 5] =
    ["--exclude=/private/", "--check=fragments", "--max-depth=1", "--referrers=all", "-q"];

#[test]
fn the_last_line_counts_what_was_not_checked() {
    let site = site();
    let output = crawl(&[&ARGUMENTS[..], &["--format=text", &site.url("/")]].concat());
    assert_eq!(
        output.expect_code(0).stdout,
        "Checked 4 URLs: nothing that was checked is broken; 1 URL beyond --max-depth; not \
         checked: 1 on other sites (--external), 1 marked nofollow (--no-robots), 1 excluded, 1 \
         with other schemes, 1 for scripts (#/), the links in 1 unread file.\n"
    );
}

#[test]
fn the_urls_that_were_not_checked_are_listed() {
    let site = site();
    let arguments = ["--all", "--format=text", &site.url("/")];
    let all = crawl(&[&ARGUMENTS[..], &arguments].concat()).expect_code(0).stdout;
    for (url, reason) in [
        ("http://other.test/".to_owned(), "on other sites (--external)"),
        (site.url("/hidden"), "marked nofollow (--no-robots)"),
        (site.url("/private/1"), "excluded"),
        ("mailto:me@a.test".to_owned(), "with other schemes"),
        (site.url("/fine#/route"), "for scripts (#/)"),
        (site.url("/deeper"), "beyond --max-depth"),
    ] {
        let line = format!("  -  {url}  not checked: {reason}\n");
        assert!(all.contains(&line), "{line}{all}");
    }
    let json = crawl(&[&ARGUMENTS[..], &["--format=json", &site.url("/")]].concat());
    let json: Value = serde_json::from_str(&json.expect_code(0).stdout).unwrap();
    for (reason, url) in [
        ("other_site", "http://other.test/".to_owned()),
        ("nofollow", site.url("/hidden")),
        ("type", site.url("/paper.pdf")),
        ("depth", site.url("/deeper")),
    ] {
        let expected = serde_json::json!({ "count": 1, "urls": [url] });
        assert_eq!(json["unchecked"][reason], expected, "{reason}");
    }
    assert_eq!(json["unchecked"]["limit"]["count"], 0);
}

/// A crawl that goes on knows what the first run left out.
#[test]
fn a_resumed_crawl_counts_the_same() {
    let (site, scratch) = (site(), Scratch::new());
    let state = scratch.as_str();
    let run = |more: &[&str]| {
        let arguments = [&ARGUMENTS[..], &["--format=text", "--state", state], more];
        crawl(&[&arguments.concat()[..], &[&site.url("/")]].concat()).expect_code(0).stdout
    };
    let cut = run(&["--max-pages=2"]);
    assert!(cut.contains("left to do: --max-pages was reached"), "{cut}");
    let whole = crawl(&[&ARGUMENTS[..], &["--format=text", &site.url("/")]].concat());
    assert_eq!(run(&[]), whole.stdout);
}

#[test]
fn a_site_that_keeps_robots_from_all_its_links_is_not_fine() {
    const META: &str = "<meta name=robots content='noindex, nofollow'>";
    let site = serve(|request, reply| match request.path() {
        "/meta" => reply.page(format!("{META}<a href=/gone>x</a>")),
        "/header" => {
            let headers = [("Content-Type", "text/html"), ("X-Robots-Tag", "nofollow")];
            reply.status(200, "OK", &headers, "<a href=/gone>x</a>");
        }
        "/rel" => reply.page("<a rel='nofollow noopener' href=/gone>x</a>"),
        "/image" => reply.page(format!("{META}<a href=/gone>x</a><img src=/image.png>")),
        "/image.png" => reply.status(200, "OK", &[("Content-Type", "image/png")], "x"),
        "/disallowed" => reply.page("<a href=/private>x</a>"),
        "/robots.txt" => reply.status(200, "OK", &[], "User-agent: *\nDisallow: /private"),
        _ => not_found(reply),
    });
    for path in ["/meta", "/header", "/rel", "/disallowed"] {
        let output = crawl(&[&site.url(path)]).expect_code(3);
        assert!(output.stderr.contains("no link of the site was checked"), "{}", output.stderr);
        assert!(output.stderr.contains("--no-robots"), "{}", output.stderr);
        crawl(&["--no-robots", &site.url(path)]).expect_code(1);
        // A limit that the user has set is not a failure.
        crawl(&["--max-depth=0", &site.url(path)]).expect_code(0);
    }
    let output = crawl(&[&site.url("/image")]).expect_code(0);
    assert!(output.stdout.contains("1 marked nofollow (--no-robots)"), "{}", output.stdout);
}

/// They are never followed: to ask whether they are there is what `--external` is for.
#[test]
fn nofollow_links_to_other_sites_are_checked() {
    let asked = std::sync::Arc::new(Mutex::new(Vec::new()));
    let log = std::sync::Arc::clone(&asked);
    let other = serve(move |request, reply| {
        log.lock().unwrap().push(request.path().to_owned());
        not_found(reply);
    });
    let gone = other.url("/gone");
    let site = serve(move |request, reply| match request.path() {
        "/" => reply.page(format!("<a rel='nofollow ugc' href={gone}>x</a>")),
        _ => not_found(reply),
    });
    let output = crawl(&["--external", &site.url("/")]).expect_code(1);
    assert!(output.stdout.contains("404 Not Found"), "{}", output.stdout);
    assert!(asked.lock().unwrap().contains(&"/gone".to_owned()));
}

/// The rules for robots protect servers, and there is none.
#[test]
fn nofollow_does_not_apply_to_files() {
    let page = "<meta name=robots content=nofollow><a href=nope>x</a><a rel=nofollow href=no>y</a>";
    let file = Scratch::with_ending(".html");
    file.write(page);
    let output = crawl(&[file.as_str()]).expect_code(1);
    assert!(output.stdout.contains("2 are broken"), "{}", output.stdout);
}

#[test]
fn a_route_in_a_file_has_the_path_of_the_file() {
    let file = Scratch::with_ending(".html");
    file.write("<a href='#/route'>x</a>");
    let arguments = ["--all", "--check=fragments", file.as_str()];
    let output = crawl(&arguments).expect_code(0).stdout;
    assert!(output.contains(".html#/route  not checked: for scripts (#/)\n"), "{output}");
    assert!(!output.contains("files.invalid"), "{output}");
}
