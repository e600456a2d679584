//! robots.txt: fetched once per origin, before all pages, and obeyed.

use std::time::Duration;

use crate::common::{class, crawl, options, paths};
use crawl_core::{ErrorClass, Outcome};
use sim_net::{Request, Response, not_found, page, redirect, response, silence, text};

const ROOT: &str = "http://10.0.0.1/";

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A site of forty pages and two private ones, crawled by ten workers.
fn site(request: &Request) -> Response {
    match &*request.path {
        "/" => page(paths(40).into_iter().chain(["/private/x".into(), "/private/y".into()])),
        _ => page([""; 0]),
    }
}

#[test]
fn robots_txt_is_fetched_once_and_before_all_pages() {
    let crawled = crawl(options(&[ROOT]), |request| match &*request.path {
        "/robots.txt" => text("User-agent: *\nDisallow: /private").after(secs(2)),
        _ => site(request),
    });
    assert_eq!(crawled.requests[0].path, "/robots.txt");
    assert_eq!(crawled.num_requests("/robots.txt"), 1);
    assert_eq!(crawled.requests.len(), 1 + 41);
    assert_eq!(crawled.rows.len(), 43);
    for path in ["x", "y"] {
        let row = crawled.row(&format!("{ROOT}private/{path}"));
        assert_eq!((row.outcome, row.status, row.tries), (Outcome::Skipped, None, 0));
        assert_eq!(class(row), Some(ErrorClass::Robots));
        let message = &row.error.as_ref().unwrap().message;
        assert_eq!(message, "http://10.0.0.1/robots.txt does not allow it");
        assert_eq!(row.referrer.as_deref(), Some(ROOT));
    }
}

#[test]
fn roots_obey_robots_txt_and_the_rules_for_our_user_agent_apply() {
    let roots = ["http://10.0.0.1/a", "http://10.0.0.1/b", "http://10.0.0.1/robots.txt"];
    let mut options = options(&roots);
    options.settings.user_agent = "Spider/2.0".to_owned();
    let crawled = crawl(options, |request| match &*request.path {
        "/robots.txt" => text("User-agent: spider\nDisallow: /a\n\nUser-agent: *\nDisallow: /"),
        _ => page([""; 0]),
    });
    assert_eq!(class(crawled.row(roots[0])), Some(ErrorClass::Robots));
    assert_eq!(crawled.row(roots[1]).outcome, Outcome::Page);
    assert_eq!(crawled.row(roots[2]).outcome, Outcome::Other, "a page like any other, too");
    assert_eq!(crawled.num_requests("/robots.txt"), 2);
}

/// Nothing is broken, but nothing was read either.
#[test]
fn a_root_that_redirects_to_a_forbidden_page_is_a_problem() {
    let site = |request: &Request| match &*request.path {
        "/robots.txt" => text("User-agent: *\nDisallow: /private"),
        "/" => redirect("/private"),
        "/page" => page([""; 0]),
        path => panic!("{path}"),
    };
    let crawled = crawl(options(&[ROOT]), site);
    assert_eq!(
        crawled.summary.problem.as_deref(),
        Some(
            "http://10.0.0.1/ redirects to http://10.0.0.1/private, which is not crawled: \
             robots.txt: http://10.0.0.1/robots.txt does not allow it"
        )
    );
    // Beside a page it may be meant.
    let crawled = crawl(options(&[ROOT, "http://10.0.0.1/page"]), site);
    assert_eq!(crawled.summary.problem, None);
    // The URLs of a list are asked, and not crawled.
    let mut list = options(&[ROOT]);
    list.settings.max_depth = Some(0);
    assert_eq!(crawl(list, site).summary.problem, None);
}

#[test]
fn without_the_option_robots_txt_is_not_fetched() {
    let mut options = options(&[ROOT]);
    options.settings.robots = false;
    let crawled = crawl(options, |request| match &*request.path {
        "/robots.txt" => text("User-agent: *\nDisallow: /"),
        _ => site(request),
    });
    assert_eq!(crawled.num_requests("/robots.txt"), 0);
    assert_eq!(crawled.requests.len(), 43);
}

