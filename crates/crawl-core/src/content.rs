//! What a body is, and its text.
//!
//! A body passes through two machines that are fed slices as they come, cut
//! anywhere, and hand on slices: [`BodyDecoder`] undoes its content codings,
//! [`TextDecoder`] turns what comes of that into UTF-8. Neither waits for the
//! whole, and both hold a bounded amount of it.

mod coding;
mod prescan;
mod text;

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
        let value = String::from_utf8_lossy(value).to_ascii_lowercase();
        let mut parts = value.split([';', ',']).map(str::trim);
        let essence = parts.next().filter(|essence| is_essence(essence));
        let charset = parts.find_map(|parameter| {
            let (name, label) = parameter.split_once('=')?;
            let label = label.trim().trim_matches(['"', '\'']).trim();
            (name.trim_end() == "charset" && is_token(label)).then(|| label.to_owned())
        });
        Self { essence: essence.unwrap_or_default().to_owned(), charset }
    }

    /// Whether the body is a page to search for links.
    pub fn is_html(&self) -> bool {
        matches!(self.essence.as_str(), "text/html" | "application/xhtml+xml")
    }
}

/// RFC 9110, section 5.6.2: nothing that a terminal could mistake.
fn is_token(text: &str) -> bool {
    let mut bytes = text.bytes();
    !text.is_empty() && bytes.all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Two tokens with a slash between them.
fn is_essence(text: &str) -> bool {
    text.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}
