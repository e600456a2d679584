//! The lint of includes: the included file and its anchor exist.

use std::path::Path;

use super::Finding;
use crate::book::Book;
use crate::source::{Include, anchor_error, includes};

pub(super) fn check(book: &Book) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in &book.pages {
        for include in includes(page) {
            if let Some(what) = problem(book, &include) {
                findings.push(Finding::new(&page.path, include.line, what));
            }
        }
    }
    findings
}

/// Returns the problem of an include, if it has one.
fn problem(book: &Book, include: &Include) -> Option<String> {
    let Include { path, anchor, directive, .. } = include;
    let shown = path.display();
    if directive != "include" {
        return Some(format!("#{directive} is not used in this book"));
    }
    let Some(text) = book.read(path) else {
        return Some(format!("there is no file {shown}"));
    };
    match anchor {
        Some(anchor) => {
            let error = anchor_error(&text, anchor)?;
            Some(format!("the anchor {anchor} of {shown} {error}"))
        }
        None if path.extension() == Some("rs".as_ref()) => {
            Some(format!("which part of {shown}? Name an anchor"))
        }
        // Outputs of programs and drawings are shown whole.
        None if path.starts_with(Path::new(crate::book::PAGES)) => None,
        None => Some(format!("which part of {shown}? Name an anchor")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{findings, finds};
    use super::*;

    #[test]
    fn a_missing_file_is_a_finding() {
        finds(check, "{{#include ../../crates/a.rs:b}}", "there is no file crates/a.rs");
        finds(check, "{{#rustdoc_include ../../crates/a.rs:b}}", "#rustdoc_include is not used");
    }

    #[test]
    fn code_without_a_good_anchor_is_a_finding() {
        let found = |include: &str| {
            let code = "// ANCHOR: b\nfn b() {}\n// ANCHOR_END: b\n";
            let files =
                [("book/src/a.md", include), ("crates/a.rs", code), ("book/src/out/o.txt", "o")];
            findings(check, &files)
        };
        assert_eq!(found("{{#include ../../crates/a.rs:b}}\n{{#include out/o.txt}}"), [""; 0]);
        assert!(found("{{#include ../../crates/a.rs:c}}")[0].contains("the anchor c"));
        assert!(found("{{#include ../../crates/a.rs}}")[0].contains("Name an anchor"));
        assert!(found("{{#include ../../crates/a.rs:1:2}}")[0].contains("lines, which move"));
    }
}
