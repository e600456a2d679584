//! Verification of server certificates.

use std::io;
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

use super::error_messages::explain;
use super::extended_key_usage::is_for_servers;
use super::trust_store::trust_store;
use super::untrusted::Untrusted;
use crate::tls_error::TlsError;

/// Returns the certificates in a PEM file, in DER, each of them usable as a
/// root. Anything else in the file, such as keys, is skipped.
///
/// # Errors
/// When the file has no certificate, or one that cannot be parsed.
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

/// A verifier of server certificates that checks them against trusted roots,
/// or accepts all of them.
#[derive(Debug)]
pub(super) struct Verifier {
    /// `None` in a verifier that accepts all.
    webpki: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates that the user trusts, of authorities or of single servers.
    user_certificates: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    /// Creates a verifier that accepts any certificate, provided that the
    /// server proves to have its private key.
    pub(super) fn accepting_all(provider: &CryptoProvider) -> Self {
        Self {
            webpki: None,
            user_certificates: Vec::new(),
            algorithms: provider.signature_verification_algorithms,
        }
    }

    /// Creates a verifier that accepts chains that lead to a default root or to
    /// one of `user_certificates`.
    pub(super) fn with_roots(
        provider: &Arc<CryptoProvider>,
        user_certificates: &[CertificateDer<'static>],
    ) -> io::Result<Self> {
        let store = trust_store()?;
        let mut roots = store.roots.clone();
        for certificate in user_certificates.iter().filter(|der| is_for_servers(der)) {
            roots.add(certificate.clone()).map_err(|error| explain(&error))?;
        }
        if roots.is_empty() {
            let message = store.problem.clone();
            let message = message.unwrap_or_else(|| "no certificate is trusted".into());
            return Err(TlsError::new(message).into());
        }
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
                .build()
                .map_err(|error| TlsError::new(error.to_string()))?;
        Ok(Self {
            webpki: Some(verifier),
            user_certificates: user_certificates.to_vec(),
            algorithms: provider.signature_verification_algorithms,
        })
    }
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
        let Some(webpki) = &self.webpki else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified =
            webpki.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        let Err(error) = verified else {
            return verified;
        };
        // A self-made certificate is most often both an authority's and a
        // server's. RFC 5280, section 4.2.1.9, forbids that, and webpki reports
        // it after it has checked the validity period. Only the name remains to
        // be checked.
        if is_authority_error(&error)
            && self.user_certificates.contains(end_entity)
            && is_for_servers(end_entity)
        {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            verify_server_name(&certificate, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        Err(match self.untrusted_reason(&error, end_entity, intermediates) {
            Some(reason) => CertificateError::Other(OtherError(Arc::new(reason))).into(),
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

impl Verifier {
    /// Returns the reason why a chain is not trusted, if that is what `error` says.
    fn untrusted_reason(
        &self,
        error: &Error,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
    ) -> Option<Untrusted> {
        let is_unknown =
            matches!(error, Error::InvalidCertificate(CertificateError::UnknownIssuer));
        if !is_unknown && !is_authority_error(error) {
            return None;
        }
        // Those that the user trusts and that are not among the roots.
        for user in self.user_certificates.iter().filter(|user| !is_for_servers(user)) {
            let mut chain = [end_entity].into_iter().chain(intermediates);
            if chain.any(|link| link == user || is_issued_by(link, user)) {
                return Some(Untrusted::NotForServers);
            }
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
}

/// Returns true if a certificate names another one as its issuer.
fn is_issued_by(certificate: &CertificateDer<'_>, issuer: &CertificateDer<'_>) -> bool {
    match (EndEntityCert::try_from(certificate), EndEntityCert::try_from(issuer)) {
        (Ok(certificate), Ok(issuer)) => certificate.issuer() == issuer.subject(),
        _ => false,
    }
}

/// Returns true if a server's certificate was refused because it is that of an
/// authority.
fn is_authority_error(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(OtherError(other))) = error else {
        return false;
    };
    let error = other.downcast_ref::<webpki::Error>();
    matches!(error, Some(webpki::Error::CaUsedAsEndEntity))
}
