//! Tests of the sitemap parser, file by file.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use web::sitemap::{Limits, MAX_NESTED, MAX_PIECE_LEN, MAX_URL_LEN, SitemapEntry, SitemapParser};
use web::{ErrorClass, FetchError};

/// The result of parsing a sitemap. The URLs of other sitemaps are marked by an arrow.
#[derive(Debug)]
struct Parsed {
    urls: Vec<String>,
    left_out: usize,
    result: Result<(), FetchError>,
}

fn parse_with_limits<'a>(limits: Limits, slices: impl IntoIterator<Item = &'a [u8]>) -> Parsed {
    let mut parser = SitemapParser::new(limits);
    let (mut urls, mut left_out) = (Vec::new(), 0);
    let mut sink = |entry: SitemapEntry<'_>| match entry {
        SitemapEntry::Page(url) => urls.push(url.to_owned()),
        SitemapEntry::Sitemap(url) => urls.push(format!("-> {url}")),
        SitemapEntry::Alternate(url) => urls.push(format!("language {url}")),
        SitemapEntry::Image(url) => urls.push(format!("image {url}")),
        SitemapEntry::TooLong => left_out += 1,
    };
    let fed = slices.into_iter().try_for_each(|slice| parser.feed(slice, &mut sink));
    let again = parser.feed(b"", &mut sink);
    let result = parser.finish(&mut sink);
    assert_eq!(fed, again);
    assert!(fed.is_ok() || fed == result, "{fed:?} is not repeated: {result:?}");
    Parsed { urls, left_out, result }
}

fn parse<'a>(slices: impl IntoIterator<Item = &'a [u8]>) -> Parsed {
    parse_with_limits(Limits::default(), slices)
}

/// Checks that a valid sitemap has these URLs.
#[track_caller]
fn assert_urls(sitemap: impl AsRef<[u8]>, expected: &[&str]) {
    let parsed = parse([sitemap.as_ref()]);
    assert_eq!(parsed.urls, expected);
    assert_eq!((parsed.result, parsed.left_out), (Ok(()), 0));
}

/// Checks the URLs and the error of an invalid sitemap.
#[track_caller]
fn assert_error(sitemap: impl AsRef<[u8]>, expected: &[&str], class: ErrorClass, message: &str) {
    let parsed = parse([sitemap.as_ref()]);
    assert_eq!(parsed.urls, expected);
    let error = parsed.result.unwrap_err();
    assert_eq!(error.class, class, "{error}");
    assert!(error.message.contains(message), "{error}");
}

fn urlset(content: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
        <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{content}</urlset>\n"
    )
}

fn loc(content: &str) -> String {
    urlset(&format!("<url><loc>{content}</loc></url>"))
}

fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes.as_ref()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn pages_and_other_sitemaps_are_listed() {
    assert_urls(
        urlset(
            "\n  <url>\n    <loc>http://a/1</loc>\n    <lastmod>2005-01-01</lastmod>\n    \
            <changefreq>monthly</changefreq>\n    <priority>0.8</priority>\n  </url>\n  \
            <url><lastmod>2005</lastmod><loc>http://a/2</loc></url>\n  <url/>\n  <url></url>",
        ),
        &["http://a/1", "http://a/2"],
    );
    assert_urls(
        "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\
        <sitemap><loc>http://a/1.xml.gz</loc><lastmod>2004</lastmod></sitemap>\
        <sitemap><loc>http://a/2.xml</loc></sitemap></sitemapindex>",
        &["-> http://a/1.xml.gz", "-> http://a/2.xml"],
    );
    assert_urls(urlset(""), &[]);
    assert_urls("<urlset/>", &[]);
    assert_urls("", &[]);
    assert_urls(" \n\u{feff}\n", &[]);
}

