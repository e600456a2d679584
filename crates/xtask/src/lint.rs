//! The lints of the book.

mod changes;
mod fences;
mod figures;
mod includes;
mod measurements;
mod names;
mod outputs;
mod quoted;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::book::Book;
use crate::built;

/// A finding of a lint: a problem and its line.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: PathBuf,
    line: usize,
    what: String,
}

impl Finding {
    /// Makes a finding at a line of a file.
    pub(crate) fn new(path: &Path, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.what)
    }
}

/// Looks for what is wrong in the book, in its sources and when it is built. Returns true if
/// nothing is.
///
/// # Errors
/// When a page cannot be read, or mdBook or the crawler cannot be run.
pub(crate) fn lint(root: &Path) -> io::Result<bool> {
    // Pages include what is made when the book is built.
    crate::measurements::draw(root)?;
    let book = Book::load(root)?;
    let findings = check(&book);
    for finding in &findings {
        println!("{finding}");
    }
    println!("{} pages, {} findings", book.pages.len(), findings.len());
    Ok(built::check(root)? && findings.is_empty())
}

/// Runs all lints on the sources of the book. Returns the findings in the order of
/// the files.
fn check(book: &Book) -> Vec<Finding> {
    let checks = [
        changes::check,
        fences::check,
        figures::check,
        includes::check,
        measurements::check,
        names::check,
        outputs::check,
        quoted::check,
    ];
    let mut findings: Vec<Finding> = checks.iter().flat_map(|check| check(book)).collect();
    findings.sort();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::tests::book;

    /// Returns the findings of a lint in a workspace of these files.
    pub(super) fn findings(
        check: fn(&Book) -> Vec<Finding>,
        files: &[(&str, &str)],
    ) -> Vec<String> {
        let (_folder, book) = book(files);
        check(&book).iter().map(ToString::to_string).collect()
    }

    /// Asserts that a lint has exactly one finding in a page, which contains
    /// `what`.
    #[track_caller]
    pub(super) fn finds(check: fn(&Book) -> Vec<Finding>, page: &str, what: &str) {
        let found = findings(check, &[("book/src/a.md", page)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("book/src/a.md:"), "{found:?}");
        assert!(found[0].contains(what), "{found:?}");
    }

    #[test]
    fn findings_are_sorted_by_file_and_line() {
        let page = "```\n```\n\n```\n```\n";
        let files = [("book/src/a.md", page), ("book/src/SUMMARY.md", "[A](a.md)")];
        let found = findings(check, &[&files[..], &[("book/quoted-figures.toml", "")]].concat());
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("book/src/a.md:1: "), "{found:?}");
        assert!(found[1].starts_with("book/src/a.md:4: "), "{found:?}");
    }
}
