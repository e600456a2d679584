//! What a body is, and its text.
//!
//! A body passes through two machines that are fed slices as they come, cut
//! anywhere, and hand on slices: [`BodyDecoder`] undoes its content codings,
//! [`TextDecoder`] turns what comes of that into UTF-8. Neither waits for the
//! whole, and both hold a bounded amount of it.

mod coding;
mod prescan;
mod text;

use memchr::memchr;

pub use coding::{ACCEPT_ENCODING, BodyDecoder, Codings};
pub use text::{TextDecoder, encoding_name};

/// What a `Content-Type` header says (RFC 9110 section 8.3), as far as it can
/// be understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentType {
    /// Type and subtype in lower case, such as `text/html`; empty if the header
    /// has none.
    pub essence: String,
    /// The label of the character encoding, in lower case; it may be one that
    /// nobody knows.
    pub charset: Option<String>,
}

impl ContentType {
    /// Reads the value of the header. What is garbage is left out. A comma
    /// separates as a semicolon does, for that is what servers confuse.
    pub fn parse(value: &[u8]) -> Self {
        let mut parts = value.split(|byte| matches!(byte, b';' | b',')).map(<[u8]>::trim_ascii);
        let essence = parts.next().filter(|essence| is_essence(essence));
        let charset = parts.find_map(|parameter| {
            let (name, label) = parameter.split_at(memchr(b'=', parameter)?);
            let label = unquoted(label[1..].trim_ascii());
            let is_charset = name.trim_ascii_end().eq_ignore_ascii_case(b"charset");
            (is_charset && is_token(label)).then(|| lower_case(label))
        });
        Self { essence: essence.map(lower_case).unwrap_or_default(), charset }
    }

    /// Whether the body is a page to search for links.
    pub fn is_html(&self) -> bool {
        matches!(self.essence.as_str(), "text/html" | "application/xhtml+xml")
    }
}

/// Without the quotes around it, of whichever kind and number.
fn unquoted(text: &[u8]) -> &[u8] {
    let is_inside = |byte: &u8| !matches!(byte, b'"' | b'\'');
    let begin = text.iter().position(is_inside).unwrap_or(text.len());
    let end = text.iter().rposition(is_inside).map_or(begin, |last| last + 1);
    text[begin..end].trim_ascii()
}

/// RFC 9110, section 5.6.2: nothing that a terminal could mistake.
fn is_token(text: &[u8]) -> bool {
    let is_fit = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.iter().all(is_fit)
}

/// Two tokens with a slash between them.
fn is_essence(text: &[u8]) -> bool {
    memchr(b'/', text).is_some_and(|slash| is_token(&text[..slash]) && is_token(&text[slash + 1..]))
}

/// Of a token, which is ASCII.
fn lower_case(token: &[u8]) -> String {
    token.iter().map(|&byte| char::from(byte.to_ascii_lowercase())).collect()
}
