//! `--select`: texts and attributes that the crawler takes from every page.

use std::collections::HashMap;

use demo_site::scripted::Server;
use serde_json::{Value, json};

use crate::program::run;

fn rows(site: &Server, selections: &[&str]) -> HashMap<String, Value> {
    let mut arguments = vec!["--format", "jsonl"];
    selections.iter().for_each(|selection| arguments.extend(["--select", selection]));
    let root = site.url("/");
    arguments.push(&root);
    let output = run(&arguments).expect_code(0);
    let rows = output.stdout.lines().map(|line| {
        let row: Value = serde_json::from_str(line).unwrap();
        (row["url"].as_str().unwrap().replace(&site.url(""), ""), row)
    });
    rows.collect()
}

#[test]
fn selected_texts_and_attributes_are_in_the_rows() {
    let site = Server::start(|request, reply| match request.path() {
        "/" => reply.status(
            200,
            "OK",
            &[("Content-Type", "text/html; charset=iso-8859-1")],
            &b"<title> A\n\ttitle </title><p class=x>caf\xe9 <b>au</b>\nlait</p><p class=x></p>\
               <a href=/2 data-x='a@b'>two</a><a href=/picture>p</a>"[..],
        ),
        "/2" => reply.page("<h1>none of these</h1>"),
        _ => reply.status(200, "OK", &[("Content-Type", "image/png")], [0; 8]),
    })
    .unwrap();
    let selections =
        ["title=title", "x=p.x", "link=a@href", "quoted=a[data-x='a@b']", "Data=a@DATA-X"];
    let rows = rows(&site, &selections);
    assert_eq!(
        rows["/"]["selected"],
        json!({
            "title": ["A title"],
            "x": ["caf\u{e9} au lait", ""],
            "link": ["/2", "/picture"],
            "quoted": ["two"],
            "Data": ["a@b"],
        })
    );
    let nothing = json!({"title": [], "x": [], "link": [], "quoted": [], "Data": []});
    assert_eq!(rows["/2"]["selected"], nothing);
    assert!(rows["/picture"].get("selected").is_none());
}

#[test]
fn a_page_without_a_tree_has_a_select_error_and_is_crawled_all_the_same() {
    let deep = format!("<a href=/wide>x</a>{}", "<div>".repeat(3_000));
    // Each element has the text of all elements in it: together more than the
    // limit for a row.
    let wide = format!("{}{}", "<div>".repeat(1_500), "text ".repeat(1_000));
    let site = Server::start(move |request, reply| match request.path() {
        "/" => reply.page(&deep),
        _ => reply.page(&wide),
    })
    .unwrap();
    let rows = rows(&site, &["div=div"]);
    for (path, class) in [("/", "nesting"), ("/wide", "too_large")] {
        assert_eq!(rows[path]["outcome"], "page");
        assert_eq!(rows[path]["select_error"]["class"], class);
        assert!(rows[path].get("selected").is_none());
    }
}
