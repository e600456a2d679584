//! Why a URL has no complete answer, or none that is of use.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What went wrong, as a word a program can match on.
///
/// The list is closed on purpose: a reader of `--format jsonl` may rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The name has no address, or nobody could be asked.
    Dns,
    /// No address of the host accepted a connection.
    Connect,
    /// The connection could not be made secure.
    Tls,
    /// A deadline passed: connecting, silence, or the fetch as a whole.
    Timeout,
    /// The server closed the connection before a response began.
    Closed,
    /// The response began and was cut short.
    Truncated,
    /// What came is not HTTP as RFC 9112 has it.
    Protocol,
    /// A limit on the size of the head, the headers or the body was crossed.
    TooLarge,
    /// The page nests its elements too deeply to be parsed safely.
    Nesting,
    /// The body is encoded in a way that cannot be undone here.
    Decode,
    /// A chain of redirects used up its budget.
    RedirectLimit,
    /// A redirect without a usable target.
    RedirectTarget,
    /// A link to a place within a page that has no such place.
    Fragment,
    /// A server that is not of the site refuses the crawler, and perhaps no
    /// reader.
    Blocked,
    /// The URL was not asked: it seems to belong to a part of the site that
    /// has no end.
    Trap,
    /// The URL was not asked: robots.txt does not allow it, or could not be had.
    Robots,
    /// The server had no time for it (429), however often it was asked; or it
    /// was not asked any more, after too many such answers of its host.
    RateLimited,
    /// The crawler itself failed on this URL; a bug worth reporting.
    Panic,
}

impl ErrorClass {
    /// The word used in rows and statistics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Truncated => "truncated",
            Self::Protocol => "protocol",
            Self::TooLarge => "too_large",
            Self::Nesting => "nesting",
            Self::Decode => "decode",
            Self::RedirectLimit => "redirect_limit",
            Self::RedirectTarget => "redirect_target",
            Self::Fragment => "fragment",
            Self::Blocked => "blocked",
            Self::Trap => "trap",
            Self::Robots => "robots",
            Self::RateLimited => "rate_limited",
            Self::Panic => "panic",
        }
    }

    /// Whether the same request may well succeed a moment later.
    ///
    /// True for what the network does, false for what a server says: a
    /// malformed response will be as malformed the second time.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Dns | Self::Connect | Self::Timeout | Self::Closed | Self::Truncated)
    }
}

/// An error with its class and the circumstances a user can act on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchError {
    /// The word for programs.
    pub class: ErrorClass,
    /// The sentence for people: one line, and nothing in it that a terminal
    /// could take for a command.
    pub message: String,
}

impl FetchError {
    /// An error of `class`, explained by `message`. What comes from a name
    /// server, a certificate or a panic may well be what a server wishes a
    /// terminal to see: the characters of [`is_command`] are escaped.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.contains(is_command) {
            let escaped =
                |c: char| if is_command(c) { c.escape_default().to_string() } else { c.into() };
            message = message.chars().map(escaped).collect();
        }
        Self { class, message }
    }
}

/// Whether a terminal may take this character for more than text: control
/// characters, what ends a line, and what turns the direction of writing
/// around, so that one reads what is not there (Unicode's UAX #9, section 2).
pub fn is_command(c: char) -> bool {
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2066}'..='\u{2069}');
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}') || turns(c)
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class.name(), self.message)
    }
}

impl std::error::Error for FetchError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_commands_a_terminal() {
        let message = "a\u{1b}]0;title\u{7}\r\n\u{9b}2J\u{202e}txt\u{2069}\u{2028}é";
        let error = FetchError::new(ErrorClass::Panic, message);
        let escaped = r"a\u{1b}]0;title\u{7}\r\n\u{9b}2J\u{202e}txt\u{2069}\u{2028}é";
        assert_eq!(error.message, escaped);
        assert_eq!(error.to_string(), format!("panic: {escaped}"));
    }
}
