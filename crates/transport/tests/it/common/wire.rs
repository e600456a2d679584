//! A connection in memory, with a TLS server at its other end.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::rc::Rc;
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection};

/// The bytes in transit between the two ends.
#[derive(Debug, Default)]
pub struct Wire {
    /// Bytes that the client has not read yet.
    pub inbound: VecDeque<u8>,
    /// Bytes written by the client that the server has not read yet.
    pub outbound: VecDeque<u8>,
    /// The maximum length of `outbound`.
    pub capacity: usize,
    /// Set when the client will get no more bytes than those in `inbound`.
    pub is_closed: bool,
    /// The number of the client's reads and writes.
    pub calls: usize,
}

/// The client's socket. It never blocks.
#[derive(Clone, Debug)]
pub struct End(pub Rc<RefCell<Wire>>);

impl End {
    pub fn new(capacity: usize) -> Self {
        Self(Rc::new(RefCell::new(Wire { capacity, ..Wire::default() })))
    }
}

impl Read for End {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut wire = self.0.borrow_mut();
        wire.calls += 1;
        if wire.inbound.is_empty() && !wire.is_closed {
            return Err(ErrorKind::WouldBlock.into());
        }
        wire.inbound.read(buffer)
    }
}

impl Write for End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut wire = self.0.borrow_mut();
        wire.calls += 1;
        let length = bytes.len().min(wire.capacity.saturating_sub(wire.outbound.len()));
        if length == 0 && !bytes.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        wire.outbound.write(&bytes[..length])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The server at the other end.
pub struct Server {
    pub tls: ServerConnection,
    /// Encrypted bytes that are not on the wire yet.
    pub outgoing: VecDeque<u8>,
    /// Plain bytes from the client.
    pub received: Vec<u8>,
}

impl Server {
    pub fn new(config: &Arc<ServerConfig>) -> Self {
        let mut tls = ServerConnection::new(Arc::clone(config)).unwrap();
        tls.set_buffer_limit(None);
        Self { tls, outgoing: VecDeque::new(), received: Vec::new() }
    }

    /// Takes up to `max` bytes from the client off the wire.
    pub fn read_from(&mut self, wire: &mut Wire, max: usize) -> Result<(), rustls::Error> {
        let length = max.min(wire.outbound.len());
        let taken: Vec<u8> = wire.outbound.drain(..length).collect();
        let mut rest = &taken[..];
        while !rest.is_empty() && self.tls.read_tls(&mut rest).unwrap() > 0 {
            let processed = self.tls.process_new_packets();
            let mut received = [0; 4096];
            while let Ok(length) = self.tls.reader().read(&mut received)
                && length > 0
            {
                self.received.extend(&received[..length]);
            }
            self.send_records();
            processed?;
        }
        Ok(())
    }

    /// Puts up to `max` bytes for the client on the wire.
    pub fn write_to(&mut self, wire: &mut Wire, max: usize) {
        self.send_records();
        let length = max.min(self.outgoing.len());
        wire.inbound.extend(self.outgoing.drain(..length));
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.tls.writer().write_all(bytes).unwrap();
    }

    fn send_records(&mut self) {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.outgoing).unwrap();
        }
    }
}
