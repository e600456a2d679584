//! The lint of reading times: below its title, each page says how long it takes to read,
//! and whether it is a page of the short path. The introduction lists that path:
//!
//! ```text
//! 1. [The selector](selector.md), 12 minutes. What it is about.
//! ```

use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::Finding;
use crate::book::{Book, SUMMARY, resolve};
use crate::markdown::{Fence, Page};
use crate::source::{includes_of_line, lines_of_anchor};

const BEFORE: &str = "<p class=\"reading-time\">";
/// The page that lists the short path.
const INTRODUCTION: &str = "book/src/introduction.md";
/// The longest time of the short path in minutes.
const LONGEST_PATH: usize = 120;
const WORDS_PER_MINUTE: usize = 200;
const LINES_PER_MINUTE: usize = 25;

pub(super) fn check(book: &Book) -> Vec<Finding> {
    let pages = book.pages.iter().filter(|page| page.path != Path::new(SUMMARY));
    let outdated = pages.filter(|page| with_times(book, page) != page.text);
    let what = "another reading time than this page takes; see lint-book --fix";
    let mut findings: Vec<Finding> =
        outdated.map(|page| Finding::new(&page.path, 1, what)).collect();
    let path = short_path(book);
    let minutes: usize =
        path.iter().filter_map(|(_, file)| book.page(file)).map(|page| minutes(book, page)).sum();
    if minutes > LONGEST_PATH {
        let what = format!("the short path takes {minutes} minutes, more than {LONGEST_PATH}");
        findings.push(Finding::new(Path::new(INTRODUCTION), path[0].0, what));
    }
    let order = |file: &Path| book.in_order().iter().position(|page| page.path == file);
    for pair in path.windows(2) {
        if order(&pair[0].1) >= order(&pair[1].1) {
            let what = "the short path is not in the order of the table of contents";
            findings.push(Finding::new(Path::new(INTRODUCTION), pair[1].0, what));
        }
    }
    findings
}

/// Corrects the reading times of all pages. Returns the names of the changed pages.
pub(crate) fn fix(book: &Book) -> io::Result<Vec<String>> {
    let mut fixed = Vec::new();
    for page in book.pages.iter().filter(|page| page.path != Path::new(SUMMARY)) {
        let text = with_times(book, page);
        if text != page.text {
            book.write(&page.path, &text)?;
            fixed.push(page.path.display().to_string());
        }
    }
    Ok(fixed)
}

/// Returns the text of a page with its reading time, and with those of the short path if
/// it lists them.
fn with_times(book: &Book, page: &Page) -> String {
    let line = line_of(book, page);
    let mut lines: Vec<String> = Vec::new();
    let mut is_after_time = false;
    let title = page.headings().first().map(|(number, _)| *number);
    for (number, text) in page.lines() {
        let is_time = text.starts_with(BEFORE);
        // An old line is removed together with the blank line above it.
        if is_time || is_after_time && text.is_empty() {
            is_after_time = is_time;
            continue;
        }
        is_after_time = false;
        lines.push(step_with_time(book, page, text));
        if Some(number) == title {
            lines.extend([String::new(), line.clone(), String::new()]);
            is_after_time = true;
        }
    }
    lines.join("\n") + "\n"
}

/// Returns the line below the title of a page.
fn line_of(book: &Book, page: &Page) -> String {
    let path = short_path(book);
    let mut line = format!("{BEFORE}{}", time(minutes(book, page)));
    if let Some(at) = path.iter().position(|(_, file)| *file == page.path) {
        line += &format!(" · page {} of {} of the short path", at + 1, path.len());
        if let Some(next) = path.get(at + 1).and_then(|(_, file)| book.page(file)) {
            let file = next.path.file_name().unwrap_or_default().to_string_lossy();
            let title = next.headings().first().map_or("", |(_, title)| title);
            line += &format!(" · next: <a href=\"{file}\">{title}</a>");
        }
    }
    line + "</p>"
}

/// A step of the short path in the introduction: link, time, text.
static STEP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\d+\. \[[^\]]+\]\((?P<file>[^)#]+\.md)\), (?P<time>\d+ minutes?)\b")
        .expect("a pattern")
});

/// Returns the pages of the short path with their lines in the introduction.
fn short_path(book: &Book) -> Vec<(usize, PathBuf)> {
    let Some(page) = book.page(Path::new(INTRODUCTION)) else { return Vec::new() };
    let step = |(number, line): (usize, &str)| {
        let found = STEP.captures(line)?;
        Some((number, resolve(&page.path, &found["file"])))
    };
    page.lines().filter_map(step).collect()
}

/// Returns a line of a page, with the right time if it is a step of the short path.
fn step_with_time(book: &Book, page: &Page, line: &str) -> String {
    let step = STEP.captures(line).filter(|_| page.path == Path::new(INTRODUCTION));
    let target = step.as_ref().and_then(|step| book.page(&resolve(&page.path, &step["file"])));
    match (step, target) {
        (Some(step), Some(target)) => line.replacen(&step["time"], &time(minutes(book, target)), 1),
        _ => line.to_owned(),
    }
}

fn time(minutes: usize) -> String {
    format!("{minutes} minute{}", if minutes == 1 { "" } else { "s" })
}

