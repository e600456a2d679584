//! The lint of outputs: every output is in the list, is written, and is shown, by a
//! page or by a README, whose copies are those that were written. It
//! does not run the programs, which takes a while: `cargo xtask outputs --check`
//! does.

use std::path::Path;

use super::Finding;
use crate::book::Book;
use crate::outputs::{FOLDER, LIST, List, READMES, announced, with_outputs};
use crate::source::includes;

pub(super) fn check(book: &Book) -> Vec<Finding> {
    let listed = match List::parse(&book.read(Path::new(LIST)).unwrap_or_default()) {
        Ok(list) => list,
        Err(error) => return vec![Finding::new(Path::new(LIST), 1, error)],
    };
    let mut findings = Vec::new();
    let mut shown: Vec<_> =
        book.pages.iter().flat_map(includes).map(|include| include.path).collect();
    for name in READMES {
        let readme = book.read(Path::new(name)).unwrap_or_default();
        shown.extend(readme.lines().filter_map(announced).map(|file| Path::new(FOLDER).join(file)));
        let read = |file: &str| book.read(&Path::new(FOLDER).join(file));
        let what = match with_outputs(&readme, read) {
            Ok(renewed) if renewed == readme => None,
            Ok(_) => Some("shows other outputs than were written; see xtask outputs".to_owned()),
            Err(what) => Some(what),
        };
        findings.extend(what.map(|what| Finding::new(Path::new(name), 1, what)));
    }
    for output in &listed.outputs {
        let file = Path::new(FOLDER).join(&output.file);
        if book.read(&file).is_none() {
            let what = format!("{} was never written; see xtask outputs", output.file);
            findings.push(Finding::new(Path::new(LIST), 1, what));
        }
        if !shown.contains(&file) {
            let what = format!("no page shows {}", output.file);
            findings.push(Finding::new(Path::new(LIST), 1, what));
        }
    }
    for file in book.files(Path::new(FOLDER)) {
        let name = file.strip_prefix(FOLDER).unwrap_or(&file);
        if !listed.outputs.iter().any(|output| Path::new(&output.file) == name) {
            let what = format!("{LIST} does not say what writes this");
            findings.push(Finding::new(&file, 1, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings;
    use super::*;

    fn found(list: &str, page: &str, file: &str) -> Vec<String> {
        let files = [("book/outputs.toml", list), ("book/src/a.md", page), (file, "said")];
        findings(check, &files)
    }

    #[test]
    fn outputs_are_listed_written_and_shown() {
        const LISTED: &str = "[[output]]\nfile = \"o.txt\"\ncommand = \"echo said\"\n";
        const PAGE: &str = "```text\n{{#include out/o.txt}}\n```\n";
        const FILE: &str = "book/src/out/o.txt";
        assert_eq!(found(LISTED, PAGE, FILE), [""; 0]);
        assert!(found("", PAGE, FILE)[0].contains("does not say what writes this"));
        assert!(found(LISTED, "", FILE)[0].contains("no page shows o.txt"));
        assert!(found(LISTED, PAGE, "elsewhere")[0].contains("never written"));
        assert!(found("output = 1", PAGE, FILE)[0].contains("book/outputs.toml:1: "));
    }

    #[test]
    fn the_readme_shows_what_was_written() {
        let found = |readme: &str| {
            let list = "[[output]]\nfile = \"o.txt\"\ncommand = \"echo said\"\n";
            let files = [
                ("book/outputs.toml", list),
                ("book/src/out/o.txt", "said\n"),
                ("README.md", readme),
            ];
            findings(check, &files)
        };
        assert_eq!(found("<!-- Output: o.txt -->\n```text\nsaid\n```\n"), [""; 0]);
        let stale = found("<!-- Output: o.txt -->\n```text\nonce\n```\n");
        assert!(stale[0].starts_with("README.md:1: shows other outputs"), "{stale:?}");
        assert!(found("")[0].contains("no page shows o.txt"));
        let bare = found("<!-- Output: o.txt -->\nText.\n");
        assert_eq!(bare, ["README.md:1: no code block shows o.txt"]);
    }
}
