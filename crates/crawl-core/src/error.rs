//! Why a URL has no complete answer, or none that is of use.

use std::fmt;

use serde::Serialize;

/// What went wrong, as a word a program can match on.
///
/// The list is closed on purpose: a reader of `--format jsonl` may rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
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
    /// The URL was not asked: it seems to belong to a part of the site that
    /// has no end.
    Trap,
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
            Self::Trap => "trap",
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FetchError {
    /// The word for programs.
    pub class: ErrorClass,
    /// The sentence for people. It never contains bytes from the network that
    /// a terminal could take for commands.
    pub message: String,
}

impl FetchError {
    /// An error of `class`, explained by `message`.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class.name(), self.message)
    }
}

impl std::error::Error for FetchError {}
