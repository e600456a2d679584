//! Who is trusted, and what is put between a request and the wire.

use std::io;

use crate::stream::Layer;
use crate::tls::Client;

/// Decides what lies between the bytes of a request and the wire.
///
/// One for a whole crawl: it remembers the sessions with each server, so that
/// the next connection to it costs less.
#[derive(Debug)]
pub struct Security {
    client: Client,
}

impl Security {
    /// Trusts the roots of the system, or those named by the environment
    /// variables `SSL_CERT_FILE` and `SSL_CERT_DIR`; where there are none at
    /// all, those of Mozilla as of the day this was built. In addition,
    /// `certificates`, in DER. With `insecure`, any certificate will do.
    ///
    /// Nothing is read before the first secure connection.
    pub fn new(certificates: &[Vec<u8>], insecure: bool) -> Self {
        Self { client: Client::new(certificates, insecure) }
    }

    /// Prepares the layer for one connection, before a packet is sent. If it is
    /// to be secure, `host` is what the certificate has to be for: a name, an
    /// IPv4 address or an IPv6 address with or without brackets.
    ///
    /// # Errors
    /// Only for a secure connection. `Unsupported` when this build has no TLS;
    /// others when there is nobody to trust, or no certificate could ever be
    /// for such a host.
    pub fn layer(&self, host: Option<&str>) -> io::Result<Layer> {
        let Some(host) = host else {
            return Ok(Layer::plain());
        };
        let session = self.client.session(host)?;
        Ok(Layer(Some(Box::new(session))))
    }
}

impl Default for Security {
    fn default() -> Self {
        Self::new(&[], false)
    }
}
