//! What is included is there.

use std::path::Path;

use super::Finding;
use crate::book::Book;
use crate::source::{Include, anchor_error, includes};

pub(super) fn check(book: &Book) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in &book.pages {
        for include in includes(page) {
            if let Some(what) = complaint(book, &include) {
                findings.push(Finding::new(&page.path, include.line, what));
            }
        }
    }
    findings
}

fn complaint(book: &Book, include: &Include) -> Option<String> {
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
        // What the programs say and what we drew is shown whole.
        None if path.starts_with(Path::new(crate::book::PAGES)) => None,
        None => Some(format!("which part of {shown}? Name an anchor")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{findings, finds};
    use super::*;

    #[test]
    fn what_is_missing() {
        finds(check, "{{#include ../../crates/a.rs:b}}", "there is no file crates/a.rs");
        finds(check, "{{#rustdoc_include ../../crates/a.rs:b}}", "#rustdoc_include is not used");
    }

    #[test]
    fn what_is_not_named() {
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
