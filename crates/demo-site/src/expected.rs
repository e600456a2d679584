//! The URLs that a correct crawler finds. They are listed by hand: if they were
//! computed from what the site serves, a mistake there would be expected too.

/// A URL that a crawler which starts at the root requests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expected {
    /// The path and query, percent-encoded.
    pub path: String,
    /// The kind of its response.
    pub kind: Kind,
}

/// The kind of a URL's response.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Status 200 with `text/html` or `application/xhtml+xml`: links are
    /// extracted.
    Page,
    /// Status 200 with another type, which has no links.
    Other {
        /// The media type, without parameters.
        content_type: &'static str,
    },
    /// A redirect.
    Redirect {
        /// The status: 301, 302, 303, 307 or 308.
        status: u16,
        /// The path that it leads to.
        target: &'static str,
    },
    /// A redirect that leads back to where the chain began.
    Loop {
        /// The status.
        status: u16,
        /// The path that it leads to.
        target: &'static str,
    },
    /// A client or server error (4xx or 5xx).
    Error {
        /// The status: 404 or 500.
        status: u16,
    },
}

/// Returns what a crawler finds on a site of `pages` pages, sorted by path.
pub(crate) fn expected(pages: u32, special_cases: bool) -> Vec<Expected> {
    let mut all = vec![Expected { path: "/".to_owned(), kind: Kind::Page }];
    all.extend((1..pages).map(|page| Expected { path: format!("/page/{page}"), kind: Kind::Page }));
    if special_cases {
        let pages = SPECIAL_PAGES.iter().map(|path| (*path, Kind::Page));
        let special = pages.chain(SPECIAL_REST.iter().cloned());
        all.extend(special.map(|(path, kind)| Expected { path: path.to_owned(), kind }));
    }
    all.sort_unstable();
    all
}

const SPECIAL_PAGES: &[&str] = &[
    "/special/",
    "/baz",
    "/landed",
    "/redirect/deeper/landed",
    "/strict.xhtml",
    "/from-xhtml",
    "/charset/iso-8859-1",
    "/menu/caf%C3%A9",
    "/charset/windows-1252",
    "/menu/5%E2%82%AC",
    "/charset/shift_jis",
    "/menu/%E3%83%A1%E3%83%8B%E3%83%A5%E3%83%BC",
    "/charset/utf-16",
    "/menu/na%C3%AFve",
    "/charset/meta",
    "/menu/%D0%BC%D0%B5%D0%BD%D1%8E",
    "/outside",
    "/entities",
    "/search?q=cats&page=2",
    "/search?q=dogs&page=2",
    "/search?q=birds",
    "/search?q=salt&pepper",
    "/search?q=space",
    "/relative/dir/page",
    "/relative/dir/here",
    "/relative/dir/below/there",
    "/relative/above",
    "/relative/dir/page?query",
    "/top",
    "/base/page",
    "/base/other/leaf",
    "/chunked",
    "/from-chunked",
    "/until-close",
    "/from-until-close",
    "/empty",
];

const SPECIAL_REST: &[(&str, Kind)] = &[
    ("/foo", redirect(302, "/baz")),
    ("/bar", redirect(302, "/baz")),
    ("/cycle/one", redirect(302, "/cycle/two")),
    ("/cycle/two", Kind::Loop { status: 302, target: "/cycle/one" }),
    ("/redirect/301", redirect(301, "/landed")),
    ("/redirect/302", redirect(302, "/landed")),
    ("/redirect/303", redirect(303, "/landed")),
    ("/redirect/307", redirect(307, "/landed")),
    ("/redirect/308", redirect(308, "/landed")),
    ("/redirect/relative", redirect(302, "/redirect/deeper/landed")),
    ("/missing", Kind::Error { status: 404 }),
    ("/broken", Kind::Error { status: 500 }),
    ("/picture.png", other("image/png")),
    ("/paper.pdf", other("application/pdf")),
    ("/notes.txt", other("text/plain")),
    ("/feed.xml", other("application/xml")),
];

const fn redirect(status: u16, target: &'static str) -> Kind {
    Kind::Redirect { status, target }
}

const fn other(content_type: &'static str) -> Kind {
    Kind::Other { content_type }
}
