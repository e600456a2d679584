//! The replaying backend: it gives again what was recorded.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use selector_core::{Backend, CustomSocket, Event, Key, Notifier, Socket};
use transport::{Direction, Immediate, LookupFn, Tape, TapeCall, TapeResult};

use crate::entry::{Below, Entry, Secure, readiness_of};
use crate::file::Record;
use crate::recorder::{checksum, secure_call};

/// A record that is being replayed.
#[derive(Clone)]
pub struct Player(Arc<Mutex<State>>);

struct State {
    entries: Vec<u8>,
    /// The position of the next entry, and its number.
    position: usize,
    number: u64,
    started: Instant,
    /// The last time of the clock.
    now: u64,
    /// The number of secure streams.
    num_streams: u64,
    /// The first difference: the call of the replayed run, and the next entry.
    departure: Option<String>,
    /// The number with which the replay itself is interrupted.
    interrupted: Option<u8>,
}

impl Player {
    /// Begins to replay a record.
    pub fn new(record: Record) -> Self {
        Self(Arc::new(Mutex::new(State {
            entries: record.entries,
            position: 0,
            number: 0,
            started: Instant::now(),
            now: 0,
            num_streams: 0,
            departure: None,
            interrupted: None,
        })))
    }

    /// Interrupts the replay itself, from any thread: the next wait calls `on_external`
    /// twice with this number, so that a crawl stops at once. What it does from then on is
    /// no departure.
    pub fn interrupt(&self, number: u8) {
        self.state().interrupted = Some(number);
    }

    /// Returns the backend that replays. What an [`External`](crate::External) sent
    /// while it was recorded goes to `on_external` in the same wait.
    pub fn backend(&self, on_external: Box<dyn FnMut(u8)>) -> impl Backend + use<> {
        ReplayingBackend { player: self.clone(), on_external }
    }

    /// Returns the lookup function that replays.
    pub fn lookup(&self) -> Arc<LookupFn> {
        let player = self.clone();
        Arc::new(Immediate(move |host: &str, port| {
            let asked = || format!("looked up {host}, port {port}");
            let answer = player.next(asked, |entry| match entry {
                Entry::Lookup { host: name, port: number, result }
                    if *name == *host && number == port =>
                {
                    Ok(result)
                }
                other => Err(other),
            })?;
            Ok(answer?)
        }))
    }

    /// Returns the tape that replays what secure streams gave.
    pub fn tape(&self) -> Arc<dyn Tape> {
        Arc::new(self.clone())
    }

    /// Returns where the replayed run has departed from the record, if it has: what it
    /// did, and what the recorded run did there. To be called when the run has ended.
    pub fn departure(&self) -> Option<String> {
        let mut state = self.state();
        if state.interrupted.is_some() {
            return None;
        }
        if state.departure.is_none()
            && let Some(entry) = state.read().filter(|entry| *entry != Entry::End)
        {
            state.depart("ended", &entry);
        }
        state.departure.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what `take` finds in the next entry. `asked` says what the run does.
    fn next<T>(
        &self,
        asked: impl Fn() -> String,
        take: impl Fn(Entry) -> Result<T, Entry>,
    ) -> io::Result<T> {
        let mut state = self.state();
        if let Some(departure) = &state.departure {
            return Err(io::Error::other(departure.clone()));
        }
        let entry = state.read().unwrap_or(Entry::Full);
        take(entry).map_err(|entry| io::Error::other(state.depart(&asked(), &entry)))
    }

    /// Reads the clock: at the end of the record, or after a departure, it stands still.
    fn now(&self) -> Instant {
        let now = self.next(
            || "read the clock".to_owned(),
            |entry| match entry {
                Entry::Now(now) => Ok(now),
                other => Err(other),
            },
        );
        let mut state = self.state();
        state.now = now.unwrap_or(state.now);
        state.time()
    }
}

impl State {
    /// Reads the next entry.
    fn read(&mut self) -> Option<Entry> {
        let rest = self.entries.get(self.position..)?;
        let (entry, rest) = postcard::take_from_bytes(rest).ok()?;
        self.position = self.entries.len() - rest.len();
        self.number += 1;
        Some(entry)
    }

    /// Notes the first difference, and returns its description.
    fn depart(&mut self, asked: &str, entry: &Entry) -> String {
        let seconds = Duration::from_nanos(self.now).as_secs_f64();
        let number = self.number;
        let departure = format!(
            "the run differs from the record at event {number}, after {seconds:.3} s: \
             it {asked}, where the recorded run {entry}"
        );
        self.departure.get_or_insert(departure).clone()
    }

    fn time(&self) -> Instant {
        let now = self.started + Duration::from_nanos(self.now);
        trace::set_time(now);
        now
    }
}

impl fmt::Debug for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Player").field("number", &self.state().number).finish_non_exhaustive()
    }
}

