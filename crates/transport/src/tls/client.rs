//! The TLS configuration that all connections of a crawl share.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};

use super::error_messages::explain;
use super::session::{NoCertificate, Session};
use super::verifier::Verifier;
use crate::tls_error::TlsError;

/// A factory of TLS sessions. It reads the root store and builds the
/// configuration when the first session is created.
#[derive(Debug)]
pub(crate) struct Client {
    certificates: Vec<CertificateDer<'static>>,
    insecure: bool,
    config: OnceLock<Arc<ClientConfig>>,
}

impl Client {
    pub(crate) fn new(certificates: &[Vec<u8>], insecure: bool) -> Self {
        let certificates = certificates.iter().cloned().map(CertificateDer::from).collect();
        Self { certificates, insecure, config: OnceLock::new() }
    }

    pub(crate) fn session(&self, host: &str) -> io::Result<Session> {
        let config = match self.config.get() {
            Some(config) => config,
            // A failure is not kept: it may have been a want of descriptors.
            None => {
                let config = self.configure()?;
                self.config.get_or_init(|| config)
            }
        };
        let session = Session::new(Arc::clone(config), server_name(host)?);
        Ok(session.map_err(|error| explain(&error))?)
    }

    fn configure(&self) -> io::Result<Arc<ClientConfig>> {
        let provider = Arc::new(ring::default_provider());
        let verifier = if self.insecure {
            Verifier::accepting_all(&provider)
        } else {
            Verifier::with_roots(&provider, &self.certificates)?
        };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| explain(&error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_cert_resolver(Arc::new(NoCertificate));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn server_name(host: &str) -> Result<ServerName<'static>, TlsError> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    ServerName::try_from(bare).map(|name| name.to_owned()).map_err(|_| {
        TlsError::new(format!("there can be no certificate for {}", host.escape_debug()))
    })
}
