//! Decoders of a body: content type, content codings and character encoding.
//!
//! A body passes through two streaming decoders: [`BodyDecoder`] decodes its
//! content codings, and [`TextDecoder`] converts the result to UTF-8. Both take
//! slices as they arrive, cut anywhere, and pass on slices. Neither waits for the
//! whole body, and both buffer a bounded part of it.

mod coding;
#[cfg(feature = "tables")]
mod prescan;
#[cfg_attr(not(feature = "tables"), path = "body/utf_8_text.rs")]
mod text;

use memchr::memchr;

use crate::cut;
use crate::encoding::Encoding;

pub use coding::{ACCEPT_ENCODING, BodyDecoder, Codings};
pub use text::TextDecoder;

/// The maximum length of a media type or of a label, in bytes (RFC 6838 section 4.2:
/// twice 127 characters and a slash). A longer one is cut.
const MAX_TYPE_LEN: usize = 255;

/// Returns the name of an encoding in the WHATWG Encoding Standard, in lower case.
pub fn encoding_name(encoding: &'static Encoding) -> String {
    encoding.name().to_ascii_lowercase()
}

/// A parsed `Content-Type` header (RFC 9110 section 8.3), without the parts that
/// cannot be understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentType {
    /// The media type in lower case, such as `text/html`; empty if the header has
    /// none.
    pub essence: String,
    /// The label of the character encoding, in lower case. It may be unknown.
    pub charset: Option<String>,
}

impl ContentType {
    /// Parses the value of the header. Garbage is left out. A comma separates like
    /// a semicolon, because servers confuse the two.
    pub fn parse(value: &[u8]) -> Self {
        let mut parts = value.split(|byte| matches!(byte, b';' | b',')).map(<[u8]>::trim_ascii);
        let essence = parts.next().filter(|essence| is_essence(essence));
        let charset = parts.find_map(|parameter| {
            let (name, label) = parameter.split_at(memchr(b'=', parameter)?);
            let label = unquote(label[1..].trim_ascii());
            let is_charset = name.trim_ascii_end().eq_ignore_ascii_case(b"charset");
            (is_charset && is_token(label)).then(|| to_lower_case(label))
        });
        Self { essence: essence.map(to_lower_case).unwrap_or_default(), charset }
    }

    /// Returns true if the body is an HTML page, to be searched for links.
    pub fn is_html(&self) -> bool {
        matches!(self.essence.as_str(), "text/html" | "application/xhtml+xml")
    }
}

/// Removes the quotes around `text`, of any kind and number.
fn unquote(text: &[u8]) -> &[u8] {
    let is_inside = |byte: &u8| !matches!(byte, b'"' | b'\'');
    let begin = text.iter().position(is_inside).unwrap_or(text.len());
    let end = text.iter().rposition(is_inside).map_or(begin, |last| last + 1);
    text[begin..end].trim_ascii()
}

/// Returns true if `text` is a token (RFC 9110 section 5.6.2), and so safe to show
/// on a terminal.
fn is_token(text: &[u8]) -> bool {
    let is_token_byte =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.iter().all(is_token_byte)
}

/// Returns true for two tokens with a slash between them.
fn is_essence(text: &[u8]) -> bool {
    memchr(b'/', text).is_some_and(|slash| is_token(&text[..slash]) && is_token(&text[slash + 1..]))
}

/// Returns a token, which is ASCII, in lower case.
fn to_lower_case(token: &[u8]) -> String {
    let mut text = String::from_utf8(token.to_ascii_lowercase()).unwrap_or_default();
    cut(&mut text, MAX_TYPE_LEN);
    text
}
