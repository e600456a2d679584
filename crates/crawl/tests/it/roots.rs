//! Roots that are not the page that was meant: none ends as a silent success.

use demo_site::scripted::{Reply, Request, Server};

use crate::program::{rows, run};

fn site() -> Server {
    let kind = |reply: &mut Reply<'_>, kind: &str, body: &str| {
        reply.status(200, "OK", &[("Content-Type", kind)], body);
    };
    let answer = move |request: &Request, reply: &mut Reply<'_>| {
        let host = request.header("Host").unwrap_or_default();
        let entry = |path: &str| format!("<loc>http://{host}{path}</loc>");
        let sitemap = |root: &str, item: &str, entries: &[String]| {
            let entries = entries.iter().map(|entry| format!("<{item}>{entry}</{item}>"));
            format!("<?xml version='1.0'?><{root}>{}</{root}>", entries.collect::<String>())
        };
        match request.path() {
            "/" => reply.page("<a href=/page>x</a><a href=/sitemap.xml>y</a>"),
            "/page" => reply.page(""),
            "/manual.pdf" => kind(reply, "application/pdf", "PDF"),
            "/feed.xml" => kind(reply, "application/xml", "<rss><channel/></rss>"),
            "/sitemap.xml" => {
                let entries =
                    [entry("/page"), entry("/gone"), "<loc>http://else.test/</loc>".into()];
                kind(reply, "application/xml", &sitemap("urlset", "url", &entries));
            }
            "/index.xml" => {
                let entries = [entry("/sitemap.xml"), entry("/index.xml")];
                kind(reply, "text/xml", &sitemap("sitemapindex", "sitemap", &entries));
            }
            "/broken.xml" => {
                let entries = [entry("/page"), "<loc>x</lok>".into(), entry("/gone")];
                kind(reply, "application/xml", &sitemap("urlset", "url", &entries));
            }
            "/broken-at-once.xml" => kind(reply, "text/xml", "<urlset><url></urlset>"),
            "/broken-index.xml" => {
                let paths = ["/broken.xml", "/page", "/home", "/page.php", "/typed", "/untyped"];
                kind(reply, "text/xml", &sitemap("sitemapindex", "sitemap", &paths.map(entry)));
            }
            "/home" => reply.status(302, "Found", &[("Location", "/")], ""),
            "/page.php" => kind(reply, "text/html", &sitemap("urlset", "url", &[entry("/1")])),
            "/typed" => {
                let text = sitemap("urlset", "url", &[entry("/2")]);
                kind(reply, "application/octet-stream", &text);
            }
            "/untyped" => {
                let text = sitemap("urlset", "url", &[entry("/3")]);
                reply.status(200, "OK", &[], &text);
            }
            "/1" | "/2" | "/3" => reply.page(""),
            "/list.txt" => kind(reply, "text/plain", &format!("http://{host}/gone\n")),
            _ => reply.status(404, "Not Found", &[], ""),
        }
    };
    Server::start(answer).unwrap()
}

