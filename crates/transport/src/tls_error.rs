//! The errors after which it is of no use to try again.

use std::fmt;
use std::io;

/// Why a connection cannot be secure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError {
    message: String,
    is_damage: bool,
}

impl TlsError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_damage: false }
    }

    /// The two ends had agreed; what came after was not what was sent.
    #[cfg(feature = "tls")]
    pub(crate) fn damage() -> Self {
        let message = "what the server sends was damaged on its way".into();
        Self { message, is_damage: true }
    }
}

impl fmt::Display for TlsError {
    /// A sentence for people. It never contains bytes from the network that a
    /// terminal could take for commands.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
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
/// within the handshake included, or of the wire: damage after the handshake.
pub fn is_tls_error(error: &io::Error) -> bool {
    let error = error.get_ref().and_then(|source| source.downcast_ref::<TlsError>());
    error.is_some_and(|error| !error.is_damage)
}
