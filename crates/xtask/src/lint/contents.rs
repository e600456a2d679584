//! Every page has its place in the table of contents.

use std::path::Path;

use super::Finding;
use crate::book::{Book, SUMMARY};

pub(super) fn check(book: &Book) -> Vec<Finding> {
    let listed = book.in_order();
    let is_listed = |path: &Path| listed.iter().any(|page| page.path == path);
    let pages = book.pages.iter().filter(|page| page.path != Path::new(SUMMARY));
    let lost = pages.filter(|page| !is_listed(&page.path));
    lost.map(|page| Finding::new(&page.path, 1, "the table of contents does not list this page"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{findings, finds};
    use super::*;

    #[test]
    fn a_page_nobody_can_find() {
        finds(check, "A page.\n", "does not list this page");
        let files = [("book/src/a.md", "A page.\n"), ("book/src/SUMMARY.md", "- [A](a.md)\n")];
        assert!(findings(check, &files).is_empty());
    }
}
