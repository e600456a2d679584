//! The SARIF format (OASIS, version 2.1.0): a result for each link to a broken URL,
//! for tools that collect the findings of checkers.

use std::collections::{BTreeMap, BTreeSet};
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
        let kinds: BTreeMap<String, &Broken> =
            end.broken.iter().map(|broken| (broken.kind(), broken)).collect();
        let rules: Vec<Value> = kinds.iter().map(|(id, broken)| rule(id, broken)).collect();
        let notifications =
            end.problem.map(|problem| json!([{"level": "error", "message": {"text": problem}}]));
        let mut head = json!({
            "driver": {
                "name": "crawl",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            },
        });
        let repository = env!("CARGO_PKG_REPOSITORY");
        if !repository.is_empty() {
            head["driver"]["informationUri"] = json!(repository);
        }
        let invocation = json!({
            "executionSuccessful": end.problem.is_none(),
            "toolExecutionNotifications": notifications.unwrap_or_else(|| json!([])),
        });
        out.write(&format!(
            "{{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\n\
             \"version\":\"2.1.0\",\n\"runs\":[{{\"tool\":{head},\n\"invocations\":[{invocation}],\n\
             \"columnKind\":\"unicodeCodePoints\",\n\"results\":["
        ))?;
        let (mut separator, mut bases) = ("", BTreeSet::new());
        for broken in end.broken {
            let places = places(broken, end);
            let without = places.is_empty().then_some(None);
            for place in places.iter().map(Some).chain(without) {
                let page = place.map_or(&*broken.url, |place| &*place.page);
                let at = Location::of(page);
                let result = result(broken, place, page, &at);
                bases.extend(at.base);
                out.write(&format!("{separator}\n{result}"))?;
                separator = ",";
            }
        }
        let bases: serde_json::Map<String, Value> =
            bases.into_iter().map(|base| (base.clone(), json!({"uri": base}))).collect();
        out.write(&format!("\n],\n\"originalUriBaseIds\":{}}}]}}\n", json!(bases)))
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

/// The location of a page, as tools that look for it in a repository want it.
pub(super) struct Location {
    /// The path, relative to the base; or to the repository, without one.
    pub(super) path: String,
    /// The origin of the site.
    pub(super) base: Option<String>,
}

impl Location {
    /// Returns the location of a page, which is a URL or the path of a file. Another text, that
    /// of a link that is not a URL, is as good as the path of a file.
    pub(super) fn of(page: &str) -> Self {
        let uri = uri(page);
        let parts = uri.split_once("://").and_then(|(scheme, rest)| {
            let (host, path) = rest.split_once('/')?;
            Some((format!("{scheme}://{host}/"), path))
        });
        match parts.filter(|(base, _)| base.starts_with("http")) {
            // The page of the root has no other name than its folder.
            Some((base, "")) => Self { path: "./".to_owned(), base: Some(base) },
            Some((base, path)) => Self { path: path.to_owned(), base: Some(base) },
            None => Self { path: uri.trim_start_matches("./").to_owned(), base: None },
        }
    }
}

/// Returns the description of a kind of problems.
fn rule(id: &str, broken: &Broken) -> Value {
    let (title, advice) = (broken.problem_kind(), broken.advice());
    json!({
        "id": id,
        "name": format!("BrokenLink{}", camel_case(id)),
        "shortDescription": {"text": format!("Broken link: {title}")},
        "fullDescription": {"text": format!("A link is broken: {title}. {advice}")},
        "help": {"text": advice, "markdown": advice},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["links"], "precision": "very-high", "problem.severity": "error"},
    })
}

/// Returns the name of a rule, which has no underscores in SARIF.
fn camel_case(id: &str) -> String {
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect::<String>()
    };
    id.split('_').map(capital).collect()
}

/// Returns the result for one link; without a place, the URL itself is the place.
fn result(broken: &Broken, place: Option<&Place<'_>>, page: &str, at: &Location) -> Value {
    let (line, column) = (place.and_then(Place::line), place.and_then(Place::column));
    let mut region = json!({"startLine": line.unwrap_or(1)});
    if let Some(column) = column {
        region["startColumn"] = json!(column);
    }
    let mut artifact = json!({"uri": at.path});
    if let Some(base) = &at.base {
        artifact["uriBaseId"] = json!(base);
    }
    let text = place.map(Place::text).filter(|text| !text.is_empty());
    let text = text.map(|text| format!(" (link: {text})")).unwrap_or_default();
    json!({
        "ruleId": broken.kind(),
        "level": "error",
        "message": {"text": format!("{}: {}{text}", broken.problem(), broken.url)},
        "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": region}}],
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
