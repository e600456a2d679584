//! The lint of captions: above included code stands the name of its file.

use std::io;
use std::path::Path;

use super::Finding;
use crate::book::Book;
use crate::markdown::{Fence, Page};
use crate::source::includes_of_line;

const BEFORE: &str = "<p class=\"file\">";
const AFTER: &str = "</p>";

pub(super) fn check(book: &Book) -> Vec<Finding> {
    book.pages.iter().flat_map(check_page).collect()
}

/// Corrects the captions of all pages. Returns the names of the changed pages.
pub(crate) fn fix(book: &Book) -> io::Result<Vec<String>> {
    let mut fixed = Vec::new();
    for page in &book.pages {
        let text = with_captions(page);
        if text != page.text {
            book.write(&page.path, &text)?;
            fixed.push(page.path.display().to_string());
        }
    }
    Ok(fixed)
}

fn check_page(page: &Page) -> Vec<Finding> {
    let lines: Vec<&str> = page.text.lines().collect();
    let expected = expected(page);
    let mut findings = Vec::new();
    for (fence_line, file) in &expected {
        // The fence is line N, so the last index above it is N - 2.
        let above = lines[..fence_line - 1].split_last_chunk::<2>().map(|(_, above)| above);
        if above.is_none_or(|[caption, blank]| *caption != caption_of(file) || !blank.is_empty()) {
            let what = format!("no caption that says {file}; see lint-book --fix");
            findings.push(Finding::new(&page.path, *fence_line, what));
        }
    }
    for (number, line) in page.prose() {
        let is_used = expected.iter().any(|(fence_line, _)| *fence_line == number + 2);
        if line.starts_with(BEFORE) && !is_used {
            let what = "a caption without code below it; see lint-book --fix";
            findings.push(Finding::new(&page.path, number, what));
        }
    }
    findings
}

/// Returns the expected captions: the line and the file of each block of included
/// Rust or Python.
fn expected(page: &Page) -> Vec<(usize, String)> {
    let file = |fence: &Fence<'_>| {
        let include = includes_of_line(page, fence.line, fence.lines.first()?).pop()?;
        let is_code = matches!(fence.language(), "rust" | "python" | "lua");
        is_code.then(|| (fence.line, slashes(&include.path)))
    };
    page.fences().iter().filter_map(file).collect()
}

/// Returns the text of a page with its captions corrected.
fn with_captions(page: &Page) -> String {
    let expected = expected(page);
    let prose: Vec<usize> = page.prose().into_iter().map(|(number, _)| number).collect();
    let mut lines: Vec<String> = Vec::new();
    let mut after_caption = false;
    for (number, line) in page.lines() {
        if let Some((_, file)) = expected.iter().find(|(fence_line, _)| *fence_line == number) {
            if lines.last().is_some_and(|line| !line.is_empty()) {
                lines.push(String::new());
            }
            lines.extend([caption_of(file), String::new()]);
        }
        let is_caption = line.starts_with(BEFORE) && prose.contains(&number);
        // An old caption is removed together with the blank line below it.
        let is_outdated = is_caption || after_caption && line.is_empty();
        if !is_outdated {
            lines.push(line.to_owned());
        }
        after_caption = is_caption;
    }
    lines.join("\n") + "\n"
}

fn caption_of(file: &str) -> String {
    format!("{BEFORE}{file}{AFTER}")
}

fn slashes(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tests::{findings, finds};
    use super::*;
    use crate::book::tests::book;

    const GOOD: &str = "Text.\n\n<p class=\"file\">crates/a.rs</p>\n\n\
                        ```rust,ignore\n{{#include ../../crates/a.rs:b}}\n```\n\nMore.\n";
    const NONE: &str = "Text.\n\n```rust,ignore\n{{#include ../../crates/a.rs:b}}\n```\n\nMore.\n";

    #[test]
    fn included_code_without_a_caption_is_a_finding() {
        finds(check, NONE, "no caption that says crates/a.rs");
        finds(check, &NONE.replace("Text.\n\n", ""), "no caption that says crates/a.rs");
        let page = GOOD.replace("crates/a.rs</p>\n\n", "crates/a.rs</p>\n");
        assert_eq!(findings(check, &[("book/src/a.md", page.as_str())]).len(), 2);
    }

    #[test]
    fn an_outdated_caption_is_a_finding() {
        finds(check, &GOOD.replace(">crates/a.rs<", ">crates/old.rs<"), "crates/a.rs");
    }

    #[test]
    fn a_caption_without_code_is_a_finding() {
        finds(check, "<p class=\"file\">crates/a.rs</p>\n\nText.\n", "without code below it");
    }

    #[test]
    fn a_fix_corrects_captions_and_nothing_else() {
        let old = GOOD.replace(">crates/a.rs<", ">crates/old.rs<");
        let orphaned = GOOD.replace("More.", "<p class=\"file\">x</p>\n\nMore.");
        for page in [NONE, GOOD, &old, &orphaned] {
            let (folder, book) = book(&[("book/src/a.md", page)]);
            let fixed = fix(&book).unwrap();
            assert_eq!(fixed.is_empty(), page == GOOD);
            let text = fs::read_to_string(folder.path().join("book/src/a.md")).unwrap();
            assert_eq!(text, GOOD);
        }
    }
}
