//! The format of GitHub Actions: an annotation for each broken URL, or for each link to
//! it in a file, in the form of workflow commands.

use std::fmt::Write;
use std::io;

use super::broken::{places, sentence};
use super::{End, Out, ReportFormat, ShownRow};

pub(super) struct Github;

impl ReportFormat for Github {
    fn row(&mut self, _: &ShownRow<'_>, _: &mut Out) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        for broken in end.broken {
            let title = property(&format!("Broken link: {}", broken.problem()));
            let places = places(broken, end);
            for place in places.iter().filter(|place| place.is_file) {
                let file = property(&place.page);
                let line = place.line().map(|line| format!("line={line},")).unwrap_or_default();
                let message = data(&place.with_text(&broken.url));
                out.write(&format!("::error file={file},{line}title={title}::{message}\n"))?;
            }
            if places.first().is_some_and(|place| place.is_file) {
                continue;
            }
            let mut message = broken.url.to_string();
            // GitHub shows ten annotations of a step: so one for each broken URL.
            if let Some(place) = places.first() {
                let line = place.line().map(|line| format!(", line {line}")).unwrap_or_default();
                let _ =
                    write!(message, "\non {}", place.with_text(&format!("{}{line}", place.page)));
                if places.len() > 1 {
                    let _ = write!(message, "\nand {} more", places.len() - 1);
                }
            }
            out.write(&format!("::error title={title}::{}\n", data(&message)))?;
        }
        out.write(&format!("{}\n", sentence(end)))
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
