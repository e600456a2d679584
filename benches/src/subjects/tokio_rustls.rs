//! The subject `tokio-rustls`: tokio and rustls, for https.

use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock};

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Work;
use super::frontier::Frontier;
use super::tokio_raw::{Scratch, on_tokio, run_worker};
use crate::row_check::RowCheck;

/// The roots of the system, which a crawler of the web has as well. They are read once per
/// process, as our crawlers do.
static SYSTEM: OnceLock<RootCertStore> = OnceLock::new();

pub(super) fn crawl(work: Work, row_check: RowCheck) -> io::Result<()> {
    let mut roots = SYSTEM.get_or_init(system_roots).clone();
    let authority = CertificateDer::from(work.authority.clone());
    roots.add(authority).map_err(io::Error::other)?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let (address, connector) = (work.address, TlsConnector::from(Arc::new(config)));
    on_tokio(work, row_check, async move |frontier: &Frontier, scratch: &Scratch| {
        let connect = async || {
            let name = ServerName::IpAddress(Ipv4Addr::LOCALHOST.into());
            connector.connect(name, TcpStream::connect(address).await?).await
        };
        run_worker(frontier, scratch, connect).await
    })
}

fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}
