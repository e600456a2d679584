//! The selector over real sockets: readiness is kept, stale keys are harmless.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use selector_core::{CustomSocket, Interest, Key, Readiness, Selector, Socket};
use socket2::{Domain, Type};

const SOON: Duration = Duration::from_secs(5);
const A_MOMENT: Duration = Duration::from_millis(30);

/// Makes a connection and returns both ends.
fn pair(selector: &mut Selector<&'static str>) -> (Socket, Key, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (socket, key) = selector.connect(listener.local_addr().unwrap()).unwrap();
    let (peer, _) = listener.accept().unwrap();
    selector.register(key, Interest::Writable, "connected");
    assert_eq!(next(selector), [(key, Some("connected"))]);
    assert!(socket.connected().unwrap());
    (socket, key, peer)
}

/// Returns the next ready keys and takes their waiters, within five seconds.
fn next(selector: &mut Selector<&'static str>) -> Vec<(Key, Option<&'static str>)> {
    let deadline = Instant::now() + SOON;
    let mut keys = Vec::new();
    while keys.is_empty() {
        assert!(Instant::now() < deadline, "nothing happened");
        selector.select(Some(A_MOMENT), &mut keys).unwrap();
    }
    keys.into_iter().map(|key| (key, selector.take(key))).collect()
}

fn nothing_happens(selector: &mut Selector<&'static str>) {
    let mut keys = Vec::new();
    selector.select(Some(A_MOMENT), &mut keys).unwrap();
    assert_eq!(keys, []);
}

