//! The special cases: the oddities of the web, one URL each. `/special/` links
//! to all of them but the long chain of redirects, which no page links to.

/// The number of redirects in the chain: more than any crawler should follow.
const CHAIN_LENGTH: u32 = 15;

/// A fixed response.
#[derive(Debug)]
pub(crate) struct Special {
    /// The path and query, percent-encoded.
    pub(crate) path: String,
    pub(crate) status: u16,
    /// The header fields, each as a line with its line break.
    pub(crate) fields: String,
    pub(crate) body: Vec<u8>,
    framing: Framing,
}

impl Special {
    /// Returns the framing of the body for a client. HTTP/1.0 has no chunks.
    pub(crate) fn framing(&self, is_http_1_0: bool) -> Framing {
        match self.framing {
            Framing::Chunked if is_http_1_0 => Framing::UntilClose,
            framing => framing,
        }
    }
}

/// The framing of a body: how its end is marked (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// `Content-Length`.
    Length,
    /// `Transfer-Encoding: chunked`, with a chunk extension and a trailer.
    Chunked,
    /// The end of the connection.
    UntilClose,
}

/// Returns every special case.
pub(crate) fn all() -> Vec<Special> {
    let mut all = vec![index()];
    all.extend(redirects());
    all.extend(errors());
    all.extend(other_types());
    all.extend(charsets());
    all.extend(links());
    all.extend(framings());
    all
}

fn index() -> Special {
    let mut links = String::new();
    for path in [
        "/foo",
        "/bar",
        "/cycle/one",
        "/redirect/301",
        "/redirect/302",
        "/redirect/303",
        "/redirect/307",
        "/redirect/308",
        "/redirect/relative",
        "/missing",
        "/broken",
        "/picture.png",
        "/notes.txt",
        "/paper.pdf",
        "/feed.xml",
        "/strict.xhtml",
        "/charset/iso-8859-1",
        "/charset/windows-1252",
        "/charset/shift_jis",
        "/charset/utf-16",
        "/charset/meta",
        "/outside",
        "/entities",
        "/relative/dir/page",
        "/base/page",
        "/chunked",
        "/until-close",
        "/empty",
    ] {
        links += &format!("<li><a href=\"{path}\">{path}</a></li>\n");
    }
    page("/special/", &format!("<ul>\n{links}</ul>"))
}

fn redirects() -> Vec<Special> {
    let mut all = vec![
        redirect("/foo", 302, "/baz"),
        redirect("/bar", 302, "/baz"),
        leaf("/baz"),
        redirect("/cycle/one", 302, "/cycle/two"),
        redirect("/cycle/two", 302, "/cycle/one"),
        leaf("/landed"),
        redirect("/redirect/relative", 302, "deeper/landed"),
        leaf("/redirect/deeper/landed"),
    ];
    for status in [301, 302, 303, 307, 308] {
        all.push(redirect(&format!("/redirect/{status}"), status, "/landed"));
    }
    for step in 0..CHAIN_LENGTH {
        let next = if step + 1 < CHAIN_LENGTH {
            format!("/chain/{}", step + 1)
        } else {
            "/chain/end".to_owned()
        };
        all.push(redirect(&format!("/chain/{step}"), 302, &next));
    }
    all.push(leaf("/chain/end"));
    all
}

fn errors() -> Vec<Special> {
    let missing = page("/missing", "<p>Many link here; nothing is here.</p>");
    let broken = page("/broken", "<p>This server has a bad day.</p>");
    vec![Special { status: 404, ..missing }, Special { status: 500, ..broken }]
}

fn other_types() -> Vec<Special> {
    // A PNG of one pixel, a PDF without pages, and two types that have no links:
    // plain text and application/xml.
    let picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\
        \0\0\0\nIDATx\xdac`\0\0\0\x02\0\x01\xe5\x27\xde\xfc\0\0\0\0IEND\xaeB`\x82";
    let paper = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj <<>> endobj\ntrailer <<>>\n%%EOF\n";
    let notes = b"To link, write <a href=\"/trap/from-text\">.\n";
    let feed = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
        <feed><entry><title>Nothing new</title></entry></feed>\n";
    let strict = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <html xmlns=\"http://www.w3.org/1999/xhtml\"><head><title>Strict</title></head>\n\
         <body><p>{}<br /></p></body></html>\n",
        link("/from-xhtml")
    );
    vec![
        typed("/picture.png", "image/png", picture),
        typed("/paper.pdf", "application/pdf", paper),
        typed("/notes.txt", "text/plain; charset=utf-8", notes),
        typed("/feed.xml", "application/xml", feed),
        typed("/strict.xhtml", "application/xhtml+xml; charset=utf-8", strict.as_bytes()),
        leaf("/from-xhtml"),
    ]
}

