//! The fetch of one URL: lookup, connect, send, receive.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use crawl_core::{Deadline, ErrorClass, FetchError, Options, Received, Verdict, Visit};
use transport::{
    BlockingResolver, Candidates, LookupFn, Stream, TlsConnector, is_fd_limit, is_tls_error,
};

use crate::connect_limit::ConnectLimit;
use crate::fd_limit::FdLimit;
use crate::socket::{Socket, remaining};

/// The state that all fetches share. Any number of threads may use it at once.
pub(crate) struct Fetcher {
    options: Options,
    resolver: BlockingResolver,
    tls_connector: TlsConnector,
    fd_limit: FdLimit,
    connect_limit: ConnectLimit,
}

impl Fetcher {
    pub(crate) fn new(options: Options, lookup: Arc<LookupFn>) -> Self {
        Self {
            tls_connector: TlsConnector::new(&options.ca_certificates, options.insecure),
            options,
            resolver: BlockingResolver::new(lookup),
            fd_limit: FdLimit::default(),
            connect_limit: ConnectLimit::default(),
        }
    }

    // ANCHOR: fetch
    /// Fetches a URL, with retries and backoff.
    pub(crate) fn fetch(&self, mut visit: Visit) -> Visit {
        loop {
            let deadline = Deadline::new(&self.options, Instant::now());
            let attempt = self.attempt(&mut visit, &deadline);
            let attempt = attempt.map_err(|error| match remaining(&deadline) {
                // The deadline has passed: the call reports that in its own way.
                Err(_) if error.class.is_transient() => deadline.timeout_error(),
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
    /// Makes one attempt, over a connection of its own.
    fn attempt(&self, visit: &mut Visit, deadline: &Deadline) -> Result<(), FetchError> {
        let request = visit.request(&self.options, false);
        let layer = self.tls_connector.layer(visit.secure_host());
        let layer = layer.map_err(|error| FetchError::new(ErrorClass::Tls, error.to_string()))?;
        let socket = self.connect(visit, deadline)?;
        deadline.progress(Instant::now());
        let mut stream = Stream::new(socket, layer);
        let sent = stream.write_all(&request).and_then(|()| stream.flush());
        sent.map_err(|error| failure(visit, &error))?;
        read_response(&mut stream, visit, deadline)
    }
    // ANCHOR_END: attempt

    /// Connects to the first address of the host that accepts the connection.
    fn connect<'a>(
        &'a self,
        visit: &Visit,
        deadline: &'a Deadline,
    ) -> Result<Socket<'a>, FetchError> {
        let (host, port) = (visit.host(), visit.port());
        let time = remaining(deadline).unwrap_or_default();
        let addresses = self.resolver.lookup(host, port, time);
        let addresses =
            addresses.map_err(|error| FetchError::new(ErrorClass::Dns, error.to_string()))?;
        let mut candidates = Candidates::new(addresses.ok_or_else(|| deadline.timeout_error())?);
        while let Some(address) = candidates.current() {
            deadline.pause(Instant::now());
            let permit = Some(self.connect_limit.acquire(address));
            deadline.resume(Instant::now());
            deadline.start_address(Instant::now(), candidates.left());
            match remaining(deadline).and_then(|time| TcpStream::connect_timeout(&address, time)) {
                Ok(stream) => {
                    return Ok(Socket { stream, deadline, permit, _guard: self.fd_limit.opened() });
                }
                // Not the server's fault: the clock of its deadline is paused.
                Err(error) if is_fd_limit(&error) => {
                    deadline.pause(Instant::now());
                    if !self.fd_limit.wait() {
                        candidates.failed(&error);
                    }
                    deadline.resume(Instant::now());
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
    deadline: &Deadline,
) -> Result<(), FetchError> {
    let mut buffer = [0; 16 * 1024];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return visit.receive_end(),
            Ok(count) => {
                deadline.progress(Instant::now());
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

/// Converts the error of a read or write into that of the fetch.
fn failure(visit: &Visit, error: &io::Error) -> FetchError {
    if is_tls_error(error) {
        return FetchError::new(ErrorClass::Tls, error.to_string());
    }
    visit.interrupted(error)
}