#[test]
fn readiness_is_kept_for_a_waiter_that_registers_later() {
    let mut selector = Selector::new().unwrap();
    let (mut socket, key, mut peer) = pair(&mut selector);
    peer.write_all(b"hello").unwrap();
    nothing_happens(&mut selector); // there is no waiter
    assert!(selector.readiness(key).satisfies(Interest::Readable));

    // The operating system has reported it once and will not report it again.
    selector.register(key, Interest::Readable, "reader");
    assert_eq!(next(&mut selector), [(key, Some("reader"))]);

    let mut buffer = [0; 16];
    assert_eq!(socket.read(&mut buffer).unwrap(), 5);
    assert_eq!(socket.read(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
    selector.clear(key, Interest::Readable);
    selector.register(key, Interest::Readable, "reader");
    nothing_happens(&mut selector);
    peer.write_all(b"again").unwrap();
    assert_eq!(next(&mut selector), [(key, Some("reader"))]);
}

#[test]
fn an_end_that_came_with_the_data_is_not_lost() {
    let mut selector = Selector::new().unwrap();
    let (mut socket, key, mut peer) = pair(&mut selector);
    peer.write_all(b"all").unwrap();
    drop(peer);
    selector.register(key, Interest::Readable, "reader");
    // Bytes and end may be reported apart.
    while !selector.readiness(key).contains(Readiness::READ_CLOSED) {
        next(&mut selector);
        selector.register(key, Interest::Readable, "reader");
    }
    let mut buffer = [0; 16];
    assert_eq!(socket.read(&mut buffer).unwrap(), 3);
    // A reader that stops after a short read must still hear of the end.
    selector.clear(key, Interest::Readable);
    selector.register(key, Interest::Readable, "reader");
    assert_eq!(next(&mut selector)[0], (key, Some("reader")));
    assert_eq!(socket.read(&mut buffer).unwrap(), 0);
}

#[test]
fn one_direction_does_not_wake_who_waits_for_the_other() {
    let mut selector = Selector::new().unwrap();
    let (_socket, key, mut peer) = pair(&mut selector);
    selector.clear(key, Interest::Writable);
    selector.register(key, Interest::Writable, "writer");
    peer.write_all(b"bytes").unwrap();
    let mut keys = Vec::new();
    selector.select(Some(A_MOMENT), &mut keys).unwrap();
    // epoll reports both directions when one changes, so the writer may be
    // called; but no reader may be missed for it.
    assert!(selector.readiness(key).satisfies(Interest::Readable));
}

// ANCHOR: stale
#[test]
fn a_key_of_the_batch_may_be_stale_by_its_turn() {
    let mut selector = Selector::new().unwrap();
    let (first, first_key, mut first_peer) = pair(&mut selector);
    let (second, second_key, mut second_peer) = pair(&mut selector);
    selector.register(first_key, Interest::Readable, "first");
    selector.register(second_key, Interest::Readable, "second");
    first_peer.write_all(b"1").unwrap();
    second_peer.write_all(b"2").unwrap();
    thread::sleep(A_MOMENT);
    let mut keys = Vec::new();
    selector.select(Some(SOON), &mut keys).unwrap();
    assert_eq!(keys.len(), 2, "both in one batch");

    // The callback of one closes the other, and opens a connection that gets
    // its slot.
    let (kept, closed) = (keys[0], keys[1]);
    let (kept_socket, closed_socket) =
        if kept == first_key { (first, second) } else { (second, first) };
    assert!(selector.take(kept).is_some());
    assert!(selector.unregister(closed).is_some());
    drop(closed_socket);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (_socket, newcomer) = selector.connect(listener.local_addr().unwrap()).unwrap();
    selector.register(newcomer, Interest::Readable, "the newcomer");
    assert_eq!(selector.take(closed), None, "stale");
    assert_eq!(selector.take(newcomer), Some("the newcomer"));
    drop(kept_socket);
}
// ANCHOR_END: stale

#[test]
fn registering_hands_back_what_waited_before() {
    let mut selector = Selector::new().unwrap();
    let (_socket, key, _peer) = pair(&mut selector);
    assert_eq!(selector.register(key, Interest::Readable, "one"), None);
    assert_eq!(selector.register(key, Interest::Readable, "two"), Some("one"));
    assert_eq!(selector.unregister(key), Some("two"));
    let stale = selector.register(key, Interest::Readable, "three");
    assert_eq!(stale, Some("three"));
    assert!(selector.is_empty());
}

#[test]
fn a_refused_connection_is_an_error_and_no_connection() {
    let mut selector = Selector::new().unwrap();
    // A port that was free a moment ago may be that of another test by now.
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let (socket, key) = selector.connect(address).unwrap();
    selector.register(key, Interest::Writable, "refused");
    next(&mut selector);
    let error = socket.connected().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_notifier_ends_the_wait_from_another_thread() {
    let mut selector: Selector<()> = Selector::new().unwrap();
    let notifier = selector.notifier();
    let thread = thread::spawn(move || {
        thread::sleep(A_MOMENT);
        notifier.notify();
        notifier.notify();
    });
    let start = Instant::now();
    let mut keys = Vec::new();
    selector.select(Some(SOON), &mut keys).unwrap();
    assert!(start.elapsed() < SOON, "woken before the timeout");
    thread.join().unwrap();
}

/// A process that is stopped and continued has its wait interrupted, by Linux. The wait
/// goes on for the rest of its time. The test stops another process: this one, started
/// once more.
#[test]
#[cfg(target_os = "linux")]
fn an_interrupted_wait_goes_on() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    const IS_STOPPED: &str = "SELECTOR_TEST_IS_STOPPED";
    if std::env::var_os(IS_STOPPED).is_some() {
        let mut selector: Selector<()> = Selector::new().unwrap();
        let start = Instant::now();
        println!("it waits");
        selector.select(Some(A_MOMENT * 20), &mut Vec::new()).unwrap();
        assert!(start.elapsed() >= A_MOMENT * 20, "the wait has ended too early");
        return;
    }
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "selector::an_interrupted_wait_goes_on"])
        .env(IS_STOPPED, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.ends_with("it waits")), "it has not begun");
    let stop = format!("kill -STOP {0}; kill -CONT {0}", other.id());
    let mut stops = 0;
    while other.try_wait().unwrap().is_none() {
        stops += u32::from(Command::new("sh").args(["-c", &stop]).status().unwrap().success());
        thread::sleep(A_MOMENT / 5);
    }
    assert!(lines.any(|line| line.contains("1 passed")), "it has failed");
    assert!(stops > 0, "it was not interrupted");
}

/// Makes a connection over a Unix socket of this name, and returns both ends.
fn unix_pair(selector: &mut Selector<&'static str>, name: &str) -> (Socket, Key, UnixStream) {
    let path = std::env::temp_dir().join(format!("{name}-{}.socket", std::process::id()));
    drop(std::fs::remove_file(&path));
    let listener = UnixListener::bind(&path).unwrap();
    let (socket, key) = selector.connect(&*path).unwrap();
    let (peer, _) = listener.accept().unwrap();
    std::fs::remove_file(&path).unwrap();
    selector.register(key, Interest::Writable, "connected");
    assert_eq!(next(selector), [(key, Some("connected"))]);
    assert!(socket.connected().unwrap());
    (socket, key, peer)
}

