//! Markdown as HTML, for the links of Markdown files: a page whose elements are on the
//! lines of their origins.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Returns a page with the links, images, HTML and ids of a Markdown text, each on its
/// line.
pub(crate) fn to_html(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES;
    let mut page = Page { markdown, html: String::new(), written: 0, slugs: HashMap::new() };
    // The text of the heading that is open, and its own id.
    let mut heading: Option<(String, Option<String>)> = None;
    let mut code_blocks = 0;
    for (event, range) in Parser::new_ext(markdown, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => page.open("a href", &dest_url, &range),
            Event::End(TagEnd::Link) => page.html.push_str("</a>"),
            Event::Start(Tag::Image { dest_url, .. }) => page.open("img src", &dest_url, &range),
            Event::Start(Tag::Heading { id, .. }) => {
                heading = Some((String::new(), id.map(|id| id.to_string())));
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((text, id)) = heading.take() {
                    let id = id.unwrap_or_else(|| page.slug(&text));
                    page.open("p id", &id, &range);
                }
            }
            Event::Start(Tag::CodeBlock(_)) => code_blocks += 1,
            Event::End(TagEnd::CodeBlock) => code_blocks -= 1,
            Event::Text(text) | Event::Code(text) if code_blocks == 0 => {
                if let Some((heading, _)) = &mut heading {
                    heading.push_str(&text);
                }
                page.html.push_str(&escape(&text));
            }
            Event::SoftBreak | Event::HardBreak => page.html.push(' '),
            Event::Html(html) | Event::InlineHtml(html) => page.raw(&html, &range),
            _ => {}
        }
    }
    page.html
}

struct Page<'a> {
    markdown: &'a str,
    html: String,
    /// The offset in the Markdown up to which all ends of lines are written.
    written: usize,
    /// The number of headings with each slug.
    slugs: HashMap<String, usize>,
}

impl Page<'_> {
    /// Writes ends of lines until the page is on the line of this offset.
    fn advance(&mut self, offset: usize) {
        let passed = self.markdown.get(self.written..offset).unwrap_or_default();
        self.html.extend(passed.matches('\n'));
        self.written = self.written.max(offset);
    }

    fn open(&mut self, element: &str, value: &str, range: &Range<usize>) {
        self.advance(range.start);
        // Writing to a String cannot fail.
        let _ = write!(self.html, "<{element}=\"{}\">", escape(value));
    }

    fn raw(&mut self, html: &str, range: &Range<usize>) {
        self.advance(range.start);
        self.html.push_str(html);
        self.written = self.written.max(range.end);
    }

    /// Returns the id that GitHub and others give to a heading.
    fn slug(&mut self, heading: &str) -> String {
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let slug: String = heading.trim().to_lowercase().chars().filter(kept).collect();
        let slug = slug.replace(' ', "-");
        let count = self.slugs.entry(slug.clone()).or_default();
        *count += 1;
        if *count == 1 { slug } else { format!("{slug}-{}", *count - 1) }
    }
}

/// Escapes text for HTML. It stays on its line.
fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_on_its_line() {
        let markdown = "# A *title*\n\nSee [one](a.md \"t\"),\n[two][ref] and ![three](c.png)\n\n\
                        ```\n[no](link)\n```\n<a href=\"raw\">x</a> <https://a.test/>\n\n\
                        <div\n  id=block></div>\n\n[ref]: b.md\n\n## A title\n[end](&)\n";
        let html = to_html(markdown);
        let lines: Vec<&str> = html.lines().collect();
        for (line, part) in [
            (1, "<p id=\"a-title\">"),
            (3, "<a href=\"a.md\">one</a>"),
            (4, "<a href=\"b.md\">two</a>"),
            (4, "<img src=\"c.png\">"),
            (9, "<a href=\"raw\">"),
            (9, "<a href=\"https://a.test/\">"),
            (12, "id=block"),
            (16, "<p id=\"a-title-1\">"),
            (17, "<a href=\"&amp;\">end</a>"),
        ] {
            assert!(lines[line - 1].contains(part), "{part} on line {line}: {html}");
        }
        assert!(!html.contains("no"), "{html}");
    }
}
