//! The TLS connector of a crawl.

use std::io;

use crate::stream::TlsLayer;
use crate::tls::Client;

/// A factory of [`TlsLayer`]s, with the certificates to trust.
///
/// A crawl has one for all its connections: it keeps the sessions with each
/// server, so that the next connection can resume one, which costs less.
#[derive(Debug)]
pub struct TlsConnector {
    client: Client,
}

impl TlsConnector {
    /// Creates a connector that trusts the roots of the system, or those named
    /// by the environment variables `SSL_CERT_FILE` and `SSL_CERT_DIR`. If the system
    /// has no store of roots at all, it trusts those of Mozilla as of the day of the
    /// build, and [`trust_warning`](crate::trust_warning) says so. In addition it
    /// trusts `certificates`, in DER. With `insecure`, it accepts any certificate.
    ///
    /// No file is read before the first secure connection.
    pub fn new(certificates: &[Vec<u8>], insecure: bool) -> Self {
        Self { client: Client::new(certificates, insecure) }
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
        let session = self.client.session(host)?;
        Ok(TlsLayer(Some(Box::new(session))))
    }
}

impl Default for TlsConnector {
    fn default() -> Self {
        Self::new(&[], false)
    }
}
