//! Whose certificates are accepted.

use std::env;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};
use webpki::EndEntityCert;

use super::words::explain;
use crate::TlsError;

/// The certificates in a PEM file, in DER, each fit to be a root. What else
/// the file has, such as keys, is passed over.
///
/// # Errors
/// When there is none, or one that cannot be understood.
pub fn certificates_from_pem(pem: &[u8]) -> Result<Vec<Vec<u8>>, TlsError> {
    let mut certificates = Vec::new();
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let number = certificates.len() + 1;
        let bad = |why: String| TlsError::new(format!("certificate {number} of the file: {why}"));
        let certificate = certificate.map_err(|error| bad(error.to_string()))?;
        roots.add(certificate.clone()).map_err(|error| bad(explain(&error).to_string()))?;
        certificates.push(certificate.to_vec());
    }
    if certificates.is_empty() {
        return Err(TlsError::new(
            "the file has no certificate in PEM (-----BEGIN CERTIFICATE-----)",
        ));
    }
    Ok(certificates)
}

/// Judges the certificates of servers by their roots, or not at all.
#[derive(Debug)]
pub(super) struct Verifier {
    by_roots: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates that somebody has named, of authorities or of the very
    /// servers.
    named: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    /// Accepts any certificate, from whoever proves to have its key.
    pub(super) fn of_nothing(provider: &CryptoProvider) -> Self {
        Self {
            by_roots: None,
            named: Vec::new(),
            algorithms: provider.signature_verification_algorithms,
        }
    }

    /// Accepts what leads to the common roots, or to one of those named.
    pub(super) fn of_roots(
        provider: &Arc<CryptoProvider>,
        named: &[CertificateDer<'static>],
    ) -> Result<Self, TlsError> {
        let mut roots = common_roots();
        for certificate in named {
            roots.add(certificate.clone()).map_err(|error| explain(&error))?;
        }
        if roots.is_empty() {
            let message = "SSL_CERT_FILE or SSL_CERT_DIR names no certificate that can be trusted";
            return Err(TlsError::new(message));
        }
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
                .build()
                .map_err(|error| TlsError::new(error.to_string()))?;
        Ok(Self {
            by_roots: Some(verifier),
            named: named.to_vec(),
            algorithms: provider.signature_verification_algorithms,
        })
    }
}

fn common_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    // Whoever names a store means that one and no other, empty as it may be.
    let is_named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].map(env::var_os).iter().any(Option::is_some);
    if roots.is_empty() && !is_named {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(by_roots) = &self.by_roots else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified =
            by_roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        let Err(error) = verified else {
            return verified;
        };
        // What people make for themselves is most often an authority and a
        // server in one. That it must not be (RFC 5280, section 4.2.1.9) is
        // found after its time is checked: what is left to check is its name.
        if is_authority(&error) && self.named.contains(end_entity) {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            verify_server_name(&certificate, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        Err(match untrusted(&error, end_entity, intermediates) {
            Some(why) => CertificateError::Other(OtherError(Arc::new(why))).into(),
            None => error,
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Why a chain of certificates leads to nobody who is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Untrusted {
    SelfSigned,
    NoIntermediate,
    UnknownRoot,
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SelfSigned => {
                "the server's certificate is self-signed: if it is the right one, \
                 trust it with --cacert"
            }
            Self::NoIntermediate => {
                "the server's certificate has an unknown issuer: the server does not send its \
                 intermediate certificate, or its root is not trusted (add either with --cacert)"
            }
            Self::UnknownRoot => {
                "the server's certificate leads to a root that is not trusted (add it with --cacert)"
            }
        })
    }
}

impl StdError for Untrusted {}

/// Whether a certificate is refused because it is that of an authority.
fn is_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(OtherError(other))) = error else {
        return false;
    };
    let error = other.downcast_ref::<webpki::Error>();
    matches!(error, Some(webpki::Error::CaUsedAsEndEntity))
}

fn untrusted(
    error: &Error,
    end_entity: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
) -> Option<Untrusted> {
    let is_unknown = matches!(error, Error::InvalidCertificate(CertificateError::UnknownIssuer));
    if !is_unknown && !is_authority(error) {
        return None;
    }
    let end_entity = EndEntityCert::try_from(end_entity).ok()?;
    if end_entity.issuer() == end_entity.subject() {
        return Some(Untrusted::SelfSigned);
    }
    if !is_unknown {
        return None;
    }
    let is_issuer = |certificate: &CertificateDer<'_>| {
        let certificate = EndEntityCert::try_from(certificate);
        certificate.is_ok_and(|certificate| certificate.subject() == end_entity.issuer())
    };
    Some(if intermediates.iter().any(is_issuer) {
        Untrusted::UnknownRoot
    } else {
        Untrusted::NoIntermediate
    })
}
