//! The lint of code blocks: each names its language, and Rust is included, not
//! pasted.

use std::sync::LazyLock;

use regex::Regex;

use super::Finding;
use crate::book::Book;
use crate::markdown::{Fence, Page};
use crate::source::includes_of_line;

pub(super) fn check(book: &Book) -> Vec<Finding> {
    book.pages.iter().flat_map(check_page).collect()
}

fn check_page(page: &Page) -> Vec<Finding> {
    let finding = |fence: Fence<'_>| {
        let what = problem(page, &fence)?;
        Some(Finding::new(&page.path, fence.line, what))
    };
    page.fences().into_iter().filter_map(finding).collect()
}

/// Returns the problem of a code block, if it has one.
fn problem(page: &Page, fence: &Fence<'_>) -> Option<&'static str> {
    match fence.language() {
        "" => Some("a block of code without a language; use text if it has none"),
        "rust" => rust(page, fence),
        "console" => console(fence),
        _ => None,
    }
}

/// Returns the problem of a block of Rust, if it has one.
fn rust(page: &Page, fence: &Fence<'_>) -> Option<&'static str> {
    let included = |line: &str| !includes_of_line(page, fence.line, line).is_empty();
    match &fence.lines[..] {
        [line] if included(line) => {
            // Otherwise `mdbook test` would compile it on its own. A whole program may be
            // run by it, and by the reader.
            let is_apart = ["ignore", "noplayground", "mdbook-runnable"];
            let is_run = !is_apart.iter().any(|tag| fence.has_tag(tag));
            is_run.then_some("included Rust has to be marked as rust,ignore")
        }
        lines if lines.iter().any(|line| included(line)) => {
            Some("included Rust stands alone in its block")
        }
        _ if fence.has_tag("ignore") || fence.has_tag("no_run") => {
            Some("pasted Rust that no test runs; include it from code that the tests compile")
        }
        lines if lines.iter().any(|line| uses_a_crate(line)) => {
            Some("pasted Rust that needs more than std; include it from a crate")
        }
        _ => None,
    }
}

/// Returns true for a line of Rust that imports something beyond the standard
/// library.
fn uses_a_crate(line: &str) -> bool {
    static USE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*(?:#\s)?\s*(?:pub\s+)?(?:use|extern\s+crate)\s+(?:::)?(\w+)")
            .expect("a pattern")
    });
    const OURS: [&str; 6] = ["std", "core", "alloc", "self", "super", "crate"];
    USE.captures(line).is_some_and(|found| !OURS.contains(&&found[1]))
}

/// Returns the problem of a console block, if it has one. A console shows only
/// commands; their output is included from a file.
fn console(fence: &Fence<'_>) -> Option<&'static str> {
    let mut continued = false;
    for line in &fence.lines {
        if !continued && !line.starts_with("$ ") {
            return Some("in a console every line is a command, behind \"$ \"");
        }
        continued = line.ends_with('\\');
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::{findings, finds};
    use super::*;

    #[test]
    fn a_block_without_a_language_is_a_finding() {
        finds(check, "```\nx\n```\n", "without a language");
    }

    #[test]
    fn pasted_rust_is_a_finding() {
        finds(check, "```rust,ignore\nfn a() {}\n```\n", "no test runs");
        finds(check, "```rust\nuse mio::Poll;\n```\n", "more than std");
        finds(check, "```rust\n# use tokio::spawn;\n```\n", "more than std");
        finds(check, "```rust,ignore\n{{#include a.rs:b}}\nfn more() {}\n```\n", "stands alone");
    }

    #[test]
    fn included_rust_must_be_marked_as_ignored() {
        finds(check, "```rust\n{{#include a.rs:b}}\n```\n", "rust,ignore");
    }

    #[test]
    fn output_among_commands_is_a_finding() {
        finds(check, "```console\n$ ls\na.rs\n```\n", "every line is a command");
    }

    #[test]
    fn good_blocks_have_no_findings() {
        let page = "```rust,ignore\n{{#include a.rs:b}}\n```\n\
                    ```rust\nuse std::io;\nfn main() {}\n```\n\
                    ```console\n$ cargo run \\\n    -p replay\n$ ls\n```\n\
                    ```text\nanything\n```\n";
        assert_eq!(findings(check, &[("book/src/a.md", page)]), [""; 0]);
    }
}
