//! Names in inline code exist: identifiers, files, flags.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::Finding;
use crate::book::Book;
use crate::scan::{Kind, scan};

/// Names of Python, the operating system, other crates and standards: a word a
/// line, `#` before a comment.
const FOREIGN: &str = "book/foreign-names.txt";

pub(super) fn check(book: &Book) -> Vec<Finding> {
    let mut findings = Vec::new();
    let known = Known::of(book);
    let foreign = book.read(Path::new(FOREIGN)).unwrap_or_default();
    let foreign: Vec<(usize, &str)> = (1..)
        .zip(foreign.lines())
        .map(|(number, line)| (number, line.split('#').next().unwrap_or_default().trim()))
        .filter(|(_, name)| !name.is_empty())
        .collect();
    let is_foreign: HashSet<&str> = foreign.iter().map(|(_, name)| *name).collect();
    let mut used = HashSet::new();
    for page in &book.pages {
        for (line, name) in page.unfenced().into_iter().flat_map(|(line, text)| names(line, text)) {
            if known.has(&name) {
                continue;
            }
            if let Some(name) = is_foreign.get(name.as_str()) {
                used.insert(*name);
                continue;
            }
            findings.push(Finding::new(
                &page.path,
                line,
                format!("`{name}` is not in the sources (a name of others belongs in {FOREIGN})"),
            ));
        }
    }
    for (line, name) in foreign.iter().filter(|(_, name)| !used.contains(name)) {
        let what = format!("{name} is in the sources, or on no page");
        findings.push(Finding::new(Path::new(FOREIGN), *line, what));
    }
    findings
}

/// The names in the inline code of a line: the parts of paths, the names of
/// calls, files, flags. Expressions and commands are not looked into.
fn names(number: usize, line: &str) -> Vec<(usize, String)> {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        let path = r"[A-Za-z_][A-Za-z0-9_]*!?(?:(?:::|\.)[A-Za-z_][A-Za-z0-9_]*)*";
        let flag = "--[a-z][a-z0-9-]*";
        Regex::new(&format!(r"^(?:({path})(?:\(\))?|({flag}))$")).expect("a pattern")
    });
    let mut names = Vec::new();
    for span in line.split('`').skip(1).step_by(2) {
        let Some(found) = NAME.captures(span) else {
            continue;
        };
        if let Some(path) = found.get(1) {
            let path = path.as_str();
            if Path::new(path)
                .extension()
                .is_some_and(|end| FILES.contains(&end.to_string_lossy().as_ref()))
            {
                names.push((number, path.to_owned()));
            } else {
                let parts = path.split(['.', ':']).filter(|part| !part.is_empty());
                names.extend(parts.map(|part| (number, part.trim_end_matches('!').to_owned())));
            }
        }
        names.extend(found.get(2).map(|flag| (number, flag.as_str().to_owned())));
    }
    names
}

/// The extensions of files that a page may name.
const FILES: [&str; 6] = ["css", "csv", "md", "rs", "svg", "toml"];

/// The extensions of files whose identifiers are known.
const SOURCES: [&str; 3] = ["lua", "rs", "toml"];

/// The identifiers, file names and flags of the workspace.
struct Known {
    identifiers: HashSet<String>,
    files: HashSet<String>,
}

impl Known {
    fn of(book: &Book) -> Self {
        let mut known = Self { identifiers: HashSet::new(), files: HashSet::new() };
        let all = ["crates", "benches", "book"].map(|folder| book.files(Path::new(folder)));
        for path in all.iter().flatten().chain([&PathBuf::from("Cargo.toml")]) {
            known.files.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
            known.identifiers.extend(path.iter().map(|part| part.to_string_lossy().into_owned()));
            if path.extension().is_some_and(|end| SOURCES.iter().any(|source| end == *source))
                && let Some(text) = book.read(path)
            {
                known.add(&text, path.extension().is_some_and(|end| end == "rs"));
            }
        }
        known
    }

    fn add(&mut self, text: &str, is_rust: bool) {
        static WORD: LazyLock<Regex> =
            LazyLock::new(|| Regex::new("[A-Za-z_][A-Za-z0-9_]*").expect("a pattern"));
        if !is_rust {
            self.identifiers.extend(WORD.find_iter(text).map(|word| word.as_str().to_owned()));
            return;
        }
        for piece in scan(text) {
            match piece.kind {
                Kind::Identifier => drop(self.identifiers.insert(piece.text.to_owned())),
                // Rows, classes, outcomes and flags are words of strings.
                Kind::Literal => self
                    .identifiers
                    .extend(WORD.find_iter(piece.text).map(|word| word.as_str().to_owned())),
                Kind::Comment => {}
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        match name.strip_prefix("--") {
            // clap makes flags of fields.
            Some(flag) => {
                self.identifiers.contains(&flag.replace('-', "_"))
                    || flag.split('-').all(|word| self.identifiers.contains(word))
            }
            None => self.identifiers.contains(name) || self.files.contains(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings;
    use super::*;

    const SOURCE: (&str, &str) =
        ("crates/a/src/timers.rs", "/// Ghost.\nfn set(max_depth: u32) { call(\"robots\") }\n");

    #[test]
    fn names_exist() {
        let page = "`set()`, `Timers::set`, `timers.rs`, `--max-depth`, `robots`, `x + y`\n";
        let found = findings(check, &[SOURCE, ("book/src/a.md", page)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("`Timers` is not in the sources"), "{found:?}");
        let page = "`Ghost`, `ghost.rs` and `--ghost`\n";
        assert_eq!(findings(check, &[SOURCE, ("book/src/a.md", page)]).len(), 3);
    }

    #[test]
    fn names_of_others_are_listed_while_they_are_used() {
        let list = ("book/foreign-names.txt", "# Python\nyield_from # a keyword\nset\n");
        let found = findings(check, &[SOURCE, ("book/src/a.md", "`yield_from`\n"), list]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("book/foreign-names.txt:3: set"), "{found:?}");
    }
}
