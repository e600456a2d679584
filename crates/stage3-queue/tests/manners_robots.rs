//! robots.txt: asked for once, first, and obeyed.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::Duration;

use common::village::{Answer, Asked, answer, crawl, not_found, page, redirect, silence, text};
use common::{class, options, paths};
use crawl_core::{ErrorClass, Outcome};

const ROOT: &str = "http://10.0.0.1/";

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Forty pages, some of them private, found by ten workers at once.
fn site(asked: &Asked) -> Answer {
    match &*asked.path {
        "/" => page(paths(40).into_iter().chain(["/private/x".into(), "/private/y".into()])),
        _ => page([""; 0]),
    }
}

#[test]
fn it_is_asked_for_once_and_before_all_others() {
    let crawled = crawl(options(&[ROOT]), |asked| match &*asked.path {
        "/robots.txt" => text("User-agent: *\nDisallow: /private").after(secs(2)),
        _ => site(asked),
    });
    assert_eq!(crawled.asked[0].path, "/robots.txt");
    assert_eq!(crawled.times("/robots.txt"), 1);
    assert_eq!(crawled.asked.len(), 1 + 41);
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
fn roots_are_asked_about_and_our_name_counts() {
    let roots = ["http://10.0.0.1/a", "http://10.0.0.1/b", "http://10.0.0.1/robots.txt"];
    let mut options = options(&roots);
    options.user_agent = "Spider/2.0".to_owned();
    let crawled = crawl(options, |asked| match &*asked.path {
        "/robots.txt" => text("User-agent: spider\nDisallow: /a\n\nUser-agent: *\nDisallow: /"),
        _ => page([""; 0]),
    });
    assert_eq!(class(crawled.row(roots[0])), Some(ErrorClass::Robots));
    assert_eq!(crawled.row(roots[1]).outcome, Outcome::Page);
    assert_eq!(crawled.row(roots[2]).outcome, Outcome::Other, "a page like any other, too");
    assert_eq!(crawled.times("/robots.txt"), 2);
}

#[test]
fn who_does_not_want_to_know_does_not_ask() {
    let mut options = options(&[ROOT]);
    options.robots = false;
    let crawled = crawl(options, |asked| match &*asked.path {
        "/robots.txt" => text("User-agent: *\nDisallow: /"),
        _ => site(asked),
    });
    assert_eq!(crawled.times("/robots.txt"), 0);
    assert_eq!(crawled.asked.len(), 43);
}

#[test]
fn what_an_answer_means() {
    let moved = |n: usize| {
        move |asked: &Asked| match &*asked.path {
            "/robots.txt" => redirect("/robots.txt?1"),
            path if path == format!("/robots.txt?{n}") => text("User-agent: *\nDisallow: /private"),
            path if path.starts_with("/robots.txt?") => {
                let hop: usize = path["/robots.txt?".len()..].parse().unwrap();
                redirect(&format!("/robots.txt?{}", hop + 1))
            }
            _ => site(asked),
        }
    };
    type Site = Box<dyn FnMut(&Asked) -> Answer>;
    let says = |make: fn() -> Answer| -> Site {
        Box::new(move |asked| match &*asked.path {
            "/robots.txt" => make(),
            _ => site(asked),
        })
    };
    // How many of the 43 URLs are skipped.
    let cases: [(&str, Site, usize); 9] = [
        ("missing", says(not_found), 0),
        ("forbidden", says(|| answer("403 Forbidden", "", "Disallow: /")), 0),
        ("broken", says(|| answer("500 Oops", "", "")), 1),
        ("unavailable", says(|| answer("503 Service Unavailable", "", "")), 1),
        ("nonsense", says(|| Answer { after: secs(0), bytes: b"What?".to_vec() }), 1),
        ("five redirects", Box::new(moved(5)), 2),
        ("too many redirects", Box::new(moved(99)), 0),
        ("elsewhere", says(|| redirect("http://10.0.0.2/rules")), 0),
        ("html", says(|| page(["/"])), 0),
    ];
    for (name, handler, skipped) in cases {
        let mut options = options(&[ROOT]);
        options.max_redirect = 5;
        let crawled = crawl(options, handler);
        let found = crawled.rows.iter().filter(|row| class(row) == Some(ErrorClass::Robots));
        assert_eq!(found.count(), skipped, "{name}: {:#?}", crawled.rows);
        assert_eq!(crawled.times("/robots.txt"), 1, "{name}");
        let expected = if skipped == 1 { 1 } else { 43 };
        assert_eq!(crawled.rows.len(), expected, "{name}");
        if skipped == 1 {
            let message = &crawled.row(ROOT).error.as_ref().unwrap().message;
            assert!(message.starts_with("http://10.0.0.1/robots.txt cannot be had ("), "{message}");
        }
    }
}

/// The rules of another host's file count when ours redirects to it.
#[test]
fn redirects_may_leave_the_site() {
    let crawled = crawl(options(&[ROOT]), |asked| match (&*asked.host, &*asked.path) {
        ("10.0.0.1", "/robots.txt") => redirect("http://10.0.0.2/rules"),
        ("10.0.0.2", "/rules") => text("User-agent: *\nDisallow: /private"),
        ("10.0.0.2", path) => panic!("{path}"),
        _ => site(asked),
    });
    let skipped = crawled.rows.iter().filter(|row| class(row) == Some(ErrorClass::Robots));
    assert_eq!((skipped.count(), crawled.rows.len()), (2, 43));
}

/// A server that says nothing has as many tries, of as long, as for a page.
#[test]
fn silence_ends_with_the_deadline() {
    let mut options = options(&[ROOT, "http://10.0.0.2/"]);
    options.max_tries = 2;
    let crawled = crawl(options, |asked| match (&*asked.host, &*asked.path) {
        ("10.0.0.1", "/robots.txt") => silence(),
        ("10.0.0.2", "/robots.txt") => not_found(),
        ("10.0.0.1", path) => panic!("{path}"),
        _ => site(asked).after(secs(1)),
    });
    let row = crawled.row(ROOT);
    assert_eq!((row.outcome, class(row)), (Outcome::Failed, Some(ErrorClass::Timeout)));
    let message = &row.error.as_ref().unwrap().message;
    assert_eq!(message, "the server was silent for 15s (asked for http://10.0.0.1/robots.txt)");
    assert_eq!(crawled.times("/robots.txt"), 3);
    assert!(crawled.took >= secs(30) && crawled.took < secs(32), "{:?}", crawled.took);
    // Meanwhile the other site has had nine workers at least.
    let last = crawled.asked_of("10.0.0.2").last().unwrap().1;
    assert!(last < secs(10), "{last:?}");
}

/// A host that is not there is a broken link, not one with strict rules.
#[test]
fn nobody_there_is_no_rule() {
    let nobody = format!("http://{}/", common::village::NOBODY);
    let mut options = options(&[&nobody, &format!("{nobody}x")]);
    options.sitemap = true;
    let crawled = crawl(options, |asked| panic!("{asked:?}"));
    assert_eq!(crawled.rows.len(), 2);
    for row in &crawled.rows {
        assert_eq!((row.outcome, class(row)), (Outcome::Failed, Some(ErrorClass::Connect)));
        assert!(row.is_broken());
    }
}

/// One that begins an answer is there, and what it wants is not known.
#[test]
fn half_a_file_is_no_file() {
    for response in ["HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nDisallow:", "HTTP/1.1 2"] {
        let crawled = crawl(options(&[ROOT]), |_| Answer {
            after: secs(0),
            bytes: response.as_bytes().to_vec(),
        });
        let row = crawled.row(ROOT);
        assert_eq!((row.outcome, class(row)), (Outcome::Skipped, Some(ErrorClass::Robots)));
        let message = &row.error.as_ref().unwrap().message;
        assert!(message.starts_with("http://10.0.0.1/robots.txt cannot be had (timeout: "));
    }
}

/// What lies beyond 500 KiB does not count, nor does it have to be read.
#[test]
fn of_a_huge_file_the_beginning_counts() {
    let mut file = String::from("User-agent: *\nDisallow: /private\n");
    while file.len() < 600 * 1024 {
        file.push_str("# nothing to see here\n");
    }
    file.push_str("Disallow: /\n");
    file.push_str(&"# more\n".repeat(2 << 20));
    let crawled = crawl(options(&[ROOT]), move |asked| match &*asked.path {
        "/robots.txt" => text(&file),
        _ => site(asked),
    });
    let skipped = crawled.rows.iter().filter(|row| class(row) == Some(ErrorClass::Robots));
    assert_eq!((skipped.count(), crawled.rows.len()), (2, 43));
}

/// Each scheme, host and port has its own.
#[test]
fn every_origin_is_asked() {
    let roots = ["http://10.0.0.1/", "http://10.0.0.1:8080/", "http://10.0.0.2/"];
    let crawled = crawl(options(&roots), |asked| match (&*asked.host, &*asked.path) {
        ("10.0.0.1:8080", "/robots.txt") => text("User-agent: *\nDisallow: /"),
        (_, "/robots.txt") => not_found(),
        ("10.0.0.1", "/") => page(["http://10.0.0.1:8080/x", "http://10.0.0.2/x"]),
        _ => page([""; 0]),
    });
    assert_eq!(crawled.times("/robots.txt"), 3);
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

/// A name and a password are in the URL of a page, and in no other.
#[test]
fn secrets_stay_in_the_page() {
    let root = "http://me:secret@10.0.0.1/";
    let crawled = crawl(options(&[root]), |_| text("User-agent: *\nDisallow: /"));
    let message = &crawled.row(root).error.as_ref().unwrap().message;
    assert_eq!(message, "http://10.0.0.1/robots.txt does not allow it");
}
