//! `read` and `read_all` as futures written by hand: they behave as the ones
//! that the compiler generates.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use selector_core::{Backend, CustomSocket, Event, Key, Notifier, Readiness, Socket};
use stage2_coroutines::{
    Connection, Inspect, Stats, connect, read, read_all, read_by_hand, runtime_on,
};
use test_support::cases;
use transport::{TlsLayer, system_lookup};

/// The result of one read. The last step of a script is an end or a reset, and
/// is never used up.
#[derive(Clone, Debug)]
enum Step {
    Bytes(Vec<u8>),
    WouldBlock,
    End,
    Reset,
}

type Script = Rc<RefCell<VecDeque<Step>>>;

/// A deterministic backend with one connection. Each wait returns at once and
/// reports the connection as ready.
struct ScriptedBackend {
    script: Script,
    key: Option<Key>,
}

impl Backend for ScriptedBackend {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn connect(&mut self, _address: SocketAddr, key: Key) -> io::Result<Socket> {
        self.key = Some(key);
        Ok(Socket::custom(ScriptedStream(Rc::clone(&self.script))))
    }

    fn wait(&mut self, _timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        let readiness = Readiness::READABLE | Readiness::WRITABLE;
        events.extend(self.key.map(|key| Event { key, readiness }));
        Ok(())
    }

    fn notifier(&self) -> Notifier {
        Notifier::new(|| ())
    }
}

#[derive(Debug)]
struct ScriptedStream(Script);

impl Read for ScriptedStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut script = self.0.borrow_mut();
        match script.front_mut().unwrap() {
            Step::Bytes(bytes) => {
                let length = bytes.len().min(buffer.len());
                buffer[..length].copy_from_slice(&bytes[..length]);
                bytes.drain(..length);
                if bytes.is_empty() {
                    script.pop_front();
                }
                Ok(length)
            }
            Step::WouldBlock => {
                script.pop_front();
                Err(ErrorKind::WouldBlock.into())
            }
            Step::End => Ok(0),
            Step::Reset => Err(ErrorKind::ConnectionReset.into()),
        }
    }
}

impl Write for ScriptedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl CustomSocket for ScriptedStream {
    fn connected(&self) -> io::Result<bool> {
        Ok(true)
    }
}

/// The chunks that a reader received, its result, and the statistics of its
/// loop.
#[derive(Debug, PartialEq)]
struct ReadResult {
    chunks: Vec<Vec<u8>>,
    result: Result<Option<&'static str>, ErrorKind>,
    stats: Stats,
}

/// Runs a reader on a scripted connection. The reader passes what it reads to a
/// sink, which breaks after `enough` bytes.
fn run(
    script: &[Step],
    enough: usize,
    reader: impl AsyncFnOnce(
        &mut Connection,
        &mut dyn FnMut(&[u8]) -> ControlFlow<&'static str>,
    ) -> io::Result<Option<&'static str>>,
) -> ReadResult {
    let script = Rc::new(RefCell::new(script.iter().cloned().collect()));
    let backend = ScriptedBackend { script, key: None };
    let runtime = runtime_on(backend, Arc::new(system_lookup));
    let event_loop = runtime.event_loop().clone();
    let (mut chunks, mut seen) = (Vec::new(), 0);
    let mut sink = |bytes: &[u8]| {
        chunks.push(bytes.to_vec());
        seen += bytes.len();
        if seen < enough { ControlFlow::Continue(()) } else { ControlFlow::Break("enough") }
    };
    let reading = async {
        let address = ([127, 0, 0, 1], 1).into();
        let layer = TlsLayer::plain();
        let mut connection = connect(&event_loop, address, layer).await.unwrap();
        reader(&mut connection, &mut sink).await
    };
    let result = runtime.run_until_complete(reading).unwrap();
    let result = result.map_err(|error| error.kind());
    ReadResult { chunks, result, stats: event_loop.stats() }
}

