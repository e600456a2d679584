//! The format of GitHub Actions: annotations in the form of workflow commands, as many as GitHub
//! shows, and the whole report in a group of the log.

use std::fmt::Write;
use std::io;

use super::broken::{Broken, Place, count, places, sentence};
use super::findings::{Finding, findings, spread};
use super::text::Text;
use super::{End, Grouping, Out, ReportFormat, ShownRow, step_summary};

pub(super) struct Github {
    pub(super) grouping: Grouping,
}

/// The number of annotations of a step that GitHub shows, for errors and for warnings.
const MAX_ANNOTATIONS: usize = 10;

impl ReportFormat for Github {
    fn row(&mut self, _: &ShownRow<'_>, _: &mut Out) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        self.write_list("error", "Broken link", "broken URL", end.broken, end, out)?;
        self.write_list("warning", "Permanent redirect", "redirect", end.moved, end, out)?;
        out.write(&format!("{}\n", sentence(end)))
    }
}

impl Github {
    fn write_list(
        &self,
        level: &str,
        title: &str,
        what: &str,
        listed: &[Broken],
        end: &End<'_>,
        out: &mut Out,
    ) -> io::Result<()> {
        if listed.is_empty() {
            return Ok(());
        }
        let findings = findings(listed, end);
        let annotate = |finding: &Finding<'_>, place: Option<&Place<'_>>, message: &str| {
            let title = property(&format!("{title}: {}", finding.problem()));
            let file = place.filter(|place| place.is_file).map(|place| {
                let line = place.line().map(|line| format!("line={line},")).unwrap_or_default();
                format!("file={},{line}", property(&place.page))
            });
            format!("::{level} {}title={title}::{}\n", file.unwrap_or_default(), data(message))
        };
        // A link in a file has its own annotation, if there is room for all of them.
        let num_all: usize = findings.iter().map(|finding| num_in_files(finding, end).max(1)).sum();
        let mut rest = listed.len();
        for finding in findings.iter().take(MAX_ANNOTATIONS) {
            rest -= finding.urls.len();
            let [broken, ..] = finding.urls[..] else { continue };
            let places = places(broken, end);
            let is_alone = finding.shared.is_none();
            if num_all <= MAX_ANNOTATIONS && num_in_files(finding, end) > 0 && is_alone {
                for place in places.iter().filter(|place| place.is_file) {
                    let message = place.with_text(&broken.url);
                    out.write(&annotate(finding, Some(place), &message))?;
                }
                continue;
            }
            let mut message = finding.subject();
            if let Some(place) = places.first() {
                let line = place.line().map(|line| format!(", line {line}")).unwrap_or_default();
                let _ =
                    write!(message, "\non {}", place.with_text(&format!("{}{line}", place.page)));
                if let Some(spread) = spread(&places, end).filter(|_| is_alone) {
                    let _ = write!(message, "\n{spread}");
                } else if finding.num_links > 1 {
                    let _ = write!(message, "\nand {} more", finding.num_links - 1);
                }
            }
            out.write(&annotate(finding, places.first(), &message))?;
        }
        out.write(&format!("::group::{}\n", count(listed.len() as u64, what)))?;
        Text::new(self.grouping, false, false).write_by_target(listed, end, out)?;
        out.write("::endgroup::\n")?;
        if rest > 0 {
            let whole = if step_summary().is_some() {
                "the summary of this step"
            } else {
                "the group above"
            };
            out.write(&format!("{rest} more {what}s: see {whole}\n"))?;
        }
        Ok(())
    }
}

/// Returns the number of links to the URLs of a finding that are in files.
fn num_in_files(finding: &Finding<'_>, end: &End<'_>) -> usize {
    let in_files = |broken: &&Broken| places(broken, end).iter().filter(|it| it.is_file).count();
    match finding.shared {
        // Several URLs have one annotation.
        Some(_) => 1,
        None => finding.urls.iter().map(in_files).sum(),
    }
}

/// Escapes the message of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
