//! A backend without sockets, whose clock jumps instead of waiting.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::{Backend, Event, Notifier, Socket, Timeout};
use crate::Key;

/// A clock that jumps to the next deadline: waiting takes no time.
///
/// For tests and examples about time alone: a day of deadlines takes no time
/// and always happens in the same order. What another thread finds out, such as the
/// addresses of a name, comes too late in it: no wait lasts until then.
#[derive(Debug)]
pub struct VirtualClock {
    now: Instant,
    notified: Arc<AtomicBool>,
}

impl VirtualClock {
    /// Makes a clock that stands at the present moment until the first wait.
    pub fn new() -> Self {
        Self { now: Instant::now(), notified: Arc::new(AtomicBool::new(false)) }
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Backend for VirtualClock {
    fn now(&self) -> Instant {
        trace::set_time(self.now);
        self.now
    }

    /// # Errors
    /// Always: there is no network.
    fn connect(&mut self, _address: SocketAddr, _key: Key) -> io::Result<Socket> {
        let message = "no connections in virtual time";
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    /// # Errors
    /// [`io::ErrorKind::Deadlock`] when there is neither a notification nor a timeout
    /// that the clock can reach: nothing can ever happen again. The operating system
    /// would wait forever.
    fn wait(&mut self, timeout: Timeout, _events: &mut Vec<Event>) -> io::Result<()> {
        if self.notified.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let Some(then) = timeout.and_then(|timeout| self.now.checked_add(timeout)) else {
            let message = "everybody waits, and there is nothing to wait for";
            return Err(io::Error::new(io::ErrorKind::Deadlock, message));
        };
        self.now = then;
        trace::set_time(then);
        Ok(())
    }

    fn notifier(&self) -> Notifier {
        let notified = Arc::clone(&self.notified);
        Notifier::new(move || notified.store(true, Ordering::Relaxed))
    }
}
