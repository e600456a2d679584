//! The JUnit format: a test case for each URL, for CI servers.

use std::fmt::Write;
use std::io;
use std::sync::Arc;

use crawl_core::{Outcome, Row};
use quick_xml::escape::escape;

use super::broken::{Broken, places};
use super::{End, Out, ReportFormat};

#[derive(Default)]
pub(super) struct JUnit {
    /// The URLs of all rows, with the reason if one was skipped.
    cases: Vec<(Arc<str>, Option<String>)>,
}

impl ReportFormat for JUnit {
    fn row(&mut self, row: &Row, is_broken: bool, _: &mut Out) -> io::Result<()> {
        let is_skipped = row.outcome == Outcome::Skipped;
        let reason = if is_skipped {
            row.error.as_ref().map(ToString::to_string)
        } else {
            (row.is_broken() && !is_broken).then(|| "broken, and known to be".to_owned())
        };
        self.cases.push((Arc::clone(&row.url), reason));
        Ok(())
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        self.cases.sort_unstable();
        // Of a circle of redirects, one has a row that is broken.
        let has_case =
            |url: &Arc<str>| self.cases.binary_search_by(|(case, _)| case.cmp(url)).is_ok();
        let urls = end.broken.iter().map(|broken| &broken.url).filter(|url| !has_case(url));
        let further: Vec<_> = urls.map(|url| (Arc::clone(url), None)).collect();
        self.cases.extend(further);
        self.cases.sort_unstable();
        let (tests, failures) = (self.cases.len(), end.broken.len());
        let skipped = self.cases.iter().filter(|(_, reason)| reason.is_some()).count();
        let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\"");
        out.write(&format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"crawl\" {counts}>\n\
             <testsuite name=\"links\" {counts} skipped=\"{skipped}\">\n"
        ))?;
        for (url, skipped) in &self.cases {
            let host = url.split('/').nth(2).unwrap_or_default();
            let case = format!("<testcase name=\"{}\" classname=\"{}\"", text(url), text(host));
            let found = end.broken.binary_search_by(|broken| broken.url.cmp(url));
            let case = match (found.ok().map(|n| &end.broken[n]), skipped) {
                (Some(broken), _) => format!("{case}>{}</testcase>\n", failure(broken, end)),
                (None, Some(reason)) => {
                    format!("{case}><skipped message=\"{}\"/></testcase>\n", text(reason))
                }
                (None, None) => format!("{case}/>\n"),
            };
            out.write(&case)?;
        }
        out.write("</testsuite>\n</testsuites>\n")
    }
}

fn failure(broken: &Broken, end: &End<'_>) -> String {
    let mut links = String::new();
    for place in places(broken, end) {
        let line = place.line().map(|line| format!(", line {line}")).unwrap_or_default();
        let _ = writeln!(links, "on {}", place.with_text(&format!("{}{line}", place.page)));
    }
    let (kind, problem) = (broken.kind(), broken.problem());
    format!(
        "<failure type=\"{}\" message=\"{}\">{}</failure>",
        text(&kind),
        text(&problem),
        text(&links)
    )
}

/// Escapes text for XML 1.0, which has no place for some characters (section 2.2).
fn text(text: &str) -> String {
    let is_allowed = |c: &char| !matches!(c, '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    escape(text.chars().filter(is_allowed).collect::<String>()).into_owned()
}
