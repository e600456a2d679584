//! The kind of an address: whether it belongs to the public internet.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of an address, by the registries of special-purpose addresses (RFC 6890).
/// The later one comes in this list, the more harm may be done by asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AddressKind {
    Public,
    /// Valid within one organisation (RFC 1918, 4193 and 6598).
    Private,
    /// This machine itself.
    Loopback,
    /// Valid on one link only (RFC 3927; RFC 4291, section 2.5.6).
    LinkLocal,
    /// The address at which a cloud tells a machine its secrets.
    Metadata,
}

/// The metadata addresses of Amazon, Google, Azure and many others; of Amazon's
/// containers; of Alibaba; of Oracle; and of Azure's agents.
const METADATA_V4: [Ipv4Addr; 6] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
];

/// The metadata addresses of Google, Oracle, Akamai, Scaleway and Alibaba. All of
/// `fd00:ec2::/32` is Amazon's.
const METADATA_V6: [Ipv6Addr; 5] = [
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
    Ipv6Addr::new(0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
    Ipv6Addr::new(0xfd00, 0x100, 0, 0, 0, 0, 0x100, 0x200),
];

impl AddressKind {
    /// Returns the kind of an address, and that of the IPv4 address in it, if there is
    /// one.
    pub(crate) fn of(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(ip) => Self::of_v4(ip),
            IpAddr::V6(ip) => match Self::of_v6(ip) {
                Self::Public if is_local_nat64(ip) => Self::of_local_nat64(ip),
                Self::Public => embedded_v4(ip).map_or(Self::Public, Self::of_v4),
                kind => kind,
            },
        }
    }

    fn of_v4(ip: Ipv4Addr) -> Self {
        match ip.octets() {
            _ if METADATA_V4.contains(&ip) => Self::Metadata,
            [169, 254, ..] => Self::LinkLocal,
            // To connect to 0.0.0.0 is to connect to this machine.
            [0 | 127, ..] => Self::Loopback,
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Self::Private,
            _ => Self::Public,
        }
    }

    fn of_v6(ip: Ipv6Addr) -> Self {
        match ip.segments() {
            _ if METADATA_V6.contains(&ip) => Self::Metadata,
            [0xfd00, 0xec2, ..] => Self::Metadata,
            [0xfe80..=0xfebf, ..] => Self::LinkLocal,
            [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Self::Loopback,
            // Unique local addresses, and what they have replaced (RFC 3879).
            [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => Self::Private,
            _ => Self::Public,
        }
    }

    /// Returns the worst kind of the IPv4 addresses that a network's own NAT64 may read in
    /// this address: its prefix may have any of these lengths (RFC 6052, section 2.2).
    fn of_local_nat64(ip: Ipv6Addr) -> Self {
        let bits = ip.to_bits();
        // Without the bits 64 to 71, which are no part of an IPv4 address.
        let rest = ((bits >> 64) << 56) | (bits & ((1 << 56) - 1));
        let forms = [bits, rest >> 40, rest >> 32, rest >> 24];
        // What a form leaves empty is an address of 0.0.0.0/8 in another one.
        let addresses = forms.map(|bits| Ipv4Addr::from_bits(bits as u32)).into_iter();
        let kinds = addresses.filter(|ip| ip.octets()[0] != 0).map(Self::of_v4);
        kinds.max().unwrap_or(Self::Loopback)
    }
}

/// Returns true if an address is of the prefix for a network's own NAT64 (RFC 8215).
fn is_local_nat64(ip: Ipv6Addr) -> bool {
    matches!(ip.segments(), [0x64, 0xff9b, 1, ..])
}

/// Returns the IPv4 address that an IPv6 address leads to.
fn embedded_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let bits = ip.to_bits();
    let bits = match ip.segments() {
        // Compatible, mapped and translated (RFC 4291, section 2.5.5; RFC 2765), and
        // translated by NAT64 (RFC 6052, section 2.1).
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => bits,
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => bits,
        // 6to4 (RFC 3056), and Teredo (RFC 4380, section 4).
        [0x2002, ..] => bits >> 80,
        [0x2001, 0, ..] => !bits,
        _ => return None,
    };
    Some(Ipv4Addr::from_bits(bits as u32))
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "a public address",
            Self::Metadata => "the address of a cloud's metadata service",
            Self::LinkLocal => "a link-local address",
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_address_has_its_kind() {
        const KINDS: [(AddressKind, &[&str]); 5] = [
            (
                AddressKind::Public,
                &[
                    "1.1.1.1",
                    "9.255.255.255",
                    "11.0.0.0",
                    "100.63.255.255",
                    "100.128.0.0",
                    "126.255.255.255",
                    "128.0.0.0",
                    "169.253.255.255",
                    "169.255.0.0",
                    "172.15.255.255",
                    "172.32.0.0",
                    "192.167.255.255",
                    "192.169.0.0",
                    "2606:4700:4700::1111",
                    "::ffff:1.1.1.1",
                    "64:ff9b::1.1.1.1",
                    "64:ff9b:1::1.1.1.1",
                    "64:ff9b:1:101:1:100::",
                    "64:ff9b:1:1:1:101::",
                    "64:ff9b:1:0:1:101:100:0",
                    "2002:101:101::1",
                    "fbff::1",
                    "fe00::1",
                    "fe7f::1",
                    "ff02::1",
                ],
            ),
            (
                AddressKind::Metadata,
                &[
                    "169.254.169.254",
                    "169.254.170.2",
                    "169.254.170.23",
                    "100.100.100.200",
                    "192.0.0.192",
                    "168.63.129.16",
                    "fd00:c1::a9fe:a9fe",
                    "fd00:a9fe:a9fe::1",
                    "fd00:42::42",
                    "fd00:100::100:200",
                    "fd00:ec2::254",
                    "fd00:ec2::23",
                    "fd20:ce::254",
                    "::ffff:169.254.169.254",
                    "::169.254.169.254",
                    "::ffff:0:169.254.169.254",
                    "64:ff9b::169.254.169.254",
                    "64:ff9b:1::169.254.169.254",
                    "64:ff9b:1:a9fe:a9:fe00::",
                    "64:ff9b:1:a9:fe:a9fe::",
                    "64:ff9b:1:0:a9:fea9:fe00:0",
                    "64:ff9b:1:1234:5678:9abc:169.254.169.254",
                    "2002:a9fe:a9fe::1",
                    "2001:0:4136:e378:8000:63bf:5601:5601",
                ],
            ),
            (
                AddressKind::LinkLocal,
                &["169.254.0.0", "169.254.255.255", "fe80::1", "febf::1", "64:ff9b::169.254.0.1"],
            ),
            (
                AddressKind::Loopback,
                &[
                    "127.0.0.1",
                    "127.255.255.255",
                    "0.0.0.0",
                    "::1",
                    "::",
                    "::ffff:127.0.0.1",
                    "64:ff9b:1::",
                    "64:ff9b:1:7f00:0:100::",
                ],
            ),
            (
                AddressKind::Private,
                &[
                    "10.0.0.0",
                    "10.255.255.255",
                    "172.16.0.0",
                    "172.31.255.255",
                    "192.168.0.0",
                    "100.64.0.0",
                    "100.127.255.255",
                    "fc00::1",
                    "fdff::1",
                    "fec0::1",
                    "::ffff:10.0.0.1",
                    "64:ff9b::192.168.0.1",
                    "2002:c0a8:1::1",
                ],
            ),
        ];
        for (kind, addresses) in KINDS {
            for address in addresses {
                assert_eq!(AddressKind::of(address.parse().unwrap()), kind, "{address}");
            }
        }
    }
}
