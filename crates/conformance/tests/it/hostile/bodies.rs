//! Content codings: bodies that can be decoded, and bodies that cannot.

use crawl_core::ErrorClass::Decode;

use super::behaviour::{Behaviour, closes_after, html, ok, sends};
use crate::common::{failed, http_error, other, page};
use test_support::encoders::{CODINGS, brotli, encode, gzip, raw_deflate, zlib, zstd};

/// Returns a page with a link to the root, long enough to be cut.
fn text() -> String {
    "<a href=/>home</a>".to_owned() + &"<p>a paragraph of some words</p>".repeat(30)
}

/// A page with four links, in pieces: two of its tags are cut.
const PIECES: [&str; 3] = [
    "<a href=/>home</a><a href=/bodies/gz",
    "ip>gzip</a><p>a paragraph of some words</p><a href=/bodies/de",
    "flate>deflate</a><a href=/bodies/br>br</a>",
];

/// Returns each of the pieces as a member of gzip.
fn members() -> [Vec<u8>; 3] {
    PIECES.map(|piece| gzip(piece.as_bytes()))
}

/// Returns a body of these members, with zeros behind the last.
fn padded(members: &[Vec<u8>]) -> Vec<u8> {
    [members.concat(), vec![0; 100]].concat()
}

/// Makes the checksum of a gzip member wrong.
fn spoil_checksum(member: &mut [u8]) {
    let checksum = member.len() - 8;
    member[checksum] = !member[checksum];
}

fn response(content_type: &str, codings: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "Content-Type: {content_type}\r\nContent-Encoding: {codings}\r\nContent-Length: {length}\r\n\r\n"
    );
    [ok(&head).as_bytes(), body].concat()
}

pub(crate) fn behaviours(_: &str) -> Vec<Behaviour> {
    let mut all = decodable();
    all.extend(undecodable());
    all
}

fn decodable() -> Vec<Behaviour> {
    const CODING: &str = "RFC 9110, section 8.4";
    let text = text();
    let text = text.as_bytes();
    let decodes = |path: &str, why, codings: &str, body: &[u8]| {
        let expected_row = page(text, 1);
        sends(&format!("/bodies/{path}"), why, response("text/html", codings, body), expected_row)
    };
    // A gzip header with a file name of 20,000 bytes (RFC 1952, section 2.3.1).
    let mut named = gzip(text);
    named[3] |= 8;
    named.splice(10..10, [b'x'; 20_000].into_iter().chain([0]));
    vec![
        decodes("gzip", CODING, "gzip", &gzip(text)),
        decodes("deflate", CODING, "deflate", &zlib(text)),
        decodes("br", "RFC 7932", "br", &brotli(text)),
        decodes("zstd", "RFC 8878", "zstd", &zstd(text)),
        decodes(
            "raw-deflate",
            "RFC 9110, section 8.4.1.2: some send it without zlib",
            "deflate",
            &raw_deflate(text),
        ),
        decodes("x-gzip", "RFC 9110, section 8.4.1.3: the same as gzip", "x-gzip", &gzip(text)),
        decodes("any-case", "RFC 9110, section 8.4.1: case-insensitive", "GZip", &gzip(text)),
        decodes("identity", "RFC 9110, section 12.5.3: no coding", "identity", text),
        decodes("empty-coding", "RFC 9110, section 5.6.1: empty elements mean nothing", "", text),
        decodes(
            "gzip-in-gzip",
            "RFC 9110, section 8.4: applied in this order",
            "gzip, gzip",
            &gzip(&gzip(text)),
        ),
        decodes(
            "br-in-gzip",
            "RFC 9110, section 8.4: applied in this order",
            "br, gzip",
            &gzip(&brotli(text)),
        ),
        decodes(
            "two-lines",
            "RFC 9110, section 5.3: one list",
            "br\r\nContent-Encoding: gzip",
            &gzip(&brotli(text)),
        ),
        decodes(
            "rubbish-behind",
            "the stream has its own end",
            "gzip",
            &[&*gzip(text), b"rubbish"].concat(),
        ),
        decodes(
            "gzip-without-trailer",
            "browsers do without the checksum and the size",
            "gzip",
            &gzip(text)[..gzip(text).len() - 8],
        ),
        decodes(
            "gzip-with-half-a-trailer",
            "browsers do without the checksum and the size",
            "gzip",
            &gzip(text)[..gzip(text).len() - 4],
        ),
        closes_after(
            "/bodies/length-of-unzipped",
            "browsers: the length before the coding is a mistake that changes nothing",
            [
                html(&format!("Content-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", text.len()))
                    .as_bytes(),
                &gzip(text),
            ]
            .concat(),
            page(text, 1),
        ),
        closes_after(
            "/bodies/wrong-length-of-zipped",
            "the checksum says that nothing is missing, and the length that something is",
            [
                html("Content-Encoding: gzip\r\nContent-Length: 9999\r\n\r\n").as_bytes(),
                &gzip(text),
            ]
            .concat(),
            page(text, 1).uncounted(),
        ),
        decodes("long-name", "RFC 1952, section 2.3.1: names have no limit", "gzip", &named),
        sends(
            "/bodies/gzip-members",
            "RFC 1952, section 2.2: members simply appear one after another",
            response("text/html", "gzip", &padded(&members())),
            page(PIECES.concat(), 4),
        ),
        sends(
            "/bodies/nothing-in-gzip",
            "RFC 9112, section 6.3: nothing was sent, so nothing is wrong",
            response("text/html", "gzip", b""),
            page("", 0),
        ),
        sends(
            "/bodies/packed-file",
            "nobody looks into what is no page: it is as large as it was sent",
            response("application/x-tar", "gzip", b"no gzip at all"),
            other(14),
        )
        .content_type("application/x-tar"),
        sends(
            "/bodies/unknown-coding-of-a-file",
            "nobody looks into what is no page",
            response("image/png", "magic", b"image"),
            other(5),
        ),
        sends(
            "/bodies/error-in-gzip",
            "nobody looks into the page of an error",
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\
             Content-Length: 4\r\n\r\ntext",
            http_error(404, 4),
        ),
    ]
}

