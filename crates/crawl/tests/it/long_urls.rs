//! The length of a URL: pages that lead to ever longer ones are a trap, and images and other
//! sites are not.

use demo_site::scripted::Server;

use crate::program::{rows, run};

#[test]
fn only_pages_of_the_site_have_short_urls() {
    let dead = |path: &'static str| {
        Server::start(move |request, reply| match request.path() {
            _ if request.path() != path => reply.status(404, "Not Found", &[], ""),
            _ => reply.page(""),
        })
        .unwrap()
    };
    let other = dead("/");
    let (x, other_url) = ("x".repeat(3_000), other.url("/"));
    let (longer, longest) = ("x".repeat(60_000), "x".repeat(65 << 10));
    let data = format!("data:image/png;base64,{longest}");
    let html = format!(
        "<a href=/page-{x}>x</a><img src=/image-{x}><img src=/image-{longer}>\
         <img src=/image-{longest}><a href={other_url}{x}>x</a><a href={other_url}{longest}>x</a>\
         <img src={data}>"
    );
    let site = Server::start(move |request, reply| match request.path() {
        "/" => reply.page(&html),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let root = site.url("/");
    let output = run(&["--external", "--format", "jsonl", &root]).expect_code(1).stdout;
    let rows = rows(&output);
    let result = |beginning: String| {
        let found: Vec<_> = rows.iter().filter(|(url, _)| url.starts_with(&beginning)).collect();
        let result = |row: &serde_json::Value| (row["status"].clone(), row["outcome"].clone());
        let mut results: Vec<_> = found.iter().map(|(_, row)| result(row)).collect();
        results.sort_by_key(|(status, _)| status.as_u64());
        results
    };
    let skipped = || (().into(), "skipped".into());
    let broken = || (404.into(), "http_error".into());
    assert_eq!(result(site.url("/page-")), [skipped()]);
    assert_eq!(result(site.url("/image-")), [broken(), broken()]);
    assert_eq!(result("/image-".into()), [skipped()]);
    // What is cut is shown with its beginning.
    assert_eq!(result(other.url("/x")), [skipped(), broken()]);
    assert_eq!(rows.len(), 7, "{:?}", rows.keys().map(|url| url.len()).collect::<Vec<_>>());
}
