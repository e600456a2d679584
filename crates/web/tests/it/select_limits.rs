//! The limits of selections: pages and selectors that would take hours and gigabytes.

use std::thread;

use scraper::{Html, Selector};
use web::ErrorClass;
use web::links::{MAX_NESTED, Tree};
use web::select::{Selected, Selection, select};

fn selection(css: &str) -> Selection {
    Selection::parse(&format!("found={css}")).unwrap()
}

fn select_one(html: &str, css: &str) -> Result<Vec<String>, ErrorClass> {
    let selected = select(html, &[selection(css)]);
    let texts = |selected: Selected| selected.into_values().next().unwrap();
    selected.map(texts).map_err(|error| error.class)
}

fn numbered(count: usize, element: impl Fn(usize) -> String) -> String {
    (0..count).map(element).collect()
}

/// A browser repeats open formatting elements in each block: n tags make n^2 / 2
/// elements.
#[test]
fn repeated_formatting_elements_are_too_complex() {
    let pages = [
        numbered(2_000, |n| format!("<p><b id={n}></p>")),
        numbered(2_000, |n| format!("<div><font color={n}></div>")),
        numbered(2_000, |n| format!("<li><i class=c{n}></li>")),
        numbered(2_000, |n| format!("<p><nobr><u title={n}></p>")),
        numbered(800, |n| format!("<p><b id={n}></p>")) + &"<p>x</p>".repeat(1_000),
    ];
    for page in pages {
        let class = select_one(&page, "b").unwrap_err();
        let classes = [ErrorClass::TooComplex, ErrorClass::Nesting];
        assert!(classes.contains(&class), "{}: {class:?}", &page[..40]);
    }
}

#[test]
fn a_tree_of_too_many_nodes_is_too_complex() {
    for tag in ["<p>", "<br>", "<!---->", "<b></b>", "<p>x"] {
        let page = tag.repeat(600_000);
        assert_eq!(select_one(&page, "h1").unwrap_err(), ErrorClass::TooComplex, "{tag}");
    }
    // One of ordinary elements may be large.
    let page = "<p class=text>some words <a href=/somewhere>and a link</a></p>".repeat(10_000);
    assert_eq!(select_one(&page, "a").unwrap().len(), 10_000);
}

/// The library compares each attribute with others: without a limit, each of these pages
/// would take minutes or hours.
#[test]
fn pages_of_many_attributes_are_too_complex() {
    let many = |from: usize, count: usize| -> String {
        (from..from + count).map(|n| format!(" b{n:x}")).collect()
    };
    let unsorted: String = (0..254).map(|n| format!(" z{:x}", (n * 89) % 254)).collect();
    for (name, page) in [
        ("an end tag", format!("</a{}>", many(0, 300_000))),
        ("what is ignored", format!("<frameset><textarea><x{}>", many(0, 300_000))),
        (
            "attributes of html",
            (0..2_000).rev().map(|n| format!("<html{}>", many(n * 250, 250))).collect(),
        ),
        (
            "formatting elements",
            (0..1_900).map(|n| format!("<b{unsorted} y{n}>")).collect::<String>(),
        ),
        (
            "formatting elements, repeated",
            (0..1_900).map(|n| format!("<div><b{unsorted} y{n}></div>")).collect(),
        ),
    ] {
        assert_eq!(select_one(&page, "h1").unwrap_err(), ErrorClass::TooComplex, "{name}");
    }
    // The path of a drawing, a picture in an attribute, a comment.
    for page in [
        format!("<svg><path d='M{}'/></svg><h1>x</h1>", " 1.5 -20".repeat(20_000)),
        format!(
            "<img src='data:image/png;base64,{}'><h1>x</h1>",
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAA/".repeat(30_000)
        ),
        format!("<!-- {} --><h1>x</h1>", "<a href=\"/x\">x</a> ".repeat(5_000)),
    ] {
        assert_eq!(select_one(&page, "h1").unwrap(), ["x"]);
    }
}

