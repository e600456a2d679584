//! Addresses in CSS.

use std::borrow::Cow;

/// Returns the addresses in a style sheet: `url(...)`, and the strings behind
/// `@import`. It implements as much of CSS Syntax Module Level 3, section 4.3, as
/// is needed to find no addresses in comments, strings and other words.
pub(super) fn urls(css: &str) -> impl Iterator<Item = Cow<'_, str>> {
    Urls { rest: css, is_import: false }
}

struct Urls<'a> {
    rest: &'a str,
    /// True after an `@import`, until its address.
    is_import: bool,
}

impl<'a> Iterator for Urls<'a> {
    type Item = Cow<'a, str>;

    fn next(&mut self) -> Option<Cow<'a, str>> {
        loop {
            let at = self.rest.find(is_special)?;
            self.rest = &self.rest[at..];
            if let Some(comment) = self.rest.strip_prefix("/*") {
                self.rest = &comment[comment.find("*/")? + 2..];
            } else if self.rest.starts_with(['"', '\'']) {
                let string = self.string();
                if std::mem::take(&mut self.is_import) {
                    return Some(unescape(string));
                }
            } else if self.rest.starts_with(is_word) {
                let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
                let (word, after) = self.rest.split_at(end);
                self.rest = after;
                if word.eq_ignore_ascii_case("@import") {
                    self.is_import = true;
                } else if word.eq_ignore_ascii_case("url")
                    && let Some(address) = after.strip_prefix('(')
                {
                    self.is_import = false;
                    self.rest = address.trim_start_matches(|c: char| c.is_ascii_whitespace());
                    if let Some(address) = self.address().filter(|address| !address.is_empty()) {
                        return Some(unescape(address));
                    }
                }
            } else {
                // An escaped character has no special meaning.
                let escaped = usize::from(self.rest.starts_with('\\'));
                self.is_import &= !self.rest.starts_with([';', '{']);
                let mut characters = self.rest.chars();
                characters.nth(escaped);
                self.rest = characters.as_str();
            }
        }
    }
}

impl<'a> Urls<'a> {
    /// Reads the string that begins here, and returns it without its quotes. It
    /// ends at the end of its line at the latest.
    fn string(&mut self) -> &'a str {
        let (quote, inside) = self.rest.split_at(1);
        let mut is_escaped = false;
        let end = inside.find(|c: char| {
            let ends = !is_escaped && (quote.starts_with(c) || c == '\n');
            is_escaped = !is_escaped && c == '\\';
            ends
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
        // The number of hexadecimal digits since a backslash.
        let mut escape = None;
        let mut length = None;
        let end = self.rest.char_indices().find(|&(at, c)| {
            match escape {
                Some(digits @ ..6) if c.is_ascii_hexdigit() => escape = Some(digits + 1),
                // One blank after the digits belongs to them.
                Some(1..) if c.is_ascii_whitespace() => escape = None,
                Some(0) => escape = None,
                _ if c == '\\' => escape = Some(0),
                _ if c.is_ascii_whitespace() => {
                    length.get_or_insert(at);
                    escape = None;
                }
                _ => {
                    escape = None;
                    // Behind a blank, only the end may follow.
                    return matches!(c, ')' | '(' | '"' | '\'') || length.is_some();
                }
            }
            false
        });
        let (address, after) = self.rest.split_at(end.map_or(self.rest.len(), |(at, _)| at));
        // What is no address ends only at the parenthesis.
        self.rest = after.find(')').map_or("", |end| &after[end..]);
        let is_address = after.is_empty() || after.starts_with(')');
        is_address.then(|| length.map_or(address, |length| &address[..length]))
    }
}

fn is_special(c: char) -> bool {
    matches!(c, '/' | '"' | '\'' | '\\' | ';' | '{') || is_word(c)
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
            rest = rest.strip_prefix([' ', '\n', '\t']).unwrap_or(rest);
        } else {
            rest = rest.strip_prefix('\n').unwrap_or(rest);
            let next = rest.chars().next().map_or(0, char::len_utf8);
            plain.push_str(&rest[..next]);
            rest = &rest[next..];
        }
    }
    plain.push_str(rest);
    plain.into()
}
