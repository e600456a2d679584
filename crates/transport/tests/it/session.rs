//! TLS sessions over a socket that never blocks.
#![cfg(feature = "tls")]

use std::io::{ErrorKind, Read, Write};
use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use rustls::ServerConfig;
use rustls::version::{TLS12, TLS13};
use test_support::cases;
use transport::{Direction, Stream, TlsConnector, is_tls_error};

use crate::common::{Authority, End, Pair, Server};

static ROOT: LazyLock<Authority> = LazyLock::new(|| Authority::new("Root"));
static TLS_CONNECTOR: LazyLock<TlsConnector> =
    LazyLock::new(|| TlsConnector::new(&[ROOT.der()], false));
static TLS13_SERVER: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| config(|_| {}));
static TLS12_SERVER: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| {
    let identity = ROOT.issue(&["a.test"]);
    Arc::new(identity.server_of(&[&TLS12]))
});

fn config(change: impl FnOnce(&mut ServerConfig)) -> Arc<ServerConfig> {
    let mut config = ROOT.issue(&["a.test"]).server_of(&[&TLS13]);
    change(&mut config);
    Arc::new(config)
}

fn pair(config: &Arc<ServerConfig>) -> Pair {
    Pair::new(&TLS_CONNECTOR, "a.test", config)
}

/// Returns a pair after the handshake.
fn connected_pair(config: &Arc<ServerConfig>) -> Pair {
    let mut pair = pair(config);
    pair.write_all(b"hello").unwrap();
    assert_eq!(pair.server.received, b"hello");
    pair
}

/// A client that behaves like the stages: it runs only after an event of its
/// socket, and then until `WouldBlock`.
struct Client {
    stream: Stream<End>,
    request: Vec<u8>,
    written: usize,
    buffer: Vec<u8>,
    response: Vec<u8>,
    is_closed: bool,
    is_readable: bool,
    is_writable: bool,
    waits_for: Direction,
}

