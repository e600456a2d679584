//! Character encodings of pages, declared or not (WHATWG Encoding and HTML).

use super::behaviour::{Behaviour, ok, sends};
use crate::common::{other, page};

const HOME: &str = "<a href=/>home</a>";

fn utf_16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(to_bytes).collect()
}

pub(crate) fn behaviours(_: &str) -> Vec<Behaviour> {
    const HEADER: &str = "Encoding, section 4.2: labels";
    const META: &str = "HTML, section 13.2.3.2: the first 1024 bytes are asked";
    const MARK: &str = "HTML, section 13.2.3.1: a byte order mark knows best";
    // For browsers, all of such a page is one error (Encoding, section 14.1),
    // because an attacker could hide scripts in it. A crawler runs no scripts,
    // and the links are in ASCII.
    const REPLACEMENT: &str = "Encoding, section 4.2: as good as unknown where no scripts run";
    const UNKNOWN: &str = "Encoding, section 4.2: a label that nobody knows says nothing";
    let of_type = |path: &str, why, content_type: &str, body: &[u8], num_urls| {
        let length = body.len();
        let head = format!("Content-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n");
        let response = [ok(&head).as_bytes(), body].concat();
        sends(&format!("/text/{path}"), why, response, page(body, num_urls))
    };
    let of = |path: &str, why, label: &str, body: &[u8], num_urls| {
        of_type(path, why, &format!("text/html; charset={label}"), body, num_urls)
    };
    let bare =
        |path: &str, why, body: &[u8], num_urls| of_type(path, why, "text/html", body, num_urls);
    let little = utf_16(HOME, u16::to_le_bytes);
    let big = utf_16(HOME, u16::to_be_bytes);
    let meta = |charset: &str| format!("<meta charset={charset}>{HOME}");
    let noise: Vec<u8> =
        (0..100_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    vec![
        of("utf-7", UNKNOWN, "utf-7", HOME.as_bytes(), 1).encoding("utf-8"),
        of("ebcdic", UNKNOWN, "cp037", HOME.as_bytes(), 1).encoding("utf-8"),
        of("escape", UNKNOWN, "\"\u{9b}\"", HOME.as_bytes(), 1).encoding("utf-8"),
        of("nothing", UNKNOWN, "", HOME.as_bytes(), 1).encoding("utf-8"),
        of("two-labels", "the first counts", "koi8-r; charset=utf-8", HOME.as_bytes(), 1)
            .encoding("koi8-r"),
        of("latin-1", HEADER, "ISO-8859-1", b"<a href=/>\xe9</a>", 1).encoding("windows-1252"),
        of("quoted", HEADER, "\"UTF-8\"", HOME.as_bytes(), 1).encoding("utf-8"),
        of("shift-jis", HEADER, "shift_jis", b"\x83<a href=/>home</a>", 1).encoding("shift_jis"),
        of("iso-2022-jp", HEADER, "iso-2022-jp", b"\x1b$B$\"\x1b(B<a href=/>home</a>", 1)
            .encoding("iso-2022-jp"),
        // The bytes that look like a link are Japanese text.
        of("iso-2022-jp-left-open", HEADER, "iso-2022-jp", b"\x1b$B<a href=/>home</a>", 0)
            .encoding("iso-2022-jp"),
        of("iso-2022-kr", REPLACEMENT, "iso-2022-kr", HOME.as_bytes(), 1).encoding("utf-8"),
        of("hz", REPLACEMENT, "hz-gb-2312", HOME.as_bytes(), 1).encoding("utf-8"),
        of("user-defined", HEADER, "x-user-defined", HOME.as_bytes(), 1).encoding("x-user-defined"),
        of("utf-16le", HEADER, "utf-16le", &little, 1).encoding("utf-16le"),
        of("utf-16", "Encoding, section 4.2: the label of utf-16le", "utf-16", &little, 1)
            .encoding("utf-16le"),
        of("utf-16be", HEADER, "utf-16be", &big, 1).encoding("utf-16be"),
        of("utf-16-wrong-way", HEADER, "utf-16le", &big, 0).encoding("utf-16le"),
        of("utf-16-odd", HEADER, "utf-16le", &[&*little, b"<"].concat(), 1).encoding("utf-16le"),
        of("utf-16-of-nothing-else", HEADER, "utf-16le", HOME.as_bytes(), 0).encoding("utf-16le"),
        of("utf-8-mark", MARK, "koi8-r", &[b"\xef\xbb\xbf", HOME.as_bytes()].concat(), 1)
            .encoding("utf-8"),
        of("utf-16-mark", MARK, "utf-8", &[b"\xff\xfe", &*little].concat(), 1).encoding("utf-16le"),
        bare("utf-16-unlabelled", "HTML, section 13.2.3.2: nothing says so", &little, 0),
        bare("meta", META, meta("koi8-r").as_bytes(), 1).encoding("koi8-r"),
        bare(
            "meta-utf-16",
            "HTML, section 13.2.3.2: who can be read cannot be in UTF-16",
            meta("utf-16").as_bytes(),
            1,
        )
        .encoding("utf-8"),
        bare("meta-user-defined", "HTML, section 13.2.3.2", meta("x-user-defined").as_bytes(), 1)
            .encoding("windows-1252"),
        bare("meta-unknown", UNKNOWN, meta("\x1b").as_bytes(), 1).encoding("utf-8"),
        bare("meta-too-late", META, (" ".repeat(2000) + &meta("koi8-r")).as_bytes(), 1)
            .encoding("utf-8"),
        bare(
            "bad-utf-8",
            "Encoding, section 4.1: errors are replaced",
            b"<a href=/#\xff\xfe\xc0>\xff</a>",
            1,
        ),
        bare(
            "nuls",
            "HTML, section 13.2.5: replaced, or left out",
            b"\0\0<a href=/#\0\0>\0</a>\0",
            1,
        ),
        bare("nul-in-a-name", "HTML, section 13.2.5.8: another name", b"<a\0 href=/>home</a>", 0),
        bare("controls", "they mean nothing", b"\x1b[2J\x07\x7f\xc2\x9b<a href=/>home</a>", 1),
        bare("noise", "whatever it is, it ends", &noise, 0),
        bare("empty", "a page with nothing on it", b"", 0),
        bare(
            "only-a-tag-begun",
            "HTML, section 13.2.5.1: eof-in-tag, which is dropped",
            b"<a href=/",
            0,
        ),
        of_type("xhtml", "searched like any page", "application/xhtml+xml", HOME.as_bytes(), 1)
            .content_type("application/xhtml+xml"),
        sends(
            "/text/sniffed",
            "no page but what is said to be one",
            ok("Content-Type: text/plain\r\nContent-Length: 18\r\n\r\n") + HOME,
            other(18),
        )
        .content_type("text/plain"),
    ]
}