/// A writer that waits for room hears that its peer takes nothing any more.
#[test]
fn an_end_of_writing_wakes_the_writer() {
    let mut selector = Selector::new().unwrap();
    let (mut socket, key, peer) = unix_pair(&mut selector, "full");
    let error = loop {
        if let Err(error) = socket.write(&[0; 4096]) {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    selector.clear(key, Interest::Writable);
    selector.register(key, Interest::Writable, "writer");
    nothing_happens(&mut selector);
    peer.shutdown(Shutdown::Both).unwrap();
    assert_eq!(next(&mut selector), [(key, Some("writer"))]);
    assert_eq!(socket.write(b"more").unwrap_err().kind(), ErrorKind::BrokenPipe);
}

/// A Unix socket is one like any other.
#[test]
fn a_unix_socket_is_connected_read_and_written() {
    let mut selector = Selector::new().unwrap();
    let (mut socket, key, mut peer) = unix_pair(&mut selector, "selector");
    assert_eq!(socket.write(b"one").unwrap(), 3);
    let rest = [IoSlice::new(b" and "), IoSlice::new(b"two")];
    assert_eq!(socket.write_vectored(&rest).unwrap(), 8);
    socket.flush().unwrap();
    let mut buffer = [0; 11];
    peer.read_exact(&mut buffer).unwrap();
    assert_eq!(&buffer, b"one and two");
    peer.write_all(b"answer").unwrap();
    selector.register(key, Interest::Readable, "reader");
    assert_eq!(next(&mut selector), [(key, Some("reader"))]);
    assert_eq!(socket.read(&mut buffer).unwrap(), 6);
    assert_eq!(&buffer[..6], b"answer");

    // What the peer has not read is an error of the connection, by Linux. It is
    // waited for: a process that another test starts at this moment has the
    // peer's descriptor too, until it executes its program.
    if cfg!(target_os = "linux") {
        selector.clear(key, Interest::Readable);
        selector.register(key, Interest::Readable, "reader");
        assert_eq!(socket.write(b"unread").unwrap(), 6);
        drop(peer);
        assert_eq!(next(&mut selector), [(key, Some("reader"))]);
        assert_eq!(socket.connected().unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
}

#[test]
fn a_selector_counts_its_open_sockets() {
    let mut selector = Selector::new().unwrap();
    assert!(selector.is_empty());
    let (_first, first, _) = pair(&mut selector);
    let (_second, _, _) = pair(&mut selector);
    assert!(!selector.is_empty());
    assert_eq!(selector.len(), 2);
    assert_eq!(format!("{selector:?}"), "Selector { sockets: 2, .. }");
    assert_eq!(format!("{:?}", selector.notifier()), "Notifier");
    selector.unregister(first);
    assert_eq!(selector.len(), 1);
}

/// A mock that takes two bytes at a time.
#[derive(Debug, Default)]
struct Narrow {
    taken: Arc<Mutex<Vec<u8>>>,
}

impl Read for Narrow {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(ErrorKind::WouldBlock.into())
    }
}

impl Write for Narrow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(2);
        self.taken.lock().unwrap().extend_from_slice(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(ErrorKind::BrokenPipe.into())
    }
}

impl CustomSocket for Narrow {
    fn connected(&self) -> io::Result<bool> {
        Ok(false)
    }
}

#[test]
fn every_result_of_a_mock_socket_comes_from_the_mock() {
    let mock = Narrow::default();
    let taken = Arc::clone(&mock.taken);
    let mut socket = Socket::custom(mock);
    assert!(!socket.connected().unwrap());
    assert_eq!(socket.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(socket.write(b"abc").unwrap(), 2);
    assert_eq!(socket.write_vectored(&[IoSlice::new(b"xyz"), IoSlice::new(b"!")]).unwrap(), 2);
    assert_eq!(socket.flush().unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert_eq!(*taken.lock().unwrap(), b"abxy");
}

#[test]
fn a_socket_that_still_connects_is_not_connected_and_has_not_failed() {
    // The listener never accepts, and its backlog is full.
    let listener = socket2::Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
    listener.listen(1).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    // Longer than a thread may have to wait for a core: it is full, and not only slow.
    let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(500)).ok();
    let filling: Vec<_> = std::iter::from_fn(connect).take(100).collect();
    assert!(filling.len() < 100, "it is not full");

    let mut selector = Selector::<&str>::new().unwrap();
    let (socket, _) = selector.connect(address).unwrap();
    assert!(!socket.connected().unwrap());
}
