//! The lint of the search index: it has the vocabulary of the book.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::Built;
use crate::book::SUMMARY;
use crate::lint::Finding;

/// The vocabulary: terms that a reader would search for. The search leaves out some words.
const VOCABULARY: [&str; 50] = [
    "backpressure",
    "blocking",
    "callback",
    "cancellation",
    "connect",
    "connected",
    "coroutine",
    "crawler",
    "deadline",
    "deadlock",
    "edge-triggered",
    "epoll",
    "event",
    "EventLoop",
    "executor",
    "fairness",
    "fetch",
    "Fetcher",
    "Future",
    "gather",
    "generator",
    "join",
    "JoinableQueue",
    "keep-alive",
    "key",
    "kqueue",
    "level-triggered",
    "non-blocking",
    "Pin",
    "poll",
    "put_nowait",
    "queue",
    "reactor",
    "read_all",
    "readiness",
    "redirect",
    "register",
    "request",
    "run_until_complete",
    "seen_urls",
    "selector",
    "shield",
    "stack ripping",
    "Task",
    "task_done",
    "timer",
    "wait_for",
    "Waker",
    "WouldBlock",
    "yield from",
];

pub(super) fn check(built: &Built) -> io::Result<Vec<Finding>> {
    let words = words(&built.read("searchindex.js")?)?;
    let is_found = |entry: &&str| split(entry).all(|word| words.contains(&word));
    let missing = VOCABULARY.iter().filter(|entry| !is_found(entry));
    let what = |entry: &&str| format!("the search would not find '{entry}'");
    Ok(missing.map(|entry| Finding::new(Path::new(SUMMARY), 1, what(entry))).collect())
}

/// Returns the words of the index, which is JSON in a string of a script.
fn words(script: &str) -> io::Result<HashSet<String>> {
    let no_index = || io::Error::other("mdbook's search index is not what it was");
    let (_, rest) = script.split_once("JSON.parse('").ok_or_else(no_index)?;
    let (json, _) = rest.rsplit_once("')").ok_or_else(no_index)?;
    let json = json.replace("\\'", "'").replace("\\\\", "\\");
    let index: Value = serde_json::from_str(&json)?;
    let docs = index["index"]["documentStore"]["docs"].as_object().ok_or_else(no_index)?;
    let texts = docs.values().flat_map(|doc| [&doc["title"], &doc["body"]]);
    Ok(texts.filter_map(Value::as_str).flat_map(split).collect())
}

/// Splits a text into words like the search does: at blanks and hyphens, without
/// the punctuation around a word.
fn split(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|sign: char| sign.is_whitespace() || sign == '-');
    let is_sign = |sign: char| !sign.is_alphanumeric() && sign != '_';
    words.map(move |word| word.trim_matches(is_sign).to_lowercase()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::tests::built;
    use super::*;

    fn index(body: &str) -> String {
        let docs =
            format!(r#"{{"documentStore":{{"docs":{{"0":{{"title":"","body":"{body}"}}}}}}}}"#);
        format!("window.search = Object.assign(window.search, JSON.parse('{{\"index\":{docs}}}'));")
    }

    #[test]
    fn a_term_missing_in_the_index_is_a_finding() {
        let all = VOCABULARY.join(", ");
        let found = |body: &str| check(&built(&[("searchindex-1f.js", &index(body))])).unwrap();
        assert_eq!(found(&all), []);
        let found = found(&all.replace("Waker", "Sleeper"));
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().ends_with("would not find 'Waker'"), "{}", found[0]);
    }

    #[test]
    fn no_term_is_left_out_by_the_search() {
        // Of elasticlunr, which mdBook uses.
        let left_out = "a able about across after all almost also am among an and any are as at be \
            because been but by can cannot could dear did do does either else ever every for from \
            get got had has have he her hers him his how however i if in into is it its just least \
            let like likely may me might most must my neither no nor not of off often on only or \
            other our own rather said say says she should since so some than that the their them \
            then there these they this tis to too twas us wants was we were what when where which \
            while who whom why will with would yet you your";
        let left_out: Vec<&str> = left_out.split(' ').collect();
        let is_kept = |word: String| !left_out.contains(&&*word);
        for term in VOCABULARY {
            assert!(split(term).any(is_kept), "{term}");
        }
    }

    #[test]
    fn words_are_split_like_in_the_search() {
        let words: Vec<String> = split("(Edge-triggered) `task_done()`, don't…").collect();
        assert_eq!(words, ["edge", "triggered", "task_done", "don't"]);
        let escaped = words_of(r#"it\'s \\"quoted\\""#);
        assert!(escaped.contains("it's") && escaped.contains("quoted"), "{escaped:?}");
        assert!(super::words("window.search = {}").is_err());
    }

    fn words_of(body: &str) -> HashSet<String> {
        words(&index(body)).unwrap()
    }
}
