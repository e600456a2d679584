//! As much of Markdown as the chores have to know.

use std::path::PathBuf;

/// One page of the book.
#[derive(Debug)]
pub(crate) struct Page {
    /// Seen from the root of the workspace.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// A block of code between two fences.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fence<'a> {
    /// The number of the line that opens it.
    pub(crate) line: usize,
    /// What is said about it behind the opening fence.
    pub(crate) info: &'a str,
    pub(crate) lines: Vec<&'a str>,
}

impl Fence<'_> {
    /// The words of the opening fence: the language, and what it is to be
    /// treated as.
    pub(crate) fn tags(&self) -> impl Iterator<Item = &str> {
        self.info.split([',', ' ']).filter(|tag| !tag.is_empty())
    }

    pub(crate) fn language(&self) -> &str {
        self.tags().next().unwrap_or_default()
    }

    pub(crate) fn has_tag(&self, tag: &str) -> bool {
        self.tags().any(|other| other == tag)
    }
}

impl Page {
    /// Every line with its number, which begins at 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The blocks of code, in their order.
    pub(crate) fn fences(&self) -> Vec<Fence<'_>> {
        self.split().1
    }

    /// The lines outside of blocks of code, with their numbers; spans of code
    /// are left out, so that what looks like a link in them is none.
    pub(crate) fn prose(&self) -> Vec<(usize, String)> {
        let (prose, _) = self.split();
        prose.into_iter().map(|(number, line)| (number, without_code(line))).collect()
    }

    /// Heading by heading, the number of its line and its text.
    pub(crate) fn headings(&self) -> Vec<(usize, &str)> {
        let (prose, _) = self.split();
        prose
            .into_iter()
            .filter_map(|(number, line)| {
                let level = line.bytes().take_while(|byte| *byte == b'#').count();
                let text = line[level..].strip_prefix(' ')?;
                (1..=6).contains(&level).then_some((number, text.trim()))
            })
            .collect()
    }

    fn split(&self) -> (Vec<(usize, &str)>, Vec<Fence<'_>>) {
        let (mut prose, mut fences) = (Vec::new(), Vec::new());
        let mut open: Option<(&str, Fence<'_>)> = None;
        for (number, line) in self.lines() {
            let bar = bar(line);
            match (&mut open, bar) {
                (None, Some(bar)) => {
                    let info = line.trim_start()[bar.len()..].trim();
                    open = Some((bar, Fence { line: number, info, lines: Vec::new() }));
                }
                (None, None) => prose.push((number, line)),
                (Some((opening, _)), Some(bar))
                    if bar.starts_with(*opening) && line.trim() == bar =>
                {
                    fences.extend(open.take().map(|(_, fence)| fence));
                }
                (Some((_, fence)), _) => fence.lines.push(line),
            }
        }
        fences.extend(open.map(|(_, fence)| fence));
        (prose, fences)
    }
}

/// The three backticks or tildes, or more, that a fence begins with.
fn bar(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(sign).len();
    (length >= 3).then(|| &line[..length])
}

/// A line with blanks in the place of its spans of code.
fn without_code(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..].len() - rest[start..].trim_start_matches('`').len();
        let (bar, after) = rest[start..].split_at(ticks);
        kept += &rest[..start];
        let Some(end) = after.find(bar) else {
            return kept + &rest[start..];
        };
        kept += &" ".repeat(ticks + end + ticks);
        rest = &after[end + ticks..];
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Page {
        Page { path: PathBuf::from("book/src/a.md"), text: text.to_owned() }
    }

    #[test]
    fn a_fence_ends_where_its_like_stands() {
        let page = page("a\n```rust,ignore\nx\n~~~\n````\n```text\nlast\n");
        let fences = page.fences();
        assert_eq!(fences[0].lines, ["x", "~~~"]);
        assert!(fences[0].has_tag("ignore") && fences[0].language() == "rust");
        // The last one is never closed, as Markdown allows.
        assert_eq!((fences[1].line, fences[1].info), (6, "text"));
        assert_eq!(page.prose(), [(1, "a".to_owned())]);
    }

    #[test]
    fn spans_of_code_are_no_prose() {
        let page = page("see `[a](b)` and ``x`y`` or [c](d), a lone ` stays");
        let (_, line) = &page.prose()[0];
        assert!(!line.contains("[a](b)") && !line.contains("x`y"), "{line}");
        assert!(line.contains("[c](d)") && line.ends_with("a lone ` stays"), "{line}");
    }

    #[test]
    fn headings_are_no_comments_of_a_shell() {
        let page = page("# One\n```console\n# not this\n```\n##Nor this\n### Three `x`\n");
        assert_eq!(page.headings(), [(1, "One"), (6, "Three `x`")]);
    }
}