#[test]
fn a_root_on_another_host_is_a_problem_unless_it_is_to_be_followed() {
    let there = site();
    let target = there.url("/");
    let location = target.clone();
    let here = Server::start(move |request, reply| match request.path() {
        "/" => reply.status(301, "Moved", &[("Location", "/2")], ""),
        "/2" => reply.status(301, "Moved", &[("Location", &location)], ""),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let root = here.url("/");
    let output = run(&[&root]).expect_code(3);
    let said = format!("{} redirects to {target}, which is not part of the site", here.url("/2"));
    assert!(output.stderr.contains(&said), "{}", output.stderr);
    assert!(output.stderr.contains("--follow-root"), "{}", output.stderr);
    let json = run(&[&root, "--format", "json"]).expect_code(3).stdout;
    assert!(json.contains(&said), "{json}");
    assert_eq!(there.requests(), 0);
    let output = run(&[&root, "--follow-root", "--format", "jsonl"]).expect_code(0);
    assert_eq!(output.stderr, "");
    assert!(rows(&output.stdout).contains_key(&there.url("/page")));
    // The URLs of a list are asked, and not crawled.
    run(&[&root, "--max-depth", "0"]).expect_code(0);
}

#[test]
fn a_root_without_links_is_a_problem() {
    let site = site();
    for (path, kind) in [("/manual.pdf", "application/pdf"), ("/feed.xml", "application/xml")] {
        let root = site.url(path);
        let stderr = run(&[&root]).expect_code(3).stderr;
        let said =
            format!("{root} is {kind}, not a page or a sitemap, so it has no links to check");
        assert!(stderr.contains(&said), "{stderr}");
        run(&[&root, "--max-depth", "0"]).expect_code(0);
        // Beside a page it may be meant.
        run(&[&root, &site.url("/page")]).expect_code(0);
    }
}

/// A sitemap is read, although nothing that it names is crawled.
#[test]
fn a_sitemap_of_another_site_is_said_to_be_one() {
    let site = site();
    let root = site.url("/sitemap.xml");
    let stderr = run(&[&root, "--include", "no-such-page"]).expect_code(3).stderr;
    let said = format!("{root} is application/xml, and has no URL that belongs to the crawl");
    assert!(stderr.contains(&said), "{stderr}");
}

#[test]
fn a_url_that_only_a_sitemap_names_is_said_to_be_one() {
    let site = site();
    let report = run(&["--sitemap", &site.url("/page")]).expect_code(1).stdout;
    let expected = format!("404 Not Found  {}\n    a sitemap lists it\n", site.url("/gone"));
    assert!(report.contains(&expected), "{report}");
}

#[test]
fn a_root_that_is_a_sitemap_is_read() {
    let site = site();
    for path in ["/sitemap.xml", "/index.xml"] {
        let output = run(&[&site.url(path), "--all"]).expect_code(1);
        let expected =
            format!("404 Not Found  {}\n    on {}", site.url("/gone"), site.url("/sitemap.xml"));
        assert!(output.stdout.contains(&expected), "{path}: {}", output.stdout);
        assert!(output.stdout.contains(&format!("200  {}\n", site.url("/page"))), "{path}");
        let other = "  -  http://else.test/  not checked: on other sites (--external)\n";
        assert!(output.stdout.contains(other), "{path}: {}", output.stdout);
    }
    run(&[&site.url("/list.txt")]).expect_code(1);
    // One that is only linked to is a file like others.
    run(&[&site.url("/")]).expect_code(0);
    assert_eq!(site.hits("/gone"), 3);
}

/// It must not pass for whole: what stands behind the mistake is not read.
#[test]
fn a_root_that_is_a_sitemap_with_a_mistake_says_so() {
    let site = site();
    let (root, at_once) = (site.url("/broken.xml"), site.url("/broken-at-once.xml"));
    let mistake = "cannot be decoded: XML: an end tag without its start tag";
    let output = run(&[&root, "--all"]).expect_code(0);
    assert!(output.stdout.contains(&site.url("/page")), "{}", output.stdout);
    assert!(output.stderr.contains(&format!("sitemap {root}: {mistake}")), "{}", output.stderr);
    let stderr = run(&[&at_once]).expect_code(3).stderr;
    assert!(stderr.contains(&format!("sitemap {at_once}: {mistake}")), "{stderr}");
    assert!(!stderr.contains("no sitemap"), "{stderr}");
    // Nothing is missed if no link is followed, and another file in XML may be meant.
    let stderr = run(&[&root, "--max-depth=0"]).expect_code(0).stderr;
    assert!(!stderr.contains("decode"), "{stderr}");
    assert_eq!(run(&[&site.url("/feed.xml"), &site.url("/page")]).expect_code(0).stderr, "");
}

/// Many programs that write one send the type of a page. A page is still one, and not missed
/// if a sitemap that is gone redirects to it.
#[test]
fn a_sitemap_that_an_index_names_is_read_whatever_its_type() {
    let site = site();
    let output = run(&[&site.url("/broken-index.xml"), "--format=jsonl"]).expect_code(0);
    let rows = rows(&output.stdout);
    let outcome = |path: &str| rows[&site.url(path)]["outcome"].as_str().unwrap().to_owned();
    for (path, expected) in [
        ("/1", "page"),
        ("/2", "page"),
        ("/3", "page"),
        ("/page.php", "other"),
        ("/typed", "other"),
        ("/untyped", "other"),
        ("/", "page"),
        ("/page", "page"),
        ("/sitemap.xml", "other"),
    ] {
        assert_eq!(outcome(path), expected, "{path}");
    }
    let none = "cannot be decoded: it has neither a urlset nor a sitemapindex";
    for (path, problem) in [("/", none), ("/broken.xml", "cannot be decoded: XML: an end tag")] {
        let said = format!("sitemap {}: {problem}", site.url(path));
        assert!(output.stderr.contains(&said), "{}", output.stderr);
    }
}

/// The links of a page are judged, and those of its neighbours are not looked at; neither
/// are their images.
#[test]
fn one_page_is_checked_with_its_links_and_nothing_behind_them() {
    let site = Server::start(|request, reply| match request.path() {
        "/" => {
            reply.page("<a href=/a>a</a><a href=/gone>g</a><img src=/i.png><a href=/moved>m</a>")
        }
        "/a" => reply.page("<a href=/b>b</a><img src=/none.png>"),
        "/moved" => reply.status(302, "Found", &[("Location", "/to")], ""),
        "/to" | "/i.png" => reply.page(""),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let arguments = ["--one-page", "--format", "jsonl", &site.url("/")];
    let output = run(&arguments).expect_code(1);
    let urls: Vec<String> = rows(&output.stdout).into_keys().collect();
    let expected = ["/", "/a", "/gone", "/i.png", "/moved", "/to"].map(|path| site.url(path));
    assert_eq!((urls, &*output.stderr), (expected.to_vec(), ""));
    let text = run(&["--one-page", &site.url("/")]).expect_code(1).stdout;
    assert!(
        text.ends_with("Checked 6 URLs: 1 is broken (1 link leads to it); 1 redirect.\n"),
        "{text}"
    );
}
