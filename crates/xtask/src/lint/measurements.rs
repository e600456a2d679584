//! The lint of measurements: pages show all tables and drawings that are made of the kept
//! figures.

use std::path::Path;

use super::Finding;
use crate::book::Book;
use crate::measurements::{FOLDER, render};
use crate::source::includes;

pub(super) fn check(book: &Book) -> Vec<Finding> {
    let folder = Path::new(FOLDER);
    let made = match render(|file| book.read(&folder.join(file))) {
        Ok(made) => made,
        Err(error) => return vec![Finding::new(folder, 1, error.to_string())],
    };
    let included: Vec<_> = book.pages.iter().flat_map(includes).map(|it| it.path).collect();
    let mut findings = Vec::new();
    for (file, _) in &made {
        let path = folder.join(file);
        if !included.contains(&path) {
            findings.push(Finding::new(&path, 1, "no page shows this"));
        }
    }
    let is_made = |path: &Path| made.iter().any(|(file, _)| folder.join(file) == path);
    for path in book.files(folder) {
        if path.extension() != Some("csv".as_ref()) && !is_made(&path) {
            findings.push(Finding::new(&path, 1, "nothing was measured that this shows"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings;
    use super::*;

    const PROVENANCE: &str = "bench,date,commit,seconds,command,machine,versions\n\
                         links,2026-01-02,abc,1,cargo bench,one,rustc\n";
    const LINKS: &str = "id,per_second\nlinks/8KB/ours,1e9\n";
    const PAGE: &str =
        "{{#include measurements/tables.md:links}}\n{{#include measurements/links.svg}}\n";

    fn found(page: &str, links: &str, more: &[(&str, &str)]) -> Vec<String> {
        let read = |file: &str| match file {
            "taken.csv" => Some(PROVENANCE.to_owned()),
            "links.csv" => Some(LINKS.to_owned()),
            _ => None,
        };
        let made = render(read).unwrap();
        let made = made.iter().map(|(file, text)| (format!("{FOLDER}/{file}"), text.as_str()));
        let made: Vec<_> = made.collect();
        let mut files = vec![
            ("book/src/a.md", page),
            ("book/src/measurements/taken.csv", PROVENANCE),
            ("book/src/measurements/links.csv", links),
        ];
        files.extend(made.iter().map(|(file, text)| (file.as_str(), *text)));
        files.extend(more);
        findings(check, &files)
    }

    #[test]
    fn tables_made_from_the_figures_have_no_findings() {
        assert_eq!(found(PAGE, LINKS, &[]), [""; 0]);
        assert_eq!(findings(check, &[]), [""; 0]);
    }

    #[test]
    fn unshown_tables_are_findings() {
        assert!(found("", LINKS, &[])[0].contains("no page shows this"));
        let more = [("book/src/measurements/old.svg", "<svg>")];
        assert!(found(PAGE, LINKS, &more)[0].contains("nothing was measured"));
        assert!(found(PAGE, "id,x\na,b\n", &[])[0].starts_with("book/src/measurements:1: "));
    }
}
