//! The site: its URLs and their contents.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use crate::graph::{Form, Graph, Link};
use crate::mix::mix;
use crate::options::{Connections, SiteOptions};
use crate::prose::Prose;
use crate::special::{self, Framing, Special};

/// The site itself, without any connections.
#[derive(Debug)]
pub(crate) struct Site {
    options: SiteOptions,
    graph: Graph,
    prose: Prose,
    specials: Vec<Special>,
    special_by_path: HashMap<String, usize>,
}

/// The content of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A page of the link graph, by its number.
    Page(u32),
    /// A special case, by its index.
    Special(usize),
    /// Status 429: the page is busy, always.
    Busy,
    /// Status 404.
    NotFound,
    /// Status 405.
    NotAllowed,
    /// Status 400, with the reason.
    BadRequest(&'static str),
}

impl Site {
    /// Makes the site of these options.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for invalid options.
    pub(crate) fn new(options: SiteOptions) -> io::Result<Self> {
        options.validate()?;
        let specials = if options.special_cases { special::all() } else { Vec::new() };
        let paths = specials.iter().map(|special| special.path.clone());
        Ok(Self {
            graph: Graph::new(options.seed, options.pages, options.links_per_page),
            prose: Prose::new(options.seed),
            special_by_path: paths.zip(0..).collect(),
            specials,
            options,
        })
    }

    pub(crate) fn options(&self) -> &SiteOptions {
        &self.options
    }

    pub(crate) fn prose(&self) -> &Prose {
        &self.prose
    }

    pub(crate) fn specials(&self) -> &[Special] {
        &self.specials
    }

    /// Returns the content at `target`, a path with its query. Every URL has one
    /// spelling: an additional query, slash or zero makes it another URL.
    pub(crate) fn find(&self, target: &str) -> Content {
        if target == "/" {
            return Content::Page(0);
        }
        if let Some(page) = target.strip_prefix("/page/").and_then(page_number) {
            return match page {
                page if page >= self.options.pages => Content::NotFound,
                page if (1..=self.options.busy_pages).contains(&page) => Content::Busy,
                page => Content::Page(page),
            };
        }
        match self.special_by_path.get(target) {
            Some(index) => Content::Special(*index),
            None => Content::NotFound,
        }
    }

    /// Returns the path of a page of the link graph.
    pub(crate) fn path(page: u32) -> String {
        if page == 0 { "/".to_owned() } else { format!("/page/{page}") }
    }

    /// Returns the latency of the response for `target`.
    pub(crate) fn latency(&self, target: &str) -> Duration {
        let (min, max) = self.options.latency.range();
        // The nanoseconds of a day fit into a u64.
        let spread = (max - min).as_nanos() as u64;
        if spread == 0 {
            return min;
        }
        let hash = target.bytes().fold(self.options.seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        min + Duration::from_nanos(mix(&[self.options.seed, hash]) % (spread + 1))
    }

    /// Returns true if the server closes the connection after this response, even
    /// if the client wants to keep it.
    pub(crate) fn ends_connection(&self, content: Content, is_http_1_0: bool) -> bool {
        self.options.connections == Connections::Close
            || matches!(content, Content::Special(index)
                if self.specials[index].framing(is_http_1_0) == Framing::UntilClose)
    }

    /// Appends the opening of a page: everything before the prose.
    pub(crate) fn push_opening(&self, page: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(b"<!DOCTYPE html>\n<html><head><title>Page ");
        push_number(out, page as usize);
        out.extend_from_slice(b"</title></head>\n<body>\n<ul>\n");
        if page == 0 && self.options.special_cases {
            out.extend_from_slice(b"<li><a href=\"/special/\">Special cases</a></li>\n");
        }
        for link in self.graph.links(page) {
            out.extend_from_slice(b"<li><a href=\"");
            push_href(out, page, link);
            out.extend_from_slice(b"\">Page ");
            push_number(out, link.target as usize);
            out.extend_from_slice(b"</a></li>\n");
        }
        out.extend_from_slice(b"</ul>\n");
    }
}

/// The end of every page of the link graph.
pub(crate) const CLOSING: &[u8] = b"\n</body></html>\n";

/// Appends a number in decimal digits. (Formatting with `write!` would be a
/// third of the work for a small page.)
pub(crate) fn push_number(out: &mut Vec<u8>, mut number: usize) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        first -= 1;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

/// Parses the number of a page, from 1, without a sign or leading zero.
fn page_number(digits: &str) -> Option<u32> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    if is_plain { digits.parse().ok() } else { None }
}