/// Returns the time that it takes to read a page, its answers and all of its code.
fn minutes(book: &Book, page: &Page) -> usize {
    let words: usize = page
        .unfenced()
        .into_iter()
        .filter(|(_, line)| !line.starts_with(BEFORE) && !line.contains("{{#include"))
        .map(|(_, line)| without_markup(line).split_whitespace().count())
        .sum();
    // A program that can be run in the page was shown in parts before.
    let fences = page.fences().into_iter().filter(|fence| !fence.has_tag("mdbook-runnable"));
    let lines: usize = fences.map(|fence| shown(book, page, &fence).len()).sum();
    let (words, lines) = (words as f64, lines as f64);
    let minutes = words / WORDS_PER_MINUTE as f64 + lines / LINES_PER_MINUTE as f64;
    (minutes.round() as usize).max(1)
}

/// Returns a line without tags, and without the signs of tables and lists.
fn without_markup(line: &str) -> String {
    static MARKUP: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"<[^>]*>|\]\([^)]*\)|[|#*>]|---+").expect("a pattern"));
    MARKUP.replace_all(line, " ").into_owned()
}

/// Returns the lines that a code block shows, those of its includes among them.
pub(super) fn shown(book: &Book, page: &Page, fence: &Fence<'_>) -> Vec<String> {
    let mut shown = Vec::new();
    for line in &fence.lines {
        match includes_of_line(page, fence.line, line).pop() {
            None => shown.push((*line).to_owned()),
            Some(include) => {
                let text = book.read(&include.path).unwrap_or_default();
                shown.extend(lines_of_anchor(&text, include.anchor.as_deref()));
            }
        }
    }
    while shown.last().is_some_and(|line| line.trim().is_empty()) {
        shown.pop();
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tests::findings;
    use super::*;
    use crate::book::tests::book;

    /// A page of 400 words and of 25 lines of code, which are in another file.
    fn page() -> String {
        let words = "word ".repeat(400);
        format!("# A [b](c.md)\n\n{words}\n\n```rust,ignore\n{{{{#include ../../a.rs:b}}}}\n```\n")
    }

    fn code() -> String {
        format!("// ANCHOR: b\n{}// ANCHOR_END: b\n", "code();\n".repeat(25))
    }

    /// Corrects a book of these pages, and returns them.
    fn fixed(files: &[(&str, &str)]) -> Vec<String> {
        let (folder, book) = book(files);
        fix(&book).unwrap();
        let read = |(file, _): &(&str, &str)| fs::read_to_string(folder.path().join(file)).unwrap();
        files.iter().map(read).collect()
    }

    #[test]
    fn each_page_says_how_long_it_takes() {
        let page = page() + "\n```rust,mdbook-runnable\n{{#include ../../a.rs:b}}\n```\n";
        let files = [("book/src/a.md", &*page), ("a.rs", &*code())];
        assert!(findings(check, &files)[0].contains("book/src/a.md:1: another reading time"));
        let text = &fixed(&files)[0];
        let begins = "# A [b](c.md)\n\n<p class=\"reading-time\">3 minutes</p>\n\nword ";
        assert!(text.starts_with(begins), "{text}");
        assert_eq!(findings(check, &[("book/src/a.md", text), files[1]]), [""; 0]);
        let outdated = text.replace("3 minutes", "7 minutes");
        assert_eq!(fixed(&[("book/src/a.md", &outdated), files[1]])[0], *text);
    }

    #[test]
    fn a_page_of_the_short_path_leads_to_the_next_one() {
        let introduction = "# I\n\n1. [A](a.md), 5 minutes. Why.\n2. [B](b.md), 1 minute. What.\n";
        let summary = ("book/src/SUMMARY.md", "[I](introduction.md)\n- [A](a.md)\n- [B](b.md)\n");
        let files =
            [(INTRODUCTION, introduction), ("book/src/a.md", "# A\n"), ("book/src/b.md", "# Be\n")];
        let [first, a, b] = &fixed(&files)[..] else { panic!() };
        assert!(first.contains("1. [A](a.md), 1 minute. Why."), "{first}");
        assert!(a.contains(">1 minute · page 1 of 2 of the short path · next: "), "{a}");
        assert!(a.contains("<a href=\"b.md\">Be</a></p>"), "{a}");
        assert!(b.contains(">1 minute · page 2 of 2 of the short path</p>"), "{b}");
        let good = [(INTRODUCTION, &**first), ("book/src/a.md", a), ("book/src/b.md", b)];
        let found = |files: &[(&str, &str)]| findings(check, files);
        assert_eq!(found(&[&[summary][..], &good].concat()), [""; 0]);
        let other = (summary.0, "[I](introduction.md)\n- [B](b.md)\n- [A](a.md)\n");
        assert!(found(&[&[other][..], &good].concat())[0].contains("not in the order"));
    }

    #[test]
    fn the_short_path_is_short() {
        let introduction = "# I\n\n1. [A](a.md), 1 minute. Why.\n";
        let long = format!("# A\n\n{}\n", "word ".repeat(200 * (LONGEST_PATH + 1)));
        let files = [(INTRODUCTION, introduction), ("book/src/a.md", &*long)];
        let fixed = fixed(&files);
        let found = findings(check, &[(INTRODUCTION, &fixed[0]), ("book/src/a.md", &fixed[1])]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("introduction.md:5: the short path takes 121 minutes"));
    }
}
