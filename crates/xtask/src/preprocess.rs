//! A preprocessor of mdBook, named in `book/book.toml`. It adds what would have to be kept
//! right by hand: the file and line above each piece of code, and below its title how long a
//! page takes to read and where it stands on the short path.
//!
//! The introduction lists that path:
//!
//! ```text
//! 1. [The selector](selector.md). What it is about.
//! ```

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::book::{Book, PAGES, resolve};
use crate::markdown::{Fence, Page};
use crate::source::{anchor_line, includes_of_line, lines_of_anchor};

/// The page that lists the short path.
const INTRODUCTION: &str = "book/src/introduction.md";
/// The languages of included code that gets a caption.
const CODE: [&str; 3] = ["rust", "python", "lua"];
const WORDS_PER_MINUTE: f64 = 200.0;
const LINES_PER_MINUTE: f64 = 25.0;

/// Returns the book that mdBook is to render, made from what it hands to a preprocessor: its
/// configuration and the book, as JSON.
///
/// # Errors
/// When the input is not what mdBook writes, or a page cannot be read.
pub(crate) fn preprocess(root: &Path, input: &str) -> io::Result<String> {
    let (context, mut output): (Value, Value) = serde_json::from_str(input)?;
    let repository = context.pointer("/config/output/html/git-repository-url");
    let book = Book::load(root)?;
    let path = short_path(&book);
    let preprocessor = Preprocessor { book, path, repository: repository.and_then(Value::as_str) };
    let items = output.get_mut("items").and_then(Value::as_array_mut);
    preprocessor.change(items.ok_or_else(|| io::Error::other("mdBook has handed over no book"))?);
    Ok(output.to_string())
}

/// What the lines that are added to a page are made of.
struct Preprocessor<'a> {
    book: Book,
    /// The pages of the short path.
    path: Vec<PathBuf>,
    /// The URL of the repository, which captions lead to.
    repository: Option<&'a str>,
}

impl Preprocessor<'_> {
    /// Changes the text of chapters, and of those below them.
    fn change(&self, items: &mut [Value]) {
        for chapter in items.iter_mut().filter_map(|item| item.get_mut("Chapter")) {
            let path = chapter.get("path").and_then(Value::as_str);
            let path = path.map(|path| Path::new(PAGES).join(path));
            if let (Some(path), Some(Value::String(text))) = (path, chapter.get_mut("content")) {
                *text = self.with_added_lines(&Page { path, text: text.clone() });
            }
            if let Some(Value::Array(sub_items)) = chapter.get_mut("sub_items") {
                self.change(sub_items);
            }
        }
    }

    /// Returns the text of a page with its captions and reading time.
    fn with_added_lines(&self, page: &Page) -> String {
        let fences = page.fences();
        let caption = |fence: &Fence<'_>| Some((fence.line, self.caption(page, fence)?));
        let captions: HashMap<usize, String> = fences.iter().filter_map(caption).collect();
        let title = page.headings().first().map(|(number, _)| *number);
        let mut text = String::new();
        for (number, line) in page.lines() {
            if let Some(caption) = captions.get(&number) {
                text += &format!("{caption}\n\n");
            }
            text += &format!("{}\n", self.with_time_of_step(page, line));
            if Some(number) == title {
                text += &format!("\n{}\n", self.reading_time(page));
            }
        }
        text
    }

    /// Returns the caption of a block of included code: its file, and the line at which it
    /// begins there.
    fn caption(&self, page: &Page, fence: &Fence<'_>) -> Option<String> {
        if !CODE.contains(&fence.language()) {
            return None;
        }
        let include = includes_of_line(page, fence.line, fence.lines.first()?).pop()?;
        let code = self.book.read(&include.path).unwrap_or_default();
        let line = anchor_line(&code, include.anchor.as_deref()?)?;
        let file = include.path.display();
        let place = format!("{file}, line {line}");
        let place = match self.repository {
            Some(url) => format!("<a href=\"{url}/blob/HEAD/{file}#L{line}\">{place}</a>"),
            None => place,
        };
        Some(format!("<p class=\"file\">{place}</p>"))
    }

    /// Returns the line below the title of a page.
    fn reading_time(&self, page: &Page) -> String {
        let mut line = time(self.minutes(page));
        if let Some(at) = self.path.iter().position(|path| *path == page.path) {
            line += &format!(" · page {} of {} of the short path", at + 1, self.path.len());
            if let Some(next) = self.path.get(at + 1).and_then(|path| self.book.page(path)) {
                let file = next.path.file_name().unwrap_or_default().display();
                let title = next.headings().first().map_or("", |(_, title)| title);
                line += &format!(" · next: <a href=\"{file}\">{title}</a>");
            }
        }
        format!("<p class=\"reading-time\">{line}</p>")
    }

    /// Returns a line of a page, with the time of its page if it is a step of the short path.
    fn with_time_of_step(&self, page: &Page, line: &str) -> String {
        if page.path == Path::new(INTRODUCTION)
            && let Some(step) = STEP.captures(line)
            && let Some(target) = self.book.page(&resolve(&page.path, &step["file"]))
        {
            let link = &step[0];
            return line.replacen(link, &format!("{link}, {}", time(self.minutes(target))), 1);
        }
        line.to_owned()
    }

    /// Returns the minutes that it takes to read a page, its answers and all of its code.
    fn minutes(&self, page: &Page) -> u64 {
        let prose = page.unfenced().into_iter().filter(|(_, line)| !line.contains("{{#include"));
        let words: usize =
            prose.map(|(_, line)| without_markup(line).split_whitespace().count()).sum();
        // A program that can be run in the page was shown in parts before.
        let fences = page.fences().into_iter().filter(|fence| !fence.has_tag("mdbook-runnable"));
        let lines: usize = fences.map(|fence| self.lines_of_fence(page, &fence)).sum();
        let minutes = words as f64 / WORDS_PER_MINUTE + lines as f64 / LINES_PER_MINUTE;
        (minutes.round() as u64).max(1)
    }

    /// Returns the number of lines that a code block shows, those of its includes among them.
    fn lines_of_fence(&self, page: &Page, fence: &Fence<'_>) -> usize {
        let shown = |line: &&str| match includes_of_line(page, fence.line, line).pop() {
            None => 1,
            Some(include) => {
                let text = self.book.read(&include.path).unwrap_or_default();
                lines_of_anchor(&text, include.anchor.as_deref()).len()
            }
        };
        fence.lines.iter().map(shown).sum()
    }
}