/// Appends the `href` of a link, as written in the page `from`.
fn push_href(out: &mut Vec<u8>, from: u32, link: Link) {
    let to_root = link.target == 0;
    // Seen from the root, other pages are below "page/"; seen from one of
    // them, they are neighbours.
    out.extend_from_slice(match (link.form, from == 0, to_root) {
        (Form::Absolute | Form::Fragment, _, true) => b"/",
        (Form::Absolute | Form::Fragment, _, false) => b"/page/",
        (Form::Relative | Form::Dotted, true, true) => b"./",
        (Form::Relative | Form::Dotted, false, true) => b"../",
        (Form::Relative, true, false) => b"page/",
        (Form::Dotted, true, false) => b"./page/",
        (Form::Relative, false, false) => b"",
        (Form::Dotted, false, false) => b"../page/",
    });
    if !to_root {
        push_number(out, link.target as usize);
    }
    if link.form == Form::Fragment {
        out.extend_from_slice(b"#part-");
        push_number(out, from as usize % 10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Latency;

    fn site(options: SiteOptions) -> Site {
        Site::new(options).unwrap()
    }

    #[test]
    fn every_url_has_one_spelling() {
        let site = site(SiteOptions::default());
        assert_eq!(site.find("/"), Content::Page(0));
        assert_eq!(site.find("/page/1"), Content::Page(1));
        assert_eq!(site.find("/page/99"), Content::Page(99));
        for target in [
            "/page/100",
            "/page/0",
            "/page/01",
            "/page/+1",
            "/page/",
            "/page/1/",
            "/page/1?a",
            "/page/99999999999",
            "/?a",
            "",
        ] {
            assert_eq!(site.find(target), Content::NotFound, "{target}");
        }
    }

    #[test]
    fn special_cases_can_be_left_out() {
        let with = site(SiteOptions::default());
        let Content::Special(index) = with.find("/special/") else {
            panic!("no index");
        };
        assert_eq!(with.specials()[index].path, "/special/");
        let without = site(SiteOptions { special_cases: false, ..SiteOptions::default() });
        assert_eq!(without.find("/special/"), Content::NotFound);
    }

    #[test]
    fn numbers_are_written_in_decimal() {
        for number in [0, 7, 10, 4096, usize::MAX] {
            let mut out = Vec::new();
            push_number(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
    }

    #[test]
    fn a_spread_latency_depends_on_the_url_and_the_seed() {
        let (min, max) = (Duration::from_millis(100), Duration::from_millis(300));
        let spread = |seed| {
            site(SiteOptions {
                seed,
                latency: Latency::Spread { min, max },
                ..SiteOptions::default()
            })
        };
        let of_seed = |seed| {
            let site = spread(seed);
            let latency = |page| site.latency(&Site::path(page));
            (0..100).map(latency).collect::<Vec<_>>()
        };
        let latencies = of_seed(1);
        assert!(latencies.iter().all(|latency| (min..=max).contains(latency)));
        let middle = Duration::from_millis(200);
        let short = latencies.iter().filter(|latency| **latency < middle).count();
        assert!((20..80).contains(&short), "{short} of 100 are short");
        assert_eq!(latencies, of_seed(1));
        assert_ne!(latencies, of_seed(2));
    }

    #[test]
    fn invalid_options_are_refused() {
        let refused = |options: SiteOptions| {
            let error = Site::new(options).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            error.to_string()
        };
        let good = SiteOptions::default;
        assert!(refused(SiteOptions { pages: 0, ..good() }).contains("pages"));
        let unlinked = SiteOptions { links_per_page: 0, ..good() };
        assert!(refused(unlinked).contains("99 of the 100"));
        let crossed = Latency::Spread { min: Duration::from_secs(2), max: Duration::from_secs(1) };
        let crossed = SiteOptions { latency: crossed, ..good() };
        assert!(refused(crossed).contains("2s"));
        let huge = SiteOptions { page_size: usize::MAX, ..good() };
        assert!(refused(huge).contains("bytes"));
        let lonely = SiteOptions { pages: 1, links_per_page: 0, ..good() };
        assert!(Site::new(lonely).is_ok());
    }
}
