//! The lint of links: the target of a link within the book exists.

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::Finding;
use crate::book::{Book, PAGES, SUMMARY, resolve};
use crate::markdown::Page;

pub(super) fn check(book: &Book) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in &book.pages {
        for (line, target) in links(page) {
            if let Some(what) = problem(book, page, &target) {
                findings.push(Finding::new(&page.path, line, what));
            }
        }
    }
    findings
}

/// Returns the targets of the links of a page, in Markdown and in HTML, with their
/// lines.
pub(super) fn links(page: &Page) -> Vec<(usize, String)> {
    static LINK: LazyLock<Regex> = LazyLock::new(|| {
        let inline = r#"\]\(([^)\s]*)(?:\s+"[^"]*")?\)"#;
        let reference = r"^\s{0,3}\[[^\]]+\]:\s*(\S+)";
        let html = r#"\b(?:href|src)\s*=\s*"([^"]*)""#;
        Regex::new(&format!("{inline}|{reference}|{html}")).expect("a pattern")
    });
    let mut links = Vec::new();
    for (number, line) in page.prose() {
        for link in LINK.captures_iter(&line) {
            let target = link.iter().skip(1).flatten().next();
            links.extend(target.map(|target| (number, target.as_str().to_owned())));
        }
    }
    links
}

/// Returns the problem of a link, if it has one.
fn problem(book: &Book, page: &Page, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    if target.is_empty() {
        // In the table of contents, it means a page that is not written yet.
        let is_contents = page.path == Path::new(SUMMARY);
        return (!is_contents).then(|| "a link that leads nowhere".to_owned());
    }
    let (file, fragment) = target.split_once('#').map_or((target, None), |(f, id)| (f, Some(id)));
    let path = if file.is_empty() { page.path.clone() } else { resolve(&page.path, file) };
    if !path.starts_with(PAGES) {
        return Some(format!("{target} is not a part of the book"));
    }
    let Some(linked) = book.page(&path) else {
        return book.read(&path).is_none().then(|| format!("{target} leads nowhere"));
    };
    let fragment = fragment?;
    let is_there = fragments(linked).iter().any(|id| id == fragment);
    (!is_there).then(|| format!("{file} has nothing called #{fragment}"))
}

/// Returns the fragment ids of a page: those that mdBook gives to headings, and
/// those that the page gives itself.
fn fragments(page: &Page) -> Vec<String> {
    static ID: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"\bid\s*=\s*"([^"]+)"|\{#([\w-]+)\}"#).expect("a pattern"));
    let mut used: HashMap<String, usize> = HashMap::new();
    let mut ids = Vec::new();
    for (_, heading) in page.headings() {
        let id = id_of(heading);
        let times = used.entry(id.clone()).or_default();
        ids.push(if *times == 0 { id } else { format!("{id}-{times}") });
        *times += 1;
    }
    // A term of a definition list is a line before one that begins with a colon.
    let lines: Vec<&str> = page.text.lines().collect();
    let terms = lines.windows(2).filter(|pair| pair[1].starts_with(": "));
    ids.extend(terms.map(|pair| id_of(pair[0])));
    for (_, line) in page.prose() {
        for id in ID.captures_iter(&line) {
            ids.extend(id.iter().skip(1).flatten().map(|id| id.as_str().to_owned()));
        }
    }
    ids
}

/// Returns the id that mdBook gives to a heading: the one in the text (`{#here}`),
/// or else its letters, digits and hyphens, in lower case.
pub(crate) fn id_of(heading: &str) -> String {
    static GIVEN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\{#([^}\s]+)[^}]*\}\s*$").expect("a pattern"));
    if let Some(given) = GIVEN.captures(heading) {
        return given[1].to_owned();
    }
    static MARKUP: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\]\([^)]*\)|<[^>]*>|\{[#.][^}]*\}").expect("a pattern"));
    let text = MARKUP.replace_all(heading, "");
    let sign = |sign: char| match sign {
        _ if sign.is_alphanumeric() || sign == '_' || sign == '-' => Some(sign),
        _ if sign.is_whitespace() => Some('-'),
        _ => None,
    };
    text.trim().to_lowercase().chars().filter_map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{findings, finds};
    use super::*;

    #[test]
    fn dead_links_are_findings() {
        finds(check, "[b](b.md)", "b.md leads nowhere");
        finds(check, "a [b][1].\n\n[1]: b.md\n", "b.md leads nowhere");
        finds(check, "<a href=\"b.html\">b</a>", "b.html leads nowhere");
        finds(check, "[b](../../crates/b/src/lib.rs)", "not a part of the book");
        finds(check, "# A\n\n[b](#b)", "has nothing called #b");
        finds(check, "[nothing]()", "leads nowhere");
    }

    #[test]
    fn live_links_have_no_findings() {
        let page = "# The `take` of it: why?\n\n## Twice\n\n## Twice\n\n<a id=\"here\"></a>\n\
                    [1](#the-take-of-it-why) [2](#twice) [3](a.md#twice-1) [4](#here)\n\
                    [5](https://example.org/#x) `[6](no-link.md)` [7](out/o.txt \"title\")\n\
                    [8](b.md#part-one) [9](b.md#end) [10](b.md#a-term)";
        let files = [
            ("book/src/a.md", page),
            ("book/src/b.md", "# Part *one*\n\n## The end {#end}\n\nA term\n: what it is\n"),
            ("book/src/out/o.txt", "o"),
            ("book/src/SUMMARY.md", "- [Later]()\n"),
        ];
        assert_eq!(findings(check, &files), [""; 0]);
    }
}
