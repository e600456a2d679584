//! A preprocessor of mdBook: captions get the line at which the code begins, and lead
//! there if the book has a repository. `cargo xtask book` builds with it; `mdbook build`
//! alone does without.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use crate::book::PAGES;
use crate::markdown::Page;
use crate::source::{anchor_line, includes_of_line};

const BEFORE: &str = "<p class=\"file\">";

/// Returns the book that mdBook is to build, made from what it hands to a preprocessor:
/// its configuration and the book, as JSON.
///
/// # Errors
/// When the input is not what mdBook writes.
pub fn caption_lines(root: &Path, input: &str) -> io::Result<String> {
    let (context, mut book): (Value, Value) = serde_json::from_str(input)?;
    let repository = context.pointer("/config/output/html/git-repository-url");
    let repository = repository.and_then(Value::as_str);
    let items = book.get_mut("items").and_then(Value::as_array_mut);
    let items = items.ok_or_else(|| io::Error::other("mdBook has handed over no book"))?;
    add_to_items(root, repository, items);
    Ok(book.to_string())
}

fn add_to_items(root: &Path, repository: Option<&str>, items: &mut [Value]) {
    for chapter in items.iter_mut().filter_map(|item| item.get_mut("Chapter")) {
        let path =
            chapter.get("path").and_then(Value::as_str).map(|path| Path::new(PAGES).join(path));
        if let (Some(path), Some(Value::String(text))) = (path, chapter.get_mut("content")) {
            *text = with_lines(root, repository, &Page { path, text: text.clone() });
        }
        if let Some(Value::Array(sub_items)) = chapter.get_mut("sub_items") {
            add_to_items(root, repository, sub_items);
        }
    }
}

/// Returns the text of a page with lines in its captions.
fn with_lines(root: &Path, repository: Option<&str>, page: &Page) -> String {
    let mut lines: Vec<String> = page.text.lines().map(str::to_owned).collect();
    for fence in page.fences() {
        let include =
            fence.lines.first().and_then(|line| includes_of_line(page, fence.line, line).pop());
        let Some(include) = include else { continue };
        let code = fs::read_to_string(root.join(&include.path)).unwrap_or_default();
        let number = include.anchor.as_deref().and_then(|anchor| anchor_line(&code, anchor));
        // The caption is two lines above the fence, whose number begins at 1.
        let caption = fence.line.checked_sub(3).and_then(|index| lines.get_mut(index));
        if let (Some(number), Some(caption)) = (number, caption)
            && caption.starts_with(BEFORE)
        {
            let file = include.path.display();
            let text = format!("{file}, line {number}");
            let text = match repository {
                Some(url) => format!("<a href=\"{url}/blob/HEAD/{file}#L{number}\">{text}</a>"),
                None => text,
            };
            *caption = format!("{BEFORE}{text}</p>");
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn captions_get_the_line_of_their_code() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("crates")).unwrap();
        let code = "use a;\n// ANCHOR: b\ncode();\n// ANCHOR_END: b\n";
        fs::write(root.path().join("crates/a.rs"), code).unwrap();
        let page = "# A\n\n<p class=\"file\">crates/a.rs</p>\n\n\
                    ```rust,ignore\n{{#include ../../crates/a.rs:b}}\n```\n";
        let chapter = |sub_items: Value| json!({"Chapter": {"path": "a.md", "content": page, "sub_items": sub_items}});
        let items = json!([chapter(json!([chapter(json!([]))])), "Separator"]);
        let with = |html: Value| {
            let input = json!([{"config": {"output": {"html": html}}}, {"items": items}]);
            let book = caption_lines(root.path(), &input.to_string()).unwrap();
            serde_json::from_str::<Value>(&book).unwrap()
        };
        let book = with(json!({}));
        let text = book.pointer("/items/0/Chapter/sub_items/0/Chapter/content").unwrap();
        assert!(text.as_str().unwrap().contains("<p class=\"file\">crates/a.rs, line 3</p>\n"));
        let book = with(json!({"git-repository-url": "https://git.test/us"}));
        let text = book.pointer("/items/0/Chapter/content").unwrap().as_str().unwrap();
        let link =
            "<a href=\"https://git.test/us/blob/HEAD/crates/a.rs#L3\">crates/a.rs, line 3</a>";
        assert!(text.contains(link), "{text}");
        assert!(caption_lines(root.path(), "[{}, {}]").is_err());
    }
}
