//! The simulated network as a loop sees it.
#![allow(clippy::unwrap_used)]

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use selector_core::{Interest, Key, Selector, Socket};
use sim_net::{Fault, Link, Response, SimNet, Trigger, cut, reset, silence, text};

const HOST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const MS: Duration = Duration::from_millis(1);

/// One socket on a network.
struct Client {
    net: SimNet,
    selector: Selector<()>,
    socket: Socket,
    key: Key,
}

impl Client {
    fn connect(net: &SimNet) -> Self {
        let mut selector = Selector::with_backend(net.clone());
        let (socket, key) = selector.connect(SocketAddr::new(HOST, 80)).unwrap();
        Self { net: net.clone(), selector, socket, key }
    }

    /// Waits for one direction, at most `timeout`. Returns true if it is ready.
    fn wait(&mut self, interest: Interest, timeout: Duration) -> bool {
        let until = self.net.elapsed() + timeout;
        let mut keys = Vec::new();
        self.selector.clear(self.key, interest);
        self.selector.register(self.key, interest, ());
        while keys.is_empty() && self.net.elapsed() < until {
            self.selector.select(Some(until - self.net.elapsed()), &mut keys).unwrap();
        }
        self.selector.take(self.key);
        !keys.is_empty()
    }

    /// Sends a request, and returns each read with the time at which it came. A second
    /// of silence ends it.
    fn get(&mut self) -> Vec<(Duration, Result<usize, ErrorKind>)> {
        assert!(self.wait(Interest::Writable, 60_000 * MS), "it does not connect");
        assert!(self.socket.connected().unwrap());
        self.socket.write_all(b"GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
        let mut reads = Vec::new();
        while self.wait(Interest::Readable, 1000 * MS) {
            let read = self.socket.read(&mut [0; 1000]).map_err(|error| error.kind());
            reads.push((self.net.elapsed(), read));
            if !matches!(read, Ok(1..)) {
                break;
            }
        }
        reads
    }
}

fn net(link: Link, response: Response) -> SimNet {
    let net = SimNet::new(move |_| response.clone());
    net.link(HOST, link);
    net
}

#[test]
fn latency_is_paid_in_both_directions() {
    let net = net(Link { latency: 10 * MS, ..Link::DEFAULT }, text("hello"));
    let reads = Client::connect(&net).get();
    // One way and back to connect, and once more for the response.
    assert_eq!(reads.len(), 1, "{reads:?}");
    assert_eq!(reads[0].0, 40 * MS);
    let requests = net.take_requests();
    assert_eq!((requests[0].at, &*requests[0].path, &*requests[0].host), (30 * MS, "/a", "a.test"));
}

#[test]
fn a_slow_link_brings_one_packet_after_another() {
    let link = Link { bandwidth: Some(1000), packet: Some(100), ..Link::DEFAULT };
    let response = Response { bytes: vec![0; 250], ..Response::default() };
    let reads = Client::connect(&net(link, response)).get();
    assert_eq!(reads, [(100 * MS, Ok(100)), (200 * MS, Ok(100)), (250 * MS, Ok(50))]);
}

/// Packets that are all there are still read one by one, and each read that leaves
/// something is followed by an event.
#[test]
fn a_read_gets_at_most_one_packet() {
    let link = Link { packet: Some(100), ..Link::DEFAULT };
    let response = Response { bytes: vec![0; 250], closes: true, ..Response::default() };
    let reads = Client::connect(&net(link, response)).get();
    let sizes: Vec<_> = reads.into_iter().map(|(_, read)| read).collect();
    assert_eq!(sizes, [Ok(100), Ok(100), Ok(50), Ok(0)]);
}

/// The end of a connection is reported by itself, so the host keeps this one open.
#[test]
fn what_a_read_leaves_is_reported_again_under_level_triggering_only() {
    for (trigger, expected) in
        [(Trigger::Level, &[Ok(100), Ok(100), Ok(50)][..]), (Trigger::Edge, &[Ok(100)])]
    {
        let response = Response { bytes: vec![0; 250], ..Response::default() };
        let net = net(Link::DEFAULT, response);
        net.limit_reads(100, trigger);
        let reads = Client::connect(&net).get();
        let sizes: Vec<_> = reads.into_iter().map(|(_, read)| read).collect();
        assert_eq!(sizes, expected, "{trigger:?}");
    }
}

#[test]
fn a_response_can_be_cut_or_reset() {
    let whole = Response { bytes: vec![0; 250], ..Response::default() };
    for (response, end) in
        [(cut(whole.clone(), 7), Ok(0)), (reset(whole.clone(), 7), Err(ErrorKind::ConnectionReset))]
    {
        let reads = Client::connect(&net(Link::DEFAULT, response)).get();
        let results: Vec<_> = reads.into_iter().map(|(_, read)| read).collect();
        assert_eq!(results, [Ok(7), end]);
    }
}

#[test]
fn a_host_can_refuse_at_once_or_later_or_be_silent() {
    let down = |latency, fault| Link { latency, fault: Some(fault), ..Link::DEFAULT };
    let address = SocketAddr::new(HOST, 80);
    let here = net(down(Duration::ZERO, Fault::Refuse), text(""));
    let refused = Selector::<()>::with_backend(here).connect(address).map(drop);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::ConnectionRefused);

    let mut client = Client::connect(&net(down(5 * MS, Fault::Refuse), text("")));
    assert!(client.wait(Interest::Writable, 1000 * MS));
    assert_eq!(client.net.elapsed(), 10 * MS);
    assert_eq!(client.socket.connected().unwrap_err().kind(), ErrorKind::ConnectionRefused);

    let mut client = Client::connect(&net(down(5 * MS, Fault::Swallow), text("")));
    assert!(!client.wait(Interest::Writable, 1000 * MS));
}

#[test]
fn a_connection_that_waits_is_reset_at_its_next_read() {
    let net = net(Link::DEFAULT, silence());
    net.go_down(10 * MS, Fault::Refuse);
    let mut client = Client::connect(&net);
    assert_eq!(client.get(), [], "it is not told");
    assert_eq!(client.socket.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_seed_decides_on_jitter_and_order() {
    let run = |seed| {
        let net = net(Link { jitter: 50 * MS, packet: Some(10), ..Link::DEFAULT }, text("hello"));
        net.seed(seed);
        // Twenty connections that are ready at the same moment.
        let flat = SimNet::new(|_| text(""));
        flat.seed(seed);
        let mut selector = Selector::with_backend(flat);
        let opened: Vec<_> =
            (0..20).map(|_| selector.connect(SocketAddr::new(HOST, 80)).unwrap()).collect();
        for (_, key) in &opened {
            selector.register(*key, Interest::Writable, ());
        }
        let mut keys = Vec::new();
        selector.select(None, &mut keys).unwrap();
        assert_eq!(keys.len(), 20);
        (Client::connect(&net).get(), keys)
    };
    assert_eq!(run(1), run(1));
    let (one, two) = (run(1), run(2));
    assert!(one.0 != two.0 && one.1 != two.1);
}

#[test]
fn a_host_has_a_name() {
    let net = SimNet::new(|_| text(""));
    net.name("a.test", HOST);
    let lookup = net.lookup();
    assert_eq!(lookup.addresses("a.test", 81).unwrap(), [SocketAddr::new(HOST, 81)]);
    assert!(lookup.addresses("b.test", 81).is_err());
}
