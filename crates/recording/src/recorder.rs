//! The recording backend, around another one.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flate2::Crc;
use selector_core::{Backend, CustomSocket, Event, Key, Notifier, Socket};
use transport::{Direction, Immediate, LookupFn, Tape, TapeCall, TapeResult};

use crate::entry::{Below, Entry, Secure, SecureCall, bits_of, kept};
use crate::file::{Header, Log};
use crate::redact::Redactor;

/// A record that is being made.
#[derive(Clone)]
pub struct Recorder(Arc<Shared>);

struct Shared {
    log: Mutex<Option<Log>>,
    has_secrets: bool,
    /// The numbers of signals that no wait has taken yet.
    externals: Mutex<Vec<u8>>,
    /// The secure streams.
    secure: Mutex<SecureState>,
}

#[derive(Default)]
struct SecureState {
    num_streams: u64,
    /// The bytes that arrived on each of them.
    received: HashMap<u64, Redactor>,
    /// The calls of sockets during the present call of a secure stream.
    below: Option<Vec<Below>>,
}

impl Recorder {
    /// Begins a record in this file, whose old contents are replaced.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(path: &Path, header: &Header) -> io::Result<Self> {
        Ok(Self(Arc::new(Shared {
            log: Mutex::new(Some(Log::create(path, header)?)),
            has_secrets: header.has_secrets,
            externals: Mutex::default(),
            secure: Mutex::default(),
        })))
    }

    /// Returns a backend that records what `inner` gives. When an [`External`] has sent
    /// a number, the next wait calls `on_external` with it.
    pub fn backend<B: Backend>(
        &self,
        inner: B,
        on_external: Box<dyn FnMut(u8)>,
    ) -> impl Backend + use<B> {
        let started = inner.now();
        let (recorder, notified) = (self.clone(), Arc::default());
        RecordingBackend { inner, recorder, started, notified, on_external }
    }

    /// Returns a lookup function that records what `inner` returns.
    pub fn lookup(&self, inner: Arc<LookupFn>) -> Arc<LookupFn> {
        let recorder = self.clone();
        Arc::new(Immediate(move |host: &str, port| {
            let result = inner.addresses(host, port);
            let addresses = kept(&result, Vec::clone);
            recorder.add(&Entry::Lookup { host: host.to_owned(), port, result: addresses });
            result
        }))
    }

    /// Returns the tape that records what secure streams give, above the encryption.
    pub fn tape(&self) -> Arc<dyn Tape> {
        Arc::new(self.clone())
    }

    /// Returns a handle for what comes from other threads, which ends the present wait
    /// of `backend`'s loop with its notifier.
    pub fn external(&self, notifier: Notifier) -> External {
        External { recorder: self.clone(), notifier }
    }

    /// Ends the record.
    ///
    /// Returns false if the crawl was too long to be recorded whole.
    ///
    /// # Errors
    /// The first error of writing the file.
    pub fn finish(&self) -> io::Result<bool> {
        lock(&self.0.log).take().map_or(Ok(true), Log::finish)
    }

    /// Adds a call of a socket, which may be a part of a call of a secure stream.
    fn add_call(&self, below: Below, entry: impl FnOnce() -> Entry) {
        match &mut lock(&self.0.secure).below {
            Some(calls) => calls.push(below),
            None => self.add(&entry()),
        }
    }

    fn add(&self, entry: &Entry) {
        if let Some(log) = &mut *lock(&self.0.log) {
            log.add(entry);
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

/// A handle that brings a number, that of a signal for example, from another thread
/// into the run.
#[derive(Clone, Debug)]
pub struct External {
    recorder: Recorder,
    notifier: Notifier,
}

impl External {
    /// Has the loop act on this number in its present wait, or the next one.
    pub fn send(&self, number: u8) {
        lock(&self.recorder.0.externals).push(number);
        self.notifier.notify();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct RecordingBackend<B> {
    inner: B,
    recorder: Recorder,
    started: Instant,
    /// True if the loop's own thread has called its notifier.
    notified: Arc<AtomicBool>,
    on_external: Box<dyn FnMut(u8)>,
}

impl<B: Backend> RecordingBackend<B> {
    fn nanoseconds(&self, now: Instant) -> u64 {
        trace::set_time(now);
        now.saturating_duration_since(self.started).as_nanos() as u64
    }
}

impl<B: Backend> Backend for RecordingBackend<B> {
    fn now(&self) -> Instant {
        let now = self.inner.now();
        self.recorder.add(&Entry::Now(self.nanoseconds(now)));
        now
    }

    fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket> {
        let result = self.inner.connect(address, key);
        let key = key.to_bits();
        self.recorder.add(&Entry::Connect { key, address, result: kept(&result, |_| ()) });
        let recorder = self.recorder.clone();
        let received = Redactor::new();
        result.map(|socket| Socket::custom(RecordingSocket { socket, recorder, key, received }))
    }

    fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        let is_notified = self.notified.swap(false, Ordering::Relaxed);
        let timeout = if is_notified { Some(Duration::ZERO) } else { timeout };
        let result = self.inner.wait(timeout, events);
        let until = self.nanoseconds(self.inner.now());
        let kept_events =
            events.iter().map(|event| (event.key.to_bits(), bits_of(event.readiness))).collect();
        let externals = std::mem::take(&mut *lock(&self.recorder.0.externals));
        let result_kept = kept(&result, |()| ());
        self.recorder.add(&Entry::Wait {
            until,
            events: kept_events,
            externals: externals.clone(),
            result: result_kept,
        });
        externals.into_iter().for_each(&mut self.on_external);
        result
    }

    fn notifier(&self) -> Notifier {
        let notified = Arc::clone(&self.notified);
        Notifier::new(move || notified.store(true, Ordering::Relaxed))
    }
}

/// A socket whose calls are recorded.
#[derive(Debug)]
struct RecordingSocket {
    socket: Socket,
    recorder: Recorder,
    key: u64,
    received: Redactor,
}

impl Read for RecordingSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.socket.read(buffer);
        let key = self.key;
        let below = Below { key, is_write: false, result: kept(&result, |read| *read as u64) };
        let (received, has_secrets) = (&mut self.received, self.recorder.0.has_secrets);
        self.recorder.add_call(below, || {
            let read = |length: &usize| redacted(&buffer[..*length], received, has_secrets);
            Entry::Read { key, result: kept(&result, read) }
        });
        result
    }
}

impl Write for RecordingSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.socket.write(bytes);
        if result.is_ok() {
            self.received.expect_head();
        }
        let (key, length) = (self.key, bytes.len() as u64);
        let written = kept(&result, |length| *length as u64);
        let below = Below { key, is_write: true, result: written.clone() };
        self.recorder.add_call(below, || Entry::Write {
            key,
            length,
            checksum: checksum(bytes),
            result: written,
        });
        result
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl CustomSocket for RecordingSocket {
    fn connected(&self) -> io::Result<bool> {
        let result = self.socket.connected();
        self.recorder.add(&Entry::Connected { key: self.key, result: kept(&result, |is| *is) });
        result
    }
}

impl Tape for Recorder {
    fn is_replay(&self) -> bool {
        false
    }

    fn begin(&self) {
        lock(&self.0.secure).below = Some(Vec::new());
    }

    fn record(&self, stream: u64, call: TapeCall<'_>, (result, blocked_on): &TapeResult) {
        let mut secure = lock(&self.0.secure);
        let below = secure.below.take().unwrap_or_default();
        let received = secure.received.entry(stream).or_insert_with(Redactor::new);
        let mut bytes = Vec::new();
        match call {
            TapeCall::Read(read) => bytes = redacted(read, received, self.0.has_secrets),
            TapeCall::Write(_) if result.is_ok() => received.expect_head(),
            TapeCall::Close => drop(secure.received.remove(&stream)),
            TapeCall::Layer | TapeCall::Write(_) => {}
        }
        drop(secure);
        self.add(&Entry::Secure(Secure {
            stream,
            call: secure_call(call),
            bytes,
            result: kept(result, |length| *length as u64),
            blocked_on: blocked_on.map(|direction| direction == Direction::Write),
            below,
        }));
    }

    fn replay(&self, _stream: u64, _call: TapeCall<'_>, _buffer: &mut [u8]) -> TapeResult {
        (Err(io::ErrorKind::Unsupported.into()), None)
    }

    fn next_stream(&self) -> u64 {
        let mut secure = lock(&self.0.secure);
        secure.num_streams += 1;
        secure.num_streams
    }
}

/// Returns a call of a secure stream as it is kept.
pub(crate) fn secure_call(call: TapeCall<'_>) -> SecureCall {
    match call {
        TapeCall::Layer => SecureCall::Layer,
        TapeCall::Read(_) => SecureCall::Read,
        TapeCall::Write(bytes) => {
            SecureCall::Write { length: bytes.len() as u64, checksum: checksum(bytes) }
        }
        TapeCall::Close => SecureCall::Close,
    }
}

/// Returns what was read, without secrets unless they are kept.
fn redacted(read: &[u8], received: &mut Redactor, has_secrets: bool) -> Vec<u8> {
    let mut bytes = read.to_vec();
    if !has_secrets {
        received.redact(&mut bytes);
    }
    bytes
}

/// Returns a checksum of what is written, without secrets. Each write that is tried is
/// one request, or the rest of one.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    let mut bytes = bytes.to_vec();
    Redactor::new().redact(&mut bytes);
    let mut crc = Crc::new();
    crc.update(&bytes);
    crc.sum()
}
