//! Whose certificates are accepted.

use std::env;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
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
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    /// Accepts any certificate, from whoever proves to have its key.
    pub(super) fn of_nothing(provider: &CryptoProvider) -> Self {
        Self { by_roots: None, algorithms: provider.signature_verification_algorithms }
    }

    /// Accepts what leads to the common roots, or to one of these.
    pub(super) fn of_roots(
        provider: &Arc<CryptoProvider>,
        more: &[CertificateDer<'static>],
    ) -> Result<Self, TlsError> {
        let mut roots = common_roots();
        for certificate in more {
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
        by_roots
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            .map_err(|error| match untrusted(&error, end_entity, intermediates) {
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
    SelfSignedAuthority,
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
            Self::SelfSignedAuthority => {
                "the server's certificate is self-signed and that of an authority, which cannot \
                 be a server's as well: issue one for the server and trust this with --cacert"
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

fn untrusted(
    error: &Error,
    end_entity: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
) -> Option<Untrusted> {
    let is_authority = match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => false,
        Error::InvalidCertificate(CertificateError::Other(OtherError(other))) => {
            let error = other.downcast_ref::<webpki::Error>();
            matches!(error, Some(webpki::Error::CaUsedAsEndEntity))
        }
        _ => return None,
    };
    let end_entity = EndEntityCert::try_from(end_entity).ok()?;
    let is_self_signed = end_entity.issuer() == end_entity.subject();
    match (is_authority, is_self_signed) {
        (true, true) => return Some(Untrusted::SelfSignedAuthority),
        (true, false) => return None,
        (false, true) => return Some(Untrusted::SelfSigned),
        (false, false) => {}
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
