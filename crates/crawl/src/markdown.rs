//! Markdown as HTML, for the links of Markdown files: a page whose elements are on the
//! lines of their origins.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, TextMergeWithOffset};
use regex::Regex;

/// The characters that are not part of the id of a heading: github-slugger's rule.
static NOT_OF_SLUG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[^\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\- ]").expect("this is a regular expression")
});

/// A URL without brackets (GitHub Flavored Markdown, section 6.9), with what may stand before
/// it. What it ends in is cut off later.
static BARE_URL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[\s*_~(])((?i:https?://|www\.)[\w-]+(?:[.:/?#][^\s<]*)?)")
        .expect("this is a regular expression")
});

/// Returns a page with the links, images, HTML and ids of a Markdown text, each on its
/// line, as GitHub shows them.
pub(crate) fn to_html(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES;
    let markdown = markdown.strip_prefix('\u{feff}').unwrap_or(markdown);
    let mut page = Page {
        markdown,
        html: String::new(),
        written: 0,
        slugs: HashMap::new(),
        html_heading: None,
    };
    // The text of the heading that is open, and its own id.
    let mut heading: Option<(String, Option<String>)> = None;
    let (mut code_blocks, mut links, mut images) = (0, 0, 0);
    for (event, range) in
        TextMergeWithOffset::new(Parser::new_ext(markdown, options).into_offset_iter())
    {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                links += 1;
                page.open("a href", &dest_url, &range);
            }
            Event::End(TagEnd::Link) => {
                links -= 1;
                page.html.push_str("</a>");
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                images += 1;
                page.open("img src", &dest_url, &range);
            }
            Event::End(TagEnd::Image) => images -= 1,
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
            Event::Text(_) | Event::Code(_) if code_blocks > 0 => {}
            Event::Text(ref text) | Event::Code(ref text) => {
                // The text of an image is not part of a heading.
                if images == 0 {
                    let open = heading.as_mut().map(|(text, _)| text);
                    open.or(page.html_heading.as_mut()).into_iter().for_each(|it| *it += text);
                }
                let is_plain = matches!(event, Event::Text(_)) && links == 0 && images == 0;
                if is_plain { page.text(text, &range) } else { page.html += &escape(text) }
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
    /// For each slug, the number of further headings that would have it.
    slugs: HashMap<String, usize>,
    /// The text of the heading that is open and was written in HTML.
    html_heading: Option<String>,
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

    /// Writes text. URLs in it are links.
    fn text(&mut self, text: &str, range: &Range<usize>) {
        let mut written = 0;
        while let Some(found) = BARE_URL.captures_at(text, written).and_then(|it| it.get(1)) {
            let url = without_end(found.as_str());
            self.html += &escape(&text[written..found.start()]);
            written = found.start() + url.len();
            if has_domain(url) {
                let scheme =
                    if url.as_bytes()[0].eq_ignore_ascii_case(&b'w') { "http://" } else { "" };
                self.open("a href", &format!("{scheme}{url}"), range);
                let _ = write!(self.html, "{}</a>", escape(url));
            } else {
                self.html += &escape(url);
            }
        }
        self.html += &escape(&text[written..]);
    }

    /// Writes HTML as it is. A heading in it gets an id as any other, beside its own.
    fn raw(&mut self, html: &str, range: &Range<usize>) {
        self.advance(range.start);
        let mut rest = html;
        while let Some(start) = rest.find('<') {
            let (text, from_tag) = rest.split_at(start);
            self.heading_text(text);
            self.html += text;
            let end = from_tag.find('>').map_or(from_tag.len(), |end| end + 1);
            let (tag, after) = from_tag.split_at(end);
            self.html += tag;
            self.tag(tag);
            rest = after;
        }
        self.heading_text(rest);
        self.html += rest;
        self.written = self.written.max(range.end);
    }

    fn heading_text(&mut self, text: &str) {
        if let Some(heading) = &mut self.html_heading {
            web::html::decode_text(text.as_bytes(), heading);
        }
    }

    /// Opens or closes a heading if this is its tag.
    fn tag(&mut self, tag: &str) {
        let name = tag.trim_start_matches(['<', '/']);
        let is_heading =
            matches!(name.as_bytes(), [b'h' | b'H', b'1'..=b'6', b'>' | b' ' | b'\t' | b'\n', ..]);
        if !is_heading {
            return;
        }
        if !tag.starts_with("</") {
            self.html_heading = Some(String::new());
        } else if let Some(text) = self.html_heading.take() {
            // Whether blanks around the text are part of the id is not the same everywhere.
            let id = self.slug(&text);
            let trimmed = slug_of(text.trim());
            let _ = write!(self.html, "<p id=\"{}\"><p id=\"{}\">", escape(&id), escape(&trimmed));
        }
    }

    /// Returns the id that GitHub and others give to a heading: with a number if another
    /// heading has it already.
    fn slug(&mut self, heading: &str) -> String {
        let slug = slug_of(heading);
        let mut number = self.slugs.get(&slug).copied().unwrap_or_default();
        let mut id = slug.clone();
        while self.slugs.contains_key(&id) {
            number += 1;
            id = format!("{slug}-{number}");
        }
        self.slugs.insert(slug, number);
        self.slugs.entry(id.clone()).or_default();
        id
    }
}

/// Returns the id of a heading that is the first of its kind.
fn slug_of(heading: &str) -> String {
    NOT_OF_SLUG.replace_all(&heading.to_lowercase(), "").replace(' ', "-")
}

/// Returns a bare URL without what stands behind it: punctuation, a parenthesis that was
/// opened before it, and a character reference.
fn without_end(url: &str) -> &str {
    let mut url = url;
    loop {
        let cut = url.trim_end_matches(['?', '!', '.', ',', ':', '*', '_', '~', '\'', '"']);
        let closes = cut.ends_with(')') && cut.matches(')').count() > cut.matches('(').count();
        let cut = match cut.rfind('&') {
            _ if closes => &cut[..cut.len() - 1],
            Some(start)
                if cut.ends_with(';')
                    && cut[start + 1..cut.len() - 1].chars().all(|c| c.is_ascii_alphanumeric()) =>
            {
                &cut[..start]
            }
            _ => cut,
        };
        if cut.len() == url.len() {
            return url;
        }
        url = cut;
    }
}

/// Returns true if the host of a bare URL can be one: it has a dot behind `www`, and no
/// underscore in its last two parts.
fn has_domain(url: &str) -> bool {
    let host = url.split_once("//").map_or(url, |(_, rest)| rest);
    let host = host.split([':', '/', '?', '#']).next().unwrap_or_default();
    let is_www = !url.contains("//");
    let mut last = host.rsplit('.').take(2);
    last.all(|part| !part.is_empty() && !part.contains('_'))
        && (!is_www || host.matches('.').count() >= 2 || host.len() > "www.".len())
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

    fn ids(markdown: &str) -> Vec<String> {
        let html = to_html(markdown);
        html.split("id=\"")
            .skip(1)
            .filter_map(|it| Some(it.split_once('"')?.0.to_owned()))
            .collect()
    }

    #[test]
    fn headings_have_the_ids_of_github() {
        for (markdown, expected) in [
            ("## \u{26a0}\u{fe0f} Disclaimer", "\u{fe0f}-disclaimer"),
            (
                "# \u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940}",
                "\u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940}",
            ),
            ("# Cafe\u{301}", "cafe\u{301}"),
            ("# 1\u{bd} cups", "1-cups"),
            ("# CO\u{2082} and H\u{2082}O", "co-and-ho"),
            ("## ![logo](l.png) Title", "-title"),
            ("## <img src=l.png> Features", "-features"),
            ("# `code` and *more*: 100 %", "code-and-more-100-"),
            ("\u{feff}# First", "first"),
            ("a_b C++ | d\n===", "a_b-c--d"),
        ] {
            assert_eq!(ids(markdown), [expected], "{markdown}");
        }
        assert_eq!(ids("# A\n# A 1\n# A\n# A"), ["a", "a-1", "a-2", "a-3"]);
        assert_eq!(ids("# Header\n# Header 1\n# Header"), ["header", "header-1", "header-2"]);
    }

    #[test]
    fn headings_in_html_have_ids() {
        assert_eq!(ids("<h1 align=center>My Project</h1>\n"), ["my-project", "my-project"]);
        assert_eq!(ids("<h2 name=cpp>C++ &amp; <b>D</b></h2>\n"), ["c--d", "c--d"]);
        assert_eq!(ids("# A\n\n<h2>A</h2>\n"), ["a", "a-1", "a"]);
        let html = ids("<h1>\n  <img src=l.png>\n  Tool\n</h1>\n");
        assert!(html.contains(&"tool".to_owned()), "{html:?}");
    }

    #[test]
    fn bare_urls_are_links_where_github_shows_links() {
        let links = |markdown: &str| -> Vec<String> {
            let html = to_html(markdown);
            let all = html.split("href=\"").skip(1);
            all.filter_map(|it| Some(it.split_once('"')?.0.to_owned())).collect()
        };
        for (markdown, expected) in [
            ("see http://a.test/x_y_z, or", "http://a.test/x_y_z"),
            ("**https://a.test/x** and", "https://a.test/x"),
            ("(https://a.test/x)", "https://a.test/x"),
            ("(https://a.test/x_(y))", "https://a.test/x_(y)"),
            ("www.a.test/x?", "http://www.a.test/x"),
            ("| a |\n|---|\n| https://a.test/x |", "https://a.test/x"),
            ("https://a.test/?a=1&b=2&copy;", "https://a.test/?a=1&amp;b=2\u{a9}"),
            ("http://localhost:3000/x", "http://localhost:3000/x"),
            ("HTTPS://A.test", "HTTPS://A.test"),
            ("<https://a.test/>", "https://a.test/"),
            ("[https://a.test/x](https://b.test/)", "https://b.test/"),
        ] {
            assert_eq!(links(markdown), [expected], "{markdown}");
        }
        for markdown in [
            "`https://a.test/`",
            "```\nhttps://a.test/\n```",
            "xhttps://a.test/",
            "https:// a.test",
            "ftp://a.test/",
            "![https://a.test/](x.png)",
            "www.",
            "http://a_b.c_d/",
        ] {
            assert_eq!(links(markdown), [""; 0], "{markdown}");
        }
        let html = to_html("one\ntwo https://a.test/\n");
        assert!(html.lines().nth(1).is_some_and(|line| line.contains("https://a.test/")), "{html}");
    }
}