#[test]
fn the_text_of_a_loc_is_decoded() {
    for (text, url) in [
        ("http://a/", "http://a/"),
        ("\n\t http://a/ \r\n", "http://a/"),
        ("http://a/?x=1&amp;y=2", "http://a/?x=1&y=2"),
        ("http://a/&#x41;&#66;&lt;&gt;&quot;&apos;", "http://a/AB<>\"'"),
        ("&#104;ttp://a/", "http://a/"),
        ("<![CDATA[http://a/?x=1&y=2&amp;]]>", "http://a/?x=1&y=2&amp;"),
        (" <![CDATA[ http://a/ ]]> ", "http://a/"),
        ("http://<![CDATA[a/]]>b", "http://a/b"),
        ("http://a/<!-- not <loc>this</loc> -->b", "http://a/b"),
        ("http://a/<?php x ?>b", "http://a/b"),
        ("http://\u{feff}a/", "http://a/"),
        ("http://a/\u{fc}\u{30c4}", "http://a/\u{fc}\u{30c4}"),
        // Invalid, but common.
        ("http://a/?x=1&y=2", "http://a/?x=1&y=2"),
        ("http://a/?x&", "http://a/?x&"),
        ("http://a/?x&&amp;", "http://a/?x&&"),
        ("http://a/?x>y", "http://a/?x>y"),
        // Unknown entities and invalid characters stay as they are.
        ("http://a/&nbsp;&#0;&#xD800;&#x110000;", "http://a/&nbsp;&#0;&#xD800;&#x110000;"),
        ("/relative", "/relative"),
    ] {
        assert_urls(loc(text), &[url]);
    }
    for nothing in ["", " ", "\n", "<![CDATA[]]>", "<!-- http://a/ -->"] {
        assert_urls(loc(nothing), &[]);
    }
}

#[test]
fn only_a_loc_in_the_right_position_counts() {
    assert_urls(
        urlset(
            "<url><loc>http://a/</loc><image:image><image:loc>http://a/1</image:loc>\
            <loc>http://no/2</loc></image:image><image:loc>http://no/3</image:loc>\
            <video:video><video:content_loc>http://no/4</video:content_loc></video:video>\
            <xhtml:link rel='alternate' href='http://a/?x&amp;y'/></url>\
            <xhtml:link rel='alternate' href='http://no/5'/>\
            <loc>http://no/6</loc><urls><loc>http://no/7</loc></urls>\
            <sitemap><loc>http://no/8</loc></sitemap><x><url><loc>http://no/9</loc></url></x>\
            <sm:url><sm:loc>http://no/10</sm:loc></sm:url><URL><LOC>http://no/11</LOC></URL>",
        ),
        &["http://a/", "image http://a/1", "language http://a/?x&y"],
    );
    assert_urls(
        "<sm:urlset xmlns:sm='http://www.sitemaps.org/schemas/sitemap/0.9'>\
        <sm:url><sm:loc>http://a/</sm:loc><image:loc>http://no/1</image:loc>\
        <loc>http://no/2</loc></sm:url><url><loc>http://no/3</loc></url></sm:urlset>",
        &["http://a/"],
    );
    assert_urls(
        urlset("<url><loc a='>' b=\"</loc>\">http://a/1</loc ><loc>http://a/2</loc></url >"),
        &["http://a/1", "http://a/2"],
    );
    assert_urls(urlset("<!-- <url><loc>http://no/</loc></url> -->"), &[]);
    assert_urls(urlset("<![CDATA[<url><loc>http://no/</loc></url>]]>"), &[]);
}

#[test]
fn plain_text_has_one_url_per_line() {
    assert_urls(
        "http://a/1\nhttps://a/2\r\n\n  HTTP://a/3\t\rhttp://a/4?x=<&amp;",
        &["http://a/1", "https://a/2", "HTTP://a/3", "http://a/4?x=<&amp;"],
    );
    assert_urls("\u{feff}\n\nhttp://a/", &["http://a/"]);
    assert_urls("Not found\nftp://a/\n/relative\nhttp\nhttp:/\u{30c4}", &[]);
}

