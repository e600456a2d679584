//! Certificates made for the occasion.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, missing_docs)]

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, SupportedProtocolVersion};

/// Issues certificates.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// A root.
    pub fn new(name: &str) -> Self {
        let issuer = CertifiedIssuer::self_signed(authority(name), key()).unwrap();
        Self { issuer }
    }

    /// An authority that this one vouches for.
    pub fn intermediate(&self, name: &str) -> Self {
        let issuer = CertifiedIssuer::signed_by(authority(name), key(), &self.issuer).unwrap();
        Self { issuer }
    }

    /// A certificate of a server that has these names or addresses.
    pub fn issue(&self, names: &[&str]) -> Identity {
        self.issue_changed(names, |_| {})
    }

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

    pub fn der(&self) -> Vec<u8> {
        self.issuer.der().to_vec()
    }

    pub fn pem(&self) -> String {
        self.issuer.pem()
    }
}

/// What a server has to show.
pub struct Identity {
    pub chain: Vec<CertificateDer<'static>>,
    pem: String,
    key: KeyPair,
}

impl Identity {
    /// A certificate that nobody else vouches for.
    pub fn self_signed(names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Self {
        let mut server = server(names);
        change(&mut server);
        let key = key();
        let certificate = server.self_signed(&key).unwrap();
        Self { chain: vec![certificate.der().clone()], pem: certificate.pem(), key }
    }

    /// Sends the certificate of this authority as well.
    pub fn with(mut self, intermediate: &Authority) -> Self {
        self.chain.push(intermediate.der().into());
        self.pem += &intermediate.pem();
        self
    }

    pub fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.serialize_der()).into()
    }

    pub fn chain_pem(&self) -> &str {
        &self.pem
    }

    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// A server that shows it.
    pub fn server(&self) -> ServerConfig {
        self.server_of(rustls::ALL_VERSIONS)
    }

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
