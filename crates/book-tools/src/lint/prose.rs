//! The lint of prose: it names the part that acts, and does not interrupt itself.

use std::sync::LazyLock;

use regex::Regex;

use super::Finding;
use crate::book::Book;
use crate::markdown::Page;

pub(super) fn check(book: &Book) -> Vec<Finding> {
    book.pages.iter().flat_map(check_page).collect()
}

fn check_page(page: &Page) -> Vec<Finding> {
    static PERSON: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?i)\b(?:(?:any|every|no|some)body|(?:any|every|some|no )one|who(?:m|ever|mever))\b",
        )
        .expect("a pattern")
    });
    static ASIDE: LazyLock<Regex> = LazyLock::new(|| {
        // A sentence of its own: with a capital or code at its beginning, and a stop.
        Regex::new(r"(?:^|\s)\([A-Z`][^()]*(?:\([^()]*\)[^()]*)*[.?!]\)(?:\s|$)")
            .expect("a pattern")
    });
    let mut findings = Vec::new();
    let prose = page.unfenced();
    for (number, line) in &prose {
        if let Some(found) = PERSON.find(&unquoted(line)) {
            let what = format!("'{}': which part of the program is it?", found.as_str());
            findings.push(Finding::new(&page.path, *number, what));
        }
    }
    for paragraph in prose.split(|(_, line)| line.is_empty()).filter(|lines| !lines.is_empty()) {
        let lines: Vec<&str> = paragraph.iter().map(|(_, line)| *line).collect();
        let text = lines.join("\n");
        for found in ASIDE.find_iter(&text) {
            let number = paragraph[0].0 + text[..found.start() + 1].matches('\n').count();
            let what = "a sentence in parentheses: say it, or put it into an <aside>";
            findings.push(Finding::new(&page.path, number, what));
        }
    }
    findings
}

/// Returns a line without code and quotations.
fn unquoted(line: &str) -> String {
    static QUOTED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("`[^`]*`|\"[^\"]*\"").expect("a pattern"));
    QUOTED.replace_all(line, "").into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{findings, finds};
    use super::*;

    #[test]
    fn persons_are_findings() {
        finds(check, "Whoever waits is woken.\n", "'Whoever': which part");
        finds(check, "It wakes no one.\n", "'no one'");
        let page = "It says \"nobody waits\", by `who_waits`. One or no socket is ready.\n\
                    ```text\nsomebody\n```\n";
        assert_eq!(findings(check, &[("book/src/a.md", page)]), [""; 0]);
    }

    #[test]
    fn a_sentence_in_parentheses_is_a_finding() {
        finds(check, "One.\n\nIt waits. (A timer\nmay come.)\n", "a.md:3: a sentence");
        finds(check, "It waits. (`step` is called (twice).) It goes on.\n", "parentheses");
        let page = "It waits (for a timer), by `f(A.)` and f(x). See (RFC 9112, section 9.3.1).\n";
        assert_eq!(findings(check, &[("book/src/a.md", page)]), [""; 0]);
    }
}