#[test]
fn gzip_is_detected_by_its_first_byte() {
    assert_urls(gzip(loc("http://a/")), &["http://a/"]);
    assert_urls(gzip("http://a/1\nhttp://a/2"), &["http://a/1", "http://a/2"]);
    assert_urls(gzip(""), &[]);

    let whole = gzip(urlset(&"<url><loc>http://a/</loc></url>".repeat(5_000)));
    assert_eq!(parse([&whole[..]]).urls.len(), 5_000);
    let cut = parse([&whole[..whole.len() / 2]]);
    assert!((1_000..5_000).contains(&cut.urls.len()), "{}", cut.urls.len());
    assert_eq!(cut.result.unwrap_err().class, ErrorClass::Decode);
    // All URLs have arrived, but without the checksum.
    let unsure = parse([&whole[..whole.len() - 8]]);
    assert_eq!((unsure.urls.len(), unsure.result.unwrap_err().class), (5_000, ErrorClass::Decode));

    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all("http://a/\n".repeat(1_000).as_bytes()).unwrap();
    encoder.flush().unwrap();
    // A block of a type that does not exist (RFC 1951, section 3.2.3).
    let damaged = parse([encoder.get_ref(), &b"\x07"[..]].concat().chunks(20_000));
    assert!((940..=1_000).contains(&damaged.urls.len()), "{}", damaged.urls.len());
    let error = damaged.result.unwrap_err();
    assert_eq!(error.class, ErrorClass::Decode);
    assert!(error.message.contains("damaged"), "{error}");

    let followed = [gzip(loc("http://a/")), gzip(loc("http://b/"))].concat();
    assert_error(followed, &["http://a/"], ErrorClass::Decode, "bytes follow");
    assert_error([0x1f, 0x00, 0x00], &[], ErrorClass::Decode, "damaged");
    assert_error([0x1f], &[], ErrorClass::Decode, "damaged");
}

#[test]
fn the_character_encoding_is_detected() {
    let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>http://a/\xe9</loc></url></urlset>";
    assert_urls(latin, &["http://a/\u{e9}"]);
    let japanese = encoding_rs::SHIFT_JIS.encode(
        "<?xml version=\"1.0\" encoding=\"shift_jis\" ?><urlset><url><loc>http://a/\u{30c4}</loc></url></urlset>",
    );
    assert_urls(&japanese.0, &["http://a/\u{30c4}"]);
    // A declaration of UTF-16 that can be read as ASCII is wrong.
    assert_urls(loc("http://a/\u{e9}").replace("UTF-8", "UTF-16"), &["http://a/\u{e9}"]);
    assert_urls(loc("http://a/\u{e9}").replace("UTF-8", "klingon"), &["http://a/\u{e9}"]);
    for marks in ["\u{feff}", "\n\u{feff}", "\u{feff}\u{feff}", " \u{feff}\r\n\u{feff}"] {
        let sitemap = format!("{marks}{}", loc("http://a/"));
        assert_urls(&sitemap, &["http://a/"]);
        assert_eq!(parse(sitemap.as_bytes().chunks(1)).urls, ["http://a/"]);
        let lines = format!("{marks}http://a/\n{marks}http://b/");
        assert_urls(&lines, &["http://a/", "http://b/"]);
        assert_eq!(parse(lines.as_bytes().chunks(1)).urls, ["http://a/", "http://b/"]);
    }
    for utf_16 in [u16::to_le_bytes, u16::to_be_bytes] {
        let sitemap = format!("\u{feff}{}", loc("http://a/\u{e9}")).replace("UTF-8", "UTF-16");
        let bytes: Vec<u8> = sitemap.encode_utf16().flat_map(utf_16).collect();
        assert_urls(&bytes, &["http://a/\u{e9}"]);
        assert_urls(gzip(bytes), &["http://a/\u{e9}"]);
    }
    assert_urls(b"http://a/\xff\n", &["http://a/\u{fffd}"]);
}

