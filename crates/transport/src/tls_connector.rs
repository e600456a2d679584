//! The TLS connector of a crawl.

use std::io;
use std::sync::Arc;

use crate::stream::TlsLayer;
use crate::tape::{self, Layer, Tape};
use crate::tls::Client;

/// A factory of [`TlsLayer`]s, with the certificates to trust.
///
/// A crawl has one for all its connections: it keeps the sessions with up to 32
/// servers, so that the next connection can resume one, which costs less. Each handshake
/// offers the protocol `http/1.1` (ALPN).
#[derive(Debug)]
pub struct TlsConnector {
    client: Client,
    /// Keeps or gives the results of the layers.
    tape: Option<Arc<dyn Tape>>,
}

impl TlsConnector {
    /// Creates a connector that trusts the roots of the system, or those named
    /// by the environment variables `SSL_CERT_FILE` and `SSL_CERT_DIR`. If the system
    /// has no store of roots at all, it trusts those of Mozilla, in the version of the
    /// crate `webpki-roots` that it was built with, and
    /// [`trust_warning`](crate::trust_warning) says so. In addition it trusts
    /// `certificates`, in DER, but for one that is not for servers by its extended key
    /// usage. With `insecure`, it accepts any certificate.
    ///
    /// No file is read before the first secure connection.
    pub fn new(certificates: &[Vec<u8>], insecure: bool) -> Self {
        Self { client: Client::new(certificates, insecure), tape: tape::current() }
    }

    /// Creates the layer for one connection, before it is opened. `None` means
    /// no TLS. Otherwise the certificate has to be for `host`: a name, an IPv4
    /// address, or an IPv6 address with or without brackets.
    ///
    /// # Errors
    /// Only for a secure connection. They are TLS errors: this build has no TLS, the
    /// roots of the system cannot be read, there is none, or no certificate can be for
    /// such a host. Or there was no file descriptor to read the roots: see
    /// [`is_fd_limit`](crate::is_fd_limit). Then the next call reads them.
    pub fn layer(&self, host: Option<&str>) -> io::Result<TlsLayer> {
        let Some(host) = host else {
            return Ok(TlsLayer::plain());
        };
        let layer = Layer::new(self.tape.as_ref(), || self.client.session(host))?;
        Ok(TlsLayer(Some(Box::new(layer))))
    }
}

impl Default for TlsConnector {
    fn default() -> Self {
        Self::new(&[], false)
    }
}