#[test]
fn each_response_for_robots_txt_has_its_meaning() {
    let moved = |n: usize| {
        move |request: &Request| match &*request.path {
            "/robots.txt" => redirect("/robots.txt?1"),
            path if path == format!("/robots.txt?{n}") => text("User-agent: *\nDisallow: /private"),
            path if path.starts_with("/robots.txt?") => {
                let hop: usize = path["/robots.txt?".len()..].parse().unwrap();
                redirect(&format!("/robots.txt?{}", hop + 1))
            }
            _ => site(request),
        }
    };
    type Site = Box<dyn FnMut(&Request) -> Response>;
    let says = |make: fn() -> Response| -> Site {
        Box::new(move |request| match &*request.path {
            "/robots.txt" => make(),
            _ => site(request),
        })
    };
    // The number is how many of the 43 URLs are skipped.
    let cases: [(&str, Site, usize); 9] = [
        ("missing", says(not_found), 0),
        ("forbidden", says(|| response("403 Forbidden", "", "Disallow: /")), 0),
        ("broken", says(|| response("500 Oops", "", "")), 1),
        ("unavailable", says(|| response("503 Service Unavailable", "", "")), 1),
        ("nonsense", says(|| Response { bytes: b"What?".to_vec(), ..Response::default() }), 1),
        ("five redirects", Box::new(moved(5)), 2),
        ("too many redirects", Box::new(moved(99)), 0),
        ("elsewhere", says(|| redirect("http://10.0.0.2/rules")), 0),
        ("html", says(|| page(["/"])), 0),
    ];
    for (name, handler, skipped) in cases {
        let mut options = options(&[ROOT]);
        options.settings.max_redirect = 5;
        let crawled = crawl(options, handler);
        let found = crawled.rows.iter().filter(|row| class(row) == Some(ErrorClass::Robots));
        assert_eq!(found.count(), skipped, "{name}: {:#?}", crawled.rows);
        // A server that is unavailable may have time later.
        let requests = if name == "unavailable" { 4 } else { 1 };
        assert_eq!(crawled.num_requests("/robots.txt"), requests, "{name}");
        let expected = if skipped == 1 { 1 } else { 43 };
        assert_eq!(crawled.rows.len(), expected, "{name}");
        if skipped == 1 {
            let message = &crawled.row(ROOT).error.as_ref().unwrap().message;
            assert!(
                message.starts_with("http://10.0.0.1/robots.txt cannot be fetched ("),
                "{message}"
            );
        }
    }
}

/// The rules in another host's file apply when our robots.txt redirects to it, if that
/// host is in scope. Off the site nothing is asked: there are no rules, and a warning.
#[test]
fn robots_txt_may_redirect_within_the_scope() {
    const OTHER: &str = "http://10.0.0.2/";
    let answer = |request: &Request| match (&*request.host, &*request.path) {
        ("10.0.0.1", "/robots.txt") => redirect("http://10.0.0.2/rules"),
        ("10.0.0.2", "/rules") => text("User-agent: *\nDisallow: /private"),
        ("10.0.0.2", "/robots.txt") => not_found(),
        ("10.0.0.2", "/") => page([""; 0]),
        ("10.0.0.2", path) => panic!("{path}"),
        _ => site(request),
    };
    let crawled = crawl(options(&[ROOT, OTHER]), answer);
    let skipped = crawled.rows.iter().filter(|row| class(row) == Some(ErrorClass::Robots));
    assert_eq!((skipped.count(), crawled.rows.len()), (2, 44));
    assert_eq!(crawled.summary.warnings, [""; 0]);
    let crawled = crawl(options(&[ROOT]), answer);
    assert!(crawled.rows.iter().all(|row| row.outcome == Outcome::Page));
    assert_eq!((crawled.rows.len(), crawled.requests_to("10.0.0.2").len()), (43, 0));
    assert_eq!(
        crawled.summary.warnings,
        [
            "http://10.0.0.1/robots.txt redirects to http://10.0.0.2/rules, which is not requested: everything is allowed"
        ]
    );
}

