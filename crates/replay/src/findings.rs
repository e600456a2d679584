//! The findings of a stage, to be compared with those of the others.

use std::collections::BTreeMap;

use serde_json::Value;

/// The fields of a row that have to be equal in all stages.
const COMPARED: [&str; 5] = ["status", "outcome", "next_url", "size", "num_urls"];

/// The rows of a crawl by URL, reduced to the compared fields.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    by_url: BTreeMap<String, String>,
    total: u64,
    broken: u64,
}

impl Findings {
    /// Adds a row in JSON. A URL that has two rows differs from one that has one.
    pub(crate) fn add(&mut self, row: &Value) {
        let url = row["url"].as_str().unwrap_or_default().to_owned();
        let values = COMPARED.map(|field| format!("{field} {}", row[field]));
        let finding = values.join(", ");
        self.by_url
            .entry(url)
            .and_modify(|first| *first = format!("{first}; and again: {finding}"))
            .or_insert(finding);
        self.total += 1;
        let outcome = row["outcome"].as_str();
        self.broken += u64::from(matches!(outcome, Some("http_error" | "failed")));
    }

    /// Returns the number of rows.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of broken rows.
    pub(crate) fn broken(&self) -> u64 {
        self.broken
    }

    /// Returns the URLs whose findings differ, sorted, with both findings.
    pub(crate) fn differences<'a>(
        &'a self,
        other: &'a Self,
    ) -> Vec<(&'a str, Option<&'a str>, Option<&'a str>)> {
        let mut urls: Vec<&String> = self.by_url.keys().chain(other.by_url.keys()).collect();
        urls.sort();
        urls.dedup();
        let both = urls.into_iter().map(|url| {
            let [ours, theirs] = [self, other].map(|side| side.by_url.get(url).map(String::as_str));
            (url.as_str(), ours, theirs)
        });
        both.filter(|(_, ours, theirs)| ours != theirs).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(url: &str) -> Value {
        json!({
            "url": url, "status": 200, "outcome": "page", "next_url": null, "error": null,
            "size": 10, "num_urls": 3, "num_new_urls": 2, "elapsed_ms": 5, "referrer": null,
        })
    }

    fn findings(rows: &[Value]) -> Findings {
        let mut findings = Findings::default();
        rows.iter().for_each(|row| findings.add(row));
        findings
    }

    #[test]
    fn the_order_of_rows_and_timing_fields_make_no_difference() {
        let mut late = row("/a");
        for (field, value) in [("elapsed_ms", 900), ("num_new_urls", 0)] {
            late[field] = value.into();
        }
        late["referrer"] = "/b".into();
        let ours = findings(&[row("/a"), row("/b")]);
        let theirs = findings(&[row("/b"), late]);
        assert_eq!(ours.differences(&theirs), []);
        assert_eq!((ours.total(), ours.broken()), (2, 0));
    }

    #[test]
    fn each_compared_field_makes_a_difference() {
        for field in COMPARED {
            let mut other = row("/a");
            other[field] = "something else".into();
            let (ours, theirs) = (findings(&[row("/a")]), findings(&[other]));
            let differences = ours.differences(&theirs);
            assert_eq!(differences.len(), 1, "{field}");
            let (url, ours, theirs) = differences[0];
            assert_eq!(url, "/a");
            assert!(!ours.unwrap().contains("something else"));
            assert!(theirs.unwrap().contains(&format!("{field} \"something else\"")));
        }
    }

    #[test]
    fn a_missing_or_repeated_url_makes_a_difference() {
        let ours = findings(&[row("/a"), row("/b"), row("/b")]);
        let theirs = findings(&[row("/b"), row("/c")]);
        let differences = ours.differences(&theirs);
        let urls: Vec<&str> = differences.iter().map(|(url, ..)| *url).collect();
        assert_eq!(urls, ["/a", "/b", "/c"]);
        assert_eq!(differences[0].2, None);
        assert!(differences[1].1.unwrap().contains("and again"));
        assert_eq!(differences[2].1, None);
    }

    #[test]
    fn broken_rows_are_counted() {
        let outcomes = ["page", "other", "redirect", "http_error", "failed"];
        let rows = outcomes.map(|outcome| {
            let mut row = row(outcome);
            row["outcome"] = outcome.into();
            row
        });
        assert_eq!(findings(&rows).broken(), 2);
    }
}
