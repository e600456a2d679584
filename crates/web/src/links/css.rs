//! Addresses in CSS.

use std::borrow::Cow;

/// Returns the addresses in a style sheet: `url(...)`, the strings in `image-set(...)`
/// and its kin, and those behind `@import`. It implements as much of CSS Syntax Module
/// Level 3, section 4.3, as is needed to find no addresses in comments, strings, other
/// words, and in what only describes a rule (`@namespace`, `@supports`). If the style
/// sheet `is_cut`, an address at its end is none.
pub(super) fn urls(css: &str, is_cut: bool) -> impl Iterator<Item = Cow<'_, str>> {
    urls_with_offsets(css, is_cut).map(|(_, url)| url)
}

/// Returns the same, each behind the offset at which `url(` or its string begins.
pub(super) fn urls_with_offsets(
    css: &str,
    is_cut: bool,
) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    let mut urls = Urls { may_import: true, ..Urls::of(css) };
    let urls = std::iter::from_fn(move || {
        let url = urls.next().filter(|_| !(is_cut && urls.rest.is_empty()))?;
        Some((css.len() - urls.rest_at_begin, url))
    });
    urls.filter(|(_, url)| is_other_document(url))
}

/// Returns the addresses in the declarations of an attribute.
pub(super) fn urls_of_declarations(css: &str) -> impl Iterator<Item = Cow<'_, str>> {
    Urls::of(css).filter(|url| is_other_document(url))
}

/// Returns false for fragments: alone, they name an element of the page, whatever the address
/// of the style sheet (CSS Values Module Level 4, section 4.5.1). What is empty names nothing.
fn is_other_document(url: &str) -> bool {
    !url.is_empty() && !url.starts_with('#')
}

struct Urls<'a> {
    rest: &'a str,
    /// The length of the rest where the last word or string began.
    rest_at_begin: usize,
    /// True as long as only rules have come before which an `@import` may be (CSS
    /// Cascading Module Level 5, section 2).
    may_import: bool,
    /// The part of an at-rule before its block or its end, if that comes next.
    prelude: Option<Prelude>,
    /// The number of parentheses that are open since a function whose strings are
    /// addresses, its own included; 0 outside of one.
    open: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Prelude {
    /// Of an `@import`, whose address has not come yet.
    Import,
    /// Of another rule, or behind that address: nothing in it is loaded.
    Other,
}

impl<'a> Iterator for Urls<'a> {
    type Item = Cow<'a, str>;

    fn next(&mut self) -> Option<Cow<'a, str>> {
        loop {
            let at = self.rest.find(is_special)?;
            self.rest = &self.rest[at..];
            self.rest_at_begin = self.rest.len();
            if let Some(comment) = self.rest.strip_prefix("/*") {
                self.rest = &comment[comment.find("*/")? + 2..];
            } else if self.rest.starts_with(['"', '\'']) {
                let string = self.string();
                if (self.prelude == Some(Prelude::Import) || self.open == 1) && self.is_loaded() {
                    return Some(unescape(string));
                }
            } else if self.rest.starts_with(is_word) {
                let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
                let (word, after) = self.rest.split_at(end);
                self.rest = after;
                if let Some(name) = word.strip_prefix('@') {
                    self.begin_rule(name);
                } else if word.eq_ignore_ascii_case("url")
                    && let Some(address) = after.strip_prefix('(')
                {
                    self.rest = address.trim_start_matches(|c: char| c.is_ascii_whitespace());
                    let address = self.address().filter(|address| !address.is_empty());
                    // Its end is no end of a function around it.
                    self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
                    self.rest = self.rest.strip_prefix(')').unwrap_or(self.rest);
                    if let Some(address) = address
                        && self.is_loaded()
                    {
                        return Some(unescape(address));
                    }
                } else if self.open == 0 && after.starts_with('(') && takes_addresses(word) {
                    self.open = 1;
                    self.rest = &after[1..];
                }
            } else {
                // An escaped character has no special meaning.
                let escaped = usize::from(self.rest.starts_with('\\'));
                self.delimiter();
                let mut characters = self.rest.chars();
                characters.nth(escaped);
                self.rest = characters.as_str();
            }
        }
    }
}

/// Returns true for the functions whose strings are addresses.
fn takes_addresses(function: &str) -> bool {
    let functions = ["image-set", "-webkit-image-set", "image", "src"];
    functions.iter().any(|known| function.eq_ignore_ascii_case(known))
}

impl<'a> Urls<'a> {
    fn of(css: &'a str) -> Self {
        Self { rest: css, rest_at_begin: css.len(), may_import: false, prelude: None, open: 0 }
    }

