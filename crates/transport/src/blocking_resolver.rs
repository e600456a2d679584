//! Names to addresses for a caller that has a thread to spare.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::names::{Addresses, Known, LookUp, Name, NameError, ask};

/// Looks names up while the caller waits, and keeps the answers for a minute.
/// For any number of threads at once.
pub struct BlockingResolver {
    look_up: Arc<LookUp>,
    known: Mutex<Known>,
}

impl BlockingResolver {
    /// A resolver that asks `look_up`.
    pub fn new(look_up: Arc<LookUp>) -> Self {
        Self { look_up, known: Mutex::new(Known::default()) }
    }

    /// The addresses of `host`, a name, an IPv4 address or an IPv6 address
    /// with or without brackets.
    ///
    /// The operating system's look-up cannot be interrupted. It runs on a
    /// thread of its own, which outlives an impatient caller.
    ///
    /// # Errors
    /// When the name has no address, or none is found within `patience`.
    pub fn look_up(
        &self,
        host: &str,
        port: u16,
        patience: Duration,
    ) -> Result<Addresses, NameError> {
        let name: Name = (host.into(), port);
        if let Some(addresses) = self.known().get(&name, Instant::now()) {
            return Ok(addresses);
        }
        let (sender, receiver) = mpsc::channel();
        let look_up = Arc::clone(&self.look_up);
        let asked = name.clone();
        thread::Builder::new()
            .name("look-up".into())
            .spawn(move || {
                // Nobody listens any more: then nobody needs the answer.
                let _ = sender.send(ask(&*look_up, &asked));
            })
            .map_err(|error| NameError::new(&name.0, error.to_string()))?;
        let addresses = receiver
            .recv_timeout(patience)
            .map_err(|_| NameError::new(&name.0, "the look-up took too long"))??;
        self.known().keep(name, Arc::clone(&addresses), Instant::now());
        Ok(addresses)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for BlockingResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlockingResolver")
    }
}
