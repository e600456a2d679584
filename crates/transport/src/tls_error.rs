//! The TLS errors for which a retry is useless.

use std::fmt;
use std::io;

/// The error of a connection that cannot be secure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError {
    message: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The two ends cannot agree.
    NoAgreement,
    /// The server wants a certificate of its client.
    ClientCertificate,
    /// The server does not speak the protocol that is to be spoken over TLS.
    OtherProtocol,
    /// A record was damaged after the handshake.
    Damage,
}

impl TlsError {
    /// Creates an error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), kind: Kind::NoAgreement }
    }

    /// Creates the error of a server that wants a certificate of its client.
    pub fn client_certificate(message: impl Into<String>) -> Self {
        Self { message: message.into(), kind: Kind::ClientCertificate }
    }

    /// Creates the error of a server that speaks another protocol over TLS.
    pub fn other_protocol(message: impl Into<String>) -> Self {
        Self { message: message.into(), kind: Kind::OtherProtocol }
    }

    /// Creates the error of a record that was damaged after the handshake, in either
    /// direction.
    #[cfg(feature = "tls")]
    pub(crate) fn damage() -> Self {
        let message = "the data were damaged on the way".into();
        Self { message, kind: Kind::Damage }
    }
}

impl fmt::Display for TlsError {
    /// Writes a message for users. It never contains bytes from the network that
    /// a terminal could take for commands.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TlsError {}

/// The kind of the error is `InvalidData` if the two ends cannot agree on a
/// secure connection, and no other error of a stream is of that kind. It is `PermissionDenied`
/// if the server wants a certificate of its client, `Unsupported` if it speaks another protocol
/// over TLS, and `ConnectionAborted` if a record was damaged after the handshake.
impl From<TlsError> for io::Error {
    fn from(error: TlsError) -> Self {
        let kind = match error.kind {
            Kind::NoAgreement => io::ErrorKind::InvalidData,
            Kind::ClientCertificate => io::ErrorKind::PermissionDenied,
            Kind::OtherProtocol => io::ErrorKind::Unsupported,
            Kind::Damage => io::ErrorKind::ConnectionAborted,
        };
        Self::new(kind, error)
    }
}

/// Returns true if this error says that the two ends cannot agree on a secure
/// connection: because of the certificate or the versions, or because the peer
/// does not speak TLS. All other errors of a stream come from its socket (a
/// connection that ends during the handshake, too) or from the network (damage
/// after the handshake).
pub fn is_tls_error(error: &io::Error) -> bool {
    let error = error.get_ref().and_then(|source| source.downcast_ref::<TlsError>());
    error.is_some_and(|error| error.kind != Kind::Damage)
}
