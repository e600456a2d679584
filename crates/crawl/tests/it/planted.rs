//! A documentation tree with planted broken links: each of them is reported with its
//! page and line, and no other link is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crawl_core::{Check, CrawlSummary, Options, Row};
use demo_site::scripted::{Reply, Request, Server};
use serde_json::Value;

use crate::program::{rows, run};

/// Time limit of a crawl, longer than any of them takes unless it hangs.
const WATCHDOG: Duration = Duration::from_secs(60);
const CHAPTERS: usize = 8;
const SECTIONS: usize = 12;

/// A planted broken link and its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Planted {
    /// The broken URL, as in its row.
    url: String,
    /// The status and the class of the error in its row.
    how: String,
    /// `page:line element text`
    place: String,
}

/// The lines of each page, by its path.
type Tree = BTreeMap<String, Vec<String>>;

fn section_path(chapter: usize, section: usize) -> String {
    format!("/manual/chapter-{chapter}/section-{section}.html")
}

/// Returns a manual without broken links.
fn tree(other_host: &str) -> Tree {
    let mut tree = Tree::new();
    let mut contents = head("Contents", "");
    for chapter in 0..CHAPTERS {
        contents.push(format!("<h2 id=\"chapter-{chapter}\">Chapter {chapter}</h2>"));
        for section in 0..SECTIONS {
            let path = section_path(chapter, section);
            contents.push(format!("<li><a href=\"{path}#summary\">Section {section}</a>"));
            tree.insert(path, section_page(chapter, section, other_host));
        }
    }
    tree.insert("/manual/".to_owned(), contents);
    tree
}

fn head(title: &str, up: &str) -> Vec<String> {
    vec![
        "<!doctype html>".to_owned(),
        format!("<html><head><title>{title}</title>"),
        format!("<link rel=\"stylesheet\" href=\"{up}style.css\">"),
        format!("<script src=\"{up}search.js\"></script>"),
        "</head><body>".to_owned(),
    ]
}

fn section_page(chapter: usize, section: usize, other_host: &str) -> Vec<String> {
    let mut page = head("Section", "../");
    page.push("<a href=\"../\">Contents</a> <a href=\"#top\">Top</a>".to_owned());
    page.push(format!("<a href='/manual/#chapter-{chapter}'>This chapter</a>"));
    page.push("<h1 id=summary>Summary</h1>".to_owned());
    for n in 0..10 + section {
        let (other, place) = (section_path((chapter + n) % CHAPTERS, n % SECTIONS), n % 10);
        page.push(format!("<p id=\"paragraph {n}\">A paragraph \u{2014} see <a"));
        page.push(format!("  href=\"{other}#paragraph%20{place}\">another</a>."));
        page.push("<img src=../figures/1.png srcset='../figures/2.png 2x' alt=figure>".to_owned());
    }
    page.push(format!("<a href='{other_host}/fine'>elsewhere</a>"));
    page.push(format!("<a href='{other_host}/no-head'>elsewhere, by GET</a>"));
    page.push(format!("<a href='{other_host}/refused'>elsewhere, not for crawlers</a>"));
    page.push("<a href='/moved'>moved</a> <a name=end>The end</a> <a href=#end>End</a>".to_owned());
    page
}

