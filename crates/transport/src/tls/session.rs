//! TLS on one connection.

use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Error};

use super::words::explain;
use crate::TlsError;
use crate::stream::{Direction, Watched};

/// How many bytes may wait to be sealed, or sealed to be sent.
const BUFFER_LIMIT: usize = 16 * 1024;

/// A call that has read so many times from the socket, to no avail, is over:
/// a peer has many ways to say nothing, and others may have something to do.
const READS_PER_CALL: u32 = 16;

/// One end of a TLS connection, and what it needs to be spoken to with `read`
/// and `write`.
#[derive(Debug)]
pub(crate) struct Session {
    tls: ClientConnection,
    /// How many bytes of the present write have been taken over. They are not
    /// accounted for before they are on the socket: until then somebody has to
    /// come back and push.
    taken: usize,
    /// What has made an end of it all. What came before is read first.
    failure: Option<TlsError>,
}

impl Session {
    pub(crate) fn new(
        config: Arc<ClientConfig>,
        server: ServerName<'static>,
    ) -> Result<Self, Error> {
        let mut tls = ClientConnection::new(config, server)?;
        tls.set_buffer_limit(Some(BUFFER_LIMIT));
        Ok(Self { tls, taken: 0, failure: None })
    }

    /// Whether nothing that was received is left to be told.
    pub(crate) fn is_empty(&self) -> bool {
        self.tls.wants_read() && self.failure.is_none()
    }

    pub(crate) fn read<S: Read + Write>(
        &mut self,
        socket: &mut Watched<S>,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        for _ in 0..READS_PER_CALL {
            match self.tls.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.exchange(socket)?,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Err(ended("without saying so (TLS close_notify)"));
                }
                result => {
                    self.rest();
                    return result;
                }
            }
        }
        Err(ErrorKind::Interrupted.into())
    }

    pub(crate) fn write<S: Read + Write>(
        &mut self,
        socket: &mut Watched<S>,
        bytes: &[u8],
    ) -> io::Result<usize> {
        if self.taken == 0 {
            // Even before the handshake, with the end of which they are sent.
            self.taken = self.tls.writer().write(bytes)?;
        }
        for _ in 0..READS_PER_CALL {
            if !self.tls.is_handshaking() {
                self.send(socket)?;
                self.rest();
                return Ok(mem::take(&mut self.taken));
            }
            self.exchange(socket)?;
        }
        Err(ErrorKind::Interrupted.into())
    }

    /// Tells the peer that nothing more will come (RFC 9112, section 9.8), if
    /// that can be done now.
    pub(crate) fn close<S: Write>(&mut self, socket: &mut Watched<S>) {
        if !self.tls.is_handshaking() && !self.tls.wants_write() {
            self.tls.send_close_notify();
            // Whoever does not get it will see the connection end.
            let _ = self.send(socket);
        }
    }

    /// Sends what the peer waits for and takes what it has sent.
    fn exchange<S: Read + Write>(&mut self, socket: &mut Watched<S>) -> io::Result<()> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone().into());
        }
        let sent = self.send(socket);
        // Whatever became of it: a peer that hangs up may have said why.
        let received = match self.tls.read_tls(socket) {
            Ok(received) => received,
            Err(error) => {
                return Err(match sent {
                    Ok(()) => error,
                    Err(unsent) => {
                        socket.blocked_on = Direction::Write;
                        unsent
                    }
                });
            }
        };
        if let Err(error) = self.tls.process_new_packets() {
            self.failure = Some(match error {
                // It was readable as long as they came to an agreement.
                Error::DecryptError | Error::InvalidMessage(_) if !self.tls.is_handshaking() => {
                    TlsError::damage()
                }
                error => explain(&error),
            });
            // So that the peer knows, if it still listens.
            let _ = self.send(socket);
            return Ok(());
        }
        if received == 0 && self.tls.is_handshaking() {
            return Err(ended("in the middle of the TLS handshake"));
        }
        Ok(())
    }

    /// rustls makes its buffer smaller, if it can, before it reads. Should
    /// this connection wait now, it need not hold more than that.
    fn rest(&mut self) {
        let _ = self.tls.read_tls(&mut Silence);
    }

    fn send<S: Write>(&mut self, socket: &mut Watched<S>) -> io::Result<()> {
        while self.tls.wants_write() {
            if self.tls.write_tls(socket)? == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }
}

/// Has nothing to read, for now.
struct Silence;

impl Read for Silence {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(ErrorKind::WouldBlock.into())
    }
}

fn ended(how: &str) -> io::Error {
    let message = format!("the server closed the connection {how}");
    io::Error::new(ErrorKind::UnexpectedEof, message)
}
