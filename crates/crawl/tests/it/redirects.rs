//! Redirects: what they mean is for the user to say, but loops are always broken.

use demo_site::scripted::Server;
use serde_json::Value;

use crate::program::run;

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
            "/longer" => reply.page("<p>\n<a href=/one>y</a>"),
            _ => reply.page(""),
        }
    })
    .unwrap()
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
        "Checked 5 URLs: nothing is broken; 1 redirect permanent: change the links; 2 redirects.\n";
    assert_eq!(warned, format!("{permanent}{sum}"));
    let broken = run(&[&root, "--redirects", "error"]).expect_code(1).stdout;
    let temporary = format!(
        "302 Found  {}\n    now at {}\n    on {root}, line 2: two\n\n",
        url("/later"),
        url("/new"),
    );
    assert!(broken.starts_with(&format!("{temporary}{permanent}")), "{broken}");
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
            "redirect loop  {}\n    redirects lead in a circle, over {}\n    \
             on {}, line 1: x (redirected by {})\n",
            site.url("/b"),
            site.url("/a"),
            site.url("/loop"),
            site.url("/a"),
        );
        assert!(report.contains(&expected), "{policy}: {report}");
        let arguments = [&*site.url("/longer"), "--redirects", policy, "--format", "json"];
        let json: Value = serde_json::from_str(&run(&arguments).expect_code(1).stdout).unwrap();
        let rows = json["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 4, "each URL has one row: {rows:?}");
        let broken = json["broken"].as_array().unwrap();
        let loops: Vec<_> =
            broken.iter().filter(|broken| broken["error"]["class"] == "redirect_loop").collect();
        assert_eq!(loops.len(), 1, "{policy}: {broken:?}");
        assert_eq!(loops[0]["url"], site.url("/three?x"));
        let referrer = loops[0].pointer("/referrers/0/referrers/0/referrers/0").unwrap();
        assert_eq!((&referrer["url"], &referrer["line"]), (&site.url("/longer").into(), &2.into()));
        // Where each redirect is broken, the other two are as well.
        assert_eq!(broken.len(), if policy == "error" { 3 } else { 1 }, "{policy}: {broken:?}");
    }
}
