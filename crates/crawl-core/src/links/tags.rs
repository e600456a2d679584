//! Where the tags of a page are: as much of the HTML standard's tokenization
//! (section 13.2.5) as it takes not to see tags where there are none.

use std::ops::Range;

/// A tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// In lower case, not empty.
    pub(super) name: &'a [u8],
    pub(super) is_end: bool,
    /// Whether nothing can be in the element: the tag says so, in a place where
    /// that is believed.
    pub(super) is_empty: bool,
    /// How many attributes it has; one given twice counts twice.
    pub(super) attributes: usize,
    /// Where it stands, from `<` to `>`.
    pub(super) text: Range<usize>,
}

/// The tags of a text, in its order. A last tag that does not end is none.
#[derive(Debug)]
pub(super) struct Tags<'a> {
    text: &'a str,
    at: usize,
    /// How many `svg` and `math` elements are open: XML lives there.
    foreign: usize,
}

/// What follows the name of a tag.
struct Attributes {
    count: usize,
    slash: bool,
    end: usize,
}

impl<'a> Tags<'a> {
    /// `text` is in lower case (but for letters beyond ASCII).
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, foreign: 0 }
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// Where `needle` next stands, from `from` on.
    fn next_at(&self, needle: char, from: usize) -> Option<usize> {
        Some(from + self.text.get(from..)?.find(needle)?)
    }

    /// The tag whose `<` is at `open`, and whose name begins at `name`.
    fn tag(&mut self, open: usize, name: usize) -> Option<Tag<'a>> {
        let bytes = self.bytes();
        let name_end = skip(bytes, name, |byte| !ends_name(byte));
        let attributes = attributes(bytes, name_end)?;
        self.at = attributes.end;
        let name = &bytes[name..name_end];
        let is_end = bytes[open + 1] == b'/';
        let is_empty = attributes.slash && (self.foreign > 0 || is_foreign_root(name));
        match (is_foreign_root(name), is_end) {
            (true, true) => self.foreign = self.foreign.saturating_sub(1),
            (true, false) if !is_empty => self.foreign += 1,
            (false, false) if !is_empty => self.skip_raw_text(name),
            _ => {}
        }
        Some(Tag {
            name,
            is_end,
            is_empty,
            attributes: attributes.count,
            text: open..attributes.end,
        })
    }

    /// Passes over what is in an element that holds text only.
    fn skip_raw_text(&mut self, name: &[u8]) {
        let end = match name {
            b"plaintext" => None,
            b"script" => self.script_end(),
            b"style" | b"textarea" | b"title" | b"xmp" | b"iframe" | b"noembed" | b"noframes" => {
                self.end_tag(name, self.at)
            }
            _ => return,
        };
        self.at = end.unwrap_or(self.text.len());
    }

    /// Where the next end tag of `name` begins.
    fn end_tag(&self, name: &[u8], from: usize) -> Option<usize> {
        let mut from = from;
        loop {
            let open = self.next_at('<', from)?;
            if self.bytes().get(open + 1) == Some(&b'/') && self.goes_on(open + 2, name) {
                return Some(open);
            }
            from = open + 1;
        }
    }

    /// Whether a tag goes on with `name` at `at`.
    fn goes_on(&self, at: usize, name: &[u8]) -> bool {
        let rest = self.bytes().get(at..).unwrap_or_default();
        rest.strip_prefix(name)
            .is_some_and(|rest| rest.first().is_some_and(|&byte| ends_name(byte)))
    }

    /// Where the script that begins here ends. A script may hold a comment, for
    /// browsers of the last century, and that comment a whole other script.
    fn script_end(&self) -> Option<usize> {
        let first = self.end_tag(b"script", self.at)?;
        if !self.text[self.at..first].contains("<!--") {
            return Some(first);
        }
        let (mut in_comment, mut in_inner_script) = (false, false);
        let mut at = self.at;
        loop {
            at += self.text.get(at..)?.find(['<', '>'])?;
            let (before, rest) = self.bytes().split_at(at);
            if rest.starts_with(b">") {
                if before.ends_with(b"--") {
                    (in_comment, in_inner_script) = (false, false);
                }
            } else if rest.starts_with(b"<!--") {
                in_comment = true;
            } else if self.goes_on(at + 1, b"script") {
                in_inner_script |= in_comment;
            } else if self.goes_on(at + 1, b"/script") {
                if !in_inner_script {
                    return Some(at);
                }
                in_inner_script = false;
            }
            at += 1;
        }
    }

    /// Where the comment whose `<` is at `open` ends.
    fn comment_end(&self, open: usize) -> Option<usize> {
        let mut from = open + 4;
        loop {
            let close = self.next_at('>', from)?;
            // Its dashes may be those that opened it: `<!-->` is a comment.
            let inside = &self.bytes()[open + 2..close];
            if inside.ends_with(b"--") || (inside.len() > 4 && inside.ends_with(b"--!")) {
                return Some(close + 1);
            }
            from = close + 1;
        }
    }
}

impl<'a> Iterator for Tags<'a> {
    type Item = Tag<'a>;

    fn next(&mut self) -> Option<Tag<'a>> {
        loop {
            let open = self.next_at('<', self.at)?;
            let rest = &self.text[open + 1..];
            self.at = match rest.as_bytes() {
                [b'a'..=b'z', ..] => return self.tag(open, open + 1),
                [b'/', b'a'..=b'z', ..] => return self.tag(open, open + 2),
                [b'!', b'-', b'-', ..] => self.comment_end(open)?,
                _ if self.foreign > 0 && rest.starts_with("![cdata[") => {
                    open + rest.find("]]>")? + 4
                }
                // A doctype, a processing instruction, or some nonsense: the
                // standard makes a comment of it.
                [b'!' | b'?' | b'/', ..] => self.next_at('>', open)? + 1,
                _ => open + 1,
            };
        }
    }
}

/// Reads attributes from `at` to the end of their tag, if it has one.
fn attributes(bytes: &[u8], at: usize) -> Option<Attributes> {
    let mut at = at;
    let mut count = 0;
    loop {
        at = skip(bytes, at, is_blank);
        match bytes.get(at)? {
            b'>' => {
                return Some(Attributes { count, slash: false, end: at + 1 });
            }
            b'/' if bytes.get(at + 1) == Some(&b'>') => {
                return Some(Attributes { count, slash: true, end: at + 2 });
            }
            b'/' => at += 1,
            _ => {
                count += 1;
                // The first byte may even be an equals sign.
                at = skip(bytes, at + 1, |byte| byte != b'=' && !ends_name(byte));
                at = skip(bytes, at, is_blank);
                if bytes.get(at) == Some(&b'=') {
                    at = value_end(bytes, skip(bytes, at + 1, is_blank));
                }
            }
        }
    }
}

/// Where the attribute value that begins at `at` ends, with its quotes.
fn value_end(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(&quote @ (b'"' | b'\'')) => skip(bytes, at + 1, |byte| byte != quote) + 1,
        _ => skip(bytes, at, |byte| byte != b'>' && !is_blank(byte)),
    }
}

/// The first place from `at` on whose byte `passes` does not hold of.
fn skip(bytes: &[u8], at: usize, passes: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let passed = rest.iter().position(|&byte| !passes(byte));
    passed.map_or(bytes.len(), |passed| at + passed)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

fn ends_name(byte: u8) -> bool {
    is_blank(byte) || matches!(byte, b'/' | b'>')
}

fn is_foreign_root(name: &[u8]) -> bool {
    matches!(name, b"svg" | b"math")
}
