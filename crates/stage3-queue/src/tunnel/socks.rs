//! The client's side of SOCKS 5 (RFC 1928), with name and password (RFC 1929). It takes
//! bytes and gives bytes, and never waits.

use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;

use crawl_core::{FetchError, FetchResult, Proxy};

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NAME_AND_PASSWORD: u8 = 2;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// A handshake with a proxy.
pub(super) struct Socks<'a> {
    proxy: &'a Proxy,
    host: &'a str,
    port: u16,
    /// The address of the host, unless the proxy looks it up.
    address: Option<&'a SocketAddr>,
    awaited: Awaited,
    received: Vec<u8>,
}

/// The message of the proxy that comes next.
#[derive(Clone, Copy)]
enum Awaited {
    Method,
    Login,
    Reply,
}

/// The next bytes to send, none if the tunnel is open; or why it cannot be.
type Step = Result<Vec<u8>, FetchError>;

impl<'a> Socks<'a> {
    /// Creates the handshake for a tunnel to a host, by its name if there is no address.
    pub(super) fn new(
        proxy: &'a Proxy,
        host: &'a str,
        port: u16,
        address: Option<&'a SocketAddr>,
    ) -> Self {
        Self { proxy, host, port, address, awaited: Awaited::Method, received: Vec::new() }
    }

    /// Returns the first bytes to send.
    pub(super) fn greeting(&self) -> Vec<u8> {
        match self.proxy.credentials() {
            Some(_) => vec![VERSION, 2, NO_AUTHENTICATION, NAME_AND_PASSWORD],
            None => vec![VERSION, 1, NO_AUTHENTICATION],
        }
    }

    /// Takes bytes of the proxy. Breaks when its message is complete, or wrong.
    pub(super) fn take(&mut self, bytes: &[u8]) -> ControlFlow<Step> {
        self.received.extend(bytes);
        let (version, length) = match self.awaited {
            Awaited::Method => (VERSION, 2),
            // The version of the login is a number of its own.
            Awaited::Login => (1, 2),
            Awaited::Reply => (VERSION, reply_len(&self.received)),
        };
        if self.received.first().is_some_and(|first| *first != version) {
            return ControlFlow::Break(Err(FetchError::proxy("the proxy does not speak SOCKS 5")));
        }
        if self.received.len() < length {
            return ControlFlow::Continue(());
        }
        if self.received.len() > length {
            return ControlFlow::Break(Err(FetchError::proxy(
                "the proxy sends more than its answer",
            )));
        }
        let code = self.received[1];
        self.received.clear();
        ControlFlow::Break(self.answered(code))
    }

    /// Goes on after a message with this code.
    fn answered(&mut self, code: u8) -> Step {
        match (self.awaited, code, self.proxy.credentials()) {
            (Awaited::Method, NO_AUTHENTICATION, _) | (Awaited::Login, 0, _) => {
                self.awaited = Awaited::Reply;
                self.request()
            }
            (Awaited::Method, NAME_AND_PASSWORD, Some((name, password))) => {
                self.awaited = Awaited::Login;
                let mut login = vec![1];
                for text in [name, password] {
                    push_counted(&mut login, text)?;
                }
                Ok(login)
            }
            (Awaited::Method | Awaited::Login, ..) => {
                Err(FetchError::proxy("the proxy requires a valid name and password"))
            }
            (Awaited::Reply, 0, _) => Ok(Vec::new()),
            (Awaited::Reply, code, _) => {
                Err(FetchError::proxy(format!("the proxy refuses: {}", reason(code))))
            }
        }
    }

    /// Returns the request for a tunnel.
    fn request(&self) -> Step {
        const CONNECT: u8 = 1;
        let mut request = vec![VERSION, CONNECT, 0];
        match self.address.map(SocketAddr::ip) {
            Some(IpAddr::V4(ip)) => {
                request.push(IPV4);
                request.extend(ip.octets());
            }
            Some(IpAddr::V6(ip)) => {
                request.push(IPV6);
                request.extend(ip.octets());
            }
            None => {
                request.push(NAME);
                push_counted(&mut request, self.host.as_bytes())?;
            }
        }
        request.extend(self.port.to_be_bytes());
        Ok(request)
    }
}

