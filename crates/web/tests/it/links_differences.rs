//! All differences between the links of the extractor and those of the page's
//! tree, each with its reason. Any other difference is a defect.

use web::links::{ExtractOptions, Tree};

use crate::common::{links_of, read};

/// Checks the links that the extractor finds and those of the tree.
#[track_caller]
fn assert_differ(html: &str, of_the_extractor: &[&str], of_the_tree: &[&str]) {
    let page =
        read("http://site.test/", [html.as_bytes()], Some("utf-8"), ExtractOptions::default());
    let found: Vec<_> = links_of(&page).iter().map(|link| link.path().to_owned()).collect();
    let tree = Tree::of(html).unwrap();
    assert_eq!(found, of_the_extractor, "found in {html:?}");
    assert_eq!(tree.links().collect::<Vec<_>>(), of_the_tree, "the tree of {html:?}");
}

/// The tree builder drops elements where they are not allowed. For a crawler, the
/// author of the page meant a link.
#[test]
fn links_where_none_are_allowed_are_found() {
    assert_differ("<frameset><a href=/x></frameset>", &["/x"], &[]);
}

// ANCHOR: stray_end_tag
/// The extractor does not know which HTML elements are open. It takes an end tag
/// in a drawing that matches no element of the drawing as the end of the HTML
/// element around it, with all that was left open: drawings without an end tag
/// are more frequent than superfluous end tags.
#[test]
fn a_stray_end_tag_ends_a_drawing() {
    assert_differ("<svg></div><style><a href=/x>", &[], &["/x"]);
    // The frequent case, for which the rule was made.
    let html = "<div><svg></div><style><a href=/no></style><a href=/x>";
    assert_differ(html, &["/x"], &["/x"]);
}
// ANCHOR_END: stray_end_tag

/// Nor does it know when an HTML element in a drawing ends. A CDATA section can be behind
/// it, if the drawing's own element is the innermost one again.
#[test]
fn a_cdata_section_behind_an_html_element_in_a_drawing_is_a_comment() {
    assert_differ("<svg><title><p></p><![CDATA[><a href=/x>]]>", &["/x"], &[]);
    assert_differ("<svg><title><![CDATA[><a href=/x>]]>", &[], &[]);
}

/// The extractor does not know either which HTML elements are open within a
/// drawing. While there are any, the tree builder ignores end tags of the drawing.
#[test]
fn the_end_of_a_drawing_ends_the_html_in_it() {
    assert_differ("<svg><title><p></title><style><a href=/x>", &["/x"], &[]);
    assert_differ("<svg><title><p></svg><title><a href=/no></title><a href=/x>", &["/x"], &["/x"]);
}

/// A `font` ends a drawing only with certain attributes, at which the tokenizer
/// does not look.
#[test]
fn a_font_in_a_drawing_does_not_end_it() {
    let html = "<svg><font color=red><style><a href=/x></style>";
    assert_differ(html, &["/x"], &[]);
}

/// The older name of `href` in a drawing, which the tree has under another name.
#[test]
fn an_address_of_a_drawing_may_have_its_older_name() {
    assert_differ("<svg><a xlink:href=/x>1</a></svg>", &["/x"], &[]);
}

/// The tree leaves a shadow root in its template.
#[test]
fn what_is_in_a_shadow_root_is_part_of_the_page() {
    assert_differ(
        "<div><template shadowrootmode=open><a href=/x>1</a></template></div>",
        &["/x"],
        &[],
    );
}

/// The end of a template forgets which links are open only up to the last open cell
/// in it. The tree builder repeats those before the cell after the template; the
/// extractor takes the template's content for what it is.
#[test]
fn a_link_in_a_template_is_not_repeated_after_it() {
    let cell = "<template><a href=/x><table><tr><td>1</template>text";
    assert_differ(cell, &[], &["/x"]);
    // The frequent case.
    assert_differ("<template><a href=/x>1</template>text", &[], &[]);
}

/// The end of a drawing ends what was left open in it, and also a `template`, which is an
/// element like others there. The extractor waits for its end tag.
#[test]
fn a_template_of_a_drawing_in_a_template_has_an_end_tag() {
    assert_differ("<template><svg><template></svg></template><a href=/x>", &[], &["/x"]);
    let ended = "<template><svg><template></template></svg></template><a href=/x>";
    assert_differ(ended, &["/x"], &["/x"]);
}

/// Foreign elements are tracked up to a depth that no real drawing has.
#[test]
fn elements_of_a_too_deep_drawing_are_not_tracked() {
    let html = format!("<svg>{}</g></g></svg><style><a href=/x>", "<g>".repeat(300));
    assert_differ(&html, &[], &[]);
    let html = format!("<svg>{}{}<style><a href=/x>", "<g>".repeat(300), "</g>".repeat(300));
    assert_differ(&html, &[], &["/x"]);
}

/// The tree builder ignores a tag where its element is not allowed, here that of a
/// text area. The extractor does not.
#[test]
fn a_text_area_begins_where_its_tag_is() {
    assert_differ("<frameset><textarea><a href=/x></textarea></frameset>", &[], &[]);
}

/// An address of more than 64 KiB is no link: no server accepts it.
#[test]
fn an_address_that_is_too_long_is_no_link() {
    let long = "x".repeat(64 * 1024 + 1);
    let html = format!("<a href=/{long}><a href=/y>");
    assert_differ(&html, &["/y"], &[&format!("/{long}"), "/y"]);
    let just = "x".repeat(1000);
    let html = format!("<a href=/{just}><a href=/y>");
    assert_differ(&html, &[&format!("/{just}"), "/y"], &[&format!("/{just}"), "/y"]);
}
