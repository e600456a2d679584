//! Properties of the link extractor: for any page, cut anywhere, it finds the
//! links that a tree of the whole page holds.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value as Json;
use test_support::comparable::is_comparable;
use url::Url;
use web::links::{ExtractOptions, LinkExtractor, Tree};
use web::page::Page;

use crate::common::{links_of, read, resolve};
use crate::html5lib;

const PAGE: &str = "http://example.com/dir/page";

fn search(html: &str) -> Page {
    read(PAGE, [html.as_bytes()], Some("utf-8"), ExtractOptions::default())
}

/// Returns the links of the tree that a browser builds of the page, if one can be
/// built.
fn links_of_the_tree(html: &str, page: &Page) -> Option<Vec<Url>> {
    let tree = Tree::of(html).ok()?;
    let url = Url::parse(PAGE).unwrap();
    let base = tree.base().and_then(|base| url.join(base).ok());
    let base = base.filter(|base| !matches!(base.scheme(), "data" | "javascript"));
    Some(resolve(&base.unwrap_or(url), page, tree.links()))
}

fn without<'a>(these: &'a [String], those: &[String]) -> Vec<&'a String> {
    these.iter().filter(|one| !those.contains(one)).collect()
}

// ANCHOR: oracle
#[track_caller]
fn assert_like_the_tree(html: &str) {
    let page = search(html);
    if let Some(expected) = links_of_the_tree(html, &page) {
        let text = |urls: Vec<Url>| Vec::from_iter(urls.into_iter().map(String::from));
        let (found, expected) = (text(links_of(&page)), text(expected));
        let (extra, missing) = (without(&found, &expected), without(&expected, &found));
        assert!(found == expected, "extra {extra:?}, missing {missing:?} in {html:?}");
    }
}
// ANCHOR_END: oracle

/// Generates pieces of good and bad markup, without the elements that the
/// extractor treats differently on purpose: those of scripting and of frames.
fn pieces() -> impl Strategy<Value = String> {
    let element = select(&[
        "p", "div", "span", "b", "i", "font", "ul", "li", "dl", "dt", "dd", "table", "tbody", "tr",
        "td", "th", "caption", "select", "option", "button", "form", "h1", "h2", "center", "nobr",
        "object", "template", "x-y", "noscript", "noembed", "br", "hr", "img", "input", "html",
        "head", "body", "title", "style", "script", "textarea", "xmp", "iframe", "TITLE", "Script",
    ]);
    let text = select(&[
        "text",
        " ",
        "\n",
        "<",
        ">",
        "</",
        "</>",
        "<!",
        "<?",
        "<!>",
        "<!-",
        "<!--",
        "-->",
        "--!>",
        "<!-->",
        "--",
        "<!doctype html>",
        "&amp;",
        "\"",
        "'",
        "=",
        "/",
        "\0",
        "\r",
        "<![CDATA[",
        "]]>",
        "<3",
        "\u{fc}",
        "</script",
        "<script",
        "</title",
        "<script>",
        "</script>",
        "<!--<script>",
        "</scripty>",
        "<plaintext>",
    ]);
    let link = prop_oneof![
        (
            0..9_u8,
            select(&["a", "area", "A", "arEA"]),
            select(&[" ", "\n", "/", "\t/ ", " x ", " x=1 ", " x='>' ", " = ", " \"'> '"])
        )
            .prop_flat_map(|(n, name, gap)| {
                let value = select(&[
                    "{}",
                    "'{}'",
                    "\"{}\"",
                    " \n {}",
                    "'{}&amp;'",
                    "{}&lt;",
                    "'{}&copy='",
                    "\"{}\n\"",
                    "'{}#f'",
                    "{}/",
                ]);
                let end = select(&[">", "/>", " >", " / >", "  x>", " href=/other>"]);
                (value, end).prop_map(move |(value, end)| {
                    format!("<{name}{gap}href={}{end}", value.replace("{}", &n.to_string()))
                })
            }),
        Just("</a>".to_owned()),
    ];
    prop_oneof![
        2 => element.clone().prop_map(|name| format!("<{name}>")),
        2 => element.prop_map(|name| format!("</{name}>")),
        2 => text.prop_map(Into::into),
        3 => link,
    ]
}

