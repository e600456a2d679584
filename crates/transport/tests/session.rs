//! TLS over a socket that never blocks, cut anywhere.
#![cfg(feature = "tls")]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::io::{ErrorKind, Read, Write};
use std::sync::{Arc, LazyLock};

use common::{Authority, End, Pair, Server};
use proptest::prelude::*;
use rustls::ServerConfig;
use rustls::version::{TLS12, TLS13};
use transport::{Direction, Security, Stream, is_tls_error};

static ROOT: LazyLock<Authority> = LazyLock::new(|| Authority::new("Root"));
static SECURITY: LazyLock<Security> = LazyLock::new(|| Security::new(&[ROOT.der()], false));
static NEW: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| config(|_| {}));
static OLD: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| {
    let identity = ROOT.issue(&["a.test"]);
    Arc::new(identity.server_of(&[&TLS12]))
});

fn config(change: impl FnOnce(&mut ServerConfig)) -> Arc<ServerConfig> {
    let mut config = ROOT.issue(&["a.test"]).server_of(&[&TLS13]);
    change(&mut config);
    Arc::new(config)
}

fn pair(config: &Arc<ServerConfig>) -> Pair {
    Pair::new(&SECURITY, "a.test", config)
}

/// A pair that has shaken hands.
fn acquainted(config: &Arc<ServerConfig>) -> Pair {
    let mut pair = pair(config);
    pair.ask(b"hello").unwrap();
    assert_eq!(pair.server.heard, b"hello");
    pair
}

/// A client as the stages are: after news of its socket, and only then, it
/// goes on until it is told to wait.
struct Client {
    stream: Stream<End>,
    request: Vec<u8>,
    written: usize,
    buffer: Vec<u8>,
    response: Vec<u8>,
    is_over: bool,
    is_readable: bool,
    is_writable: bool,
    waits_for: Direction,
}

