//! A backend that is traced: its results are the same, and each of its calls is in the
//! trace.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use selector_core::{
    Backend, CustomSocket, Interest, Key, Notifier, Readiness, Selector, Socket, VirtualClock,
};
use trace::{Event, Tracer};

const A_MOMENT: Duration = Duration::from_millis(30);

/// A backend without a network. Every wait finds all sockets readable, those that are
/// closed as well.
#[derive(Default)]
struct Scripted {
    keys: Vec<Key>,
}

impl Backend for Scripted {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn connect(&mut self, _: SocketAddr, key: Key) -> io::Result<Socket> {
        self.keys.push(key);
        Ok(Socket::custom(Numbers))
    }

    fn connect_unix(&mut self, _: &Path, key: Key) -> io::Result<Socket> {
        self.keys.push(key);
        Ok(Socket::custom(Numbers))
    }

    fn wait(
        &mut self,
        _: Option<Duration>,
        events: &mut Vec<selector_core::Event>,
    ) -> io::Result<()> {
        let ready = |&key| selector_core::Event { key, readiness: Readiness::READABLE };
        events.extend(self.keys.iter().map(ready));
        Ok(())
    }

    fn notifier(&self) -> Notifier {
        Notifier::new(|| ())
    }
}

/// A socket of which each call has another result.
#[derive(Debug)]
struct Numbers;

impl Read for Numbers {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Ok(2)
    }
}

impl Write for Numbers {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Ok(3)
    }

    fn write_vectored(&mut self, _: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(4)
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(ErrorKind::BrokenPipe.into())
    }
}

impl CustomSocket for Numbers {
    fn connected(&self) -> io::Result<bool> {
        Err(ErrorKind::ConnectionRefused.into())
    }
}

/// Runs `f` with a tracer, and returns the events of its trace.
fn events_of(f: impl FnOnce()) -> Vec<Event> {
    let tracer = Tracer::new(Tracer::LIMIT);
    let entered = tracer.enter();
    f();
    drop(entered);
    tracer.take().records.into_iter().map(|record| record.event).collect()
}

#[test]
fn calls_of_a_socket_are_traced_and_keep_their_results() {
    let address = SocketAddr::from(([10, 0, 0, 1], 80));
    let mut bits = 0;
    let events = events_of(|| {
        let mut selector: Selector<()> = Selector::with_backend(Scripted::default());
        let (mut socket, key) = selector.connect(address).unwrap();
        bits = key.to_bits();
        assert_eq!(socket.connected().unwrap_err().kind(), ErrorKind::ConnectionRefused);
        assert_eq!(socket.read(&mut [0; 8]).unwrap(), 2);
        assert_eq!(socket.write(b"bytes").unwrap(), 3);
        assert_eq!(socket.write_vectored(&[IoSlice::new(b"bytes")]).unwrap(), 4);
        assert_eq!(socket.flush().unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
    let key = bits;
    let expected = [
        Event::Connect { key, address },
        Event::Read { key, result: Ok(2) },
        Event::Write { key, result: Ok(3) },
        Event::Write { key, result: Ok(4) },
        Event::Close { key },
        Event::TickEnd,
    ];
    assert_eq!(events, expected);
}

/// A tick begins with a wait, and ends at the next one or with the selector. An event for
/// a socket that is closed is stale.
#[test]
fn ticks_and_their_events_are_traced() {
    let mut bits = 0;
    let events = events_of(|| {
        let mut selector = Selector::with_backend(Scripted::default());
        let (socket, key) = selector.connect(Path::new("/a/socket")).unwrap();
        bits = key.to_bits();
        selector.register(key, Interest::Readable, "reader");
        let mut keys = Vec::new();
        selector.select(Some(A_MOMENT), &mut keys).unwrap();
        assert_eq!(keys, [key]);
        assert_eq!(selector.unregister(key), Some("reader"));
        drop(socket);
        selector.select(None, &mut keys).unwrap();
        assert_eq!(keys, []);
    });
    let key = bits;
    let ready = Event::Ready { key, readable: true, writable: false, stale: false };
    let expected = [
        Event::Connect { key, address: SocketAddr::from(([0, 0, 0, 0], 0)) },
        Event::TickBegin { number: 1 },
        Event::SelectBegin { timeout: Some(A_MOMENT) },
        Event::SelectEnd { ready: 1 },
        ready.clone(),
        Event::Close { key },
        Event::TickEnd,
        Event::TickBegin { number: 2 },
        Event::SelectBegin { timeout: None },
        Event::SelectEnd { ready: 1 },
        ready,
        Event::Ready { key, readable: false, writable: false, stale: true },
        Event::TickEnd,
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_wait_in_virtual_time_takes_its_time() {
    let tracer = Tracer::new(Tracer::LIMIT);
    let entered = tracer.enter();
    let mut selector: Selector<()> = Selector::with_backend(VirtualClock::new());
    // The trace begins at the time of this clock.
    selector.now();
    selector.select(Some(A_MOMENT), &mut Vec::new()).unwrap();
    drop(entered);
    let records = tracer.take().records;
    let at = |wanted: Event| records.iter().find(|record| record.event == wanted).unwrap().time;
    let begun = at(Event::SelectBegin { timeout: Some(A_MOMENT) });
    assert_eq!((begun, at(Event::SelectEnd { ready: 0 })), (Duration::ZERO, A_MOMENT));
}

/// An operation that is known to be possible stays so, however often it is reported.
#[test]
fn readiness_that_is_reported_twice_stays() {
    let mut selector: Selector<()> = Selector::with_backend(Scripted::default());
    let (_socket, key) = selector.connect(SocketAddr::from(([10, 0, 0, 1], 80))).unwrap();
    for _ in 0..2 {
        selector.select(None, &mut Vec::new()).unwrap();
        assert_eq!(selector.readiness(key), Readiness::READABLE);
    }
}
