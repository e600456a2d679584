//! An interceptor between an event loop and the operating system.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use selector_core::{Backend, Event, Key, Notifier, OsBackend, Socket};

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
