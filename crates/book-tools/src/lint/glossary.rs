//! The lint of the glossary: a page that uses one of its words before the page that
//! explains it leads to one of the two.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::Finding;
use super::links::{id_of, links};
use crate::book::{Book, resolve};
use crate::markdown::Page;

const GLOSSARY: &str = "book/src/glossary.md";
/// Pages that look ahead, and say so.
const OVERVIEWS: [&str; 4] = ["introduction.md", "map.md", "names.md", "glossary.md"];
/// Terms whose word is as good in its everyday meaning.
const EVERYDAY: [&str; 14] = [
    "address", "door", "frame", "guard", "job", "key", "poll", "redirect", "root", "row", "stage",
    "trap", "try", "worker",
];

/// A term of the glossary.
struct Term {
    /// The word, in lower case.
    word: String,
    /// The id of its entry.
    id: String,
    /// The page that explains it: the first one to which its entry leads.
    home: PathBuf,
}

pub(super) fn check(book: &Book) -> Vec<Finding> {
    let terms = book.page(Path::new(GLOSSARY)).map(terms).unwrap_or_default();
    let order = book.in_order();
    let at = |path: &Path| order.iter().position(|page| page.path == path);
    let mut findings = Vec::new();
    for (index, page) in order.iter().enumerate() {
        let name = page.path.file_name().unwrap_or_default().to_string_lossy();
        if OVERVIEWS.contains(&&*name) {
            continue;
        }
        let later = terms.iter().filter(|term| at(&term.home).is_some_and(|home| index < home));
        findings.extend(later.filter_map(|term| unexplained(page, term)));
    }
    findings
}

/// Returns a finding if a page uses a term, and neither explains it nor leads on.
fn unexplained(page: &Page, term: &Term) -> Option<Finding> {
    let word = regex::escape(&term.word).replace(' ', r"\s");
    let used = Regex::new(&format!(r"(?i)(?:^|[^\w*/#-]){word}s?(?:[^\w*/-]|$)")).ok()?;
    let (line, _) = page.prose().into_iter().find(|(_, line)| used.is_match(line))?;
    // What a page explains by itself is in italics or bold there.
    let explained = Regex::new(&format!(r"(?i)\*{word}s?\*")).ok()?;
    let is_linked = links(page).iter().any(|(_, target)| {
        let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
        let file = resolve(&page.path, file);
        file == term.home || file == Path::new(GLOSSARY) && fragment == term.id
    });
    let is_explained = page.prose().iter().any(|(_, line)| explained.is_match(line));
    (!is_linked && !is_explained).then(|| {
        let what = format!("'{}' is explained later: link glossary.md#{}", term.word, term.id);
        Finding::new(&page.path, line, what)
    })
}

/// Returns the terms: a line before one that begins with a colon. An entry may have
/// several.
fn terms(glossary: &Page) -> Vec<Term> {
    static HOME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\]\(([a-z0-9-]+\.md)").expect("a pattern"));
    let lines: Vec<&str> = glossary.text.lines().collect();
    let mut terms = Vec::new();
    for (index, pair) in lines.windows(2).enumerate() {
        let Some(_) = pair[1].strip_prefix(": ") else { continue };
        let entry: Vec<&str> =
            lines[index + 1..].iter().copied().take_while(|line| !line.is_empty()).collect();
        let Some(home) = HOME.captures(&entry.join("\n")).map(|found| found[1].to_owned()) else {
            continue;
        };
        let home = resolve(&glossary.path, &home);
        let words = pair[0].split(", ").map(str::to_lowercase);
        terms.extend(words.filter(|word| !EVERYDAY.contains(&&**word)).map(|word| Term {
            word,
            id: id_of(pair[0]),
            home: home.clone(),
        }));
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings;
    use super::*;

    fn found(page: &str) -> Vec<String> {
        let files = [
            ("book/src/SUMMARY.md", "- [A](a.md)\n- [B](b.md)\n- [G](glossary.md)\n"),
            (
                GLOSSARY,
                "# G\n\nWaker, lost wake-up\n: Puts a key. [B](b.md#x).\n\nKey\n: [B](b.md)\n",
            ),
            ("book/src/a.md", page),
            ("book/src/b.md", "A waker wakes.\n"),
        ];
        findings(check, &files)
    }

    #[test]
    fn a_word_that_is_explained_later_leads_there() {
        let what =
            "book/src/a.md:1: 'waker' is explained later: link glossary.md#waker-lost-wake-up";
        assert_eq!(found("Two wakers have a key.\n"), [what]);
        assert!(
            found("A lost\nwake-up and a lost wake-up\n")[0].contains("a.md:2: 'lost wake-up'")
        );
        for good in [
            "A [waker](glossary.md#waker-lost-wake-up) is called.\n",
            "See [B](b.md) for the waker.\n",
            "A *waker* is a value that wakes.\n",
            "`waker`, a wakerless key\n",
        ] {
            assert_eq!(found(good), [""; 0], "{good}");
        }
    }
}
