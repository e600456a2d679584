//! What the compiler makes of `read` and `read_all`, and what a hand does.
#![allow(clippy::unwrap_used, missing_docs)]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use selector_core::{Event, Key, Notifier, Readiness, ScriptedSocket, Socket, World};
use stage2_coroutines::{Connection, EventLoop, Stats, by_hand, connect, read, read_all};
use transport::{Layer, system_look_up};

/// What comes of a read, in its order. The last one is an end or a reset, and
/// lasts.
#[derive(Clone, Debug)]
enum Step {
    Bytes(Vec<u8>),
    NotYet,
    End,
    Reset,
}

type Script = Rc<RefCell<VecDeque<Step>>>;

/// A world of one connection, in which nothing is left to chance: whoever waits
/// is told at once to try.
struct Theatre {
    script: Script,
    key: Option<Key>,
}

impl World for Theatre {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn connect(&mut self, _address: SocketAddr, key: Key) -> io::Result<Socket> {
        self.key = Some(key);
        Ok(Socket::scripted(Actor(Rc::clone(&self.script))))
    }

    fn wait(&mut self, _timeout: Option<Duration>, news: &mut Vec<Event>) -> io::Result<()> {
        let readiness = Readiness::READABLE | Readiness::WRITABLE;
        news.extend(self.key.map(|key| Event { key, readiness }));
        Ok(())
    }

    fn notifier(&self) -> Notifier {
        Notifier::new(|| ())
    }
}

#[derive(Debug)]
struct Actor(Script);

impl Read for Actor {
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
            Step::NotYet => {
                script.pop_front();
                Err(ErrorKind::WouldBlock.into())
            }
            Step::End => Ok(0),
            Step::Reset => Err(ErrorKind::ConnectionReset.into()),
        }
    }
}

impl Write for Actor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ScriptedSocket for Actor {
    fn connected(&self) -> io::Result<bool> {
        Ok(true)
    }
}

/// What a reader got to see, how it ended, and what it cost.
#[derive(Debug, PartialEq)]
struct Performance {
    pieces: Vec<Vec<u8>>,
    result: Result<Option<&'static str>, ErrorKind>,
    stats: Stats,
}

/// Plays the script to a reader, who gets a sink for what it reads. The sink
/// has seen enough after so many bytes.
fn play(
    script: &[Step],
    enough: usize,
    reader: impl AsyncFnOnce(
        &mut Connection,
        &mut dyn FnMut(&[u8]) -> ControlFlow<&'static str>,
    ) -> io::Result<Option<&'static str>>,
) -> Performance {
    let script = Rc::new(RefCell::new(script.iter().cloned().collect()));
    let theatre = Theatre { script, key: None };
    let event_loop = EventLoop::in_world(theatre, Arc::new(system_look_up));
    let (mut pieces, mut seen) = (Vec::new(), 0);
    let mut sink = |bytes: &[u8]| {
        pieces.push(bytes.to_vec());
        seen += bytes.len();
        if seen < enough { ControlFlow::Continue(()) } else { ControlFlow::Break("enough") }
    };
    let performance = async {
        let address = ([127, 0, 0, 1], 1).into();
        let layer = Layer::plain();
        let mut connection = connect(&event_loop, address, layer).await.unwrap();
        reader(&mut connection, &mut sink).await
    };
    let result = event_loop.run_until_complete(performance).unwrap();
    let result = result.map_err(|error| error.kind());
    Performance { pieces, result, stats: event_loop.stats() }
}

/// `read_all`, by the compiler and by hand.
fn play_both(script: &[Step], enough: usize) -> [Performance; 2] {
    [
        play(script, enough, async |connection, sink| read_all(connection, sink).await),
        play(script, enough, async |connection, sink| by_hand::read_all(connection, sink).await),
    ]
}

/// The same loop around `read`, by the compiler and by hand.
fn play_both_piecewise(script: &[Step], enough: usize) -> [Performance; 2] {
    [
        play(script, enough, async |connection, sink| {
            while let Some(flow) = read(connection, &mut *sink).await? {
                if let ControlFlow::Break(value) = flow {
                    return Ok(Some(value));
                }
            }
            Ok(None)
        }),
        play(script, enough, async |connection, sink| {
            while let Some(flow) = by_hand::read(connection, &mut *sink).await? {
                if let ControlFlow::Break(value) = flow {
                    return Ok(Some(value));
                }
            }
            Ok(None)
        }),
    ]
}

/// Every way of reading the same script comes to the same.
fn check(script: &[Step], enough: usize) -> Performance {
    let [by_the_compiler, by_hand] = play_both(script, enough);
    let [read_by_the_compiler, read_by_hand] = play_both_piecewise(script, enough);
    assert_eq!(by_the_compiler, by_hand);
    assert_eq!(by_the_compiler, read_by_the_compiler);
    assert_eq!(by_the_compiler, read_by_hand);
    by_hand
}

fn bytes(length: usize) -> Step {
    Step::Bytes((0..length).map(|n| n as u8).collect())
}

#[test]
fn many_pieces_and_an_end() {
    let mut script: Vec<_> = (1..100).flat_map(|length| [bytes(length), Step::NotYet]).collect();
    script.push(Step::End);
    let performance = check(&script, usize::MAX);
    let lengths: Vec<_> = performance.pieces.iter().map(Vec::len).collect();
    assert_eq!(lengths, (1..100).collect::<Vec<_>>());
    assert_eq!(performance.result, Ok(None));
}

#[test]
fn a_large_body_takes_turns() {
    const LENGTH: usize = 3_000_000;
    const BUFFER: usize = 64 * 1024;
    let performance = check(&[bytes(LENGTH), Step::End], usize::MAX);
    assert_eq!(performance.pieces.len(), LENGTH.div_ceil(BUFFER));
    let Step::Bytes(all) = bytes(LENGTH) else { unreachable!() };
    assert!(performance.pieces.concat() == all);
    // It was never without something to read, and yet let others go first.
    let small = check(&[bytes(1), Step::End], usize::MAX);
    assert!(performance.stats.polls >= small.stats.polls + 2, "{:?}", performance.stats);
}

#[test]
fn a_reset() {
    let performance = check(&[bytes(10), Step::NotYet, Step::Reset], usize::MAX);
    assert_eq!(performance.pieces.concat().len(), 10);
    assert_eq!(performance.result, Err(ErrorKind::ConnectionReset));
}

#[test]
fn enough_before_the_end() {
    let script = [bytes(10), bytes(10), Step::NotYet, bytes(10), Step::End];
    let performance = check(&script, 15);
    assert_eq!(performance.pieces.concat().len(), 20);
    assert_eq!(performance.result, Ok(Some("enough")));
}

#[test]
fn nothing_at_all() {
    let performance = check(&[Step::End], usize::MAX);
    assert_eq!((performance.pieces.len(), performance.result), (0, Ok(None)));
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..100_usize).prop_map(bytes),
        (60_000..300_000_usize).prop_map(bytes),
        Just(Step::NotYet),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn by_hand_is_as_by_the_compiler(
        mut script in proptest::collection::vec(step(), 0..30),
        last in prop_oneof![Just(Step::End), Just(Step::Reset)],
        enough in 1..3_000_000_usize,
    ) {
        script.push(last);
        check(&script, enough);
    }
}
