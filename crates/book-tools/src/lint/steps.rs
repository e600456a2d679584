//! The lint of steps: the text on a step in one stage links to the same step in
//! the other stages:
//!
//! ```text
//! <div class="same-step">
//!
//! **One fetch:** stage 0 · [stage 1](callbacks.md#the-fetcher)
//!
//! </div>
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{Finding, links};
use crate::book::{Book, resolve};
use crate::markdown::Page;

/// An occurrence of a step in a page.
#[derive(Debug)]
struct Occurrence<'a> {
    page: &'a Path,
    line: usize,
    /// The pages that it links to.
    others: BTreeSet<PathBuf>,
}

pub(super) fn check(book: &Book) -> Vec<Finding> {
    let mut steps: BTreeMap<String, Vec<Occurrence<'_>>> = BTreeMap::new();
    for (name, occurrence) in book.pages.iter().flat_map(occurrences) {
        steps.entry(name).or_default().push(occurrence);
    }
    let mut findings = Vec::new();
    for (name, occurrences) in &steps {
        for occurrence in occurrences {
            let others =
                occurrences.iter().map(|other| other.page).filter(|&page| page != occurrence.page);
            if !others.eq(occurrence.others.iter().map(PathBuf::as_path)) {
                let what = format!("'{name}' does not lead to all pages that say it, and no other");
                findings.push(Finding::new(occurrence.page, occurrence.line, what));
            }
        }
    }
    findings
}

/// Returns the steps of a page with their names.
fn occurrences(page: &Page) -> Vec<(String, Occurrence<'_>)> {
    let prose = page.prose();
    let openings = prose.iter().filter(|(_, line)| line == "<div class=\"same-step\">");
    let occurrence = |&(opening, _): &(usize, String)| {
        let mut below = prose.iter().skip_while(move |(line, _)| *line <= opening);
        let (line, text) = below.find(|(_, text)| !text.is_empty())?;
        let (name, _) = text.strip_prefix("**")?.split_once(":**")?;
        let targets = links::links(page).into_iter().filter(|(at, _)| at == line);
        let file = |target: String| resolve(&page.path, target.split('#').next().unwrap_or(""));
        let others = targets.map(|(_, target)| file(target)).collect();
        Some((name.to_owned(), Occurrence { page: &page.path, line: *line, others }))
    };
    openings.filter_map(occurrence).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings;
    use super::*;

    fn step(line: &str) -> String {
        format!("# A\n\n<div class=\"same-step\">\n\n{line}\n\n</div>\n")
    }

    #[test]
    fn all_pages_of_a_step_link_to_each_other() {
        let found = |a: &str, b: &str, c: &str| {
            let pages = [("book/src/a.md", a), ("book/src/b.md", b), ("book/src/c.md", c)];
            let pages = pages.map(|(path, line)| (path, step(line)));
            let pages: Vec<_> = pages.iter().map(|(path, page)| (*path, page.as_str())).collect();
            findings(check, &pages)
        };
        let a = "**One:** here · [b](b.md#x) · [c](c.md)";
        let b = "**One:** [a](a.md#y) · here · [c](c.md)";
        let c = "**One:** [a](a.md#y) · [b](b.md#x) · here";
        assert_eq!(found(a, b, c), [""; 0]);
        let forgotten = found(a, b, "**One:** [a](a.md)");
        assert_eq!(forgotten.len(), 1);
        assert!(forgotten[0].starts_with("book/src/c.md:5: 'One'"), "{forgotten:?}");
        assert_eq!(found(a, b, "nothing of the kind").len(), 2);
        assert_eq!(found(a, b, "**Two:** here").len(), 2);
    }
}
