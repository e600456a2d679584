//! The format of GitLab's Code Quality: an object for each link to a broken URL, in the fields
//! that GitLab reads of the reports of Code Climate.

use std::io;

use crawl_core::ErrorClass;
use serde_json::{Value, json};

use super::broken::{Broken, Place, places};
use super::sarif::Location;
use super::{End, Out, ReportFormat, ShownRow};

pub(super) struct Gitlab;

impl ReportFormat for Gitlab {
    fn row(&mut self, _: &ShownRow<'_>, _: &mut Out) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        out.write("[")?;
        let mut separator = "";
        let broken = end.broken.iter().map(|broken| (broken, severity(broken)));
        let moved = end.moved.iter().map(|moved| (moved, "info"));
        for (broken, severity) in broken.chain(moved) {
            let places = places(broken, end);
            let without = places.is_empty().then_some(None);
            for place in places.iter().map(Some).chain(without) {
                out.write(&format!("{separator}\n{}", object(broken, severity, place)))?;
                separator = ",";
            }
        }
        out.write("\n]\n")
    }
}

fn severity(broken: &Broken) -> &'static str {
    let is_fragment = broken.error.as_ref().is_some_and(|e| e.class == ErrorClass::Fragment);
    if is_fragment { "minor" } else { "major" }
}

/// Returns the object for one link; without a place, the URL itself is the place.
fn object(broken: &Broken, severity: &str, place: Option<&Place<'_>>) -> Value {
    let page = place.map_or(&*broken.url, |place| &*place.page);
    let description = format!("{}: {}", broken.problem(), broken.url);
    let via = place.map(|place| place.via.join(" ")).unwrap_or_default();
    let kind = broken.kind();
    json!({
        "description": place.map_or(description.clone(), |place| place.with_text(&description)),
        "check_name": kind,
        // The line is not in it: the same link is the same finding when lines have moved.
        "fingerprint": fingerprint(&format!("{kind} {page} {} {via}", broken.url)),
        "severity": severity,
        "location": {
            "path": Location::of(page).path,
            "lines": {"begin": place.and_then(Place::line).unwrap_or(1)},
        },
    })
}

/// Returns a hash of a text that is the same on every machine and in every version: FNV-1a with
/// 128 bits, in hexadecimal digits.
fn fingerprint(text: &str) -> String {
    let step = |hash: u128, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    };
    format!("{:032x}", text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the test vectors of the algorithm's authors.
    #[test]
    fn a_fingerprint_never_changes() {
        assert_eq!(fingerprint(""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(fingerprint("a"), "d228cb696f1a8caf78912b704e4a8964");
    }
}
