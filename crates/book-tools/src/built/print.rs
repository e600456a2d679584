//! The lint of the print page: it has every heading of the book.

use std::io;

use super::Built;
use crate::book::Book;
use crate::lint::{Finding, links};

pub(super) fn check(book: &Book, built: &Built) -> io::Result<Vec<Finding>> {
    let print = built.read("print.html")?;
    let mut findings = Vec::new();
    for page in book.in_order() {
        for (line, heading) in page.headings() {
            // If another page has the same heading, a number follows the id.
            if !print.contains(&format!(" id=\"{}", links::id_of(heading))) {
                let what = format!("{heading} is missing in what is printed");
                findings.push(Finding::new(&page.path, line, what));
            }
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::super::tests::built;
    use super::*;
    use crate::book::tests::book;

    #[test]
    fn a_heading_missing_in_the_print_page_is_a_finding() {
        let (_folder, book) = book(&[
            ("book/src/SUMMARY.md", "- [A](a.md)\n- [B](b.md)\n"),
            ("book/src/a.md", "# A\n"),
            ("book/src/b.md", "text\n\n# The `second`\n\n## Third {#last}\n"),
        ]);
        let whole = "<h1 id=\"a\">A</h1> <h1 id=\"the-second-1\">The second</h1> \
                     <h2 id=\"last\">Third</h2>";
        assert_eq!(check(&book, &built(&[("print.html", whole)])).unwrap(), []);
        let found = check(&book, &built(&[("print.html", "<h1 id=\"a\">A</h1>")])).unwrap();
        assert_eq!(found.len(), 2);
        assert!(found[0].to_string().starts_with("book/src/b.md:3: The `second` is missing"));
        assert!(check(&book, &built(&[])).is_err());
    }
}
