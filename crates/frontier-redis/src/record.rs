//! The record of a finished URL, as the script for completions takes it.

use crawl_core::JournalEntry;
use serde_json::{Map, Value};

/// The record of a URL in two parts: between them, Redis writes the number of its new URLs,
/// since only Redis knows which are new.
pub(crate) struct Record {
    pub(crate) before_new_urls: String,
    pub(crate) after_new_urls: String,
}

impl Record {
    /// Returns the record of an entry.
    ///
    /// # Errors
    /// When the entry cannot be written as JSON.
    pub(crate) fn of(entry: &JournalEntry<'_>) -> serde_json::Result<Self> {
        let mut entry = object(serde_json::to_value(entry)?);
        let mut row = object(entry.remove("row").unwrap_or_default());
        // The row comes last, and this number last in the row: so it ends the first part.
        row.remove("num_new_urls");
        // Read back, a field that is not there is null, too.
        row.retain(|_, value| !value.is_null());
        let (entry, row) = (members(&entry), members(&row));
        let before_new_urls = format!("{{{entry}\"row\":{{{row}\"num_new_urls\":");
        Ok(Self { before_new_urls, after_new_urls: "}}".to_owned() })
    }
}

fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(object) = value { object } else { Map::new() }
}

/// Returns the members of an object in JSON, a comma after each.
fn members(object: &Map<String, Value>) -> String {
    object.iter().map(|(key, value)| format!("{}:{value},", Value::from(key.as_str()))).collect()
}

#[cfg(test)]
mod tests {
    use crawl_core::{Finished, Job, Purpose};
    use serde_json::json;

    use super::*;

    /// The text that is looked for in a record may be in a URL, too.
    #[test]
    fn a_record_is_the_entry_with_another_number() {
        let url = r#"http://a.test/?"num_new_urls":1"#;
        let finished = Finished::with_panic(&Job::for_file(url), "a \"test\"");
        let entry = JournalEntry {
            row: std::borrow::Cow::Borrowed(&finished.row),
            purpose: Purpose::Page,
            redirects_left: 3,
            out_links: Vec::new().into(),
            ids: Vec::new().into(),
            content: None,
            sets_cookie: false,
            lacks: Vec::new().into(),
        };
        let record = Record::of(&entry).unwrap();
        let text = format!("{}7{}", record.before_new_urls, record.after_new_urls);
        let mut expected = serde_json::to_value(&entry).unwrap();
        expected["row"]["num_new_urls"] = json!(7);
        let read: JournalEntry<'_> = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), expected);
    }
}
