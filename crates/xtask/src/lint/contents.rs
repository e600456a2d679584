//! The lint of the table of contents: it lists every page.

use std::path::Path;

use super::Finding;
use crate::book::{Book, SUMMARY};

pub(super) fn check(book: &Book) -> Vec<Finding> {
    let listed = book.in_order();
    let is_listed = |path: &Path| listed.iter().any(|page| page.path == path);
    let pages = book.pages.iter().filter(|page| page.path != Path::new(SUMMARY));
    let unlisted = pages.filter(|page| !is_listed(&page.path));
    unlisted
        .map(|page| Finding::new(&page.path, 1, "the table of contents does not list this page"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{findings, finds};
    use super::*;

    #[test]
    fn a_page_missing_in_the_contents_is_a_finding() {
        finds(check, "A page.\n", "does not list this page");
        let files = [("book/src/a.md", "A page.\n"), ("book/src/SUMMARY.md", "- [A](a.md)\n")];
        assert!(findings(check, &files).is_empty());
    }
}
