//! Whom a socket was to be connected with.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// An address in 18 bytes instead of 32, as there are as many of them as there
/// are sockets: an IPv4 address as the IPv6 address that stands for it (RFC
/// 4291, section 2.5.5.2), and none with its zone.
pub(crate) struct Peer {
    ip: Ipv6Addr,
    port: u16,
}

impl Peer {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        Self { ip, port: address.port() }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::new(self.ip.to_canonical(), self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_addresses_come_back() {
        for text in ["127.0.0.1:80", "[::1]:65535", "[2001:db8::7]:443", "0.0.0.0:0"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(Peer::new(address).address(), address);
        }
        assert_eq!(size_of::<Peer>(), 18);
    }
}
