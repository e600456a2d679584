//! Any page can be searched, however it comes, and what is found is what a
//! whole tree of the page holds.
#![allow(clippy::unwrap_used, missing_docs)]

use crawl_core::FetchError;
use crawl_core::links::{Found, LinkExtractor};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use scraper::{Html, Selector};
use url::Url;

fn page_url() -> Url {
    Url::parse("http://example.com/dir/page").unwrap()
}

fn search<'a>(slices: impl Iterator<Item = &'a [u8]>) -> Result<Found, FetchError> {
    let mut extractor = LinkExtractor::new();
    slices.for_each(|slice| extractor.feed(slice));
    extractor.finish(&page_url(), None)
}

/// The links of the tree that a browser builds of the whole page.
fn links_of_the_tree(html: &str) -> Vec<Url> {
    let tree = Html::parse_document(html);
    let mut links = Vec::new();
    for link in tree.select(&Selector::parse("a[href], area[href]").unwrap()) {
        let mut url = page_url().join(link.attr("href").unwrap()).unwrap();
        url.set_fragment(None);
        if !links.contains(&url) {
            links.push(url);
        }
    }
    links
}

/// Pieces of markup, good and bad, without the elements for which a page is
/// read differently on purpose: those of scripting and of frames.
fn pieces() -> impl Strategy<Value = String> {
    let element = select(&[
        "p", "div", "span", "b", "i", "font", "ul", "li", "dl", "dt", "dd", "table", "tbody", "tr",
        "td", "th", "caption", "select", "option", "button", "form", "h1", "h2", "center", "nobr",
        "object", "template", "x-y", "br", "hr", "img", "input", "html", "head", "body", "title",
        "style", "script", "textarea", "xmp", "iframe", "TITLE", "Script",
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

fn pages() -> impl Strategy<Value = String> {
    vec(pieces(), 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_links_are_those_of_the_whole_tree(html in pages()) {
        let found = search(std::iter::once(html.as_bytes())).unwrap();
        prop_assert_eq!(found.links, links_of_the_tree(&html));
    }

    #[test]
    fn any_slicing_of_a_page_gives_the_same(html in pages(), cuts in vec(any::<Index>(), 0..8)) {
        let bytes = html.as_bytes();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let slices = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        prop_assert_eq!(search(slices), search(std::iter::once(bytes)));
    }

    #[test]
    fn any_bytes_can_be_searched(
        bytes in vec(prop_oneof![any::<u8>(), select(&b"<>/!-='\"abcsvgtile \n"[..])], 0..300),
        label in prop_oneof![Just(None), select(&["utf-16", "gbk", "iso-2022-jp", "x-user-defined"]).prop_map(Some)],
    ) {
        let mut extractor = LinkExtractor::new();
        extractor.feed(&bytes);
        let found = extractor.finish(&page_url(), label).unwrap();
        for link in found.links {
            prop_assert!(matches!(link.scheme(), "http" | "https"));
            prop_assert_eq!(link.fragment(), None);
        }
    }
}
