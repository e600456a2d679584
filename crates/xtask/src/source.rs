//! The includes of a page, and the anchors in sources that they name.

use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;

use crate::book::resolve;
use crate::markdown::Page;

/// An include, `{{#include path:anchor}}`, on a line of a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Include {
    pub(crate) line: usize,
    /// The path, relative to the root of the workspace.
    pub(crate) path: PathBuf,
    /// The text behind the colon.
    pub(crate) anchor: Option<String>,
    /// The word behind the `#`.
    pub(crate) directive: String,
}

static INCLUDE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{\{\s*#(\w+)\s+([^\s:}]+)(?::([^\s}]+))?[^}]*\}\}").expect("a pattern")
});

/// Returns every include of a page, inside of code blocks and outside.
pub(crate) fn includes(page: &Page) -> Vec<Include> {
    page.lines().flat_map(|(number, line)| includes_of_line(page, number, line)).collect()
}

/// Returns the includes of one line of a page.
pub(crate) fn includes_of_line(page: &Page, number: usize, line: &str) -> Vec<Include> {
    let include = |found: regex::Captures<'_>| {
        // A backslash escapes an include: mdBook prints it as it is.
        let start = found.get(0).map_or(0, |whole| whole.start());
        let is_escaped = line[..start].ends_with('\\');
        let anchor = found.get(3).map(|anchor| anchor.as_str().to_owned());
        let path = resolve(&page.path, &found[2]);
        let directive = found[1].to_owned();
        (!is_escaped).then_some(Include { line: number, path, anchor, directive })
    };
    INCLUDE.captures_iter(line).filter_map(include).collect()
}

/// Returns the error of an anchor in a file; `None` for a good anchor.
pub(crate) fn anchor_error(text: &str, anchor: &str) -> Option<&'static str> {
    if !anchor.chars().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_')
        || anchor.starts_with(|sign: char| sign.is_ascii_digit())
    {
        return Some("is no anchor but lines, which move, or is not in snake_case");
    }
    let at = |marker: &str| -> Vec<usize> {
        let ends = |line: &str| {
            // In Markdown, the anchor is in an HTML comment.
            let line = line.trim_end().trim_end_matches(" -->");
            line.ends_with(&format!("{marker}: {anchor}"))
        };
        text.lines().enumerate().filter(|(_, line)| ends(line)).map(|(at, _)| at).collect()
    };
    match (&at("ANCHOR")[..], &at("ANCHOR_END")[..]) {
        ([], _) => Some("is not there"),
        (_, []) => Some("has no end"),
        ([start], [end]) if end > start => {
            let is_code = |line: &&str| !line.trim().is_empty() && !line.contains("ANCHOR");
            let mut lines = text.lines().skip(start + 1).take(end - start - 1);
            if lines.any(|line| is_code(&line)) { None } else { Some("is empty") }
        }
        ([_], [_]) => Some("ends before it begins"),
        _ => Some("is there more than once"),
    }
}

/// Returns the number of the first line behind the mark of an anchor.
pub(crate) fn anchor_line(text: &str, anchor: &str) -> Option<usize> {
    let mark = format!("ANCHOR: {anchor}");
    let index = text.lines().position(|line| line.trim_end().ends_with(&mark))?;
    Some(index + 2)
}

/// Returns the lines of a file that an include shows: those between the marks of the
/// anchor, or all, without marks.
pub(crate) fn lines_of_anchor(text: &str, anchor: Option<&str>) -> Vec<String> {
    let marks = |marker: &str, line: &str| {
        let line = line.trim_end().trim_end_matches(" -->");
        anchor.is_some_and(|anchor| line.ends_with(&format!("{marker}: {anchor}")))
    };
    let mut is_shown = anchor.is_none();
    let mut lines = Vec::new();
    for line in text.lines() {
        if marks("ANCHOR", line) {
            is_shown = true;
        } else if marks("ANCHOR_END", line) {
            is_shown = false;
        } else if is_shown && !line.contains("ANCHOR") {
            lines.push(line.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_path_of_an_include_is_relative_to_the_root() {
        let path = Path::new("book/src/a.md").to_owned();
        let text = "\n{{#include ../../crates/a/src/b.rs:c}} and \\{{#include x.rs}}\n{{#include out/d.txt}}";
        let page = Page { path, text: text.to_owned() };
        let found = includes(&page);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].path, Path::new("crates/a/src/b.rs"));
        assert_eq!((found[0].line, found[0].anchor.as_deref()), (2, Some("c")));
        assert_eq!(
            (found[1].path.as_path(), &found[1].anchor),
            (Path::new("book/src/out/d.txt"), &None)
        );
    }

    #[test]
    fn an_include_shows_the_lines_of_its_anchor() {
        let text = "use a;\n// ANCHOR: a\none\n// ANCHOR: ab\ntwo\n// ANCHOR_END: ab\n\
                    // ANCHOR_END: a\nlast\n";
        assert_eq!(lines_of_anchor(text, Some("a")), ["one", "two"]);
        assert_eq!(lines_of_anchor(text, Some("ab")), ["two"]);
        assert_eq!(lines_of_anchor(text, None), ["use a;", "one", "two", "last"]);
    }

    #[test]
    fn an_anchor_stands_once_around_some_code() {
        let good = "// ANCHOR: a\ncode\n// ANCHOR_END: a\n// ANCHOR: ab\n// ANCHOR_END: ab\n";
        assert_eq!(anchor_error(good, "a"), None);
        assert_eq!(anchor_error(good, "ab"), Some("is empty"));
        assert_eq!(anchor_error(good, "b"), Some("is not there"));
        assert_eq!(anchor_error("// ANCHOR: a\ncode", "a"), Some("has no end"));
        assert_eq!(anchor_error(&good.repeat(2), "a"), Some("is there more than once"));
        let reversed = "// ANCHOR_END: a\ncode\n// ANCHOR: a\n";
        assert_eq!(anchor_error(reversed, "a"), Some("ends before it begins"));
        assert!(anchor_error(good, "1:3").is_some());
    }
}
