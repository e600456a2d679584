//! The error of a fetch: a class for programs and a message for people.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// The class of an error, a word that programs can match on.
///
/// The list is closed on purpose: readers of `--format jsonl` may rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The host name has no address, or the DNS lookup failed.
    Dns,
    /// The name server gave no answer for the host name for now (`EAI_AGAIN`). As a rule the
    /// fault is this machine's, or its network's.
    DnsTemporary,
    /// No address of the host accepted a connection.
    Connect,
    /// This machine has no route to any address of the host.
    NoRoute,
    /// A proxy refused to lead to the server, or what it sent is no answer of a proxy.
    Proxy,
    /// The TLS handshake failed, or the certificate is not valid.
    Tls,
    /// A deadline passed: that of connecting, of waiting for the next byte, or of
    /// the whole fetch.
    Timeout,
    /// The server closed the connection before a response began.
    Closed,
    /// The response began and was cut short.
    Truncated,
    /// The server speaks no version of HTTP that the crawler speaks: HTTP/2 only, for
    /// example.
    Unsupported,
    /// The bytes received are not HTTP as RFC 9112 defines it.
    Protocol,
    /// A limit on a size or on a number was crossed: of the head, of its headers, of the
    /// body, of a tree or of what is selected.
    TooLarge,
    /// The page nests its elements too deeply, or a tag has too many attributes, to be
    /// parsed safely.
    Nesting,
    /// To select from the page would take too much time or memory: too many
    /// elements, or too many steps from one to another.
    TooComplex,
    /// The body has a content coding that is unknown, or its data are not valid.
    Decode,
    /// A chain of redirects is longer than allowed.
    RedirectLimit,
    /// Redirects lead back to where they began.
    RedirectLoop,
    /// A redirect has no usable target.
    RedirectTarget,
    /// A link is not a URL, or its scheme is misspelt.
    InvalidUrl,
    /// The fragment of a link names an element that its page does not have.
    Fragment,
    /// A server refuses the crawler, and perhaps would not refuse a browser; or it wants a
    /// certificate of its client.
    Blocked,
    /// The URL was not requested: it seems to belong to a crawler trap, a part of
    /// the site without an end.
    Trap,
    /// The URL was not requested: robots.txt does not allow it, or could not be
    /// fetched.
    Robots,
    /// The server refused every try with 429 (Too Many Requests).
    RateLimited,
    /// The URL was not requested: its host has only addresses that a page of the
    /// internet must not lead to, such as link-local ones.
    DeniedAddress,
    /// The crawler itself failed on this URL; a bug worth reporting.
    Panic,
}

impl ErrorClass {
    /// Returns the word that rows and statistics use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::DnsTemporary => "dns_temporary",
            Self::Connect => "connect",
            Self::NoRoute => "no_route",
            Self::Proxy => "proxy",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Truncated => "truncated",
            Self::Unsupported => "unsupported",
            Self::Protocol => "protocol",
            Self::TooLarge => "too_large",
            Self::Nesting => "nesting",
            Self::TooComplex => "too_complex",
            Self::Decode => "decode",
            Self::RedirectLimit => "redirect_limit",
            Self::RedirectLoop => "redirect_loop",
            Self::RedirectTarget => "redirect_target",
            Self::InvalidUrl => "invalid_url",
            Self::Fragment => "fragment",
            Self::Blocked => "blocked",
            Self::Trap => "trap",
            Self::Robots => "robots",
            Self::RateLimited => "rate_limited",
            Self::DeniedAddress => "denied_address",
            Self::Panic => "panic",
        }
    }

    /// Returns the kind of the error in plain words, for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Dns => "DNS",
            Self::DnsTemporary => "no answer from DNS",
            Self::NoRoute => "no route",
            Self::Unsupported => "not supported",
            Self::Connect => "no connection",
            Self::Proxy => "proxy",
            Self::Tls => "TLS",
            Self::Timeout => "timeout",
            Self::Closed => "connection closed",
            Self::Truncated => "cut short",
            Self::Protocol => "invalid HTTP",
            Self::TooLarge => "too large",
            Self::Nesting => "nested too deeply",
            Self::TooComplex => "too complex",
            Self::Decode => "cannot be decoded",
            Self::RedirectLimit => "too many redirects",
            Self::RedirectLoop => "redirect loop",
            Self::RedirectTarget => "bad redirect",
            Self::InvalidUrl => "invalid URL",
            Self::Fragment => "missing fragment",
            Self::Blocked => "blocked",
            Self::Trap => "crawler trap",
            Self::Robots => "robots.txt",
            Self::RateLimited => "rate limited",
            Self::DeniedAddress => "not requested",
            Self::Panic => "internal error",
        }
    }

    /// Returns true if a URL with such an error and without a response was refused by
    /// the crawler, and not requested.
    pub fn is_refusal(self) -> bool {
        matches!(self, Self::Trap | Self::Robots | Self::RateLimited | Self::DeniedAddress)
    }

    /// Returns true if there was no connection to the server, or none that is secure, whatever
    /// its path.
    pub fn is_unreachable(self) -> bool {
        matches!(
            self,
            Self::Dns
                | Self::DnsTemporary
                | Self::Connect
                | Self::NoRoute
                | Self::Tls
                | Self::Unsupported
                | Self::Blocked
        )
    }

    /// Returns true if the same request may succeed a moment later, so that a retry
    /// makes sense.
    ///
    /// Errors of the network are transient. Errors in a response are not: a
    /// malformed response will be as malformed the second time.
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::Dns
                | Self::DnsTemporary
                | Self::Connect
                | Self::NoRoute
                | Self::Timeout
                | Self::Closed
                | Self::Truncated
        )
    }
}

