//! One page, from the look-up to the last byte.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use crawl_core::{ErrorClass, FetchError, Options, Patience, Received, Verdict, Visit};
use transport::{
    BlockingResolver, Candidates, LookUp, Security, Stream, is_tls_error, out_of_descriptors,
};

use crate::connections::Connections;
use crate::socket::{Socket, left};
use crate::turns::Turns;

/// Fetches pages, for any number of threads at once.
pub(crate) struct Fetcher {
    options: Options,
    resolver: BlockingResolver,
    security: Security,
    connections: Connections,
    turns: Turns,
}

impl Fetcher {
    pub(crate) fn new(options: Options, look_up: Arc<LookUp>) -> Self {
        Self {
            security: Security::new(&options.ca_certificates, options.insecure),
            options,
            resolver: BlockingResolver::new(look_up),
            connections: Connections::default(),
            turns: Turns::default(),
        }
    }

    // ANCHOR: fetch
    /// Tries until it is decided what becomes of the URL.
    pub(crate) fn fetch(&self, mut visit: Visit) -> Visit {
        loop {
            let patience = Patience::new(&self.options, Instant::now());
            let attempt = self.attempt(&mut visit, &patience);
            let attempt = attempt.map_err(|error| match left(&patience) {
                // A call was given up, whatever it says of that itself.
                Err(_) if error.class.is_transient() => patience.lost(),
                _ => error,
            });
            match visit.judge(attempt) {
                Verdict::TryAgain(pause) => thread::sleep(pause),
                Verdict::Finished => return visit,
            }
        }
    }
    // ANCHOR_END: fetch

    // ANCHOR: attempt
    /// One try, over a connection of its own.
    fn attempt(&self, visit: &mut Visit, patience: &Patience) -> Result<(), FetchError> {
        let request = visit.request(&self.options, false);
        let layer = self.security.layer(visit.secure_host());
        let layer = layer.map_err(|error| FetchError::new(ErrorClass::Tls, error.to_string()))?;
        let socket = self.connect(visit, patience)?;
        patience.heard(Instant::now());
        let mut stream = Stream::new(socket, layer);
        let sent = stream.write_all(&request).and_then(|()| stream.flush());
        sent.map_err(|error| failure(visit, &error))?;
        read_response(&mut stream, visit, patience)
    }
    // ANCHOR_END: attempt

    /// Connects to the first address of the host that lets us.
    fn connect<'a>(
        &'a self,
        visit: &Visit,
        patience: &'a Patience,
    ) -> Result<Socket<'a>, FetchError> {
        let (host, port) = (visit.host(), visit.port());
        let time = left(patience).unwrap_or_default();
        let addresses = self.resolver.look_up(host, port, time);
        let addresses =
            addresses.map_err(|error| FetchError::new(ErrorClass::Dns, error.to_string()))?;
        let mut candidates = Candidates::new(addresses.ok_or_else(|| patience.lost())?);
        while let Some(address) = candidates.current() {
            patience.pause(Instant::now());
            let turn = Some(self.turns.wait(address));
            patience.resume(Instant::now());
            patience.try_address(Instant::now(), candidates.left());
            match left(patience).and_then(|time| TcpStream::connect_timeout(&address, time)) {
                Ok(stream) => {
                    return Ok(Socket { stream, patience, turn, _place: self.connections.open() });
                }
                // Not the server's fault: its time goes on when there is room.
                Err(error) if out_of_descriptors(&error) => {
                    patience.pause(Instant::now());
                    if !self.connections.wait() {
                        candidates.failed(&error);
                    }
                    patience.resume(Instant::now());
                }
                Err(error) => candidates.failed(&error),
            }
        }
        Err(FetchError::new(ErrorClass::Connect, candidates.failure()))
    }
}

// ANCHOR: read_response
fn read_response(
    stream: &mut impl Read,
    visit: &mut Visit,
    patience: &Patience,
) -> Result<(), FetchError> {
    let mut buffer = [0; 16 * 1024];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return visit.receive_end(),
            Ok(count) => {
                patience.heard(Instant::now());
                if let Received::Complete { .. } = visit.receive(&buffer[..count])? {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(failure(visit, &error)),
        }
    }
}
// ANCHOR_END: read_response

/// What a failed read or write means at this point.
fn failure(visit: &Visit, error: &io::Error) -> FetchError {
    if is_tls_error(error) {
        return FetchError::new(ErrorClass::Tls, error.to_string());
    }
    visit.interrupted(error)
}