/// Plants broken links in the tree, and returns them.
fn plant(tree: &mut Tree, site: &str, other_host: &str) -> BTreeSet<Planted> {
    let mut planted = BTreeSet::new();
    let mut put = |chapter: usize, line: usize, html: &str, url: &str, how: &str, what: &str| {
        let path = section_path(chapter, 3);
        let page = tree.get_mut(&path).unwrap();
        page.insert(line - 1, html.to_owned());
        let place = format!("{site}{path}:{line} {what}");
        planted.insert(Planted { url: url.to_owned(), how: how.to_owned(), place });
    };
    let here = format!("{site}/manual/chapter-1");
    // Planted from the first line to the last, so that earlier ones keep their
    // lines. The paragraphs begin on line 9.
    let gone = format!("{here}/gone.html");
    put(1, 9, "<a href=gone.html>a <em>page</em></a>", &gone, "404", "a a page");
    let relative = "see <a href='../chapter-1/./gone.html#x'>the same</a>";
    put(2, 8, relative, &gone, "404", "a the same");
    let silent = format!("{site}/silent");
    put(1, 10, "<a href=/silent>silence</a>", &silent, "- closed", "a silence");
    let image = format!("{site}/manual/figures/3.png");
    put(1, 11, "<p>\u{fc} <img src=../figures/3.png alt=figure>", &image, "404", "img ");
    let choice = "<img src=../figures/1.png srcset='../figures/4.png 2x'>";
    put(1, 12, choice, &format!("{site}/manual/figures/4.png"), "404", "img ");
    let style = format!("{site}/manual/print.css");
    put(1, 13, "<link rel=stylesheet href=../print.css>", &style, "404", "link ");
    let css = "<style>p { background: url(/back.png) }</style>";
    put(1, 14, css, &format!("{site}/back.png"), "404", "style ");
    let script = format!("{site}/manual/menu.js");
    put(1, 15, "<script src=../menu.js></script>", &script, "404", "script ");
    let other = format!("{}#paragraph-99", section_path(5, 5));
    let fragment = format!("{site}{other}");
    let html = format!("<a href='{other}'>a paragraph</a>");
    put(1, 16, &html, &fragment, "200 fragment", "a a paragraph");
    put(3, 9, &html, &fragment, "200 fragment", "a a paragraph");
    let own = format!("{here}/section-3.html#nowhere");
    put(1, 17, "<a href=#nowhere>below</a>", &own, "200 fragment", "a below");
    let carried = format!("{site}/moved#old");
    put(1, 18, "<a href=/moved#old>an old place</a>", &carried, "200 fragment", "a an old place");
    let away = format!("{other_host}/gone");
    put(1, 19, &format!("<a href={away}>away</a>"), &away, "404", "a away");
    let withdrawn = format!("{other_host}/withdrawn");
    put(1, 20, &format!("<a href={withdrawn}>no</a>"), &withdrawn, "410", "a no");
    let closed_port = "http://127.0.0.1:1/";
    put(1, 21, &format!("<a href={closed_port}>nobody</a>"), closed_port, "- connect", "a nobody");
    // Links over two redirects each, within the site and on the other host.
    let lost = format!("{site}/lost");
    put(1, 22, "<a href=/to-lost>lost</a>", &lost, "404", "a lost");
    let html = format!("<a href={other_host}/to-gone>gone</a>");
    put(4, 9, &html, &away, "404", "a gone");
    put(1, 23, "<map><area href=/lost alt='a region'></map>", &lost, "404", "area a region");
    planted
}

fn serve_tree(tree: &Tree, request: &Request, reply: &mut Reply<'_>) {
    let found = |media_type: &str, reply: &mut Reply<'_>| {
        reply.status(200, "OK", &[("Content-Type", media_type)], "content");
    };
    let moved = |to: &str, reply: &mut Reply<'_>| {
        reply.status(301, "Moved Permanently", &[("Location", to)], "");
    };
    match request.path() {
        "/manual/style.css" => found("text/css", reply),
        "/manual/search.js" => found("text/javascript", reply),
        "/manual/figures/1.png" | "/manual/figures/2.png" => found("image/png", reply),
        "/moved" => moved("/manual/", reply),
        "/to-lost" => moved("/nearly-lost", reply),
        "/nearly-lost" => moved("/lost", reply),
        "/silent" => reply.close(),
        path => match tree.get(path) {
            Some(lines) => reply.page(lines.join("\n")),
            None => reply.status(404, "Not Found", &[], "nothing"),
        },
    }
}

fn serve_other_host(request: &Request, reply: &mut Reply<'_>) {
    let is_head = request.method == "HEAD";
    match request.path() {
        "/fine" if is_head => {
            reply.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\n")
        }
        "/no-head" if is_head => reply.status(405, "No", &[("Content-Length", "0")], ""),
        // A large body, which the crawler should not read to its end.
        "/no-head" => reply.status(200, "OK", &[], vec![b' '; 1_000_000]),
        "/withdrawn" => reply.status(410, "Gone", &[], ""),
        "/refused" => reply.status(403, "Forbidden", &[], ""),
        "/to-gone" => reply.status(302, "Found", &[("Location", "/nearly")], ""),
        "/nearly" => reply.status(302, "Found", &[("Location", "/gone")], ""),
        _ => reply.status(404, "Not Found", &[], ""),
    }
}

/// Returns the planted links, a server of the tree, and a server of another host.
fn servers() -> (BTreeSet<Planted>, Server, Server) {
    let other_host = Server::start(serve_other_host).unwrap();
    let away = other_host.url("");
    // The planted links contain the server's address, known only after its start.
    let tree = Arc::new(std::sync::Mutex::new(tree(&away)));
    let served = Arc::clone(&tree);
    let site =
        Server::start(move |request, reply| serve_tree(&served.lock().unwrap(), request, reply));
    let site = site.unwrap();
    let planted = plant(&mut tree.lock().unwrap(), &site.url(""), &away);
    (planted, site, other_host)
}

