//! The real world, but for what a test has to say.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use selector_core::{Event, Key, Notifier, Os, Socket, World};

/// Comes between a loop and the real world.
pub trait Meddler: 'static {
    /// A connection is being made; the loop gets what this returns.
    fn connect(&mut self, socket: Socket, _key: Key) -> io::Result<Socket> {
        Ok(socket)
    }

    /// The loop waits for news.
    fn wait(
        &mut self,
        os: &mut Os,
        timeout: Option<Duration>,
        news: &mut Vec<Event>,
    ) -> io::Result<()> {
        os.wait(timeout, news)
    }
}

/// A world with a meddler in it.
pub struct Meddled<M> {
    os: Os,
    meddler: M,
}

impl<M: Meddler> Meddled<M> {
    pub fn by(meddler: M) -> Self {
        let os = Os::new().unwrap();
        Self { os, meddler }
    }
}

impl<M: Meddler> World for Meddled<M> {
    fn now(&self) -> Instant {
        self.os.now()
    }

    fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket> {
        let socket = self.os.connect(address, key)?;
        self.meddler.connect(socket, key)
    }

    fn wait(&mut self, timeout: Option<Duration>, news: &mut Vec<Event>) -> io::Result<()> {
        self.meddler.wait(&mut self.os, timeout, news)
    }

    fn notifier(&self) -> Notifier {
        self.os.notifier()
    }
}