fn undecodable() -> Vec<Behaviour> {
    const NOT: &str = "what cannot be decoded is no page";
    const CUT: &str = "the response is whole, but not what is in it";
    let text = text();
    let text = text.as_bytes();
    let fails = |path: String, why, codings: &str, body: &[u8]| {
        let expected_row = failed(Decode).status(200);
        sends(&format!("/bodies/{path}"), why, response("text/html", codings, body), expected_row)
            .with_any_size()
    };
    let mut all = Vec::new();
    for coding in CODINGS {
        let encoded = encode(coding, text);
        let middle = encoded.len() / 2;
        let mut damaged = encoded.clone();
        for byte in &mut damaged[middle..middle + 8] {
            *byte = !*byte;
        }
        all.extend([
            fails(format!("{coding}-of-nothing-else"), NOT, coding, text),
            fails(format!("{coding}-cut-short"), CUT, coding, &encoded[..middle]),
            fails(format!("{coding}-of-one-byte"), CUT, coding, &encoded[..1]),
            fails(format!("{coding}-damaged"), NOT, coding, &damaged),
        ]);
        // The end of gzip is a checksum and a size.
        if coding != "gzip" {
            let end = encoded.len() - 1;
            all.push(fails(format!("{coding}-without-its-end"), CUT, coding, &encoded[..end]));
        }
    }
    // zstd passes nothing on before the end of a frame, and the first half of this br is tables.
    for behaviour in &mut all {
        let path = &behaviour.path;
        let is_cut = path.ends_with("-cut-short") || path.ends_with("-without-its-end");
        if is_cut && !path.contains("zstd") && path != "/bodies/br-cut-short" {
            behaviour.expected_row = behaviour.expected_row.clone().num_urls(1);
        }
    }
    // Brotli has no checksum, so damaged data may decode to some text.
    all.retain(|behaviour| behaviour.path != "/bodies/br-damaged");
    let mut wrong_sum = gzip(text);
    spoil_checksum(&mut wrong_sum);
    let mut members = members();
    spoil_checksum(&mut members[1]);
    let mut wrong_size = gzip(text);
    let size = wrong_size.len() - 1;
    wrong_size[size] = !wrong_size[size];
    let three = gzip(&gzip(&gzip(text)));
    all.extend([
        fails("wrong-checksum".into(), "RFC 1952, section 2.3.1: CRC32", "gzip", &wrong_sum),
        fails(
            "wrong-checksum-of-second-member".into(),
            "RFC 1952, section 2.3.1: each member has its CRC32",
            "gzip",
            &padded(&members),
        ),
        fails("wrong-size".into(), "RFC 1952, section 2.3.1: ISIZE", "gzip", &wrong_size),
        fails("mislabelled-br".into(), NOT, "br", &gzip(text)),
        fails("mislabelled-gzip".into(), NOT, "gzip", &zlib(text)),
        fails("mislabelled-zstd".into(), NOT, "zstd", &gzip(text)),
        fails("wrong-order".into(), NOT, "gzip, br", &gzip(&brotli(text))),
        fails(
            "three-layers".into(),
            "two are one more than anybody means",
            "gzip, gzip, gzip",
            &three,
        ),
        fails(
            "thousand-layers".into(),
            "two are one more than anybody means",
            &"gzip, ".repeat(1000),
            &three,
        ),
        fails("unknown-coding".into(), NOT, "magic", text),
        fails("escape-coding".into(), NOT, "\u{9b}31m", text),
        fails("unasked-coding".into(), NOT, "compress", text),
    ]);
    all
}