/// Appends a text with its length before it.
fn push_counted(message: &mut Vec<u8>, text: &[u8]) -> FetchResult {
    let length = u8::try_from(text.len());
    message.push(length.map_err(|_| FetchError::proxy("the name is too long for SOCKS 5"))?);
    message.extend(text);
    Ok(())
}

/// Returns the length of a reply that begins so: it has the address that the proxy uses,
/// and its port.
fn reply_len(reply: &[u8]) -> usize {
    let address = match reply.get(3) {
        Some(&IPV4) => 4,
        Some(&IPV6) => 16,
        Some(&NAME) => reply.get(4).map_or(1, |length| 1 + usize::from(*length)),
        // As long as is needed to know.
        _ => 1,
    };
    4 + address + 2
}

/// Returns the meaning of the code of a reply (RFC 1928, section 6).
fn reason(code: u8) -> String {
    match code {
        1 => "general failure".into(),
        2 => "its rules do not allow this connection".into(),
        3 => "the network is unreachable".into(),
        4 => "the host is unreachable, or has no address".into(),
        5 => "the host refuses the connection".into(),
        6 => "the host does not answer in time".into(),
        7 => "it makes no such connections".into(),
        8 => "it does not know this kind of address".into(),
        _ => format!("code {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the messages of a proxy in pieces of every size, and returns what was sent
    /// before the last step, and that step.
    fn converse(proxy: &str, messages: &[&[u8]]) -> (Vec<Vec<u8>>, Step) {
        let proxy = Proxy::parse(proxy).unwrap();
        let mut all = Vec::new();
        for size in 1..30 {
            let mut socks = Socks::new(&proxy, "a.test", 443, None);
            let (mut sent, mut last) = (vec![socks.greeting()], Ok(Vec::new()));
            for message in messages {
                let mut pieces = message.chunks(size);
                last = pieces
                    .find_map(|piece| socks.take(piece).break_value())
                    .expect("the message is complete");
                sent.extend(last.iter().filter(|next| !next.is_empty()).cloned());
            }
            all.push((sent, last));
        }
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
        all.remove(0)
    }

    #[test]
    fn a_tunnel_is_opened_by_name() {
        let reply =
            [&b"\x05\x00\x00\x03\x02ab\x00\x50"[..], b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50"];
        for reply in reply {
            let (sent, last) = converse("socks5h://p.test", &[b"\x05\x00", reply]);
            assert_eq!(sent, [&b"\x05\x01\x00"[..], b"\x05\x01\x00\x03\x06a.test\x01\xbb"]);
            assert_eq!(last, Ok(Vec::new()));
        }
    }

    #[test]
    fn a_proxy_gets_name_and_password_if_it_wants_them() {
        let opened = b"\x05\x00\x00\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x50";
        let (sent, last) =
            converse("socks5h://me:word@p.test", &[b"\x05\x02", b"\x01\x00", opened]);
        assert_eq!(sent[0], b"\x05\x02\x00\x02");
        assert_eq!(sent[1], b"\x01\x02me\x04word");
        assert_eq!(last, Ok(Vec::new()));
    }

    #[test]
    fn refusals_and_nonsense_are_errors() {
        for (proxy, messages, expected) in [
            ("socks5://p.test", &[&b"\x05\xff"[..]][..], "requires a valid name"),
            ("socks5://p.test", &[b"\x05\x02"], "requires a valid name"),
            ("socks5://me:x@p.test", &[b"\x05\x02", b"\x01\x01"], "requires a valid name"),
            ("socks5://p.test", &[b"H"], "does not speak SOCKS 5"),
            (
                "socks5://p.test",
                &[b"\x05\x00", b"\x05\x05\x00\x01\0\0\0\0\0\0"],
                "refuses the conn",
            ),
            ("socks5://p.test", &[b"\x05\x00", b"\x05\x63\x00\x01\0\0\0\0\0\0"], "code 99"),
        ] {
            let error = converse(proxy, messages).1.unwrap_err();
            assert!(error.message.contains(expected), "{error}");
        }
        let proxy = Proxy::parse("socks5://p.test").unwrap();
        let more = Socks::new(&proxy, "a.test", 1, None).take(b"\x05\x00\x00");
        assert!(matches!(more, ControlFlow::Break(Err(_))));
        let host = "x".repeat(256);
        let mut long = Socks::new(&proxy, &host, 1, None);
        assert!(long.take(b"\x05\x00").break_value().unwrap().is_err());
    }
}
