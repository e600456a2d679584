//! A wire that lies in memory, with a TLS server at its other end.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::rc::Rc;
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection};

/// What is under way between two ends.
#[derive(Debug, Default)]
pub struct Wire {
    /// Arrived, and not read by the client.
    pub inbound: VecDeque<u8>,
    /// Written by the client, and not taken off.
    pub outbound: VecDeque<u8>,
    /// How many bytes of the client's the wire holds.
    pub room: usize,
    /// Whether the client will get no more than is there.
    pub is_over: bool,
    /// How often the client has asked the socket to read or to write.
    pub calls: usize,
}

/// The client's end of a wire. It never blocks.
#[derive(Clone, Debug)]
pub struct End(pub Rc<RefCell<Wire>>);

impl End {
    pub fn new(room: usize) -> Self {
        Self(Rc::new(RefCell::new(Wire { room, ..Wire::default() })))
    }
}

impl Read for End {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut wire = self.0.borrow_mut();
        wire.calls += 1;
        if wire.inbound.is_empty() && !wire.is_over {
            return Err(ErrorKind::WouldBlock.into());
        }
        wire.inbound.read(buffer)
    }
}

impl Write for End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut wire = self.0.borrow_mut();
        wire.calls += 1;
        let length = bytes.len().min(wire.room.saturating_sub(wire.outbound.len()));
        if length == 0 && !bytes.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        wire.outbound.write(&bytes[..length])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The other end.
pub struct Server {
    pub tls: ServerConnection,
    /// What it has sent and what has not arrived.
    pub sent: VecDeque<u8>,
    /// What the client has said.
    pub heard: Vec<u8>,
}

impl Server {
    pub fn new(config: &Arc<ServerConfig>) -> Self {
        let mut tls = ServerConnection::new(Arc::clone(config)).unwrap();
        tls.set_buffer_limit(None);
        Self { tls, sent: VecDeque::new(), heard: Vec::new() }
    }

    /// Takes so many bytes off the wire.
    pub fn take(&mut self, wire: &mut Wire, most: usize) -> Result<(), rustls::Error> {
        let length = most.min(wire.outbound.len());
        let taken: Vec<u8> = wire.outbound.drain(..length).collect();
        let mut rest = &taken[..];
        while !rest.is_empty() && self.tls.read_tls(&mut rest).unwrap() > 0 {
            let processed = self.tls.process_new_packets();
            let mut heard = [0; 4096];
            while let Ok(length) = self.tls.reader().read(&mut heard)
                && length > 0
            {
                self.heard.extend(&heard[..length]);
            }
            self.send();
            processed?;
        }
        Ok(())
    }

    /// Has so many bytes arrive.
    pub fn give(&mut self, wire: &mut Wire, most: usize) {
        self.send();
        let length = most.min(self.sent.len());
        wire.inbound.extend(self.sent.drain(..length));
    }

    pub fn say(&mut self, bytes: &[u8]) {
        self.tls.writer().write_all(bytes).unwrap();
    }

    fn send(&mut self) {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.sent).unwrap();
        }
    }
}
