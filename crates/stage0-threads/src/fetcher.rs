//! One page, from the look-up to the last byte.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use crawl_core::{ErrorClass, FetchError, Options, Patience, Received, Verdict, Visit};
use transport::{
    Addresses, BlockingResolver, Security, Stream, out_of_descriptors, system_look_up,
};

use crate::connections::Connections;
use crate::socket::{Socket, left, reason};

/// Fetches pages, for any number of threads at once.
pub(crate) struct Fetcher {
    options: Options,
    resolver: BlockingResolver,
    security: Security,
    connections: Connections,
}

impl Fetcher {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            options,
            resolver: BlockingResolver::new(Arc::new(system_look_up)),
            security: Security::new(),
            connections: Connections::default(),
        }
    }

    /// Tries until it is decided what becomes of the URL.
    pub(crate) fn fetch(&self, mut visit: Visit) -> Visit {
        loop {
            let attempt = self.attempt(&mut visit);
            match visit.judge(attempt) {
                Verdict::TryAgain(pause) => thread::sleep(pause),
                Verdict::Finished => return visit,
            }
        }
    }

    /// One try, over a connection of its own.
    fn attempt(&self, visit: &mut Visit) -> Result<(), FetchError> {
        let patience = Patience::new(&self.options, Instant::now());
        let request = visit.request(&self.options, false);
        let layer = self
            .security
            .layer(visit.is_secure())
            .map_err(|error| FetchError::new(ErrorClass::Tls, error.to_string()))?;
        let addresses = self.look_up(visit, &patience)?;
        let socket = self.connect(&addresses, &patience)?;
        patience.heard(Instant::now());
        let mut stream = Stream::new(socket, layer);
        stream
            .write_all(&request)
            .and_then(|()| stream.flush())
            .map_err(|error| reason(&patience, || visit.interrupted(&error)))?;
        read_response(&mut stream, visit, &patience)
    }

    fn look_up(&self, visit: &Visit, patience: &Patience) -> Result<Addresses, FetchError> {
        let left = left(patience).unwrap_or_default();
        let answer = self.resolver.look_up(visit.host(), visit.port(), left);
        answer.map_err(|error| {
            let error = || FetchError::new(ErrorClass::Dns, error.to_string());
            reason(patience, error)
        })
    }

    /// Connects to the first address that lets us.
    fn connect<'a>(
        &'a self,
        addresses: &[SocketAddr],
        patience: &'a Patience,
    ) -> Result<Socket<'a>, FetchError> {
        let mut failure = FetchError::new(ErrorClass::Connect, "no address");
        for address in addresses {
            match self.connect_to(address, patience) {
                Ok(socket) => return Ok(socket),
                Err(error) => {
                    let error = || {
                        FetchError::new(
                            ErrorClass::Connect,
                            format!("cannot connect to {address}: {error}"),
                        )
                    };
                    failure = reason(patience, error);
                }
            }
        }
        Err(failure)
    }

    fn connect_to<'a>(
        &'a self,
        address: &SocketAddr,
        patience: &'a Patience,
    ) -> io::Result<Socket<'a>> {
        loop {
            match TcpStream::connect_timeout(address, left(patience)?) {
                Ok(stream) => return Ok(Socket::new(stream, self.connections.open(), patience)),
                // Not the server's fault: its time begins when there is room.
                Err(error) if out_of_descriptors(&error) && self.connections.wait() => {
                    patience.restart(Instant::now());
                }
                Err(error) => return Err(error),
            }
        }
    }
}

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
            Err(error) => return Err(reason(patience, || visit.interrupted(&error))),
        }
    }
}