#[test]
fn other_documents_are_refused() {
    let decode =
        |sitemap: &str, message: &str| assert_error(sitemap, &[], ErrorClass::Decode, message);
    decode("<!DOCTYPE html><html><head><title>x</title></head></html>", "neither");
    decode("<rss><channel><link>http://a/</link></channel></rss>", "neither");
    decode("<url><loc>http://a/</loc></url>", "neither");
    decode("<?xml version='1.0'?>", "the end comes before");
    decode("<", "XML");
    decode("<!x>", "XML");
}

#[test]
fn broken_xml_gives_the_urls_before_the_error() {
    let first = "<urlset><url><loc>http://a/1</loc></url>";
    for (rest, message) in [
        ("", "the end comes before"),
        ("<url><loc>http://a/2", "the end comes before"),
        ("<url><loc>http://a/2</lo", "XML"),
        ("<url><loc>http://a/2</url></urlset>", "end tag"),
        ("<url></urlset>", "end tag"),
        ("</urlset></urlset>", "end tag"),
        ("</urlset><urlset>", "second root"),
        ("</urlset>http://a/2", "outside"),
        ("<!-- ", "XML"),
        ("<![CDATA[", "XML"),
        ("<!bang></urlset>", "XML"),
        ("<url a='></url></urlset>", "XML"),
    ] {
        let sitemap = format!("{first}{rest}");
        assert_error(sitemap, &["http://a/1"], ErrorClass::Decode, message);
    }
}

#[test]
fn entities_that_a_sitemap_declares_are_not_expanded() {
    let mut bomb =
        String::from("<?xml version=\"1.0\"?><!DOCTYPE urlset [<!ENTITY a \"http://a/\">");
    for (name, inner) in ["b", "c", "d", "e", "f"].iter().zip(["a", "b", "c", "d", "e"]) {
        bomb += &format!("<!ENTITY {name} \"{}\">", format!("&{inner};").repeat(10));
    }
    bomb += "<!ENTITY file SYSTEM \"file:///etc/passwd\">]>";
    bomb += "<urlset><url><loc>http://a/&f;&file;</loc></url></urlset>";
    assert_urls(bomb, &["http://a/&f;&file;"]);
}

#[test]
fn a_long_url_is_left_out_and_counted() {
    let fits = format!("http://a/{}", "x".repeat(MAX_URL_LEN - 9));
    assert_urls(loc(&fits), &[&fits]);
    assert_urls(format!("{fits}\n"), &[&fits]);
    let long = format!("{fits}x");
    let urls = ["http://a/1", &long, "http://a/2"];
    let xml = urlset(&urls.map(|url| format!("<url><loc>{url}</loc></url>")).concat());
    for sitemap in [xml, urls.join("\n")] {
        let parsed = parse([sitemap.as_bytes()]);
        assert_eq!(parsed.urls, ["http://a/1", "http://a/2"]);
        assert_eq!((parsed.result, parsed.left_out), (Ok(()), 1));
    }
    // A much longer URL is counted once as well.
    let endless = format!("http://a/1\nhttp://a/{}\nhttp://a/2", "x".repeat(1_000_000));
    let parsed = parse(endless.as_bytes().chunks(1_000));
    assert_eq!(parsed.urls, ["http://a/1", "http://a/2"]);
    assert_eq!((parsed.result, parsed.left_out), (Ok(()), 1));
}

#[test]
fn the_default_limits_are_those_of_the_protocol() {
    assert_eq!(Limits::default(), Limits { entries: 50_000, bytes: 52_428_800 });
}

#[test]
fn too_many_urls_are_an_error() {
    let limits = Limits { entries: 3, ..Limits::default() };
    let entry = "<url><loc>http://a/</loc></url>";
    let too_long = "x".repeat(MAX_URL_LEN + 1);
    for (count, fits) in [(3, true), (4, false), (1_000, false)] {
        let xml = urlset(&entry.repeat(count));
        for sitemap in [xml, "http://a/\n".repeat(count)] {
            let parsed = parse_with_limits(limits, [sitemap.as_bytes()]);
            assert_eq!(parsed.urls.len(), 3);
            let class = parsed.result.map_err(|error| error.class);
            assert_eq!(class, if fits { Ok(()) } else { Err(ErrorClass::TooLarge) });
        }
    }
    // URLs that are left out count as well, because they cost as much.
    let parsed =
        parse_with_limits(limits, [format!("{too_long}\nhttp://a/\n").repeat(3).as_bytes()]);
    assert_eq!((parsed.urls.len(), parsed.left_out), (1, 2));
    assert_eq!(parsed.result.unwrap_err().class, ErrorClass::TooLarge);
}

