//! Property tests of the sitemap parser: any bytes can be parsed, and the URLs do not
//! depend on how the bytes are cut.

use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use web::FetchError;
use web::sitemap::{Limits, SitemapEntry, SitemapParser};

/// The result of parsing a sitemap.
#[derive(Debug, PartialEq, Eq)]
struct Parsed {
    /// The entries: true for a page, and the URL; `None` for a URL that was left out.
    urls: Vec<Option<(bool, String)>>,
    result: Result<(), FetchError>,
}

fn parse<'a>(slices: impl IntoIterator<Item = &'a [u8]>) -> Parsed {
    let mut parser = SitemapParser::new(Limits::default());
    let mut urls = Vec::new();
    let mut sink = |entry: SitemapEntry<'_>| {
        urls.push(match entry {
            SitemapEntry::Page(url) => Some((true, url.to_owned())),
            SitemapEntry::Sitemap(url) => Some((false, url.to_owned())),
            SitemapEntry::Alternate(_) | SitemapEntry::Image(_) | SitemapEntry::TooLong => None,
        });
    };
    for slice in slices {
        if parser.feed(slice, &mut sink).is_err() {
            break;
        }
    }
    let result = parser.finish(&mut sink);
    Parsed { urls, result }
}

fn cut<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut positions: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    positions.extend([0, bytes.len()]);
    positions.sort_unstable();
    positions.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

/// Generates sitemaps from valid and invalid pieces, in any order.
fn sitemap() -> impl Strategy<Value = Vec<u8>> {
    let start = select(&[
        "<urlset>",
        "<?xml version='1.0' encoding='latin1'?>\n<urlset xmlns='x'>",
        "\u{feff}<?xml version='1.0'?><sitemapindex>",
        "<sm:urlset>",
        "<!DOCTYPE urlset [<!ENTITY x '<y>'>]><urlset>",
        "http://a/1\n",
        "<html>",
        "",
    ]);
    let piece = select(&[
        "<url><loc>http://a/&amp;&x;&#65;</loc></url>",
        "<sitemap><loc><![CDATA[http://b/]]></loc></sitemap>",
        "<sm:url><sm:loc> http://c/?x&y </sm:loc></sm:url>",
        "<url>",
        "</url>",
        "<loc>",
        "</loc>",
        "<loc/>",
        "http://d/\u{feff}\u{30c4}\u{e9}",
        "&amp;",
        "&am",
        ";",
        "&",
        "\u{feff}",
        "<!-- > -->",
        "<!--",
        "]]>",
        "<![CDATA[",
        "<?x",
        "?>",
        "<a b='>' c=\"'\">",
        "</urlset>",
        "</sitemapindex>",
        "\r\n",
        "\n http://e/\n",
        "<",
        ">",
    ]);
    (start, vec(piece, 0..12))
        .prop_map(|(start, pieces)| (start.to_owned() + &pieces.concat()).into())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

proptest! {
    #[test]
    fn a_sitemap_has_the_same_result_in_any_slices(
        sitemap in sitemap(),
        cuts in vec(any::<Index>(), 0..8),
    ) {
        let whole = parse([&sitemap[..]]);
        prop_assert_eq!(&parse(cut(&sitemap, &cuts)), &whole);
        prop_assert_eq!(&parse(sitemap.chunks(1)), &whole);
        let compressed = gzip(&sitemap);
        prop_assert_eq!(&parse(cut(&compressed, &cuts)), &whole);
        prop_assert_eq!(&parse(compressed.chunks(1)), &whole);
    }

    #[test]
    fn valid_sitemaps_give_all_their_urls(
        urls in vec("http://[a-z]{1,5}/[a-z?=&<>;#\u{e9}]{0,12}", 0..40),
        cuts in vec(any::<Index>(), 0..8),
    ) {
        let entry = |url: &String| {
            let escaped = url.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            format!("<url>\n<loc>{escaped}</loc>\n</url>")
        };
        let xml = format!("<urlset>{}</urlset>", urls.iter().map(entry).collect::<String>());
        let text = urls.join("\r\n");
        for sitemap in [xml, text] {
            let parsed = parse(cut(sitemap.as_bytes(), &cuts));
            prop_assert_eq!(parsed.result, Ok(()));
            let results: Vec<_> = parsed.urls.into_iter().flatten().map(|(_, url)| url).collect();
            prop_assert_eq!(&results, &urls);
        }
    }

    #[test]
    fn any_bytes_can_be_parsed(
        bytes in vec(any::<u8>(), 0..300),
        cuts in vec(any::<Index>(), 0..4),
    ) {
        parse(cut(&bytes, &cuts));
        let gzip = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0], &bytes[..]].concat();
        parse(cut(&gzip, &cuts));
        let xml = [b"<urlset>", &bytes[..]].concat();
        prop_assert_eq!(parse(cut(&xml, &cuts)), parse([&xml[..]]));
    }

    #[test]
    fn damaged_gzip_can_be_parsed(sitemap in sitemap(), at in any::<Index>(), byte in any::<u8>()) {
        let mut compressed = gzip(&sitemap);
        let at = at.index(compressed.len());
        compressed[at] = byte;
        parse(compressed.chunks(7));
    }
}

/// The parser waits only for the first bracket, even if that does not end the
/// declaration.
#[test]
fn a_declaration_with_a_bracket_has_the_same_result_in_any_slices() {
    for declaration in [
        "<?xml version='1>0' encoding='latin1'?>",
        "<?xml a>b='1.0' encoding='latin1'?>",
        "<?xml version='1.0' x='>' encoding='latin1'?>",
    ] {
        let sitemap =
            [declaration.as_bytes(), b"<urlset><url><loc>http://a/\xe9</loc></url></urlset>"];
        let sitemap = sitemap.concat();
        assert_eq!(parse(sitemap.chunks(1)), parse([&sitemap[..]]), "{declaration}");
    }
}

/// A parser that starts again for every byte would need minutes for these sitemaps.
#[test]
fn single_bytes_take_linear_time() {
    let url = "<url><loc>http://a/</loc></url>";
    for piece in [
        format!("<!-- {} -->", "> ".repeat(15_000)),
        format!("<x a='{}'/>", ">".repeat(30_000)),
        "x ".repeat(15_000) + "<x/>",
        url.repeat(1_000),
    ] {
        let sitemap = format!("<urlset>{url}{}{url}</urlset>", piece.repeat(20));
        let begun = Instant::now();
        let parsed = parse(sitemap.as_bytes().chunks(1).inspect(|_| {
            assert!(begun.elapsed() < Duration::from_secs(10), "{:.20}", piece);
        }));
        assert_eq!(parsed.result, Ok(()));
        assert!(parsed.urls.len() >= 2);
    }
}
