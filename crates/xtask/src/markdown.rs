//! A minimal Markdown parser: prose, code blocks, spans of code and headings.

use std::path::PathBuf;

/// One page of the book.
#[derive(Debug)]
pub(crate) struct Page {
    /// The path, relative to the root of the workspace.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// A fenced code block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fence<'a> {
    /// The number of its opening line.
    pub(crate) line: usize,
    /// The info string, which follows the opening fence.
    pub(crate) info: &'a str,
    pub(crate) lines: Vec<&'a str>,
}

impl Fence<'_> {
    /// Returns the words of the info string: the language, and attributes such as
    /// `ignore`.
    pub(crate) fn tags(&self) -> impl Iterator<Item = &str> {
        self.info.split([',', ' ']).filter(|tag| !tag.is_empty())
    }

    /// Returns the language; empty if there is none.
    pub(crate) fn language(&self) -> &str {
        self.tags().next().unwrap_or_default()
    }

    /// Returns true if the info string has this word.
    pub(crate) fn has_tag(&self, tag: &str) -> bool {
        self.tags().any(|other| other == tag)
    }
}

impl Page {
    /// Returns every line with its number, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Returns the code blocks, in their order.
    pub(crate) fn fences(&self) -> Vec<Fence<'_>> {
        self.split().1
    }

    /// Returns the lines outside of code blocks, with their numbers. Spans of code
    /// are blanked out, so that text like a link in them is not taken for one.
    pub(crate) fn prose(&self) -> Vec<(usize, String)> {
        let (prose, _) = self.split();
        prose.into_iter().map(|(number, line)| (number, without_code(line))).collect()
    }

    /// Returns the lines outside of code blocks, with their numbers and with their
    /// spans of code.
    pub(crate) fn unfenced(&self) -> Vec<(usize, &str)> {
        self.split().0
    }

    /// Returns the headings: the number of the line, and the text.
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

    /// Splits the page into lines of prose and code blocks.
    fn split(&self) -> (Vec<(usize, &str)>, Vec<Fence<'_>>) {
        let (mut prose, mut fences) = (Vec::new(), Vec::new());
        let mut open: Option<(&str, Fence<'_>)> = None;
        for (number, line) in self.lines() {
            let marker = marker(line);
            match (&mut open, marker) {
                (None, Some(marker)) => {
                    let info = line.trim_start()[marker.len()..].trim();
                    open = Some((marker, Fence { line: number, info, lines: Vec::new() }));
                }
                (None, None) => prose.push((number, line)),
                (Some((opening, _)), Some(marker))
                    if marker.starts_with(*opening) && line.trim() == marker =>
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

/// Returns the marker that a fence begins with: three backticks or tildes, or
/// more.
fn marker(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(sign).len();
    (length >= 3).then(|| &line[..length])
}

/// Replaces the spans of code of a line with blanks.
fn without_code(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..].len() - rest[start..].trim_start_matches('`').len();
        let (marker, after) = rest[start..].split_at(ticks);
        kept += &rest[..start];
        let Some(end) = after.find(marker) else {
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
    fn a_fence_is_closed_by_a_marker_of_its_kind() {
        let page = page("a\n```rust,ignore\nx\n~~~\n````\n```text\nlast\n");
        let fences = page.fences();
        assert_eq!(fences[0].lines, ["x", "~~~"]);
        assert!(fences[0].has_tag("ignore") && fences[0].language() == "rust");
        // The last one is never closed, as Markdown allows.
        assert_eq!((fences[1].line, fences[1].info), (6, "text"));
        assert_eq!(page.prose(), [(1, "a".to_owned())]);
    }

    #[test]
    fn spans_of_code_are_left_out_of_prose() {
        let page = page("see `[a](b)` and ``x`y`` or [c](d), a lone ` stays");
        let (_, line) = &page.prose()[0];
        assert!(!line.contains("[a](b)") && !line.contains("x`y"), "{line}");
        assert!(line.contains("[c](d)") && line.ends_with("a lone ` stays"), "{line}");
    }

    #[test]
    fn comments_of_a_shell_are_not_headings() {
        let page = page("# One\n```console\n# not this\n```\n##Nor this\n### Three `x`\n");
        assert_eq!(page.headings(), [(1, "One"), (6, "Three `x`")]);
    }
}
