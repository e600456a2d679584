//! A TLS-terminating proxy in front of the site.

use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio_rustls::TlsAcceptor;

use crate::site::SiteAddress;

/// Starts the proxy in front of the server at `behind`, on a thread of its own
/// that ends with the process.
pub(crate) fn start(behind: SocketAddr) -> io::Result<SiteAddress> {
    let (config, authority) =
        server_certificate().map_err(|error| io::Error::other(error.to_string()))?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let root = format!("https://{}/", listener.local_addr()?);
    thread::spawn(move || {
        runtime.block_on(async {
            // An error means that the client is gone.
            loop {
                if let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(forward(stream, acceptor.clone(), behind));
                }
            }
        })
    });
    Ok(SiteAddress { root, authority: authority.der().to_vec() })
}

/// Forwards the bytes of one connection in both directions.
async fn forward(stream: TcpStream, acceptor: TlsAcceptor, behind: SocketAddr) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut secure = acceptor.accept(stream).await?;
    let mut plain = TcpStream::connect(behind).await?;
    plain.set_nodelay(true)?;
    copy_bidirectional(&mut secure, &mut plain).await?;
    Ok(())
}

/// Creates the settings of a TLS server on 127.0.0.1, and the certificate authority that has
/// signed its certificate.
///
/// # Errors
/// When there are no random numbers for the keys.
pub fn server_certificate()
-> Result<(ServerConfig, CertifiedIssuer<'static, KeyPair>), Box<dyn Error>> {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let names = CertificateParams::new([Ipv4Addr::LOCALHOST.to_string()])?;
    let certificate = names.signed_by(&key, &authority)?;
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    Ok((config, authority))
}