#[test]
fn attributes_of_drawings_are_selected_as_they_are_written() {
    let page = "<svg viewBox='0 0 1 1'></svg><p CLASS=x>";
    let of = |css: &str| select_one(page, css).unwrap();
    assert_eq!((of("svg@viewBox"), of("p@class")), (vec!["0 0 1 1".into()], vec!["x".into()]));
    assert_eq!(of("p@Class"), ["x"]);
}

#[test]
fn costly_selectors_are_ended() {
    let siblings = "<p>".repeat(8_000);
    let mixed = "<p><i></i><b></b></p>".repeat(5_000);
    let texts = format!("<div title=\'{}\'>{}</div>", "x".repeat(200_000), "<p></p>".repeat(2_000));
    let classes = numbered(4_000, |n| format!("c{n} "));
    let classes = format!("<div class='{classes}'>{}</div>", "<p></p>".repeat(4_000));
    let comments = format!("<h1></h1>{}", "<!----><p></p>".repeat(4_000));
    let nested = "<div>".repeat(1_000) + &"<p></p>".repeat(9_000);
    for (page, css) in [
        (&siblings, "h1 ~ p"),
        (&siblings, "p:not(h1 ~ p)"),
        (&siblings, "p:has(~ h1)"),
        (&siblings, "h1 ~ p ~ p"),
        (&mixed, "h1 ~ p > b"),
        (&texts, "div[title*=y] p"),
        (&classes, ".none p"),
        (&comments, "h2 ~ p"),
        (&nested, "h1 p"),
        (&nested, "div"),
    ] {
        let result = select_one(page, css).map(|found| found.len());
        assert_eq!(result, Err(ErrorClass::TooComplex), "{css}");
    }
    let few = "<h1></h1>".to_owned() + &"<p>".repeat(2_000);
    assert_eq!(select_one(&few, "h1 ~ p").unwrap().len(), 2_000);
}

/// Elements that are deeper than their tags let assume, in a thread with the stack of
/// a fetch.
#[test]
fn nesting_is_bounded_in_the_tree_itself() {
    let deep = "<div>".repeat(MAX_NESTED - 10);
    // Where no HTML is expected, no end tag of a cell is implied.
    let hidden = "<svg>".to_owned() + &"<td>".repeat(100_000);
    thread::spawn(move || {
        assert!(Tree::of(&deep).is_ok());
        for css in ["div:has(h1)", "h1 div", "div:not(:has(h1))"] {
            let found = select_one(&deep, css);
            assert!(found.is_ok_and(|found| found.is_empty() || css.contains("not")), "{css}");
        }
        assert_eq!(select_one(&hidden, "td:has(h1)"), Err(ErrorClass::Nesting));
    })
    .join()
    .unwrap();
}

/// Counting changes no result: it is that of the library without it.
#[test]
fn what_is_selected_is_what_the_library_selects() {
    let page = "<!doctype html><title>x</title><main id=m><h1 class='a b'>One</h1><p>1 <i>2</i></p>\
                <!-- no --><p class=b>3</p><ul><li><a href=/x title=y>4</a><li>5<li class=a></ul>\
                <table><tr><td>6<td>7<tr><td colspan=2></table><svg><a href=z>8</a></svg></main>\
                <p>9<b>10<p>11</b>12<div><p><br></div><template><p>13</template>";
    let tree = Html::parse_document(page);
    for css in [
        "*",
        "p",
        "main p",
        "main > p",
        "h1 + p",
        "h1 ~ p",
        "#m",
        ".a",
        ".a.b",
        ".b",
        "[href]",
        "[href^='/']",
        "[title=y]",
        "p:has(i)",
        ":has(> a)",
        "main:has(h1 + p) td",
        "li:nth-child(2)",
        "li:nth-last-child(1)",
        "td:first-child",
        "p:not(.b)",
        ":is(h1, td)",
        ":where(.a) ~ *",
        ":empty",
        ":root",
        "p:first-of-type",
        "p:nth-of-type(2n+1)",
        "li:only-child",
        "svg a",
        "b p",
        "template p",
        "a, li",
    ] {
        let selector = Selector::parse(css).unwrap();
        let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected: Vec<_> =
            tree.select(&selector).map(|element| words(element.text().collect())).collect();
        assert_eq!(select_one(page, css).unwrap(), expected, "{css}");
    }
}
