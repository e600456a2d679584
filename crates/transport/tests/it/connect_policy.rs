//! The policy of a crawl's connections: addresses that a public site must not lead to.

use std::io::ErrorKind;
use std::net::SocketAddr;

use transport::{ConnectPolicy, Lookup, Resolver};

fn policy(roots: &[&str], deny_private: bool) -> ConnectPolicy {
    ConnectPolicy::new(&[], false, roots.iter().copied(), deny_private)
}

/// Returns those of a host's addresses that may be asked, or the reason why none may.
fn route(policy: &ConnectPolicy, host: &str, addresses: &[&str]) -> Result<String, String> {
    let parse = |text: &&str| SocketAddr::new(text.parse().unwrap(), 80);
    let addresses = addresses.iter().map(parse).collect();
    match policy.route(host, None, Ok(addresses)) {
        Ok((addresses, _layer)) => {
            let texts: Vec<_> = addresses.iter().map(|address| address.ip().to_string()).collect();
            Ok(texts.join(" "))
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::AddrNotAvailable, "{error}");
            Err(error.to_string())
        }
    }
}

/// Roots, the option, an address, and a part of the message if it is denied. More
/// addresses of each kind are in the unit tests.
const CASES: [(&[&str], bool, &str, Option<&str>); 22] = [
    (&["93.184.215.14"], false, "169.254.169.254", Some("cloud's metadata service")),
    (&["93.184.215.14"], false, "fd00:ec2::254", Some("cloud's metadata service")),
    (&["93.184.215.14"], false, "100.100.100.200", Some("cloud's metadata service")),
    (&["93.184.215.14"], false, "169.254.1.1", Some("link-local")),
    (&["93.184.215.14"], false, "fe80::1", Some("link-local")),
    (&["93.184.215.14"], false, "10.0.0.1", None),
    (&["93.184.215.14"], false, "127.0.0.1", None),
    (&["93.184.215.14"], false, "1.1.1.1", None),
    (&["93.184.215.14"], true, "10.0.0.1", Some("10.0.0.1 is a private address")),
    (&["93.184.215.14"], true, "::ffff:10.0.0.1", Some("private")),
    (&["93.184.215.14"], true, "64:ff9b::a00:1", Some("private")),
    (&["93.184.215.14"], true, "fd12::1", Some("private")),
    (&["93.184.215.14"], true, "127.0.0.1", Some("loopback")),
    (&["93.184.215.14"], true, "::1", Some("loopback")),
    (&["93.184.215.14"], true, "0.0.0.0", Some("loopback")),
    (&["93.184.215.14"], true, "1.1.1.1", None),
    // The kind of a root is permitted, and no other.
    (&["10.0.0.1"], true, "192.168.0.1", None),
    (&["10.0.0.1"], true, "127.0.0.1", Some("loopback")),
    (&["10.0.0.1"], false, "169.254.169.254", Some("metadata")),
    (&["1.1.1.1", "[::1]"], true, "127.0.0.1", None),
    (&["169.254.169.254"], false, "169.254.169.254", None),
    (&["169.254.169.254"], false, "169.254.1.1", Some("link-local")),
];

#[test]
fn an_address_is_denied_by_its_kind_and_those_of_the_roots() {
    for (roots, deny_private, address, denied) in CASES {
        let result = route(&policy(roots, deny_private), "a.test", &[address]);
        match denied {
            None => assert_eq!(result.as_deref(), Ok(address), "{roots:?}"),
            Some(phrase) => {
                let message = result.unwrap_err();
                assert!(message.contains(phrase), "{roots:?}: {message}");
            }
        }
    }
}

/// The first answer for the name of a root says of which kind it is. A later one
/// cannot lead elsewhere (DNS rebinding).
#[test]
fn a_root_is_of_the_kind_of_its_first_answer() {
    let intranet = policy(&["intranet.test"], true);
    assert!(route(&intranet, "a.test", &["10.0.0.1"]).is_err(), "nothing is known yet");
    assert!(route(&intranet, "intranet.test", &["10.0.0.1"]).is_ok());
    assert!(route(&intranet, "a.test", &["10.0.0.2"]).is_ok());
    assert!(route(&intranet, "intranet.test", &["127.0.0.1"]).is_err());

    let public = policy(&["public.test"], true);
    assert!(route(&public, "public.test", &["1.1.1.1"]).is_ok());
    assert!(route(&public, "public.test", &["10.0.0.1"]).is_err());

    // A root with a public address is public, whatever else it has.
    let mixed = policy(&["mixed.test"], true);
    let addresses = ["127.0.0.1", "1.1.1.1", "169.254.169.254", "2606:4700::1"];
    assert_eq!(route(&mixed, "mixed.test", &addresses).unwrap(), "1.1.1.1 2606:4700::1");
    assert!(route(&mixed, "mixed.test", &["127.0.0.1"]).is_err());
}

/// Every way to write an address in a URL ends as the same address.
#[test]
fn a_literal_is_no_way_around() {
    let public = policy(&["public.test"], true);
    let mut resolver = Resolver::new(std::sync::Arc::new(|_: &str, _| Ok(Vec::new())), || ());
    for host in ["10.0.0.1", "[::ffff:a00:1]", "[64:ff9b::a9fe:a9fe]", "[::1]", "[fe80::1]"] {
        let Lookup::Cached(addresses) = resolver.lookup(host, 80, std::time::Instant::now()) else {
            panic!("{host} is looked up");
        };
        let error = public.route(host, None, Ok(addresses)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable, "{host}: {error}");
    }
}
