//! Headers that a user adds to the requests.

use std::fmt;

use thiserror::Error;

use super::is_header_value;

/// One header line, which can be sent as it is.
///
/// What it says may be a secret, so it is not shown by [`fmt::Debug`].
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    pub(super) name: Box<str>,
    pub(super) value: Box<str>,
}

/// Why a header cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadHeader {
    /// There is no colon.
    #[error("write a header as 'Name: value'")]
    NoColon,
    /// The name is no token (RFC 9110 section 5.6.2).
    #[error("'{0}' cannot be the name of a header")]
    Name(String),
    /// The value is empty, or has characters that are not printable ASCII.
    #[error("the value of '{0}' must be text without control characters")]
    Value(String),
    /// The crawler says this itself, and would lie.
    #[error("'{0}' is not for the user to set")]
    Ours(String),
}

/// What depends on what the crawler can do, or on the connection; and the user
/// agent, which robots.txt is read for.
const OURS: [&str; 14] = [
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
    /// Takes `Name: value` apart.
    ///
    /// # Errors
    /// Why it cannot be sent.
    pub fn parse(line: &str) -> Result<Self, BadHeader> {
        let (name, value) = line.split_once(':').ok_or(BadHeader::NoColon)?;
        Self::new(name.trim(), value.trim())
    }

    /// A header of this name and value.
    ///
    /// # Errors
    /// Why it cannot be sent.
    pub fn new(name: &str, value: &str) -> Result<Self, BadHeader> {
        if name.is_empty() || !name.bytes().all(is_token_byte) {
            return Err(BadHeader::Name(name.to_owned()));
        }
        if OURS.iter().any(|ours| ours.eq_ignore_ascii_case(name)) {
            return Err(BadHeader::Ours(name.to_owned()));
        }
        if !is_header_value(value) {
            return Err(BadHeader::Value(name.to_owned()));
        }
        Ok(Self { name: name.into(), value: value.into() })
    }

    /// Whether it has this name.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ...", self.name)
    }
}
