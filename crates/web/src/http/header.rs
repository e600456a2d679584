//! Request headers that a user adds.

use std::fmt;

use thiserror::Error;

/// A valid header line, ready to be sent.
///
/// The value may be a secret, so [`fmt::Debug`] does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    pub(super) name: Box<str>,
    pub(super) value: Box<str>,
}

/// The reason that a header cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadHeader {
    /// There is no colon.
    #[error("write a header as 'Name: value'")]
    NoColon,
    /// The name is not a token (RFC 9110 section 5.6.2).
    #[error("'{0}' cannot be the name of a header")]
    Name(String),
    /// The value is empty, has characters that are not printable ASCII, or begins or ends
    /// with a blank.
    #[error("the value of '{0}' must be printable ASCII, and not empty")]
    Value(String),
    /// The header depends on the crawler or on the connection.
    #[error("crawl sets '{0}' itself")]
    Reserved(String),
}

/// The headers that a user cannot set: those that depend on the abilities of the
/// crawler or on the connection; and `User-Agent`, because robots.txt is read for
/// that name.
const RESERVED: [&str; 14] = [
    "host",
    "user-agent",
    "accept-encoding",
    "connection",
    "keep-alive",
    "proxy-connection",
    "content-length",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "range",
    "http2-settings",
];

impl Header {
    /// Parses `Name: value`.
    ///
    /// # Errors
    /// Returns the reason that the header cannot be sent.
    pub fn parse(line: &str) -> Result<Self, BadHeader> {
        let (name, value) = line.split_once(':').ok_or(BadHeader::NoColon)?;
        Self::new(name.trim(), value.trim())
    }

    /// Creates a header with this name and value.
    ///
    /// # Errors
    /// Returns the reason that the header cannot be sent.
    pub fn new(name: &str, value: &str) -> Result<Self, BadHeader> {
        if name.is_empty() || !name.bytes().all(is_token_byte) {
            return Err(BadHeader::Name(name.to_owned()));
        }
        if RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name)) {
            return Err(BadHeader::Reserved(name.to_owned()));
        }
        if !is_header_value(value) {
            return Err(BadHeader::Value(name.to_owned()));
        }
        Ok(Self { name: name.into(), value: value.into() })
    }

    /// Returns the header as a line: `Name: value`.
    pub fn line(&self) -> String {
        format!("{}: {}", self.name, self.value)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if the header has this name, in upper or lower case.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

impl Header {
    /// Returns a header `Cookie`. Its value comes from a server, so it may have characters
    /// beyond ASCII, which are sent as UTF-8 (the obsolete bytes of RFC 9110, section 5.5).
    /// Returns `None` if it is empty or has control characters.
    pub fn cookie(value: &str) -> Option<Self> {
        let is_value = !value.trim().is_empty() && !value.contains(char::is_control);
        is_value.then(|| Self { name: "Cookie".into(), value: value.trim().into() })
    }
}

/// Returns true if `text` can be sent as the value of a header and arrives
/// unchanged: it is not empty, printable ASCII, and has blanks only inside (RFC
/// 9110 section 5.5, without its obsolete bytes above 127).
pub fn is_header_value(text: &str) -> bool {
    !text.is_empty() && text == text.trim() && text.chars().all(is_field_character)
}

/// Returns true for the characters that the value of a header may have.
pub(super) fn is_field_character(c: char) -> bool {
    matches!(c, '\t' | ' '..='~')
}

/// Returns true for the characters of a token (RFC 9110 section 5.6.2).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ...", self.name)
    }
}