impl Tape for Player {
    fn is_replay(&self) -> bool {
        true
    }

    fn begin(&self) {}

    fn record(&self, _stream: u64, _call: TapeCall<'_>, _result: &TapeResult) {}

    fn replay(&self, stream: u64, call: TapeCall<'_>, buffer: &mut [u8]) -> TapeResult {
        let call = secure_call(call);
        let asked = || format!("{} secure stream {stream}", call.verb());
        let secure = self.next(asked, |entry| match entry {
            Entry::Secure(secure) if (secure.stream, secure.call) == (stream, call) => Ok(secure),
            other => Err(other),
        });
        let Secure { bytes, result, blocked_on, below, .. } = match secure {
            Ok(secure) => secure,
            Err(error) => return (Err(error), None),
        };
        for Below { key, is_write, result } in below {
            let result = result.map(|length| length as usize).map_err(io::Error::from);
            let result = trace::outcome(&result);
            trace::emit(|| match is_write {
                true => trace::Event::Write { key, result },
                false => trace::Event::Read { key, result },
            });
        }
        let direction = |is_write| if is_write { Direction::Write } else { Direction::Read };
        let result = match buffer.get_mut(..bytes.len()) {
            Some(start) => {
                start.copy_from_slice(&bytes);
                result.map(|length| length as usize).map_err(io::Error::from)
            }
            None => Err(io::Error::other("the recorded run had a larger buffer")),
        };
        (result, blocked_on.map(direction))
    }

    fn next_stream(&self) -> u64 {
        let mut state = self.state();
        state.num_streams += 1;
        state.num_streams
    }
}

struct ReplayingBackend {
    player: Player,
    on_external: Box<dyn FnMut(u8)>,
}

impl Backend for ReplayingBackend {
    fn now(&self) -> Instant {
        self.player.now()
    }

    fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket> {
        let key = key.to_bits();
        let asked = || format!("connected to {address}");
        let result = self.player.next(asked, |entry| match entry {
            Entry::Connect { key: number, address: peer, result }
                if number == key && peer == address =>
            {
                Ok(result)
            }
            other => Err(other),
        })?;
        result?;
        Ok(Socket::custom(ReplayingSocket { player: self.player.clone(), key }))
    }

    fn wait(&mut self, _timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        let asked = || "waited for events".to_owned();
        let interrupted = self.player.state().interrupted;
        let waited = self.player.next(asked, |entry| match entry {
            Entry::Wait { until, events, externals, result } => {
                Ok((until, events, externals, result))
            }
            other => Err(other),
        });
        if let Some(number) = interrupted {
            [number, number].into_iter().for_each(&mut self.on_external);
            // What it does now is no departure.
            if waited.is_err() {
                return Ok(());
            }
        }
        let (until, taken, externals, result) = waited?;
        let mut state = self.player.state();
        state.now = until;
        state.time();
        drop(state);
        events.extend(
            taken.into_iter().map(|(key, bits)| Event {
                key: Key::from_bits(key),
                readiness: readiness_of(bits),
            }),
        );
        externals.into_iter().for_each(&mut self.on_external);
        Ok(result?)
    }

    fn notifier(&self) -> Notifier {
        // The wait that it would end was recorded, and so was its end.
        Notifier::new(|| ())
    }
}

/// A socket whose results were recorded.
#[derive(Debug)]
struct ReplayingSocket {
    player: Player,
    key: u64,
}

impl Read for ReplayingSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let key = self.key;
        let asked = || format!("read from socket {key}");
        let bytes = self.player.next(asked, |entry| match entry {
            Entry::Read { key: number, result } if number == key => Ok(result),
            other => Err(other),
        })??;
        let Some(start) = buffer.get_mut(..bytes.len()) else {
            return Err(io::Error::other("the recorded run had a larger buffer"));
        };
        start.copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

impl Write for ReplayingSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (key, sum) = (self.key, checksum(bytes));
        let asked = || {
            let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
            let line = line.escape_ascii();
            format!("wrote {} bytes to socket {key}, which begin with \"{line}\"", bytes.len())
        };
        let result = self.player.next(asked, |entry| match entry {
            Entry::Write { key: number, length, checksum, result }
                if (number, length, checksum) == (key, bytes.len() as u64, sum) =>
            {
                Ok(result)
            }
            other => Err(other),
        })?;
        Ok(result? as usize)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl CustomSocket for ReplayingSocket {
    fn connected(&self) -> io::Result<bool> {
        let key = self.key;
        let asked = || format!("checked if socket {key} is connected");
        let result = self.player.next(asked, |entry| match entry {
            Entry::Connected { key: number, result } if number == key => Ok(result),
            other => Err(other),
        })?;
        Ok(result?)
    }
}
