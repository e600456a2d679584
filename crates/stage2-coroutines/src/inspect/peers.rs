//! The peer addresses of a loop's connections, for inspection.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use selector_core::Key;

/// The address that each open connection leads to, by the index of its key. An
/// address takes 18 bytes: an IPv4 address is kept as the IPv6 address that it
/// maps to (RFC 4291, section 2.5.5.2).
#[derive(Default)]
pub(crate) struct Peers(Vec<(Ipv6Addr, u16)>);

impl Peers {
    pub(crate) fn set(&mut self, key: Key, address: SocketAddr) {
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let len = key.index() + 1;
        if self.0.len() < len {
            if self.0.capacity() < len {
                // By a sixteenth rather than doubled, like the slab of the keys.
                self.0.reserve_exact(len + len / 16 - self.0.len());
            }
            self.0.resize(len, (Ipv6Addr::UNSPECIFIED, 0));
        }
        self.0[key.index()] = (ip, address.port());
    }

    pub(crate) fn get(&self, key: Key) -> Option<SocketAddr> {
        let (ip, port) = *self.0.get(key.index())?;
        Some(SocketAddr::new(ip.to_canonical(), port))
    }
}

#[cfg(test)]
mod tests {
    use selector_core::Slab;

    use super::*;

    #[test]
    fn both_kinds_of_addresses_come_back() {
        let (mut slab, mut peers) = (Slab::new(), Peers::default());
        let texts = ["127.0.0.1:80", "[::1]:65535", "[2001:db8::7]:443", "0.0.0.0:0"];
        let keys = texts.map(|text| {
            let key = slab.insert(());
            peers.set(key, text.parse().unwrap());
            key
        });
        assert_eq!(keys.map(|key| peers.get(key).unwrap().to_string()), texts);
    }
}
