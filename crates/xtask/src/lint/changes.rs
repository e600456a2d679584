//! The lint of changes: what a "Change something" quotes is in the files that the change
//! of its page edits, so that it does not name a line that has moved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde::Deserialize;

use super::Finding;
use crate::book::{Book, PAGES};
use crate::markdown::Page;

/// The changes, which the labs apply.
const CHANGES: &str = "crates/book-programs/changes.toml";

/// The beginnings of proposals in a page.
const PROPOSALS: [&str; 2] = ["**Change something", "**And another"];

/// A change, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Change {
    /// The name of the page that proposes it.
    page: String,
    replace: Vec<Replacement>,
}

/// The function that a change puts in the place of another one in a file.
#[derive(Debug, Deserialize)]
struct Replacement {
    file: PathBuf,
    wrong: String,
}

pub(super) fn check(book: &Book) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut replaced = Vec::new();
    let file = Path::new(CHANGES);
    match toml::from_str::<BTreeMap<String, Change>>(&book.read(file).unwrap_or_default()) {
        Ok(changes) => {
            for Change { page, replace } in changes.into_values() {
                replaced.extend(replace.into_iter().map(|it| (page.clone(), it)));
            }
        }
        Err(error) => findings.push(Finding::new(file, 1, error.message())),
    }
    for page in &book.pages {
        let of_page = |(name, _): &&(String, Replacement)| page.path == Path::new(PAGES).join(name);
        let of_page: Vec<_> = replaced.iter().filter(of_page).map(|(_, it)| it).collect();
        findings.extend(check_page(book, page, &of_page));
    }
    findings
}

fn check_page(book: &Book, page: &Page, replaced: &[&Replacement]) -> Vec<Finding> {
    let source = |it: &&Replacement| {
        let file = book.read(&it.file).unwrap_or_default();
        without_blanks(&format!("{file}\n{}", it.wrong))
    };
    let sources: Vec<String> = replaced.iter().map(source).collect();
    let is_known = |quote: &str| {
        let has = |part: &str| sources.iter().any(|source| source.contains(part));
        let is_path = replaced.iter().any(|it| it.file.ends_with(quote));
        is_path || without_blanks(quote).split('…').all(|part| has(part) || is_method(part, has))
    };
    let code = Regex::new("`([^`]+)`").expect("a pattern");
    let mut findings = Vec::new();
    for (line, proposal) in proposals(page) {
        for quote in code.captures_iter(&proposal).map(|quote| quote[1].to_owned()) {
            if !is_known(&quote) {
                let what = format!("`{quote}` is not in what a change of this page edits");
                findings.push(Finding::new(&page.path, line, what));
            }
        }
    }
    findings
}

/// Returns the paragraphs of a page that propose a change, with their first lines.
fn proposals(page: &Page) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (line, text) in page.unfenced() {
        if PROPOSALS.iter().any(|beginning| text.contains(beginning)) {
            is_open = true;
            found.push((line, String::new()));
        }
        is_open &= !text.trim_start_matches('>').trim().is_empty();
        if let Some((_, paragraph)) = found.last_mut().filter(|_| is_open) {
            paragraph.push_str(text);
            paragraph.push('\n');
        }
    }
    found
}

/// Returns true for `Type::name` if both parts are there.
fn is_method(quote: &str, has: impl Fn(&str) -> bool) -> bool {
    let method = quote.trim_end_matches("()").split_once("::");
    method.is_some_and(|(of, name)| has(of) && has(&format!("fn{name}")))
}

fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings;
    use super::*;

    #[test]
    fn what_is_quoted_is_what_is_edited() {
        let change = "[x]\npage = \"a.md\"\n[[x.replace]]\nfile = \"crates/c/src/a.rs\"\n\
            function = 'Queue::put'\nwrong = 'fn put(&self) { let x = 2; }'\n";
        let source = "impl Queue {\n    fn put(&self) {\n        let x = 1;\n    }\n}\n";
        let found = |page: &str| {
            findings(
                check,
                &[("book/src/a.md", page), ("crates/c/src/a.rs", source), (CHANGES, change)],
            )
        };
        let fine = "**Change something.** In `Queue::put` of `a.rs`, make `let x =\n1;` into \
            `let x = 2;`, in `let … 1;`.\n\nHere is `anything`.\n\n```\n**Change something.** `no`\n```\n";
        assert_eq!(found(fine), [""; 0]);
        let moved = found("# A\n\n> **Change something.** In\n> `Queue::get`, or `let y`.\n");
        assert_eq!(moved.len(), 2, "{moved:?}");
        assert!(moved[0].starts_with("book/src/a.md:3: `Queue::get` is not"), "{moved:?}");
        assert!(moved[1].contains("`let y`"), "{moved:?}");
        for beginning in ["**Change something else.**", "**And another.**", "**And another**,"] {
            assert_eq!(found(&format!("{beginning} See `let y`.\n")).len(), 1, "{beginning}");
        }
    }
}
