//! A world without sockets in which waiting takes no time.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{Event, Key, Notifier, Socket, World};

/// A clock that jumps: whoever waits until a deadline finds it come at once.
///
/// For tests and examples about time alone: what takes a day takes no time,
/// and always happens in the same order.
#[derive(Debug)]
pub struct VirtualTime {
    now: Instant,
    notified: Arc<AtomicBool>,
}

impl VirtualTime {
    /// A clock that stands at the present moment until somebody waits.
    pub fn new() -> Self {
        Self { now: Instant::now(), notified: Arc::new(AtomicBool::new(false)) }
    }
}

impl Default for VirtualTime {
    fn default() -> Self {
        Self::new()
    }
}

impl World for VirtualTime {
    fn now(&self) -> Instant {
        self.now
    }

    /// # Errors
    /// Always: there is nobody to connect to.
    fn connect(&mut self, _address: SocketAddr, _key: Key) -> io::Result<Socket> {
        let message = "no connections in virtual time";
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    /// # Errors
    /// When nothing can ever happen again: no deadline and no notification.
    /// The real world would wait for ever.
    fn wait(&mut self, timeout: Option<Duration>, _news: &mut Vec<Event>) -> io::Result<()> {
        if self.notified.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let Some(timeout) = timeout else {
            let message = "everybody waits, and there is nothing to wait for";
            return Err(io::Error::new(io::ErrorKind::Deadlock, message));
        };
        self.now += timeout;
        Ok(())
    }

    fn notifier(&self) -> Notifier {
        let notified = Arc::clone(&self.notified);
        Notifier::new(move || notified.store(true, Ordering::Relaxed))
    }
}
