//! The TLS session of one connection: the handshake, and reads that first have to
//! write.

use std::cell::Cell;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::mem;
use std::sync::Arc;

use rustls::client::ResolvesClientCert;
use rustls::pki_types::ServerName;
use rustls::sign::CertifiedKey;
use rustls::{AlertDescription, ClientConfig, ClientConnection, Error, SignatureScheme};

use super::error_messages::explain;
use crate::probed::{Direction, Probed};
use crate::tls_error::TlsError;

/// The maximum size of each of rustls' two write buffers, for plain and for
/// encrypted bytes.
const BUFFER_LIMIT: usize = 16 * 1024;

/// The number of reads from the socket after which a call without a result
/// returns `Interrupted`. A peer can send many records without data; other
/// connections must not wait for them.
const READS_PER_CALL: u32 = 16;

/// The maximum number of encrypted bytes that one read takes from the socket. (By itself,
/// rustls reads 4 KB, so a page would be several system calls.)
const READ_SIZE: usize = 16 * 1024;

/// The maximum number of plain bytes that such a read can give: the record that was
/// incomplete before it is now complete, and as much again.
const MAX_PLAIN: usize = READ_SIZE + 16 * 1024;

/// The client's end of a TLS connection, with `read` and `write` of plain
/// bytes.
#[derive(Debug)]
pub(crate) struct Session {
    tls: ClientConnection,
    /// The number of bytes of the current write that rustls has accepted. They
    /// are reported as written only when the socket has taken them all: until
    /// then the caller has to repeat the write.
    accepted: usize,
    /// The session that this one is in, as behind a proxy with TLS.
    outer: Option<Box<Session>>,
    /// The error that has ended the session. Bytes that came before it are read
    /// first.
    failure: Option<TlsError>,
    /// True if the server has asked for a certificate of ours.
    is_certificate_wanted: bool,
}

thread_local! {
    /// True if a server has asked for a certificate, in the session that takes its packets on
    /// this thread.
    static IS_CERTIFICATE_WANTED: Cell<bool> = const { Cell::new(false) };
}

/// Notes that a server asks for a certificate, and has none to show.
#[derive(Debug)]
pub(super) struct NoCertificate;

impl ResolvesClientCert for NoCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        IS_CERTIFICATE_WANTED.set(true);
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

impl Session {
    pub(crate) fn new(
        config: Arc<ClientConfig>,
        server: ServerName<'static>,
    ) -> Result<Self, Error> {
        let mut tls = ClientConnection::new(config, server)?;
        tls.set_buffer_limit(Some(BUFFER_LIMIT));
        let is_certificate_wanted = false;
        Ok(Self { tls, accepted: 0, outer: None, failure: None, is_certificate_wanted })
    }

    /// Puts the session into another one, whose handshake is done.
    pub(crate) fn within(self, outer: Option<Session>) -> Self {
        Self { outer: outer.map(Box::new), ..self }
    }

    /// Returns true if everything received, errors included, has been read.
    pub(crate) fn is_drained(&self) -> bool {
        let is_drained = self.tls.wants_read() && self.failure.is_none();
        is_drained && self.outer.as_ref().is_none_or(|outer| outer.is_drained())
    }