/// An error with its class, and a message that a user can act on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchError {
    /// The class, for programs.
    pub class: ErrorClass,
    /// The message, for people: one line of at most a thousand bytes, without
    /// characters that a terminal could take for a command.
    pub message: String,
}

impl FetchError {
    /// Creates the error of a host without an address.
    pub fn dns(error: impl fmt::Display) -> Self {
        Self::new(ErrorClass::Dns, error.to_string())
    }

    /// Creates the error of an address that does not accept a connection, or to which there is
    /// no route.
    pub fn connect(address: SocketAddr, error: &io::Error) -> Self {
        use io::ErrorKind::{AddrNotAvailable, HostUnreachable, NetworkDown, NetworkUnreachable};
        let class = match error.kind() {
            AddrNotAvailable | HostUnreachable | NetworkDown | NetworkUnreachable => {
                ErrorClass::NoRoute
            }
            _ => ErrorClass::Connect,
        };
        Self::new(class, format!("cannot connect to {address}: {error}"))
    }

    /// Creates the error of a proxy that is wrong, or does not lead on.
    pub fn proxy(error: impl fmt::Display) -> Self {
        Self::new(ErrorClass::Proxy, error.to_string())
    }

    /// Creates the error of a connection that cannot be secure.
    pub fn tls(error: impl fmt::Display) -> Self {
        Self::new(ErrorClass::Tls, error.to_string())
    }

    /// Creates the error of a redirect in a circle that leads on to this URL.
    pub fn redirect_loop(next_url: &str) -> Self {
        let message = format!("the redirects go round in a circle through {next_url}");
        Self::new(ErrorClass::RedirectLoop, message)
    }

    /// Creates an error. The message may contain text from a name server, a
    /// certificate or a panic, and so text that an attacker chose: the characters of
    /// [`is_terminal_control`] are escaped, and a long one is cut.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        let mut message = without_os_error(&message.into());
        cut(&mut message, MAX_MESSAGE_LEN);
        if message.contains(is_terminal_control) {
            let escaped = |c: char| {
                if is_terminal_control(c) { c.escape_default().to_string() } else { c.into() }
            };
            message = message.chars().map(escaped).collect();
            cut(&mut message, MAX_MESSAGE_LEN);
        }
        Self { class, message }
    }
}

/// Removes the numbers that Rust puts behind the texts of the system's errors, as in
/// "Connection refused (os error 111)": they mean nothing to a user.
pub fn without_os_error(text: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, number)) = rest.split_once(" (os error ") {
        plain.push_str(before);
        rest = number.split_once(')').map_or("", |(_, after)| after);
    }
    plain + rest
}

/// The maximum length of a message, in bytes.
const MAX_MESSAGE_LEN: usize = 1_000;

/// Cuts a text that is longer than `max_len` bytes, and ends it with an ellipsis.
pub fn cut(text: &mut String, max_len: usize) {
    if text.len() > max_len {
        text.truncate(text.floor_char_boundary(max_len.saturating_sub(3)));
        text.push_str("...");
    }
}

/// Returns true if a terminal may take this character for more than text: control
/// characters, line ends, and characters that change the direction of writing, so
/// that the text shown differs from the text that is there (Unicode's UAX #9,
/// section 2).
pub fn is_terminal_control(c: char) -> bool {
    let changes_direction =
        |c| matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2066}'..='\u{2069}');
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}') || changes_direction(c)
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = self.class.label();
        if self.message.starts_with(label) {
            return f.write_str(&self.message);
        }
        write!(f, "{label}: {}", self.message)
    }
}

impl std::error::Error for FetchError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_between_two_characters() {
        for (text, end) in [("x", "x..."), ("\u{fc}", "\u{fc}..."), ("\x1b", "b}...")] {
            let error = FetchError::new(ErrorClass::Panic, text.repeat(600_000));
            assert!((990..=1_000).contains(&error.message.len()), "{}", error.message.len());
            assert!(error.message.ends_with(end) || text == "\x1b", "{error}");
        }
        let whole = "x".repeat(1_000);
        assert_eq!(FetchError::new(ErrorClass::Panic, whole.clone()).message, whole);
    }

    #[test]
    fn control_characters_in_a_message_are_escaped() {
        let message = "a\u{1b}]0;title\u{7}\r\n\u{9b}2J\u{202e}txt\u{2069}\u{2028}é";
        let error = FetchError::new(ErrorClass::Panic, message);
        let escaped = r"a\u{1b}]0;title\u{7}\r\n\u{9b}2J\u{202e}txt\u{2069}\u{2028}é";
        assert_eq!(error.message, escaped);
        assert_eq!(error.to_string(), format!("internal error: {escaped}"));
    }
}