/// Generates drawings and formulas. Every element in them has its end tag, since
/// the meaning of a stray end tag depends on the elements around them.
fn drawings() -> impl Strategy<Value = String> {
    let link = (0..9_u8).prop_map(|n| format!("<a href={n}>link</a>"));
    let text = select(&[
        "text",
        "<path d='>'/>",
        "<title/>",
        "<style/>",
        "<script/>",
        "<mi/>",
        "<![CDATA[ <a href=no> ]]>",
        "<![CDATA[]]]>]]>",
        "<!-- </svg> -->",
        "&lt;",
        "<svg/>",
        "<math/>",
    ]);
    prop_oneof![link, text.prop_map(Into::into)].prop_recursive(4, 30, 5, |inner| {
        let name = select(&["g", "text", "style", "script", "textarea", "iframe", "svg"]);
        let point = select(&[
            ("svg", "foreignObject"),
            ("svg", "foreignobject"),
            ("svg", "desc"),
            ("svg", "title"),
        ]);
        let html =
            select(&["<b>text</b>", "<title><a href=no></title>", "<style><a href=no></style>"]);
        let inner = vec(inner, 0..5).prop_map(|inner| inner.concat());
        prop_oneof![
            inner.clone().prop_map(|inner| format!("<svg>{inner}</svg>")),
            inner.clone().prop_map(|inner| format!("<math>{inner}</math>")),
            (name, inner.clone())
                .prop_map(|(name, inner)| format!("<svg><{name}>{inner}</{name}></svg>")),
            (point, html, inner).prop_map(|((root, point), html, inner)| {
                format!("<{root}><{point}>{html}<{root}>{inner}</{root}>{html}</{point}></{root}>")
            }),
        ]
    })
}

/// Generates pages of random pieces.
fn pages() -> impl Strategy<Value = String> {
    vec(prop_oneof![12 => pieces(), 1 => drawings()], 0..40).prop_map(|pieces| pieces.concat())
}

/// Cuts `bytes` into slices.
fn slices<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut offsets: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    offsets.extend([0, bytes.len()]);
    offsets.sort_unstable();
    offsets.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

/// Real pages: two by mdBook, one by rustdoc.
const PAGES: [&str; 3] = [
    include_str!("../pages/nomicon.html"),
    include_str!("../pages/std.html"),
    include_str!("../pages/cargo.html"),
];

/// Returns a place in a page, between two characters.
fn place(index: Index, page: &str) -> usize {
    page.floor_char_boundary(index.index(page.len()))
}

// ANCHOR: mutated_pages
/// Generates mutations of real pages: pieces are lost, doubled, moved or
/// inserted.
fn mutated_pages() -> impl Strategy<Value = String> {
    let mutation = (0..4, any::<Index>(), any::<Index>(), 0..300_usize, pieces());
    (select(&PAGES[..]), vec(mutation, 0..6)).prop_map(|(page, mutations)| {
        let mut page = page.to_owned();
        for (kind, from, to, length, piece) in mutations {
            let from = place(from, &page);
            let end = page.floor_char_boundary((from + length).min(page.len()));
            let part = page[from..end].to_owned();
            match kind {
                0 => page.replace_range(from..end, ""),
                1 => page.insert_str(from, &part),
                2 => {
                    let to = place(to, &page);
                    page.insert_str(to, &part);
                }
                _ => page.insert_str(from, &piece),
            }
        }
        page
    })
}
// ANCHOR_END: mutated_pages

#[test]
fn real_pages_have_the_links_of_their_trees() {
    for (page, least) in PAGES.into_iter().zip([10, 10, 10]) {
        assert_like_the_tree(page);
        assert!(links_of(&search(page)).len() >= least);
    }
}

/// In a drawing, these names are those of elements without a meaning, but for `a`.
#[test]
fn only_html_has_bases_and_areas() {
    for html in [
        "<svg><base href='http://other.test/'/></svg><a href=1>",
        "<math><base href='http://other.test/'/></math><base href=/2/><a href=1>",
        "<svg><area href=1 /><a href=2></a></svg><area href=3>",
        "<svg><title><area href=1><base href=/2/></title></svg>",
    ] {
        assert_like_the_tree(html);
        assert!(!links_of(&search(html)).iter().any(|url| url.host_str() == Some("other.test")));
    }
}

