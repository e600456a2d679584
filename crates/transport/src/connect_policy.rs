//! The policy of a crawl's connections: the addresses that may be asked, and the
//! certificates that are trusted.

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use crate::address_kind::AddressKind;
use crate::dns_cache::ip_literal;
use crate::lookup::{Addresses, LookupResult};
use crate::stream::TlsLayer;
use crate::tls_connector::TlsConnector;

/// The policy of a crawl's connections. Every address passes through it before a
/// connection is tried: that of a link, a redirect, a robots.txt and a sitemap.
///
/// A page of the public internet can name addresses that only this machine reaches, by
/// a link or by the DNS record of a name, and so make the crawler send a request there
/// (server-side request forgery). Therefore addresses of the metadata services of
/// clouds and link-local addresses are denied, and, if the caller wants it, loopback
/// and private addresses. Addresses of the kind of a root are permitted all the same.
/// A root with a public address permits no other kind. The first answer for the name of a
/// root decides that, so that a later one cannot lead elsewhere (DNS rebinding).
#[derive(Debug)]
pub struct ConnectPolicy {
    tls_connector: TlsConnector,
    denied: Mutex<Denied>,
}

/// The kinds of addresses that are denied.
#[derive(Debug)]
struct Denied {
    kinds: Vec<AddressKind>,
    /// The names of roots of which no address is known yet.
    undecided: HashSet<Box<str>>,
}

impl ConnectPolicy {
    /// Creates the policy of a crawl whose roots have these hosts: names, or addresses
    /// as in a URL. With `deny_private`, loopback and private addresses are denied as
    /// well. `certificates` and `insecure` are those of [`TlsConnector::new`].
    pub fn new<'a>(
        certificates: &[Vec<u8>],
        insecure: bool,
        roots: impl IntoIterator<Item = &'a str>,
        deny_private: bool,
    ) -> Self {
        let tls_connector = TlsConnector::new(certificates, insecure);
        let mut kinds = vec![AddressKind::Metadata, AddressKind::LinkLocal];
        if deny_private {
            kinds.extend([AddressKind::Loopback, AddressKind::Private]);
        }
        let mut denied = Denied { kinds, undecided: HashSet::new() };
        let mut last = None;
        for root in roots {
            // Often there are many roots of one host, one after another.
            if last.replace(root) == Some(root) {
                continue;
            }
            match ip_literal(root) {
                Some(ip) => denied.permit([AddressKind::of(ip)]),
                None => drop(denied.undecided.insert(root.into())),
            }
        }
        Self { tls_connector, denied: Mutex::new(denied) }
    }

    // ANCHOR: route
    /// Returns the addresses of a host that may be asked, in the order in which to try
    /// them, and the layer for a connection to one. `answer` is the result of the
    /// lookup of `host`; `tls_host` is that of [`TlsConnector::layer`].
    ///
    /// # Errors
    /// The kind says why there is no way to the host: `NotFound` if it has no address,
    /// `ResourceBusy` if the name server gives no answer for now,
    /// `AddrNotAvailable` if all its addresses are denied, `InvalidData` if the
    /// connection cannot be secure. If [`is_fd_limit`](crate::is_fd_limit) is true,
    /// there was no file descriptor to find out.
    pub fn route(
        &self,
        host: &str,
        tls_host: Option<&str>,
        answer: LookupResult,
    ) -> io::Result<(Addresses, TlsLayer)> {
        let addresses = self.permitted(host, answer?)?;
        Ok((addresses, self.tls_connector.layer(tls_host)?))
    }
    // ANCHOR_END: route

    /// Returns those of a host's addresses that are not denied.
    fn permitted(&self, host: &str, addresses: Addresses) -> io::Result<Addresses> {
        // A panic elsewhere leaves it as it is.
        let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        if !denied.undecided.is_empty() && denied.undecided.remove(host) {
            denied.permit(addresses.iter().map(|address| AddressKind::of(address.ip())));
        }
        let kind_if_denied = |address: &SocketAddr| {
            let kind = AddressKind::of(address.ip());
            denied.kinds.contains(&kind).then_some(kind)
        };
        let Some((address, kind)) =
            addresses.iter().find_map(|address| Some((address, kind_if_denied(address)?)))
        else {
            return Ok(addresses);
        };
        let rest = addresses.iter().filter(|address| kind_if_denied(address).is_none());
        let rest: Vec<SocketAddr> = rest.copied().collect();
        if rest.is_empty() {
            let flag = match kind {
                AddressKind::Loopback | AddressKind::Private => " (--deny-private)",
                _ => "",
            };
            let why = format!("{} is {kind}{flag}", address.ip());
            return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, why));
        }
        Ok(rest.into())
    }
}

impl Denied {
    /// Permits the kinds of a root's addresses. A root with a public address is
    /// public, and may not lead to others.
    fn permit(&mut self, of_root: impl IntoIterator<Item = AddressKind>) {
        let of_root: Vec<_> = of_root.into_iter().collect();
        if !of_root.contains(&AddressKind::Public) {
            self.kinds.retain(|kind| !of_root.contains(kind));
        }
    }
}
