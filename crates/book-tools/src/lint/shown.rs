//! The lint of what is shown: a block of code or an output fits on a screen, and so does
//! each of its lines. Where one has to be larger, a comment above it says the reason:
//!
//! ```text
//! <!-- Shown whole: the program is to be copied. -->
//! ```

use super::Finding;
use super::reading::shown;
use crate::book::Book;
use crate::markdown::{Fence, Page};

/// The longest block in lines, and the longest line in columns.
const LONGEST: usize = 45;
const WIDEST: usize = 88;
const REASON: &str = "<!-- Shown whole: ";

pub(super) fn check(book: &Book) -> Vec<Finding> {
    book.pages.iter().flat_map(|page| check_page(book, page)).collect()
}

fn check_page(book: &Book, page: &Page) -> Vec<Finding> {
    let lines: Vec<&str> = page.text.lines().collect();
    let mut findings = Vec::new();
    let mut used = Vec::new();
    for fence in page.fences() {
        // Between the reason and the block there may be the caption and two blank lines.
        let first = fence.line.saturating_sub(5);
        let reason = (first..fence.line - 1).find(|index| lines[*index].starts_with(REASON));
        match (problem(book, page, &fence), reason) {
            (Some(what), None) => findings.push(Finding::new(&page.path, fence.line, what)),
            (Some(_), Some(index)) => used.push(index),
            (None, _) => {}
        }
    }
    for (number, _) in page.lines().filter(|(_, line)| line.starts_with(REASON)) {
        if !used.contains(&(number - 1)) {
            let what = "a reason without a block that is long or wide";
            findings.push(Finding::new(&page.path, number, what));
        }
    }
    findings
}

/// Returns the problem of a block, if it has one.
fn problem(book: &Book, page: &Page, fence: &Fence<'_>) -> Option<String> {
    let lines = shown(book, page, fence);
    if lines.len() > LONGEST {
        return Some(format!("{} lines, more than a screen of {LONGEST}", lines.len()));
    }
    let widest = lines.iter().map(|line| line.chars().count()).max().unwrap_or_default();
    (widest > WIDEST).then(|| format!("a line of {widest} columns, more than {WIDEST}"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{findings, finds};
    use super::*;

    #[test]
    fn long_and_wide_blocks_need_a_reason() {
        let block = |language: &str, lines: usize, width: usize| {
            let line = "x".repeat(width) + "\n";
            format!("```{language}\n{}```\n", line.repeat(lines))
        };
        let (long, wide) = (block("rust", LONGEST + 1, 9), block("text", 1, WIDEST + 1));
        finds(check, &long, "46 lines, more than a screen");
        finds(check, &wide, "a line of 89 columns");
        finds(check, &block("rust", 1, WIDEST + 1), "a line of 89 columns");
        let reason = "<!-- Shown whole: it is to be copied. -->\n\n";
        let caption = "<p class=\"file\">a.rs</p>\n\n";
        for good in [
            block("rust", LONGEST, WIDEST),
            block("text", LONGEST, WIDEST),
            format!("{reason}{caption}{long}"),
            format!("{reason}{wide}"),
        ] {
            assert_eq!(findings(check, &[("book/src/a.md", &good)]), [""; 0]);
        }
        finds(check, &format!("{reason}{}", block("text", 1, 1)), "a reason without a block");
    }
}
