//! The sitemap format: the pages of a site, for other crawlers (sitemaps.org).

use std::io;

use crawl_core::Outcome;
use quick_xml::escape::escape;

use super::{End, Out, ReportFormat, ShownRow};

/// Limit on the pages in one sitemap. A second sitemap is not written, because its
/// URL is not known here.
const MAX_PAGES: u64 = 50_000;
/// Limit on the length of a sitemap, in bytes.
const MAX_LEN: usize = 50 * 1024 * 1024;

#[derive(Default)]
pub(super) struct Sitemap {
    pages: u64,
    length: usize,
    left_out: u64,
}

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
                    <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n";
const TAIL: &str = "</urlset>\n";

impl ReportFormat for Sitemap {
    fn begin(&mut self, out: &mut Out) -> io::Result<()> {
        self.length = HEAD.len() + TAIL.len();
        out.write(HEAD)
    }

    fn row(&mut self, row: &ShownRow<'_>, out: &mut Out) -> io::Result<()> {
        if row.outcome != Outcome::Page || row.status != Some(200) {
            return Ok(());
        }
        let line = format!("<url><loc>{}</loc></url>\n", escape(&**row.asked));
        if self.pages == MAX_PAGES || self.length + line.len() > MAX_LEN {
            self.left_out += 1;
            return Ok(());
        }
        self.pages += 1;
        self.length += line.len();
        out.write(&line)
    }

    fn end(&mut self, _: &End<'_>, out: &mut Out) -> io::Result<()> {
        out.write(TAIL)
    }

    fn warning(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            let (pages, left_out) = (self.pages, self.left_out);
            format!(
                "the sitemap is full: it has {pages} pages, and {left_out} more do not fit (use \
                 --include for one part of the site at a time)"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crawl_core::{Crawl, Options, Row};
    use url::Url;

    use super::super::statistics::ResultKind;
    use super::*;

    #[test]
    fn pages_beyond_the_limits_are_left_out_and_counted() {
        let mut out = Out::Stream(Box::new(io::sink()));
        let mut sitemap = Sitemap::default();
        sitemap.begin(&mut out).unwrap();
        let row = page();
        let mut add = |sitemap: &mut Sitemap, asked: &Arc<str>| {
            let result = ResultKind::Fine;
            let row = ShownRow { row: &row, asked, is_broken: false, is_known: false, result };
            sitemap.row(&row, &mut out).unwrap();
        };
        for _ in 0..MAX_PAGES + 2 {
            add(&mut sitemap, &row.url);
        }
        assert_eq!((sitemap.pages, sitemap.left_out), (MAX_PAGES, 2));
        let warning = sitemap.warning().unwrap();
        assert!(warning.contains("50000 pages, and 2 more do not fit"), "{warning}");

        let mut sitemap = Sitemap::default();
        let long = format!("http://a.test/{}", "x".repeat(20 << 20)).into();
        for _ in 0..3 {
            add(&mut sitemap, &long);
        }
        assert_eq!((sitemap.pages, sitemap.left_out), (2, 1));
    }

    fn page() -> Row {
        let mut crawl = Crawl::new(Options::new(vec![Url::parse("http://a.test").unwrap()]));
        let root = crawl.roots(&mut (Box::new(drop) as crawl_core::Sink)).remove(0);
        let error = crawl_core::FetchError::new(crawl_core::ErrorClass::Dns, "none");
        let row = crawl.refuse(&root, error).row;
        Row { outcome: Outcome::Page, status: Some(200), ..row }
    }
}