    /// Begins an at-rule.
    fn begin_rule(&mut self, name: &str) {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        self.prelude = Some(if is("import") && self.may_import {
            Prelude::Import
        } else {
            self.may_import &= is("charset") || is("layer");
            Prelude::Other
        });
    }

    /// Takes an address, and returns true if it is one that is loaded.
    fn is_loaded(&mut self) -> bool {
        match self.prelude {
            None => true,
            Some(prelude) => {
                self.prelude = Some(Prelude::Other);
                prelude == Prelude::Import
            }
        }
    }

    /// Takes a character that begins or ends something.
    fn delimiter(&mut self) {
        match self.rest.as_bytes().first() {
            Some(b'{') => (self.prelude, self.may_import, self.open) = (None, false, 0),
            Some(b';' | b'}') => (self.prelude, self.open) = (None, 0),
            Some(b'(') => self.open += u32::from(self.open > 0),
            Some(b')') => self.open = self.open.saturating_sub(1),
            _ => {}
        }
    }

    /// Reads the string that begins here, and returns it without its quotes. It
    /// ends at the end of its line at the latest.
    fn string(&mut self) -> &'a str {
        let (quote, inside) = self.rest.split_at(1);
        let mut escape = Escape::default();
        let end = inside.find(|c: char| {
            !escape.takes(c) && (quote.starts_with(c) || matches!(c, '\n' | '\r' | '\x0c'))
        });
        let (string, after) = inside.split_at(end.unwrap_or(inside.len()));
        self.rest = after.strip_prefix(quote).unwrap_or(after);
        string
    }

    /// Reads what follows `url(`, and returns it if it is an address.
    fn address(&mut self) -> Option<&'a str> {
        if self.rest.starts_with(['"', '\'']) {
            return Some(self.string());
        }
        let mut escape = Escape::default();
        let mut length = None;
        let end = self.rest.char_indices().find(|&(at, c)| {
            if escape.takes(c) {
                return false;
            }
            if c.is_ascii_whitespace() {
                length.get_or_insert(at);
                return false;
            }
            // Behind a blank, only the end may follow.
            matches!(c, ')' | '(' | '"' | '\'') || length.is_some()
        });
        let (address, after) = self.rest.split_at(end.map_or(self.rest.len(), |(at, _)| at));
        // What is no address ends only at the parenthesis.
        self.rest = after.find(')').map_or("", |end| &after[end..]);
        let is_address = after.is_empty() || after.starts_with(')');
        is_address.then(|| length.map_or(address, |length| &address[..length]))
    }
}

/// The escape that is being read, if any: the number of its hexadecimal digits so far, or
/// 7 behind its CR, to which an LF belongs.
#[derive(Default)]
struct Escape(Option<u8>);

impl Escape {
    /// Takes the next character of a text, and returns true if it belongs to an escape.
    fn takes(&mut self, c: char) -> bool {
        let (next, is_taken) = match self.0 {
            Some(digits @ ..6) if c.is_ascii_hexdigit() => (Some(digits + 1), true),
            Some(..7) if c == '\r' => (Some(7), true),
            // One blank after the digits belongs to them.
            Some(1..7) if c.is_ascii_whitespace() => (None, true),
            Some(0) => (None, true),
            Some(7) if c == '\n' => (None, true),
            _ if c == '\\' => (Some(0), true),
            _ => (None, false),
        };
        self.0 = next;
        is_taken
    }
}

fn is_special(c: char) -> bool {
    matches!(c, '/' | '"' | '\'' | '\\' | ';' | '{' | '}' | '(' | ')') || is_word(c)
}

/// Returns true for the characters of names, and for the `@` of rules.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '@') || !c.is_ascii()
}

/// Removes the escapes of a text. A backslash and up to six hexadecimal digits
/// (and a blank to end them) are a character, a backslash and a line end are
/// nothing, and a backslash before anything else is dropped.
fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return text.into();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digits = rest.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
        if digits > 0 {
            let number = u32::from_str_radix(&rest[..digits], 16).unwrap_or_default();
            let character = char::from_u32(number).filter(|&c| c != '\0');
            plain.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
            rest = &rest[digits..];
            let blank = behind_line_end(rest).or_else(|| rest.strip_prefix([' ', '\t']));
            rest = blank.unwrap_or(rest);
        } else if let Some(after) = behind_line_end(rest) {
            rest = after;
        } else {
            let next = rest.chars().next().map_or(0, char::len_utf8);
            plain.push_str(&rest[..next]);
            rest = &rest[next..];
        }
    }
    plain.push_str(rest);
    plain.into()
}

/// Returns what follows a line end (CSS Syntax Module Level 3, section 3.3), if the text
/// begins with one.
fn behind_line_end(text: &str) -> Option<&str> {
    text.strip_prefix("\r\n").or_else(|| text.strip_prefix(['\n', '\r', '\x0c']))
}