/// A step of the short path in the introduction, up to the end of its link.
static STEP: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\d+\. \[[^\]]+\]\((?P<file>[^)#]+\.md)\)").expect("a pattern"));

/// Returns the pages of the short path.
fn short_path(book: &Book) -> Vec<PathBuf> {
    let Some(page) = book.page(Path::new(INTRODUCTION)) else { return Vec::new() };
    let step = |(_, line): (usize, &str)| Some(resolve(&page.path, &STEP.captures(line)?["file"]));
    page.lines().filter_map(step).collect()
}

fn time(minutes: u64) -> String {
    format!("{minutes} minute{}", if minutes == 1 { "" } else { "s" })
}

/// Returns a line without tags, and without the signs of tables and lists.
fn without_markup(line: &str) -> String {
    static MARKUP: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"<[^>]*>|\]\([^)]*\)|[|#*>]|---+").expect("a pattern"));
    MARKUP.replace_all(line, " ").into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    /// A page of 400 words and of 25 lines of code, which are in another file.
    fn page() -> String {
        let words = "word ".repeat(400);
        format!("# A\n\n{words}\n\n```rust,ignore\n{{{{#include ../../a.rs:b}}}}\n```\n")
    }

    fn code() -> String {
        format!("use a;\n// ANCHOR: b\n{}// ANCHOR_END: b\n", "code();\n".repeat(25))
    }

    /// Returns the pages of a book as mdBook is to render them, the second of them below the
    /// first.
    fn preprocessed(files: &[(&str, &str)], html: &Value) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join(PAGES)).unwrap();
        fs::write(root.path().join("a.rs"), code()).unwrap();
        let mut items = json!(["Separator"]);
        for (name, text) in files.iter().rev() {
            fs::write(root.path().join(PAGES).join(name), text).unwrap();
            items = json!([{"Chapter": {"path": name, "content": text, "sub_items": items}}]);
        }
        let input = json!([{"config": {"output": {"html": html}}}, {"items": items}]);
        let output = preprocess(root.path(), &input.to_string()).unwrap();
        let output: Value = serde_json::from_str(&output).unwrap();
        let mut at = &output["items"][0]["Chapter"];
        let mut pages = Vec::new();
        while let Some(text) = at["content"].as_str() {
            pages.push(text.to_owned());
            at = &at["sub_items"][0]["Chapter"];
        }
        pages
    }

    #[test]
    fn each_page_says_how_long_it_takes() {
        let runnable = page() + "\n```rust,mdbook-runnable\n{{#include ../../a.rs:b}}\n```\n";
        for page in [page(), runnable] {
            let text = preprocessed(&[("a.md", &page)], &json!({})).remove(0);
            let begins = "# A\n\n<p class=\"reading-time\">3 minutes</p>\n\nword ";
            assert!(text.starts_with(begins), "{text}");
        }
    }

    #[test]
    fn included_code_has_a_caption() {
        let of = |page: &str, html: Value| preprocessed(&[("a.md", page)], &html).remove(0);
        let expected =
            "\n\n<p class=\"file\">a.rs, line 3</p>\n\n```rust,ignore\n{{#include ../../a.rs:b}}\n";
        let text = of(&page(), json!({}));
        assert!(text.contains(expected), "{text}");
        let text = of(&page(), json!({"git-repository-url": "https://git.test/us"}));
        let link = "<a href=\"https://git.test/us/blob/HEAD/a.rs#L3\">a.rs, line 3</a></p>";
        assert!(text.contains(link), "{text}");
        let other = page().replace("rust,ignore", "text") + "```rust\nfn main() {}\n```\n";
        assert!(!of(&other, json!({})).contains("class=\"file\""));
    }

    #[test]
    fn a_page_of_the_short_path_leads_to_the_next_one() {
        let introduction = "# I\n\n1. [A](a.md). Why.\n2. [B](b.md). What.\n";
        let files =
            [("introduction.md", introduction), ("a.md", &*page()), ("b.md", "# Be\n\nShort.\n")];
        let [first, a, b] = &preprocessed(&files, &json!({}))[..] else { panic!() };
        assert!(first.ends_with("1. [A](a.md), 3 minutes. Why.\n2. [B](b.md), 1 minute. What.\n"));
        assert!(a.contains(">3 minutes · page 1 of 2 of the short path · next: "), "{a}");
        assert!(a.contains("<a href=\"b.md\">Be</a></p>"), "{a}");
        assert!(b.contains(">1 minute · page 2 of 2 of the short path</p>"), "{b}");
    }

    #[test]
    fn what_mdbook_does_not_write_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join(PAGES)).unwrap();
        assert!(preprocess(root.path(), "[{}, {}]").is_err());
        assert!(preprocess(root.path(), "").is_err());
    }
}