#[test]
fn too_many_bytes_are_an_error() {
    let sitemap = format!("http://a/1\n{}\nhttp://a/2\n", "\n".repeat(1_000_000));
    let bomb = gzip(format!("{sitemap}http://a/3"));
    assert!(bomb.len() < 2_000, "{}", bomb.len());
    let fits = Limits { bytes: sitemap.len() + "http://a/3".len(), ..Limits::default() };
    let parse = |limits| parse_with_limits(limits, [&bomb[..]]);
    assert_eq!(parse(fits).urls, ["http://a/1", "http://a/2", "http://a/3"]);
    assert_eq!(parse(fits).result, Ok(()));
    for bytes in [fits.bytes - 1, sitemap.len()] {
        let parsed = parse(Limits { bytes, ..fits });
        assert_eq!(parsed.urls, ["http://a/1", "http://a/2"]);
        assert_eq!(parsed.result.unwrap_err().class, ErrorClass::TooLarge);
    }
    let parsed = parse(Limits { bytes: 1_000, ..fits });
    assert_eq!((parsed.urls.len(), parsed.result.unwrap_err().class), (1, ErrorClass::TooLarge));
}

#[test]
fn too_deep_nesting_is_an_error() {
    let nested = |depth: usize| urlset(&("<x>".repeat(depth) + &"</x>".repeat(depth)));
    assert_urls(nested(MAX_NESTED - 1), &[]);
    assert_error(nested(MAX_NESTED), &[], ErrorClass::Nesting, "deep");
    assert_error(urlset(&"<x>".repeat(100_000)), &[], ErrorClass::Nesting, "deep");
}

#[test]
fn a_tag_or_text_that_is_too_long_is_an_error() {
    let url = "<url><loc>http://a/1</loc></url>";
    let with = |piece: String| urlset(&format!("{url}{piece}{url}"));
    let comment = |length: usize| with(format!("<!--{}-->", "x".repeat(length - 7)));
    assert_urls(comment(MAX_PIECE_LEN), &["http://a/1", "http://a/1"]);
    for piece in [
        comment(MAX_PIECE_LEN + 1),
        with(format!("<x a='{}'/>", "x".repeat(MAX_PIECE_LEN))),
        with("x".repeat(MAX_PIECE_LEN + 1)),
        with(format!("<!-- {}", "> ".repeat(500_000))),
    ] {
        assert_error(piece, &["http://a/1"], ErrorClass::TooLarge, "without the end of a tag");
    }
    assert_urls(with("x".repeat(MAX_PIECE_LEN)), &["http://a/1", "http://a/1"]);
}

#[test]
fn blanks_between_tags_have_no_limit() {
    let url = "<url><loc>http://a/1</loc></url>";
    let blanks = " \n".repeat(100_000);
    let sitemap = urlset(&format!("{url}{blanks}{url}{blanks}"));
    assert_urls(&sitemap, &["http://a/1", "http://a/1"]);
    for length in [1, 1_000, 40_000] {
        let parsed = parse(sitemap.as_bytes().chunks(length));
        assert_eq!((parsed.urls.len(), parsed.result), (2, Ok(())), "in slices of {length}");
    }
    // Text behind them is as long as it is.
    let text = "x".repeat(MAX_PIECE_LEN);
    assert_urls(urlset(&format!("{url}{blanks}{text}")), &["http://a/1"]);
    let too_long = urlset(&format!("{url}{blanks}{text}x"));
    assert_error(too_long, &["http://a/1"], ErrorClass::TooLarge, "without the end of a tag");
}
