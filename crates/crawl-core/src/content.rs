//! What a body is, and its text.
//!
//! A body passes through two machines that are fed slices as they come, cut
//! anywhere, and hand on slices: [`BodyDecoder`] undoes its content codings,
//! [`TextDecoder`] turns what comes of that into UTF-8. Neither waits for the
//! whole, and both hold a bounded amount of it.

mod coding;
mod prescan;
mod text;

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};

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

/// The text of `body`, and the name of its encoding.
///
/// A byte order mark decides, else `charset_label` (what the header says), else
/// it is UTF-8, as it is when nobody knows the label. Malformed bytes become
/// U+FFFD; nothing is an error. Valid UTF-8 is not copied. The name is that of
/// the WHATWG Encoding Standard, in lower case.
pub fn decode<'a>(body: &'a [u8], charset_label: Option<&str>) -> (Cow<'a, str>, &'static str) {
    let declared = charset_label
        // Without the encodings that browsers blank out for the sake of scripts.
        .and_then(|label| Encoding::for_label_no_replacement(label.as_bytes()))
        .unwrap_or(UTF_8);
    let (text, encoding, _) = declared.decode(body);
    (text, lower_case(encoding.name()))
}

fn lower_case(name: &'static str) -> &'static str {
    LOWER_CASE.into_iter().find(|lower| lower.eq_ignore_ascii_case(name)).unwrap_or(name)
}

/// The names that are not in lower case already.
const LOWER_CASE: [&str; 25] = [
    "utf-8",
    "utf-16be",
    "utf-16le",
    "big5",
    "euc-jp",
    "euc-kr",
    "gbk",
    "ibm866",
    "iso-2022-jp",
    "iso-8859-2",
    "iso-8859-3",
    "iso-8859-4",
    "iso-8859-5",
    "iso-8859-6",
    "iso-8859-7",
    "iso-8859-8",
    "iso-8859-8-i",
    "iso-8859-10",
    "iso-8859-13",
    "iso-8859-14",
    "iso-8859-15",
    "iso-8859-16",
    "koi8-r",
    "koi8-u",
    "shift_jis",
];
