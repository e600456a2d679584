//! An interceptor between an event loop and the operating system.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use selector_core::{Backend, CustomSocket, Event, Key, Notifier, OsBackend, Socket};

/// Hooks between a loop and its [`OsBackend`].
pub trait Interceptor: 'static {
    /// Called for each connection that is being made. The loop gets the socket
    /// that this returns.
    fn connect(&mut self, socket: Socket, _key: Key) -> io::Result<Socket> {
        Ok(socket)
    }

    /// Called when the loop waits for events.
    fn wait(
        &mut self,
        os: &mut OsBackend,
        timeout: Option<Duration>,
        events: &mut Vec<Event>,
    ) -> io::Result<()> {
        os.wait(timeout, events)
    }
}

/// The backend of the operating system with an [`Interceptor`] in front of it.
pub struct InterceptedBackend<I> {
    os: OsBackend,
    interceptor: I,
}

impl<I: Interceptor> InterceptedBackend<I> {
    pub fn new(interceptor: I) -> Self {
        let os = OsBackend::new().unwrap();
        Self { os, interceptor }
    }
}

impl<I: Interceptor> Backend for InterceptedBackend<I> {
    fn now(&self) -> Instant {
        self.os.now()
    }

    fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket> {
        let socket = self.os.connect(address, key)?;
        self.interceptor.connect(socket, key)
    }

    fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        self.interceptor.wait(&mut self.os, timeout, events)
    }

    fn notifier(&self) -> Notifier {
        self.os.notifier()
    }
}

/// A socket that holds a clone of a counter while it is open.
#[derive(Debug)]
pub struct CountedSocket {
    socket: Socket,
    _open: Arc<()>,
}

impl CountedSocket {
    pub fn new(socket: Socket, open: &Arc<()>) -> Self {
        Self { socket, _open: Arc::clone(open) }
    }
}

impl Read for CountedSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.read(buffer)
    }
}

impl Write for CountedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl CustomSocket for CountedSocket {
    fn connected(&self) -> io::Result<bool> {
        self.socket.connected()
    }
}
