//! URLs as the door sees them: normalised text, without a `Url` for each link.

mod joiner;
mod plain;

use url::{Position, Url};

pub use self::joiner::Joiner;

/// An `http` or `https` URL as the WHATWG URL Standard writes it (the `url`
/// crate's serialisation). What follows the `#` is kept apart, since it never
/// reaches a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    text: &'a str,
    origin_end: usize,
    fragment: Option<&'a str>,
}

/// Why a link leads to nothing that can be fetched here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is no URL.
    Malformed,
    /// Its scheme is neither `http` nor `https`.
    Scheme,
    /// It is longer than [`Joiner::MOST_BYTES`].
    TooLong,
}

impl<'a> Address<'a> {
    /// The address of a URL.
    ///
    /// # Errors
    /// [`Unfit::Scheme`].
    pub fn of(url: &'a Url) -> Result<Self, Unfit> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Unfit::Scheme);
        }
        let text = &url[..Position::AfterQuery];
        let origin_end = url[..Position::BeforePath].len();
        Ok(Self { text, origin_end, fragment: url.fragment() })
    }

    /// All of it but the fragment.
    pub fn as_str(self) -> &'a str {
        self.text
    }

    /// The scheme, the host, and the port unless it is the usual one; with the
    /// user name and the password, where there are any.
    pub fn origin(self) -> &'a str {
        &self.text[..self.origin_end]
    }

    /// The path, which begins with a slash.
    pub fn path(self) -> &'a str {
        let rest = &self.text[self.origin_end..];
        rest.split_once('?').map_or(rest, |(path, _)| path)
    }

    /// What follows the first question mark.
    pub fn query(self) -> Option<&'a str> {
        self.text[self.origin_end..].split_once('?').map(|(_, query)| query)
    }

    /// Another text behind the same origin.
    pub(crate) fn with_text<'b>(self, text: &'b str) -> Address<'b>
    where
        'a: 'b,
    {
        Address { text, ..self }
    }

    /// What followed the `#`, percent-encoded.
    pub fn fragment(self) -> Option<&'a str> {
        self.fragment
    }
}