/// Returns pages in several charsets. Each has one link, whose target is found
/// only if the page is decoded with its charset and the path is then encoded as
/// UTF-8, as the WHATWG URL Standard says.
fn charsets() -> Vec<Special> {
    let shift_jis = b"/menu/\x83\x81\x83\x6a\x83\x85\x81\x5b";
    let mut utf_16 = vec![0xff, 0xfe];
    for unit in html("UTF-16", &link("/menu/na\u{ef}ve")).encode_utf16() {
        utf_16.extend(unit.to_le_bytes());
    }
    vec![
        typed(
            "/charset/iso-8859-1",
            "text/html; charset=ISO-8859-1",
            &html_bytes("<title>Latin</title>", b"/menu/caf\xe9"),
        ),
        leaf("/menu/caf%C3%A9"),
        typed(
            "/charset/windows-1252",
            "text/html; charset=\"windows-1252\"",
            &html_bytes("<title>Western</title>", b"/menu/5\x80"),
        ),
        leaf("/menu/5%E2%82%AC"),
        typed(
            "/charset/shift_jis",
            "text/html; charset=Shift_JIS",
            &html_bytes("<title>Japanese</title>", shift_jis),
        ),
        leaf("/menu/%E3%83%A1%E3%83%8B%E3%83%A5%E3%83%BC"),
        typed("/charset/utf-16", "text/html", &utf_16),
        leaf("/menu/na%C3%AFve"),
        typed(
            "/charset/meta",
            "text/html",
            &html_bytes("<meta charset=\"windows-1251\">", b"/menu/\xec\xe5\xed\xfe"),
        ),
        leaf("/menu/%D0%BC%D0%B5%D0%BD%D1%8E"),
    ]
}

fn links() -> Vec<Special> {
    vec![
        page(
            "/outside",
            "<a href=\"http://elsewhere.invalid/\">Another site</a>\n\
             <a href=\"//elsewhere.invalid/page\">The same, shorter</a>\n\
             <a href=\"mailto:somebody@elsewhere.invalid\">A letter</a>\n\
             <a href=\"javascript:void(0)\">A script</a>\n\
             <a href=\"ftp://elsewhere.invalid/file\">A file</a>\n\
             <a href=\"#top\">This page</a>\n\
             <a name=\"top\">Not a link</a>",
        ),
        page(
            "/entities",
            "<a href=\"/search?q=cats&amp;page=2\">As one should</a>\n\
             <a href='/search?q=dogs&page=2'>As many do</a>\n\
             <A HREF=/search?q=birds>As one could</A>\n\
             <a href=\"/search?q=salt&#x26;pepper\">As nobody does</a>\n\
             <a href=\" /search?q=space\n\">With space around</a>",
        ),
        leaf("/search?q=cats&page=2"),
        leaf("/search?q=dogs&page=2"),
        leaf("/search?q=birds"),
        leaf("/search?q=salt&pepper"),
        leaf("/search?q=space"),
        page(
            "/relative/dir/page",
            "<a href=\"here\">Here</a> <a href=\"./below/there\">Below</a>\n\
             <a href=\"../above\">Above</a> <a href=\"?query\">A query</a>\n\
             <a href=\"../../../../../top\">Above the top</a>",
        ),
        leaf("/relative/dir/here"),
        leaf("/relative/dir/below/there"),
        leaf("/relative/above"),
        leaf("/relative/dir/page?query"),
        leaf("/top"),
        Special {
            body: b"<!DOCTYPE html>\n<html><head><base href=\"/base/other/\">\
                <title>Base</title></head>\n<body><a href=\"leaf\">Leaf</a></body></html>\n"
                .to_vec(),
            ..page("/base/page", "")
        },
        leaf("/base/other/leaf"),
    ]
}

fn framings() -> Vec<Special> {
    vec![
        Special { framing: Framing::Chunked, ..page("/chunked", &link("/from-chunked")) },
        leaf("/from-chunked"),
        Special {
            framing: Framing::UntilClose,
            ..page("/until-close", &link("/from-until-close"))
        },
        leaf("/from-until-close"),
        typed("/empty", "text/html; charset=utf-8", b""),
    ]
}

fn redirect(path: &str, status: u16, location: &str) -> Special {
    let moved = page(path, &link(location));
    Special { status, fields: format!("{}Location: {location}\r\n", moved.fields), ..moved }
}

/// Returns a page without links.
fn leaf(path: &str) -> Special {
    page(path, "<p>You have arrived.</p>")
}

fn page(path: &str, body: &str) -> Special {
    let text = html(path, body);
    typed(path, "text/html; charset=utf-8", text.as_bytes())
}

fn typed(path: &str, content_type: &str, body: &[u8]) -> Special {
    Special {
        path: path.to_owned(),
        status: 200,
        fields: format!("Content-Type: {content_type}\r\n"),
        body: body.to_vec(),
        framing: Framing::Length,
    }
}

fn html(title: &str, body: &str) -> String {
    let title = title.replace('&', "&amp;");
    format!(
        "<!DOCTYPE html>\n<html><head><title>{title}</title></head>\n\
         <body>\n{body}\n</body></html>\n"
    )
}

/// Returns a page with one link, whose bytes may be of any charset.
fn html_bytes(head: &str, href: &[u8]) -> Vec<u8> {
    [
        b"<!DOCTYPE html>\n<html><head>",
        head.as_bytes(),
        b"</head>\n<body><a href=\"",
        href,
        b"\">Menu</a></body></html>\n",
    ]
    .concat()
}

fn link(path: &str) -> String {
    format!("<a href=\"{path}\">{path}</a>")
}