/// The inputs of the html5lib tests are among the most difficult HTML there is.
#[test]
fn inputs_of_html5lib_have_the_links_of_their_trees() {
    let mut inputs = 0;
    for file in html5lib::FILES {
        let tests: Json = serde_json::from_str(file).unwrap();
        for test in tests["tests"].as_array().unwrap() {
            let input = test["input"].as_str().unwrap();
            // The links around the input show the state of the tokenizer.
            assert_like_the_tree(&format!("<a href=1>{input}<a href=2><!-- -->\"'--><a href=3>"));
            assert_like_the_tree(&format!(
                "<a href=\"{input}\"><a href='{input}'><a href={input}>"
            ));
            assert_like_the_tree(&format!("<svg><a href=1>{input}<a href=2></svg><a href=3>"));
            for element in ["title", "style", "script", "svg", "math", "noscript"] {
                assert_like_the_tree(&format!("<{element}>{input}</{element}><a href=1>"));
            }
            inputs += 1;
        }
    }
    assert!(inputs > 2_000, "only {inputs} inputs");
}

proptest! {
    #[test]
    fn the_links_are_those_of_the_whole_tree(html in pages()) {
        assert_like_the_tree(&html);
    }

    #[test]
    fn the_links_of_mutated_pages_are_those_of_their_trees(html in mutated_pages()) {
        // Some are parsed differently on purpose: see `web::html`.
        if is_comparable(&html) {
            assert_like_the_tree(&html);
        }
    }

    #[test]
    // ANCHOR: slicing
    fn any_slicing_of_a_page_gives_the_same(
        html in pages(),
        cuts in vec(any::<Index>(), 0..8),
    ) {
        let whole = read(PAGE, [html.as_bytes()], None, ExtractOptions::ALL);
        let slices = slices(html.as_bytes(), &cuts);
        let sliced = read(PAGE, slices, None, ExtractOptions::ALL);
        prop_assert_eq!(sliced.found, whole.found);
    }
    // ANCHOR_END: slicing

    #[test]
    fn any_slicing_of_a_real_page_gives_the_same(
        html in mutated_pages(),
        cuts in vec(any::<Index>(), 0..100),
    ) {
        let whole = read(PAGE, [html.as_bytes()], None, ExtractOptions::ALL);
        let sliced = read(PAGE, slices(html.as_bytes(), &cuts), None, ExtractOptions::ALL);
        prop_assert_eq!(sliced.found, whole.found);
    }

    #[test]
    fn any_bytes_can_be_searched(
        bytes in vec(prop_oneof![any::<u8>(), select(&b"<>/!-='\"abcsvgtile \n"[..])], 0..300),
        label in prop_oneof![Just(None), select(&["utf-16", "gbk", "iso-2022-jp", "x-user-defined"]).prop_map(Some)],
        cuts in vec(any::<Index>(), 0..8),
    ) {
        let page = read(PAGE, slices(&bytes, &cuts), label, ExtractOptions::ALL);
        for link in links_of(&page) {
            prop_assert!(matches!(link.scheme(), "http" | "https"));
            prop_assert_eq!(link.fragment(), None);
        }
    }

    /// The tokenizer passes malformed UTF-8 on, and it is replaced in values only.
    /// The result must be the same as if it were replaced in the whole page first.
    #[test]
    fn malformed_text_is_read_as_if_it_were_replaced_first(
        pieces in vec(prop_oneof![pieces().prop_map(String::into_bytes), vec(any::<u8>(), 0..5)], 0..30),
        cuts in vec(any::<Index>(), 0..8),
    ) {
        let bytes = pieces.concat();
        let mut extractor = LinkExtractor::new(ExtractOptions::default());
        slices(&bytes, &cuts).into_iter().for_each(|slice| extractor.feed(slice));
        let mut expected = LinkExtractor::new(ExtractOptions::default());
        expected.feed(String::from_utf8_lossy(&bytes).as_bytes());
        prop_assert_eq!(extractor.finish(), expected.finish());
    }
}