impl Client {
    fn run(&mut self) {
        while !self.is_closed && self.is_ready(self.waits_for) {
            let is_writing = self.written < self.request.len();
            let result = if is_writing {
                self.stream.write(&self.request[self.written..])
            } else {
                self.stream.read(&mut self.buffer)
            };
            match result {
                Ok(length) if is_writing => {
                    self.written += length;
                    let is_done = self.written == self.request.len();
                    self.waits_for = if is_done { Direction::Read } else { Direction::Write };
                }
                Ok(0) => self.is_closed = true,
                Ok(length) => {
                    self.response.extend(&self.buffer[..length]);
                    self.is_readable &= self.stream.blocked_on().is_none();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.waits_for = self.stream.blocked_on().unwrap();
                    match self.waits_for {
                        Direction::Read => self.is_readable = false,
                        Direction::Write => self.is_writable = false,
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn is_ready(&self, direction: Direction) -> bool {
        match direction {
            Direction::Read => self.is_readable,
            Direction::Write => self.is_writable,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(200)))]

    /// The client needs no events but those of its socket to reach the end,
    /// however the bytes are cut and however small the socket's buffer is.
    #[test]
    fn an_exchange_may_be_cut_anywhere(
        is_new: bool,
        request in 1_usize..40_000,
        response in 0_usize..60_000,
        buffer in prop_oneof![1_usize..100, 100_usize..70_000],
        capacity in prop_oneof![1_usize..100, 100_usize..20_000],
        cuts in prop::collection::vec(1_usize..5_000, 1..20),
    ) {
        let bytes = |length, step| (0..length).map(|n| (n / step) as u8).collect::<Vec<u8>>();
        let (request, response) = (bytes(request, 7), bytes(response, 11));
        let end = End::new(capacity);
        let mut server = Server::new(if is_new { &TLS13_SERVER } else { &TLS12_SERVER });
        let mut client = Client {
            stream: Stream::new(end.clone(), TLS_CONNECTOR.layer(Some("a.test")).unwrap()),
            request: request.clone(),
            written: 0,
            buffer: vec![0; buffer],
            response: Vec::new(),
            is_closed: false,
            is_readable: false,
            is_writable: true,
            waits_for: Direction::Write,
        };
        let mut has_answered = false;
        let mut cuts = cuts.into_iter().cycle();
        while !client.is_closed {
            client.run();
            let mut wire = end.0.borrow_mut();
            let before = (wire.inbound.len(), wire.outbound.len(), server.outgoing.len());
            let was_full = wire.outbound.len() >= capacity;
            server.read_from(&mut wire, cuts.next().unwrap()).unwrap();
            client.is_writable |= was_full;
            if server.received.len() == request.len() && !has_answered {
                has_answered = true;
                server.write(&response);
                server.tls.send_close_notify();
            }
            server.write_to(&mut wire, cuts.next().unwrap());
            wire.is_closed = has_answered && server.outgoing.is_empty();
            client.is_readable |= !wire.inbound.is_empty() || wire.is_closed;
            let after = (wire.inbound.len(), wire.outbound.len(), server.outgoing.len());
            prop_assert!(
                before != after || client.is_closed || client.is_ready(client.waits_for),
                "nobody will ever go on: {:?} of {:?}, {:?} of {:?}",
                server.received.len(), request.len(), client.response.len(), response.len(),
            );
        }
        prop_assert!(server.received == request);
        prop_assert!(client.response == response);
    }

    #[test]
    fn garbage_instead_of_a_handshake_is_an_error(garbage: Vec<u8>, at_once: bool) {
        let mut pair = pair(&TLS13_SERVER);
        prop_assert_eq!(pair.client.write(b"hello").unwrap_err().kind(), ErrorKind::WouldBlock);
        let mut wire = pair.end.0.borrow_mut();
        wire.inbound.extend(&garbage);
        wire.is_closed = at_once;
        drop(wire);
        let error = pair.client.write(b"hello").unwrap_err();
        let is_short = garbage.len() < 5;
        prop_assert!(is_tls_error(&error) || error.kind() == if at_once {
            ErrorKind::UnexpectedEof
        } else {
            ErrorKind::WouldBlock
        }, "{error}: {is_short}");
        prop_assert!(!error.to_string().contains(char::is_control), "{error:?}");
    }

    /// One byte is changed somewhere on its way to the client.
    #[test]
    fn a_changed_byte_is_an_error(at in 0_usize..2_000, change in 1_u8..) {
        let mut pair = pair(&TLS13_SERVER);
        let mut passed = 0;
        let error = loop {
            match pair.client.write(b"hello") {
                Ok(_) => break None,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => break Some(error),
            }
            pair.deliver();
            let mut wire = pair.end.0.borrow_mut();
            let arrived = wire.inbound.len();
            prop_assert!(arrived > 0 || passed > at, "it would wait forever");
            if (passed..passed + arrived).contains(&at) {
                wire.inbound[at - passed] ^= change;
            }
            passed += arrived;
            // No more will come, whatever the client waits for.
            wire.is_closed = passed > at;
        };
        match error {
            None => prop_assert!(passed <= at || pair.read_all().1.is_some()),
            Some(error) => prop_assert!(
                is_tls_error(&error) || error.kind() == ErrorKind::UnexpectedEof, "{error}"
            ),
        }
    }
}

#[test]
fn an_answer_in_plain_http_is_a_tls_error() {
    let mut pair = pair(&TLS13_SERVER);
    assert!(pair.client.write(b"hello").is_err());
    let answer = b"HTTP/1.1 400 Bad Request\r\n\r\n";
    pair.end.0.borrow_mut().inbound.extend(answer);
    let error = pair.client.write(b"hello").unwrap_err();
    assert!(is_tls_error(&error));
    assert!(error.to_string().contains("plain http"), "{error}");
}

#[test]
fn a_write_may_have_to_wait_for_reading() {
    let mut pair = pair(&TLS13_SERVER);
    let blocked = |pair: &mut Pair| {
        let error = pair.client.write(b"hello").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        pair.client.blocked_on().unwrap()
    };
    pair.end.0.borrow_mut().capacity = 100;
    assert_eq!(blocked(&mut pair), Direction::Write);
    pair.deliver();
    pair.end.0.borrow_mut().capacity = 10_000;
    assert_eq!(blocked(&mut pair), Direction::Read);
    // A repeated call makes one attempt and no more.
    let calls = pair.end.0.borrow().calls;
    assert_eq!(blocked(&mut pair), Direction::Read);
    assert_eq!(pair.end.0.borrow().calls, calls + 1);
}

#[test]
fn bytes_that_are_encrypted_but_not_sent_do_not_count_as_written() {
    let mut pair = connected_pair(&TLS13_SERVER);
    pair.end.0.borrow_mut().capacity = 10;
    let error = pair.client.write(b"more").unwrap_err();
    assert_eq!(
        (error.kind(), pair.client.blocked_on()),
        (ErrorKind::WouldBlock, Some(Direction::Write))
    );
    pair.deliver();
    pair.end.0.borrow_mut().capacity = 1000;
    assert_eq!(pair.client.write(b"more").unwrap(), 4);
    pair.deliver();
    assert_eq!(pair.server.received, b"hellomore");
}

#[test]
fn the_rest_of_a_record_can_be_read_without_the_socket() {
    let mut pair = connected_pair(&TLS13_SERVER);
    assert_eq!(pair.read_all(), (Vec::new(), Some(ErrorKind::WouldBlock)));
    pair.server.write(&[b'x'; 1000]);
    pair.deliver();
    let mut buffer = [0; 999];
    assert_eq!(pair.client.read(&mut buffer).unwrap(), 999);
    assert!(pair.client.blocked_on().is_none(), "a byte is left");
    assert_eq!(pair.client.read(&mut buffer).unwrap(), 1);
    assert!(pair.client.blocked_on().is_none(), "nobody has looked at the socket since");
    pair.server.write(b"y");
    pair.deliver();
    assert_eq!(pair.client.read(&mut buffer).unwrap(), 1);
    assert!(pair.client.blocked_on().is_some());
}

#[test]
fn only_a_close_notify_ends_the_stream_without_an_error() {
    let mut announced = connected_pair(&TLS13_SERVER);
    announced.server.write(b"all of it");
    announced.server.tls.send_close_notify();
    announced.deliver();
    // The connection itself has not ended yet.
    assert_eq!(announced.read_all(), (b"all of it".to_vec(), None));
    assert_eq!(announced.read_all(), (Vec::new(), None));

    let mut cut = connected_pair(&TLS13_SERVER);
    cut.server.write(b"some of it");
    cut.deliver();
    cut.end.0.borrow_mut().is_closed = true;
    assert_eq!(cut.read_all(), (b"some of it".to_vec(), Some(ErrorKind::UnexpectedEof)));
}

#[test]
fn bytes_before_a_failure_are_read_first() {
    let mut pair = connected_pair(&TLS13_SERVER);
    assert_eq!(pair.read_all().1, Some(ErrorKind::WouldBlock));
    pair.server.write(b"good");
    pair.server.write_to(&mut pair.end.0.borrow_mut(), usize::MAX);
    pair.end.0.borrow_mut().inbound.extend(b"bad, and no TLS");
    let mut buffer = [0; 100];
    assert_eq!(pair.client.read(&mut buffer).unwrap(), 4);
    assert!(pair.client.blocked_on().is_none(), "there is bad news");
    // The error is repeated without another call of the socket.
    let calls = pair.end.0.borrow().calls;
    for _ in 0..2 {
        let error = pair.client.read(&mut buffer).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionAborted);
        // After the handshake it is damage, not a TLS error.
        assert!(!is_tls_error(&error) && error.to_string().contains("damaged"), "{error}");
    }
    // So it is by a write.
    let error = pair.client.write(b"a request").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionAborted);
    assert!(!is_tls_error(&error) && error.to_string().contains("damaged"), "{error}");
    assert_eq!(pair.end.0.borrow().calls, calls);
}

/// The server cannot read the record, and answers with an alert.
#[test]
fn a_record_that_was_damaged_on_its_way_to_the_server_is_no_tls_error() {
    for config in [&*TLS13_SERVER, &*TLS12_SERVER] {
        let mut pair = connected_pair(config);
        assert_eq!(pair.client.write(b"a request").unwrap(), 9);
        *pair.end.0.borrow_mut().outbound.back_mut().unwrap() ^= 1;
        pair.deliver();
        let error = pair.client.read(&mut [0; 100]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionAborted);
        assert!(!is_tls_error(&error) && error.to_string().contains("damaged"), "{error}");
        assert_eq!(pair.server.received, b"hello");
    }
}

#[test]
fn an_end_within_the_handshake_is_no_tls_error() {
    for passes in 0..2 {
        // A connector of its own: a session that is resumed takes one pass less.
        let tls_connector = TlsConnector::new(&[ROOT.der()], false);
        let mut pair = Pair::new(&tls_connector, "a.test", &TLS12_SERVER);
        for _ in 0..passes {
            assert!(pair.client.write(b"hello").is_err());
            pair.deliver();
        }
        assert!(pair.client.write(b"hello").is_err());
        pair.end.0.borrow_mut().is_closed = true;
        let error = pair.client.write(b"hello").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert!(!is_tls_error(&error));
        assert!(error.to_string().contains("handshake"), "{error}");
    }
}

#[test]
fn dropping_a_stream_sends_a_close_notify() {
    let mut pair = connected_pair(&TLS13_SERVER);
    drop(pair.client);
    let mut wire = pair.end.0.borrow_mut();
    pair.server.read_from(&mut wire, usize::MAX).unwrap();
    assert_eq!(pair.server.tls.reader().read(&mut [0]).unwrap(), 0, "a close_notify");
}

#[test]
fn session_tickets_are_neither_bytes_nor_an_end() {
    let mut pair = pair(&TLS13_SERVER);
    let tickets = loop {
        assert_eq!(pair.client.write(b"hello").unwrap_err().kind(), ErrorKind::WouldBlock);
        pair.deliver();
        if pair.client.write(b"hello").is_ok() {
            let mut wire = pair.end.0.borrow_mut();
            pair.server.read_from(&mut wire, usize::MAX).unwrap();
            // The tickets are delivered without the answer.
            drop(wire);
            break std::mem::take(&mut pair.server.outgoing);
        }
    };
    assert!(!tickets.is_empty());
    pair.end.0.borrow_mut().inbound.extend(tickets);
    assert_eq!(pair.read_all(), (Vec::new(), Some(ErrorKind::WouldBlock)));
    assert_eq!(pair.client.blocked_on(), Some(Direction::Read));
    pair.server.write(b"answer");
    pair.deliver();
    assert_eq!(pair.read_all().0, b"answer");
}

#[test]
fn a_read_of_many_records_without_data_is_interrupted() {
    let config = config(|config| config.send_tls13_tickets = 1000);
    let mut pair = connected_pair(&config);
    let tickets = pair.end.0.borrow().inbound.len();
    assert!(tickets > 70_000, "{tickets}");
    let calls = pair.end.0.borrow().calls;
    assert_eq!(pair.client.read(&mut [0; 100]).unwrap_err().kind(), ErrorKind::Interrupted);
    let calls = pair.end.0.borrow().calls - calls;
    assert!(calls <= 16, "{calls}");
    // After some interrupts the data is used up.
    let interrupts = (0..1000).take_while(|_| {
        let error = pair.client.read(&mut [0; 100]).unwrap_err();
        error.kind() == ErrorKind::Interrupted
    });
    assert!(interrupts.count() < 100);
}

#[test]
fn the_server_may_change_its_keys() {
    let mut pair = connected_pair(&TLS13_SERVER);
    assert_eq!(pair.read_all().1, Some(ErrorKind::WouldBlock));
    pair.server.tls.refresh_traffic_keys().unwrap();
    pair.server.write(b"with new keys");
    pair.deliver();
    assert_eq!(pair.read_all().0, b"with new keys");
    assert_eq!(pair.client.write(b"so do I").unwrap(), 7);
    pair.deliver();
    assert_eq!(pair.server.received, b"helloso do I");
}

#[test]
fn sessions_are_resumed() {
    use rustls::HandshakeKind::{Full, Resumed};
    for config in [&*TLS13_SERVER, &*TLS12_SERVER] {
        let tls_connector = TlsConnector::new(&[ROOT.der()], false);
        let meet = || {
            let mut pair = Pair::new(&tls_connector, "a.test", config);
            pair.write_all(b"hello").unwrap();
            // Reads the tickets.
            assert_eq!(pair.read_all().1, Some(ErrorKind::WouldBlock));
            pair.server.tls.handshake_kind()
        };
        assert_eq!([meet(), meet(), meet()], [Some(Full), Some(Resumed), Some(Resumed)]);
    }
}

#[test]
fn the_client_sends_the_server_name_and_the_protocol() {
    let protocols = |names: &[&str]| names.iter().map(|name| name.as_bytes().to_vec()).collect();
    let config = config(|config| config.alpn_protocols = protocols(&["h2", "http/1.1"]));
    let pair = connected_pair(&config);
    assert_eq!(pair.server.tls.server_name(), Some("a.test"));
    assert_eq!(pair.server.tls.alpn_protocol(), Some(&b"http/1.1"[..]));
    // A server without ALPN is accepted.
    assert_eq!(connected_pair(&TLS13_SERVER).server.tls.alpn_protocol(), None);

    let config = self::config(|config| config.alpn_protocols = protocols(&["h2"]));
    let error = self::pair(&config).write_all(b"hello").unwrap_err();
    assert!(is_tls_error(&error));
    assert!(error.to_string().contains("does not speak HTTP/1.1"), "{error}");
}

#[test]
fn a_refusal_by_the_server_is_explained() {
    // The alerts of RFC 8446, section 6: handshake_failure, protocol_version,
    // certificate_required.
    for (alert, word) in
        [(40_u8, "none of our ciphers"), (70, "no version"), (116, "client certificate")]
    {
        let mut pair = pair(&TLS13_SERVER);
        assert!(pair.client.write(b"hello").is_err());
        pair.end.0.borrow_mut().inbound.extend([21, 3, 3, 0, 2, 2, alert]);
        let error = pair.client.write(b"hello").unwrap_err();
        assert!(is_tls_error(&error));
        assert!(error.to_string().contains(word), "{error}");
        assert!(error.to_string().contains("refuses"), "{error}");
    }
}

/// The server answers with the ServerHello of TLS 1.0.
#[test]
fn a_server_that_is_too_old_is_a_tls_error() {
    let mut pair = pair(&TLS13_SERVER);
    assert!(pair.client.write(b"hello").is_err());
    let mut hello = vec![22, 3, 1, 0, 42, 2, 0, 0, 38, 3, 1];
    hello.extend([7; 32]);
    hello.extend([0, 0, 0x2f, 0]);
    hello[4] = (hello.len() - 5) as u8;
    hello[8] = (hello.len() - 9) as u8;
    pair.end.0.borrow_mut().inbound.extend(hello);
    let error = pair.client.write(b"hello").unwrap_err();
    assert!(is_tls_error(&error));
    assert!(error.to_string().contains("version of TLS"), "{error}");
}
