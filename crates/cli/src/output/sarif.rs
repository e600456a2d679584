//! The SARIF format (OASIS, version 2.1.0): a result for each link to a broken URL,
//! for tools that collect the findings of checkers.

use std::collections::BTreeMap;
use std::io;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use url::{Position, Url};

use super::broken::{Broken, Place, places};
use super::{End, Out, ReportFormat, ShownRow};

pub(super) struct Sarif;

impl ReportFormat for Sarif {
    fn row(&mut self, _: &ShownRow<'_>, _: &mut Out) -> io::Result<()> {
        Ok(())
    }

    fn has_error_field(&self) -> bool {
        true
    }

    fn end(&mut self, end: &End<'_>, out: &mut Out) -> io::Result<()> {
        let kinds: BTreeMap<String, String> =
            end.broken.iter().map(|broken| (broken.kind(), broken.problem_kind())).collect();
        let rules: Vec<Value> = kinds
            .iter()
            .map(|(id, text)| json!({"id": id, "shortDescription": {"text": text}}))
            .collect();
        let notifications =
            end.problem.map(|problem| json!([{"level": "error", "message": {"text": problem}}]));
        let head = json!({
            "driver": {"name": "crawl", "version": env!("CARGO_PKG_VERSION"), "rules": rules},
        });
        let invocation = json!({
            "executionSuccessful": end.problem.is_none(),
            "toolExecutionNotifications": notifications.unwrap_or_else(|| json!([])),
        });
        out.write(&format!(
            "{{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\n\
             \"version\":\"2.1.0\",\n\"runs\":[{{\"tool\":{head},\n\"invocations\":[{invocation}],\n\
             \"columnKind\":\"unicodeCodePoints\",\n\"results\":["
        ))?;
        let mut separator = "";
        for broken in end.broken {
            let places = places(broken, end);
            let without = places.is_empty().then(|| result(broken, None));
            for result in places.iter().map(|place| result(broken, Some(place))).chain(without) {
                out.write(&format!("{separator}\n{result}"))?;
                separator = ",";
            }
        }
        out.write("\n]}]}\n")
    }
}

/// Returns a URL as a URI (RFC 3986), which has fewer characters, and the path of a file as
/// a relative reference (section 4.2). The brackets of an IPv6 address stay.
fn uri(page: &str) -> String {
    const RESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'/');
    const NOT_IN_URIS: AsciiSet =
        CONTROLS.add(b'[').add(b']').add(b'|').add(b'^').add(b'{').add(b'}').add(b'\\').add(b'`');
    match Url::parse(page).ok().filter(|_| page.contains("://")) {
        Some(url) => {
            let (host, rest) = (&url[..Position::BeforePath], &url[Position::BeforePath..]);
            format!("{host}{}", utf8_percent_encode(rest, &NOT_IN_URIS))
        }
        None => utf8_percent_encode(page, &RESERVED).to_string(),
    }
}

/// Returns the result for one link; without a place, the URL itself is the place.
fn result(broken: &Broken, place: Option<&Place<'_>>) -> Value {
    let page = place.map_or(&*broken.url, |place| &*place.page);
    let mut location = json!({"artifactLocation": {"uri": uri(page)}});
    if let Some((line, column)) = place.and_then(|place| Some((place.line()?, place.column()?))) {
        location["region"] = json!({"startLine": line, "startColumn": column});
    }
    let text = place.map(Place::text).filter(|text| !text.is_empty());
    let text = text.map(|text| format!(" (link: {text})")).unwrap_or_default();
    json!({
        "ruleId": broken.kind(),
        "level": "error",
        "message": {"text": format!("{}: {}{text}", broken.problem(), broken.url)},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"brokenLink/v1": format!("{page} {}", broken.url)},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_in_sarif_is_a_uri() {
        for (page, expected) in [
            ("https://a.test/%5B?x=%20", "https://a.test/%5B?x=%20"),
            ("http://[::1]/a[1]|?{\\}`^", "http://[::1]/a%5B1%5D%7C?%7B%5C%7D%60%5E"),
            ("out/a:[1].html", "out/a%3A%5B1%5D.html"),
            // Links that are no URLs.
            ("//[x://y", "//%5Bx%3A//y"),
            ("http://[bad", "http%3A//%5Bbad"),
        ] {
            assert_eq!(uri(page), expected);
        }
    }
}
