//! The errors after which it is of no use to try again.

use std::fmt;
use std::io;

/// Why a connection cannot be secure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError(String);

impl TlsError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for TlsError {
    /// A sentence for people. It never contains bytes from the network that a
    /// terminal could take for commands.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

impl From<TlsError> for io::Error {
    fn from(error: TlsError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

/// Whether this error says that the two ends cannot agree on a secure
/// connection: the certificate, the versions, or what came is not TLS. All
/// other errors of a stream are those of its socket, a connection that ends
/// within the handshake included.
pub fn is_tls_error(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|source| source.is::<TlsError>())
}