/// Runs `read_all`, compiled and written by hand.
fn run_read_all(script: &[Step], enough: usize) -> [ReadResult; 2] {
    [
        run(script, enough, async |connection, sink| read_all(connection, sink).await),
        run(script, enough, async |connection, sink| {
            read_by_hand::read_all(connection, sink).await
        }),
    ]
}

/// Runs the same loop around `read`, compiled and written by hand.
fn run_read_loop(script: &[Step], enough: usize) -> [ReadResult; 2] {
    [
        run(script, enough, async |connection, sink| {
            while let Some(flow) = read(connection, &mut *sink).await? {
                if let ControlFlow::Break(value) = flow {
                    return Ok(Some(value));
                }
            }
            Ok(None)
        }),
        run(script, enough, async |connection, sink| {
            while let Some(flow) = read_by_hand::read(connection, &mut *sink).await? {
                if let ControlFlow::Break(value) = flow {
                    return Ok(Some(value));
                }
            }
            Ok(None)
        }),
    ]
}

/// Checks that all four ways of reading a script have the same result, and
/// returns it.
fn check(script: &[Step], enough: usize) -> ReadResult {
    let [compiled, handwritten] = run_read_all(script, enough);
    let [compiled_loop, handwritten_loop] = run_read_loop(script, enough);
    assert_eq!(compiled, handwritten);
    assert_eq!(compiled, compiled_loop);
    assert_eq!(compiled, handwritten_loop);
    handwritten
}

fn bytes(length: usize) -> Step {
    Step::Bytes((0..length).map(|n| n as u8).collect())
}

#[test]
fn every_chunk_is_read_until_the_end() {
    let mut script: Vec<_> =
        (1..100).flat_map(|length| [bytes(length), Step::WouldBlock]).collect();
    script.push(Step::End);
    let read_result = check(&script, usize::MAX);
    let lengths: Vec<_> = read_result.chunks.iter().map(Vec::len).collect();
    assert_eq!(lengths, (1..100).collect::<Vec<_>>());
    assert_eq!(read_result.result, Ok(None));
}

#[test]
fn reading_a_large_body_yields_to_other_tasks() {
    const LENGTH: usize = 3_000_000;
    const BUFFER: usize = 64 * 1024;
    let read_result = check(&[bytes(LENGTH), Step::End], usize::MAX);
    assert_eq!(read_result.chunks.len(), LENGTH.div_ceil(BUFFER));
    let Step::Bytes(all) = bytes(LENGTH) else { unreachable!() };
    assert!(read_result.chunks.concat() == all);
    // It always had something to read, and yet it yielded to other tasks.
    let small = check(&[bytes(1), Step::End], usize::MAX);
    assert!(read_result.stats.polls >= small.stats.polls + 2, "{:?}", read_result.stats);
}

#[test]
fn a_reset_is_an_error() {
    let read_result = check(&[bytes(10), Step::WouldBlock, Step::Reset], usize::MAX);
    assert_eq!(read_result.chunks.concat().len(), 10);
    assert_eq!(read_result.result, Err(ErrorKind::ConnectionReset));
}

#[test]
fn a_sink_can_stop_the_reading_before_the_end() {
    let script = [bytes(10), bytes(10), Step::WouldBlock, bytes(10), Step::End];
    let read_result = check(&script, 15);
    assert_eq!(read_result.chunks.concat().len(), 20);
    assert_eq!(read_result.result, Ok(Some("enough")));
}

#[test]
fn an_empty_body_has_no_chunks() {
    let read_result = check(&[Step::End], usize::MAX);
    assert_eq!((read_result.chunks.len(), read_result.result), (0, Ok(None)));
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..100_usize).prop_map(bytes),
        (60_000..300_000_usize).prop_map(bytes),
        Just(Step::WouldBlock),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(64), failure_persistence: None, ..Default::default() })]

    #[test]
    fn read_by_hand_does_the_same_as_the_compiler(
        mut script in proptest::collection::vec(step(), 0..30),
        last in prop_oneof![Just(Step::End), Just(Step::Reset)],
        enough in 1..3_000_000_usize,
    ) {
        script.push(last);
        check(&script, enough);
    }
}
