//! The JUnit format: a test case for each URL, for CI servers.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::io;
use std::sync::Arc;

use crawl_core::Outcome;
use quick_xml::escape::escape;

use super::broken::{Broken, places};
use super::{End, Out, ReportFormat, ShownRow, date};

#[derive(Default)]
pub(super) struct JUnit {
    cases: Vec<Case>,
}

/// A test case. Cases are in the order of what is shown.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    /// The URL, or the path of the file that it leads to.
    shown: Arc<str>,
    /// The URL.
    asked: Arc<str>,
    /// The reason if it was skipped.
    skipped: Option<String>,
    /// The time that it took, in milliseconds.
    elapsed_ms: u64,
}

impl ReportFormat for JUnit {
    fn row(&mut self, row: &ShownRow<'_>, _: &mut Out) -> io::Result<()> {
        let is_skipped = row.outcome == Outcome::Skipped;
        let skipped = if is_skipped {
            row.error.as_ref().map(ToString::to_string)
        } else {
            row.is_known.then(|| "broken, and known to be".to_owned())
        };
        let (shown, asked) = (Arc::clone(&row.url), Arc::clone(row.asked));
        self.cases.push(Case { shown, asked, skipped, elapsed_ms: row.elapsed_ms });
        Ok(())
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        // Of a circle of redirects, one has a row that is broken.
        let have_case: HashSet<&str> = self.cases.iter().map(|case| &*case.asked).collect();
        let further = end.broken.iter().filter(|broken| !have_case.contains(&*broken.asked));
        let further: Vec<_> = further
            .map(|Broken { url, asked, .. }| Case {
                shown: Arc::clone(url),
                asked: Arc::clone(asked),
                skipped: None,
                elapsed_ms: 0,
            })
            .collect();
        self.cases.extend(further);
        self.cases.sort_unstable();
        let broken: HashMap<&str, &Broken> =
            end.broken.iter().map(|broken| (&*broken.asked, broken)).collect();
        let (tests, failures) = (self.cases.len(), end.broken.len());
        let skipped = self.cases.iter().filter(|case| case.skipped.is_some()).count();
        let seconds = end.elapsed.as_secs_f64();
        let counts =
            format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" time=\"{seconds:.3}\"");
        let begun = end.date.checked_sub(end.elapsed).unwrap_or(end.date);
        let begun = date::iso(begun);
        out.write(&format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"crawl\" {counts}>\n\
             <testsuite name=\"links\" {counts} skipped=\"{skipped}\" timestamp=\"{begun}\">\n"
        ))?;
        for Case { shown, asked, skipped, elapsed_ms } in &self.cases {
            let case = format!(
                "<testcase name=\"{}\" classname=\"{}\" time=\"{:.3}\"",
                text(shown),
                text(class_name(shown, asked)),
                *elapsed_ms as f64 / 1000.0
            );
            let case = match (broken.get(&**asked), skipped) {
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

/// Returns the host of a URL, or the folder of a file. CI servers group test cases by it.
fn class_name<'a>(shown: &'a str, asked: &str) -> &'a str {
    let (name, without) = if shown != asked {
        (shown.rsplit_once('/').map(|(folder, _)| folder), ".")
    } else {
        let rest = shown.split_once("://").map(|(_, rest)| rest);
        (rest.and_then(|rest| rest.split(['/', '?', '#']).next()), "invalid URL")
    };
    name.filter(|name| !name.is_empty()).unwrap_or(without)
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