/// A silent server gets as many tries, with the same timeouts, as for a page.
#[test]
fn a_silent_robots_txt_ends_with_the_deadline() {
    let mut options = options(&[ROOT, "http://10.0.0.2/"]);
    options.settings.max_tries = 2;
    let crawled = crawl(options, |request| match (&*request.host, &*request.path) {
        ("10.0.0.1", "/robots.txt") => silence(),
        ("10.0.0.2", "/robots.txt") => not_found(),
        ("10.0.0.1", path) => panic!("{path}"),
        _ => site(request).after(secs(1)),
    });
    let row = crawled.row(ROOT);
    assert_eq!((row.outcome, class(row)), (Outcome::Failed, Some(ErrorClass::Timeout)));
    let message = &row.error.as_ref().unwrap().message;
    assert_eq!(
        message,
        "the server was silent for 15s (while fetching http://10.0.0.1/robots.txt)"
    );
    assert_eq!(crawled.num_requests("/robots.txt"), 3);
    assert!(crawled.elapsed >= secs(30) && crawled.elapsed < secs(32), "{:?}", crawled.elapsed);
    // Meanwhile the other site had at least nine workers.
    let last = crawled.requests_to("10.0.0.2").last().unwrap().1;
    assert!(last < secs(10), "{last:?}");
}

/// A link to a host that does not answer is broken, and not forbidden by rules.
#[test]
fn a_host_that_refuses_connections_has_failed_rows() {
    let refusing = format!("http://{}/", sim_net::REFUSING_HOST);
    let mut options = options(&[&refusing, &format!("{refusing}x")]);
    options.settings.sitemap = true;
    let crawled = crawl(options, |request| panic!("{request:?}"));
    assert_eq!(crawled.rows.len(), 2);
    for row in &crawled.rows {
        assert_eq!((row.outcome, class(row)), (Outcome::Failed, Some(ErrorClass::Connect)));
        assert!(row.is_broken());
    }
}

/// A host that begins a response exists, but its rules are unknown.
#[test]
fn an_incomplete_robots_txt_forbids_everything() {
    for response in ["HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nDisallow:", "HTTP/1.1 2"] {
        let crawled = crawl(options(&[ROOT]), |_| Response {
            bytes: response.as_bytes().to_vec(),
            ..Response::default()
        });
        let row = crawled.row(ROOT);
        assert_eq!((row.outcome, class(row)), (Outcome::Skipped, Some(ErrorClass::Robots)));
        let message = &row.error.as_ref().unwrap().message;
        assert!(message.starts_with("http://10.0.0.1/robots.txt cannot be fetched (timeout: "));
    }
}

/// The part beyond 500 KiB does not count, nor does it have to be read.
#[test]
fn only_the_beginning_of_a_huge_robots_txt_counts() {
    let mut file = String::from("User-agent: *\nDisallow: /private\n");
    while file.len() < 600 * 1024 {
        file.push_str("# nothing to see here\n");
    }
    file.push_str("Disallow: /\n");
    file.push_str(&"# more\n".repeat(2 << 20));
    let crawled = crawl(options(&[ROOT]), move |request| match &*request.path {
        "/robots.txt" => text(&file),
        _ => site(request),
    });
    let skipped = crawled.rows.iter().filter(|row| class(row) == Some(ErrorClass::Robots));
    assert_eq!((skipped.count(), crawled.rows.len()), (2, 43));
}

/// Each scheme, host and port has its own robots.txt.
#[test]
fn every_origin_has_its_own_robots_txt() {
    let roots = ["http://10.0.0.1/", "http://10.0.0.1:8080/", "http://10.0.0.2/"];
    let crawled = crawl(options(&roots), |request| match (&*request.host, &*request.path) {
        ("10.0.0.1:8080", "/robots.txt") => text("User-agent: *\nDisallow: /"),
        (_, "/robots.txt") => not_found(),
        ("10.0.0.1", "/") => page(["http://10.0.0.1:8080/x", "http://10.0.0.2/x"]),
        _ => page([""; 0]),
    });
    assert_eq!(crawled.num_requests("/robots.txt"), 3);
    for (url, outcome) in [
        ("http://10.0.0.1/", Outcome::Page),
        ("http://10.0.0.1:8080/", Outcome::Skipped),
        ("http://10.0.0.1:8080/x", Outcome::Skipped),
        ("http://10.0.0.2/", Outcome::Page),
        ("http://10.0.0.2/x", Outcome::Page),
    ] {
        assert_eq!(crawled.row(url).outcome, outcome, "{url}");
    }
}

/// The name and password in a root's URL do not appear in the URL of robots.txt.
#[test]
fn credentials_of_a_root_are_not_in_the_url_of_robots_txt() {
    let root = "http://me:secret@10.0.0.1/";
    let crawled = crawl(options(&[root]), |_| text("User-agent: *\nDisallow: /"));
    let message = &crawled.row(root).error.as_ref().unwrap().message;
    assert_eq!(message, "http://10.0.0.1/robots.txt does not allow it");
}