impl Client {
    fn turn(&mut self) {
        while !self.is_over && self.is_ready(self.waits_for) {
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
                Ok(0) => self.is_over = true,
                Ok(length) => {
                    self.response.extend(&self.buffer[..length]);
                    self.is_readable &= !self.stream.is_drained();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.waits_for = self.stream.blocked_on();
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
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever arrives together, and however little room there is: the client
    /// needs no news beyond that of its socket to come to the end.
    #[test]
    fn a_conversation_may_be_cut_anywhere(
        is_new: bool,
        request in 1_usize..40_000,
        response in 0_usize..60_000,
        buffer in prop_oneof![1_usize..100, 100_usize..70_000],
        room in prop_oneof![1_usize..100, 100_usize..20_000],
        cuts in prop::collection::vec(1_usize..5_000, 1..20),
    ) {
        let bytes = |length, step| (0..length).map(|n| (n / step) as u8).collect::<Vec<u8>>();
        let (request, response) = (bytes(request, 7), bytes(response, 11));
        let end = End::new(room);
        let mut server = Server::new(if is_new { &NEW } else { &OLD });
        let mut client = Client {
            stream: Stream::new(end.clone(), SECURITY.layer(Some("a.test")).unwrap()),
            request: request.clone(),
            written: 0,
            buffer: vec![0; buffer],
            response: Vec::new(),
            is_over: false,
            is_readable: false,
            is_writable: true,
            waits_for: Direction::Write,
        };
        let mut has_answered = false;
        let mut cuts = cuts.into_iter().cycle();
        while !client.is_over {
            client.turn();
            let mut wire = end.0.borrow_mut();
            let before = (wire.inbound.len(), wire.outbound.len(), server.sent.len());
            let was_full = wire.outbound.len() >= room;
            server.take(&mut wire, cuts.next().unwrap()).unwrap();
            client.is_writable |= was_full;
            if server.heard.len() == request.len() && !has_answered {
                has_answered = true;
                server.say(&response);
                server.tls.send_close_notify();
            }
            server.give(&mut wire, cuts.next().unwrap());
            wire.is_over = has_answered && server.sent.is_empty();
            client.is_readable |= !wire.inbound.is_empty() || wire.is_over;
            let after = (wire.inbound.len(), wire.outbound.len(), server.sent.len());
            prop_assert!(
                before != after || client.is_over || client.is_ready(client.waits_for),
                "nobody will ever go on: {:?} of {:?}, {:?} of {:?}",
                server.heard.len(), request.len(), client.response.len(), response.len(),
            );
        }
        prop_assert!(server.heard == request);
        prop_assert!(client.response == response);
    }

    #[test]
    fn garbage_is_an_error(garbage: Vec<u8>, at_once: bool) {
        let mut pair = pair(&NEW);
        prop_assert_eq!(pair.client.write(b"hello").unwrap_err().kind(), ErrorKind::WouldBlock);
        let mut wire = pair.end.0.borrow_mut();
        wire.inbound.extend(&garbage);
        wire.is_over = at_once;
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
    fn damage_is_an_error(at in 0_usize..2_000, change in 1_u8..) {
        let mut pair = pair(&NEW);
        let mut passed = 0;
        let error = loop {
            match pair.client.write(b"hello") {
                Ok(_) => break None,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => break Some(error),
            }
            pair.pass();
            let mut wire = pair.end.0.borrow_mut();
            let arrived = wire.inbound.len();
            prop_assert!(arrived > 0 || passed > at, "it would wait for ever");
            if (passed..passed + arrived).contains(&at) {
                wire.inbound[at - passed] ^= change;
            }
            passed += arrived;
            // No more will come, whatever the client waits for.
            wire.is_over = passed > at;
        };
        match error {
            None => prop_assert!(passed <= at || pair.hear().1.is_some()),
            Some(error) => prop_assert!(
                is_tls_error(&error) || error.kind() == ErrorKind::UnexpectedEof, "{error}"
            ),
        }
    }
}

#[test]
fn plain_http_on_the_port() {
    let mut pair = pair(&NEW);
    assert!(pair.client.write(b"hello").is_err());
    let answer = b"HTTP/1.1 400 Bad Request\r\n\r\n";
    pair.end.0.borrow_mut().inbound.extend(answer);
    let error = pair.client.write(b"hello").unwrap_err();
    assert!(is_tls_error(&error));
    assert!(error.to_string().contains("plain http"), "{error}");
}

#[test]
fn to_write_takes_reading() {
    let mut pair = pair(&NEW);
    let blocked = |pair: &mut Pair| {
        let error = pair.client.write(b"hello").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        pair.client.blocked_on()
    };
    pair.end.0.borrow_mut().room = 100;
    assert_eq!(blocked(&mut pair), Direction::Write);
    pair.pass();
    pair.end.0.borrow_mut().room = 10_000;
    assert_eq!(blocked(&mut pair), Direction::Read);
    // And from here on nothing happens by itself.
    let calls = pair.end.0.borrow().calls;
    assert_eq!(blocked(&mut pair), Direction::Read);
    assert_eq!(pair.end.0.borrow().calls, calls + 1);
}

#[test]
fn what_is_sealed_and_not_sent_is_not_written() {
    let mut pair = acquainted(&NEW);
    pair.end.0.borrow_mut().room = 10;
    let error = pair.client.write(b"more").unwrap_err();
    assert_eq!((error.kind(), pair.client.blocked_on()), (ErrorKind::WouldBlock, Direction::Write));
    pair.pass();
    pair.end.0.borrow_mut().room = 1000;
    assert_eq!(pair.client.write(b"more").unwrap(), 4);
    pair.pass();
    assert_eq!(pair.server.heard, b"hellomore");
}

#[test]
fn what_is_left_of_a_record_is_not_forgotten() {
    let mut pair = acquainted(&NEW);
    assert_eq!(pair.hear(), (Vec::new(), Some(ErrorKind::WouldBlock)));
    pair.server.say(&[b'x'; 1000]);
    pair.pass();
    let mut buffer = [0; 999];
    assert_eq!(pair.client.read(&mut buffer).unwrap(), 999);
    assert!(!pair.client.is_drained(), "a byte is left");
    assert_eq!(pair.client.read(&mut buffer).unwrap(), 1);
    assert!(!pair.client.is_drained(), "nobody has looked at the socket since");
    pair.server.say(b"y");
    pair.pass();
    assert_eq!(pair.client.read(&mut buffer).unwrap(), 1);
    assert!(pair.client.is_drained());
}

#[test]
fn an_end_is_an_end_only_if_it_is_announced() {
    let mut announced = acquainted(&NEW);
    announced.server.say(b"all of it");
    announced.server.tls.send_close_notify();
    announced.pass();
    // The connection need not have ended yet.
    assert_eq!(announced.hear(), (b"all of it".to_vec(), None));
    assert_eq!(announced.hear(), (Vec::new(), None));

    let mut cut = acquainted(&NEW);
    cut.server.say(b"some of it");
    cut.pass();
    cut.end.0.borrow_mut().is_over = true;
    assert_eq!(cut.hear(), (b"some of it".to_vec(), Some(ErrorKind::UnexpectedEof)));
}

#[test]
fn what_came_before_a_failure_is_heard_first() {
    let mut pair = acquainted(&NEW);
    assert_eq!(pair.hear().1, Some(ErrorKind::WouldBlock));
    pair.server.say(b"good");
    pair.server.give(&mut pair.end.0.borrow_mut(), usize::MAX);
    pair.end.0.borrow_mut().inbound.extend(b"bad, and no TLS");
    let mut buffer = [0; 100];
    assert_eq!(pair.client.read(&mut buffer).unwrap(), 4);
    assert!(!pair.client.is_drained(), "there is bad news");
    // However often one asks, and without another look at the socket.
    let calls = pair.end.0.borrow().calls;
    for _ in 0..2 {
        let error = pair.client.read(&mut buffer).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        // They had agreed, so that is not what is wrong.
        assert!(!is_tls_error(&error) && error.to_string().contains("damaged"), "{error}");
    }
    assert_eq!(pair.end.0.borrow().calls, calls);
}

#[test]
fn an_end_within_the_handshake_may_pass() {
    for passes in 0..2 {
        let mut pair = pair(&OLD);
        for _ in 0..passes {
            assert!(pair.client.write(b"hello").is_err());
            pair.pass();
        }
        assert!(pair.client.write(b"hello").is_err());
        pair.end.0.borrow_mut().is_over = true;
        let error = pair.client.write(b"hello").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert!(!is_tls_error(&error));
        assert!(error.to_string().contains("handshake"), "{error}");
    }
}

#[test]
fn who_leaves_says_so() {
    let mut pair = acquainted(&NEW);
    drop(pair.client);
    let mut wire = pair.end.0.borrow_mut();
    pair.server.take(&mut wire, usize::MAX).unwrap();
    assert_eq!(pair.server.tls.reader().read(&mut [0]).unwrap(), 0, "a close_notify");
}

#[test]
fn late_tickets_are_neither_bytes_nor_an_end() {
    let mut pair = pair(&NEW);
    let tickets = loop {
        assert_eq!(pair.client.write(b"hello").unwrap_err().kind(), ErrorKind::WouldBlock);
        pair.pass();
        if pair.client.write(b"hello").is_ok() {
            let mut wire = pair.end.0.borrow_mut();
            pair.server.take(&mut wire, usize::MAX).unwrap();
            // Rather than behind the tickets, the answer comes alone.
            drop(wire);
            break std::mem::take(&mut pair.server.sent);
        }
    };
    assert!(!tickets.is_empty());
    pair.end.0.borrow_mut().inbound.extend(tickets);
    assert_eq!(pair.hear(), (Vec::new(), Some(ErrorKind::WouldBlock)));
    assert_eq!(pair.client.blocked_on(), Direction::Read);
    pair.server.say(b"answer");
    pair.pass();
    assert_eq!(pair.hear().0, b"answer");
}

#[test]
fn a_peer_that_says_nothing_at_length_is_interrupted() {
    let config = config(|config| config.send_tls13_tickets = 1000);
    let mut pair = acquainted(&config);
    let tickets = pair.end.0.borrow().inbound.len();
    assert!(tickets > 70_000, "{tickets}");
    let calls = pair.end.0.borrow().calls;
    assert_eq!(pair.client.read(&mut [0; 100]).unwrap_err().kind(), ErrorKind::Interrupted);
    let calls = pair.end.0.borrow().calls - calls;
    assert!(calls <= 16, "{calls}");
    // There is an end to it.
    let interrupts = (0..1000).take_while(|_| {
        let error = pair.client.read(&mut [0; 100]).unwrap_err();
        error.kind() == ErrorKind::Interrupted
    });
    assert!(interrupts.count() < 100);
}

#[test]
fn the_server_may_change_its_keys() {
    let mut pair = acquainted(&NEW);
    assert_eq!(pair.hear().1, Some(ErrorKind::WouldBlock));
    pair.server.tls.refresh_traffic_keys().unwrap();
    pair.server.say(b"with new keys");
    pair.pass();
    assert_eq!(pair.hear().0, b"with new keys");
    assert_eq!(pair.client.write(b"so do I").unwrap(), 7);
    pair.pass();
    assert_eq!(pair.server.heard, b"helloso do I");
}

#[test]
fn sessions_are_resumed() {
    use rustls::HandshakeKind::{Full, Resumed};
    for config in [&*NEW, &*OLD] {
        let security = Security::new(&[ROOT.der()], false);
        let meet = || {
            let mut pair = Pair::new(&security, "a.test", config);
            pair.ask(b"hello").unwrap();
            // The tickets may come with the answer or before.
            assert_eq!(pair.hear().1, Some(ErrorKind::WouldBlock));
            pair.server.tls.handshake_kind()
        };
        assert_eq!([meet(), meet(), meet()], [Some(Full), Some(Resumed), Some(Resumed)]);
    }
}

#[test]
fn the_server_learns_whom_it_is_and_what_is_spoken() {
    let protocols = |names: &[&str]| names.iter().map(|name| name.as_bytes().to_vec()).collect();
    let config = config(|config| config.alpn_protocols = protocols(&["h2", "http/1.1"]));
    let pair = acquainted(&config);
    assert_eq!(pair.server.tls.server_name(), Some("a.test"));
    assert_eq!(pair.server.tls.alpn_protocol(), Some(&b"http/1.1"[..]));
    // One that has never heard of such a question is taken at its word.
    assert_eq!(acquainted(&NEW).server.tls.alpn_protocol(), None);

    let config = self::config(|config| config.alpn_protocols = protocols(&["h2"]));
    let error = self::pair(&config).ask(b"hello").unwrap_err();
    assert!(is_tls_error(&error));
    assert!(error.to_string().contains("does not speak HTTP/1.1"), "{error}");
}

#[test]
fn a_server_may_refuse() {
    // It has no key for the only cipher suites it knows, or the like.
    for (alert, word) in
        [(40_u8, "common cipher"), (70, "no version"), (116, "certificate from us")]
    {
        let mut pair = pair(&NEW);
        assert!(pair.client.write(b"hello").is_err());
        pair.end.0.borrow_mut().inbound.extend([21, 3, 3, 0, 2, 2, alert]);
        let error = pair.client.write(b"hello").unwrap_err();
        assert!(is_tls_error(&error));
        assert!(error.to_string().contains(word), "{error}");
        assert!(error.to_string().contains("refuses"), "{error}");
    }
}

/// TLS 1.0, as far as its answer goes.
#[test]
fn a_server_may_be_too_old() {
    let mut pair = pair(&NEW);
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
