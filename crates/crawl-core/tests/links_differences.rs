//! Where the extractor sees other links than the tree of the page holds: all
//! there are, each for a reason. Anything else is a defect.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{links_of, read};
use crawl_core::links::{Tree, Wanted};

/// Checks what the extractor finds and what the tree holds.
#[track_caller]
fn assert_differ(html: &str, ours: &[&str], of_the_tree: &[&str]) {
    let page = read("http://site.test/", [html.as_bytes()], Some("utf-8"), Wanted::default());
    let found: Vec<_> = links_of(&page).iter().map(|link| link.path().to_owned()).collect();
    let tree = Tree::of(html).unwrap();
    assert_eq!(found, ours, "found in {html:?}");
    assert_eq!(tree.links().collect::<Vec<_>>(), of_the_tree, "the tree of {html:?}");
}

/// The tree builder drops what may not be where it is. For a crawler, a link
/// that was meant is a link.
#[test]
fn links_where_there_can_be_none_are_links() {
    assert_differ("<frameset><a href=/x></frameset>", &["/x"], &[]);
    assert_differ("<template><col><a href=/x></template>", &["/x"], &[]);
}

// ANCHOR: stray_end_tag
/// Which elements are open is not known here. So an end tag within a drawing
/// that ends nothing of it is taken to end the HTML element around it, with
/// all that was left open: drawings that somebody forgot to close are more
/// frequent than superfluous end tags.
#[test]
fn a_stray_end_tag_ends_a_drawing() {
    assert_differ("<svg></div><style><a href=/x>", &[], &["/x"]);
    // This is what it is for.
    let html = "<div><svg></div><style><a href=/no></style><a href=/x>";
    assert_differ(html, &["/x"], &["/x"]);
}
// ANCHOR_END: stray_end_tag

/// Nor are the elements known that HTML has left open within a drawing: with
/// them, its end tags mean nothing to the tree builder.
#[test]
fn the_html_in_a_drawing_ends_with_it() {
    assert_differ("<svg><title><p></title><style><a href=/x>", &["/x"], &[]);
    assert_differ("<svg><title><p></svg><title><a href=/no></title><a href=/x>", &["/x"], &["/x"]);
}

/// A `font` ends a drawing only with certain attributes, which are not looked
/// at.
#[test]
fn a_font_in_a_drawing_belongs_to_it() {
    let html = "<svg><font color=red><style><a href=/x></style>";
    assert_differ(html, &["/x"], &[]);
}

/// Foreign elements are tracked up to a depth that no drawing has.
#[test]
fn a_drawing_may_be_too_deep_to_follow() {
    let html = format!("<svg>{}</g></g></svg><style><a href=/x>", "<g>".repeat(300));
    assert_differ(&html, &[], &[]);
    let html = format!("<svg>{}{}<style><a href=/x>", "<g>".repeat(300), "</g>".repeat(300));
    assert_differ(&html, &[], &["/x"]);
}

/// A tag is no element where the tree builder has no place for it: here, the
/// text area it would begin.
#[test]
fn text_begins_where_its_tag_is() {
    assert_differ("<frameset><textarea><a href=/x></textarea></frameset>", &[], &[]);
}

/// An address of more than 64 KiB is none: no server takes it.
#[test]
fn an_endless_address_is_none() {
    let long = "x".repeat(64 * 1024 + 1);
    let html = format!("<a href=/{long}><a href=/y>");
    assert_differ(&html, &["/y"], &[&format!("/{long}"), "/y"]);
    let just = "x".repeat(1000);
    let html = format!("<a href=/{just}><a href=/y>");
    assert_differ(&html, &[&format!("/{just}"), "/y"], &[&format!("/{just}"), "/y"]);
}
