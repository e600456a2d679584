//! Certificate authority that issues test certificates.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, SupportedProtocolVersion};

/// A certificate authority.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// Creates a root authority.
    pub fn new(name: &str) -> Self {
        Self::changed(name, |_| {})
    }

    /// Creates a root authority whose parameters are altered by `change`.
    pub fn changed(name: &str, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let mut authority = authority(name);
        change(&mut authority);
        let issuer = CertifiedIssuer::self_signed(authority, key()).unwrap();
        Self { issuer }
    }

    /// Creates an intermediate authority, whose certificate this one signs.
    pub fn intermediate(&self, name: &str) -> Self {
        let issuer = CertifiedIssuer::signed_by(authority(name), key(), &self.issuer).unwrap();
        Self { issuer }
    }

    /// Issues a certificate for a server with these names or addresses.
    pub fn issue(&self, names: &[&str]) -> Identity {
        self.issue_changed(names, |_| {})
    }

    /// Issues a certificate whose parameters are altered by `change`.
    pub fn issue_changed(
        &self,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> Identity {
        let mut server = server(names);
        change(&mut server);
        let key = key();
        let certificate = server.signed_by(&key, &self.issuer).unwrap();
        Identity { chain: vec![certificate.der().clone()], pem: certificate.pem(), key }
    }

    /// Returns the certificate of the authority in DER.
    pub fn der(&self) -> Vec<u8> {
        self.issuer.der().to_vec()
    }

    /// Returns the certificate of the authority in PEM.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }
}

/// The identity of a server: its certificate chain and its private key.
pub struct Identity {
    /// The certificates in DER, the server's own first.
    pub chain: Vec<CertificateDer<'static>>,
    pem: String,
    key: KeyPair,
}

impl Identity {
    /// Creates an identity with a self-signed certificate.
    pub fn self_signed(names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Self {
        let mut server = server(names);
        change(&mut server);
        let key = key();
        let certificate = server.self_signed(&key).unwrap();
        Self { chain: vec![certificate.der().clone()], pem: certificate.pem(), key }
    }

    /// Adds the certificate of this authority to the chain.
    pub fn with(mut self, intermediate: &Authority) -> Self {
        self.chain.push(intermediate.der().into());
        self.pem += &intermediate.pem();
        self
    }

    /// Returns the private key of the certificate.
    pub fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.serialize_der()).into()
    }

    /// Returns the certificate chain in PEM.
    pub fn chain_pem(&self) -> &str {
        &self.pem
    }

    /// Returns the private key in PEM.
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// Returns the configuration of a server with this identity.
    pub fn server(&self) -> ServerConfig {
        self.server_of(rustls::ALL_VERSIONS)
    }

    /// Returns the configuration of a server with this identity that supports
    /// these versions of TLS.
    pub fn server_of(&self, versions: &[&'static SupportedProtocolVersion]) -> ServerConfig {
        ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), self.private_key())
            .unwrap()
    }
}

fn key() -> KeyPair {
    KeyPair::generate().unwrap()
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn server(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, "a server");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}
