//! The entries of a record: what a loop asked its backend, and the answer.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use selector_core::Readiness;
use serde::{Deserialize, Serialize};
use transport::{TlsError, is_tls_error};

/// One call of a backend, of one of its sockets, or of the lookup function.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) enum Entry {
    /// The clock was read: nanoseconds since the beginning.
    Now(u64),
    /// A connection was opened.
    Connect { key: u64, address: SocketAddr, result: Result<(), Failure> },
    /// It was asked if the connection is established.
    Connected { key: u64, result: Result<bool, Failure> },
    /// Bytes were read.
    Read { key: u64, result: Result<Vec<u8>, Failure> },
    /// Bytes were written: their number, a checksum of them without secrets, and how
    /// many were taken.
    Write { key: u64, length: u64, checksum: u32, result: Result<u64, Failure> },
    /// The loop has waited, until this time.
    Wait { until: u64, events: Vec<(u64, u8)>, externals: Vec<u8>, result: Result<(), Failure> },
    /// A secure stream was called, with what its socket was asked meanwhile.
    Secure(Secure),
    /// A name was looked up.
    Lookup { host: String, port: u16, result: Result<Vec<SocketAddr>, Failure> },
    /// The record is full: the run went on, and is not recorded any further.
    Full,
    /// The run has ended.
    End,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(_) => write!(f, "read the clock"),
            Self::Connect { address, .. } => write!(f, "connected to {address}"),
            Self::Connected { key, .. } => write!(f, "checked if socket {key} is connected"),
            Self::Read { key, .. } => write!(f, "read from socket {key}"),
            Self::Write { key, length, .. } => write!(f, "wrote {length} bytes to socket {key}"),
            Self::Wait { .. } => write!(f, "waited for events"),
            Self::Secure(Secure { stream, call, .. }) => {
                write!(f, "{} secure stream {stream}", call.verb())
            }
            Self::Lookup { host, port, .. } => write!(f, "looked up {host}, port {port}"),
            Self::Full => write!(f, "went on, but its record is full"),
            Self::End => write!(f, "ended"),
        }
    }
}

/// One call of a secure stream.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Secure {
    pub(crate) stream: u64,
    pub(crate) call: SecureCall,
    /// The bytes that were read.
    pub(crate) bytes: Vec<u8>,
    pub(crate) result: Result<u64, Failure>,
    /// The direction that is blocked: true for writing.
    pub(crate) blocked_on: Option<bool>,
    /// The calls of sockets below.
    pub(crate) below: Vec<Below>,
}

/// A call of a secure stream, with all that has to be the same in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum SecureCall {
    Layer,
    Read,
    Write { length: u64, checksum: u32 },
    Close,
}

impl SecureCall {
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::Layer => "created",
            Self::Read => "read from",
            Self::Write { .. } => "wrote to",
            Self::Close => "closed",
        }
    }
}

/// A call of the socket below a secure stream: only its size is kept, for the trace.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Below {
    pub(crate) key: u64,
    pub(crate) is_write: bool,
    pub(crate) result: Result<u64, Failure>,
}

/// The kinds of errors, by their numbers in a record. New ones are added at the end.
const KINDS: [ErrorKind; 18] = [
    ErrorKind::Other,
    ErrorKind::WouldBlock,
    ErrorKind::Interrupted,
    ErrorKind::ConnectionRefused,
    ErrorKind::ConnectionReset,
    ErrorKind::ConnectionAborted,
    ErrorKind::NotConnected,
    ErrorKind::BrokenPipe,
    ErrorKind::TimedOut,
    ErrorKind::UnexpectedEof,
    ErrorKind::WriteZero,
    ErrorKind::AddrNotAvailable,
    ErrorKind::HostUnreachable,
    ErrorKind::NetworkUnreachable,
    ErrorKind::NetworkDown,
    ErrorKind::PermissionDenied,
    ErrorKind::InvalidInput,
    ErrorKind::Deadlock,
];

/// An [`io::Error`] as it is kept.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) enum Failure {
    /// By its number in the operating system.
    Os(i32),
    /// By its kind alone.
    Kind(u8),
    /// By its kind and its message.
    Message(u8, String),
    /// By the message of an error of TLS.
    Tls(String),
    /// By the message of a server that wants a certificate of its client.
    TlsCertificate(String),
    /// By the message of a server that speaks another protocol over TLS.
    TlsProtocol(String),
}

impl From<&io::Error> for Failure {
    fn from(error: &io::Error) -> Self {
        let kind = KINDS.iter().position(|kind| *kind == error.kind()).unwrap_or(0) as u8;
        match error.raw_os_error() {
            Some(number) => Self::Os(number),
            None if is_tls_error(error) => match error.kind() {
                ErrorKind::PermissionDenied => Self::TlsCertificate(error.to_string()),
                ErrorKind::Unsupported => Self::TlsProtocol(error.to_string()),
                _ => Self::Tls(error.to_string()),
            },
            None if error.get_ref().is_none() => Self::Kind(kind),
            None => Self::Message(kind, error.to_string()),
        }
    }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        let kind = |number: u8| KINDS.get(usize::from(number)).copied().unwrap_or(ErrorKind::Other);
        match failure {
            Failure::Os(number) => Self::from_raw_os_error(number),
            Failure::Kind(number) => kind(number).into(),
            Failure::Message(number, message) => Self::new(kind(number), message),
            Failure::Tls(message) => TlsError::new(message).into(),
            Failure::TlsCertificate(message) => TlsError::client_certificate(message).into(),
            Failure::TlsProtocol(message) => TlsError::other_protocol(message).into(),
        }
    }
}

/// Returns a result as it is kept.
pub(crate) fn kept<T, U>(result: &io::Result<T>, keep: impl FnOnce(&T) -> U) -> Result<U, Failure> {
    result.as_ref().map(keep).map_err(Failure::from)
}

const BITS: [Readiness; 3] = [Readiness::READABLE, Readiness::WRITABLE, Readiness::READ_CLOSED];

/// Returns the bits of a readiness as they are kept.
pub(crate) fn bits_of(readiness: Readiness) -> u8 {
    let bits = BITS.iter().enumerate().filter(|(_, bit)| readiness.contains(**bit));
    bits.map(|(index, _)| 1 << index).sum()
}

/// Returns the readiness of bits that were kept.
pub(crate) fn readiness_of(bits: u8) -> Readiness {
    let set = BITS.iter().enumerate().filter(|(index, _)| bits & (1 << index) != 0);
    set.fold(Readiness::NONE, |readiness, (_, bit)| readiness | *bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_comes_back_as_it_was() {
        for error in [
            io::Error::from_raw_os_error(104),
            ErrorKind::WouldBlock.into(),
            io::Error::new(ErrorKind::TimedOut, "too late"),
            TlsError::new("no trust").into(),
        ] {
            let back = io::Error::from(Failure::from(&error));
            assert_eq!(format!("{back:?}"), format!("{error:?}"));
        }
    }

    #[test]
    fn readiness_comes_back_as_it_was() {
        let all = BITS.into_iter().fold(Readiness::NONE, |all, bit| all | bit);
        for readiness in BITS.into_iter().chain([Readiness::NONE, all]) {
            assert_eq!(readiness_of(bits_of(readiness)), readiness);
        }
    }
}