    pub(crate) fn read<S: Read + Write>(
        &mut self,
        socket: &mut Probed<S>,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        for _ in 0..READS_PER_CALL {
            match self.tls.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let length = self.exchange(socket, buffer)?;
                    if length > 0 {
                        self.shrink_buffer();
                        return Ok(length);
                    }
                }
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Err(unexpected_eof("without saying so (TLS close_notify)"));
                }
                result => {
                    self.shrink_buffer();
                    return result;
                }
            }
        }
        Err(ErrorKind::Interrupted.into())
    }

    pub(crate) fn write<S: Read + Write>(
        &mut self,
        socket: &mut Probed<S>,
        bytes: &[u8],
    ) -> io::Result<usize> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone().into());
        }
        if self.accepted == 0 {
            // Even before the handshake: they are sent when it is done.
            self.accepted = self.tls.writer().write(bytes)?;
        }
        for _ in 0..READS_PER_CALL {
            if !self.tls.is_handshaking() {
                self.send(socket)?;
                self.shrink_buffer();
                return Ok(mem::take(&mut self.accepted));
            }
            self.exchange(socket, &mut [])?;
        }
        Err(ErrorKind::Interrupted.into())
    }

    /// Sends a `close_notify` (RFC 9112, section 9.8) if that is possible
    /// without waiting.
    pub(crate) fn close<S: Read + Write>(&mut self, socket: &mut Probed<S>) {
        if !self.tls.is_handshaking() && !self.tls.wants_write() {
            self.tls.send_close_notify();
            // A peer that does not get it sees the connection end.
            let _ = self.send(socket);
        }
        if let Some(outer) = &mut self.outer {
            outer.close(socket);
        }
    }

    /// Sends the records that are waiting, then reads and processes those that have arrived.
    /// Returns the number of plain bytes that it has put into the buffer. If the buffer is
    /// small, there are none, and they are to be read from the session.
    fn exchange<S: Read + Write>(
        &mut self,
        socket: &mut Probed<S>,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone().into());
        }
        let sent = self.send(socket);
        // Even if that failed: a peer that hangs up may have sent an alert.
        let mut below = Below { outer: self.outer.as_deref_mut(), socket };
        let (plain, encrypted) = buffer.split_at_mut(MAX_PLAIN.min(buffer.len()));
        let is_large = encrypted.len() >= READ_SIZE;
        let received = if is_large {
            below.read(&mut encrypted[..READ_SIZE])
        } else {
            self.tls.read_tls(&mut below)
        };
        let received = match received {
            Ok(received) => received,
            Err(error) => {
                return Err(match sent {
                    Ok(()) => error,
                    Err(unsent) => {
                        socket.blocked_on = Some(Direction::Write);
                        unsent
                    }
                });
            }
        };
        IS_CERTIFICATE_WANTED.set(false);
        let processed = if is_large {
            self.decrypt(&encrypted[..received], plain)
        } else {
            self.tls.process_new_packets().map(|_| 0).map_err(|error| (0, error))
        };
        self.is_certificate_wanted |= IS_CERTIFICATE_WANTED.get();
        let length = match processed {
            Ok(length) => length,
            Err((length, error)) => {
                self.fail(error);
                // The alert for the peer, if it is still there.
                let _ = self.send(socket);
                return Ok(length);
            }
        };
        if received == 0 && self.tls.is_handshaking() {
            return Err(unexpected_eof("in the middle of the TLS handshake"));
        }
        Ok(length)
    }

    /// Decrypts bytes of the socket, and returns the number of plain bytes that are in
    /// `plain` now. With an error comes the number of those before it.
    fn decrypt(&mut self, mut encrypted: &[u8], plain: &mut [u8]) -> Result<usize, (usize, Error)> {
        let mut length = 0;
        loop {
            // It fails only at a limit of rustls, as for a handshake of more than 64 KB.
            let limit = |error: io::Error| (length, Error::General(error.to_string()));
            let taken = self.tls.read_tls(&mut encrypted).map_err(limit)?;
            let processed = self.tls.process_new_packets();
            // Nothing to read yet, or the end of the stream, is found by the caller.
            length += self.tls.reader().read(&mut plain[length..]).unwrap_or(0);
            processed.map_err(|error| (length, error))?;
            // No bytes at all are the end of the stream, of which rustls has to know.
            if encrypted.is_empty() || taken == 0 {
                return Ok(length);
            }
        }
    }

    /// Notes the error that has ended the session.
    fn fail(&mut self, error: Error) {
        self.failure = Some(match error {
            // The handshake was readable, so the peer does speak TLS. The alert is its
            // answer to a record that it cannot read.
            Error::DecryptError
            | Error::InvalidMessage(_)
            | Error::AlertReceived(AlertDescription::BadRecordMac)
                if !self.tls.is_handshaking() =>
            {
                TlsError::damage()
            }
            // TLS 1.2 has no alert of its own for that.
            Error::AlertReceived(
                AlertDescription::HandshakeFailure
                | AlertDescription::BadCertificate
                | AlertDescription::CertificateUnknown,
            ) if self.is_certificate_wanted => {
                explain(&Error::AlertReceived(AlertDescription::CertificateRequired))
            }
            error => explain(&error),
        });
    }

    /// Makes the read buffer smaller, because the connection may wait now.
    /// rustls does that, if it can, before it reads.
    fn shrink_buffer(&mut self) {
        let _ = self.tls.read_tls(&mut NoData);
    }

    fn send<S: Read + Write>(&mut self, socket: &mut Probed<S>) -> io::Result<()> {
        let mut below = Below { outer: self.outer.as_deref_mut(), socket };
        while self.tls.wants_write() {
            if self.tls.write_tls(&mut below)? == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }
}

/// The stream below a session: the session that it is in, or the socket.
struct Below<'a, S> {
    outer: Option<&'a mut Session>,
    socket: &'a mut Probed<S>,
}

impl<S: Read + Write> Read for Below<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.outer {
            Some(outer) => outer.read(self.socket, buffer),
            None => self.socket.read(buffer),
        }
    }
}

impl<S: Read + Write> Write for Below<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.outer {
            Some(outer) => outer.write(self.socket, bytes),
            None => self.socket.write(bytes),
        }
    }

    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.outer {
            // After `WouldBlock` it needs the same bytes again, and others may be behind
            // the first ones then.
            Some(_) => self.write(bytes.first().map_or(&[], |first| first)),
            None => self.socket.write_vectored(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// A reader that has no data: every read returns `WouldBlock`.
struct NoData;

impl Read for NoData {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(ErrorKind::WouldBlock.into())
    }
}

fn unexpected_eof(how: &str) -> io::Error {
    let message = format!("the server closed the connection {how}");
    io::Error::new(ErrorKind::UnexpectedEof, message)
}