/// Returns the status and the class of the error as text.
fn how(status: Option<u64>, class: Option<&str>) -> String {
    let status = status.map_or("-".to_owned(), |status| status.to_string());
    class.map_or(status.clone(), |class| format!("{status} {class}"))
}

/// Returns the places of the links to a URL, and of the links to URLs that redirect
/// to it.
fn places(summary: &CrawlSummary, url: &str) -> Vec<String> {
    let (first, _) = summary.admission.referrers(url);
    let places = first.iter().flat_map(|referrer| match referrer.context {
        Some(context) => {
            let (line, element) = (context.position.line, context.element.name());
            vec![format!("{}:{line} {element} {}", referrer.url, context.text)]
        }
        None => places(summary, referrer.url),
    });
    places.collect()
}

fn crawl(options: Options) -> (Vec<Row>, CrawlSummary) {
    let (sender, rows) = channel();
    let (done, summary) = channel();
    thread::spawn(move || {
        let sink = Box::new(move |row| sender.send(row).unwrap());
        done.send(stage3_queue::crawl(options, sink).unwrap()).unwrap();
    });
    let summary = summary.recv_timeout(WATCHDOG).expect("the crawl hangs");
    (rows.iter().collect(), summary)
}

#[test]
fn every_planted_link_is_reported_with_its_place_and_no_other() {
    let (planted, site, other_host) = servers();
    let mut options = Options::new(vec![site.url("/manual/").parse().unwrap()]);
    options.settings.check = Check::ALL;
    options.settings.external = true;
    options.settings.max_tries = 1;
    let (rows, summary) = crawl(options);
    let mut found = BTreeSet::new();
    for row in rows.iter().filter(|row| row.is_broken()) {
        let class = row.error.as_ref().map(|error| error.class.name());
        for place in places(&summary, &row.url) {
            let how = how(row.status.map(u64::from), class);
            assert!(found.insert(Planted { url: row.url.to_string(), how, place }));
        }
    }
    assert_eq!(found, planted);
    assert_eq!(rows.len() as u64, summary.done);
    // The URL that refuses `HEAD` got one `HEAD` and one `GET`.
    assert_eq!((other_host.hits("/fine"), other_host.hits("/no-head")), (1, 2));
    // `/silent` closes the connection without a response, so it may be asked twice:
    // once on an idle connection, and once on a new one.
    let asked_twice = |(path, hits): &(&String, &u64)| **hits > 1 && *path != "/silent";
    let hits = site.all_hits();
    assert_eq!(hits.iter().filter(asked_twice).collect::<Vec<_>>(), []);
}

const EVERYTHING: [&str; 5] =
    ["--external", "--check", "links,images,scripts,styles,fragments", "--max-tries", "1"];

#[test]
fn the_program_reports_the_same_links() {
    let (planted, site, _other_host) = servers();
    let root = site.url("/manual/");
    let output = run(&[&EVERYTHING[..], &["--format", "jsonl", &root]].concat()).expect_code(1);
    assert_eq!(output.stderr, "");
    let rows = rows(&output.stdout);
    let is_broken = |row: &&Value| {
        matches!(row["outcome"].as_str(), Some("http_error" | "failed"))
            && row["verdict"] != "blocked"
    };
    let found: BTreeSet<(String, String)> = rows
        .values()
        .filter(is_broken)
        .map(|row| {
            let how = how(row["status"].as_u64(), row["error"]["class"].as_str());
            (row["url"].as_str().unwrap().to_owned(), how)
        })
        .collect();
    let expected = planted.into_iter().map(|planted| (planted.url, planted.how));
    assert_eq!(found, expected.collect());
}

/// Each broken link is listed with its page and line, also over redirects.
#[test]
fn the_report_names_page_and_line_of_each_broken_link() {
    let (planted, site, _other_host) = servers();
    let root = site.url("/manual/");
    let wishes = ["--referrers", "all", &*root];
    let report = run(&[&EVERYTHING[..], &wishes].concat()).expect_code(1).stdout;
    let (mut found, mut target) = (BTreeSet::new(), "");
    for line in report.lines().take_while(|line| !line.starts_with("Checked ")) {
        if let Some(place) = line.strip_prefix("    on ") {
            let (page, line) = place.split_once(", line ").unwrap();
            let line = line.split([':', ',']).next().unwrap();
            found.insert((target.to_owned(), format!("{page}:{line}")));
        } else if let Some((_, url)) = line.split_once("  ").filter(|(kind, _)| !kind.is_empty()) {
            target = url;
        }
    }
    let place = |planted: &Planted| planted.place.split(' ').next().unwrap().to_owned();
    let expected = planted.iter().map(|planted| (planted.url.clone(), place(planted)));
    assert_eq!(found, expected.collect());
}
