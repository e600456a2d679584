//! Names to addresses for a caller that has a thread to spare.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::names::{Addresses, Answer, Known, LookUp, Name, NameError, ask};

/// Looks names up while the caller waits, and keeps the answers for a minute.
/// For any number of threads at once; those who want to know the same wait for
/// one look-up together.
pub struct BlockingResolver {
    look_up: Arc<LookUp>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Default)]
struct State {
    known: Known,
    /// The look-ups under way, and where their answers will be.
    asked: HashMap<Name, Arc<OnceLock<Answer>>>,
}

impl BlockingResolver {
    /// A resolver that asks `look_up`.
    pub fn new(look_up: Arc<LookUp>) -> Self {
        Self { look_up, shared: Arc::default() }
    }

    /// The addresses of `host`, a name, an IPv4 address or an IPv6 address
    /// with or without brackets; none if they are not found within `patience`.
    ///
    /// The operating system's look-up cannot be interrupted. It runs on a
    /// thread of its own, which outlives an impatient caller, and whose answer
    /// is there for the next one.
    ///
    /// # Errors
    /// When the name has no address.
    pub fn look_up(
        &self,
        host: &str,
        port: u16,
        patience: Duration,
    ) -> Result<Option<Addresses>, NameError> {
        let mut state = self.shared.lock();
        if let Some(addresses) = state.known.get(host, port, Instant::now()) {
            return Ok(Some(addresses));
        }
        let name: Name = (host.into(), port);
        let answer = match state.asked.get(&name) {
            Some(answer) => Arc::clone(answer),
            None => {
                let answer = Arc::new(OnceLock::new());
                state.asked.insert(name.clone(), Arc::clone(&answer));
                self.ask(name, &mut state);
                answer
            }
        };
        let is_unanswered = |_: &mut State| answer.get().is_none();
        let waited = self.shared.answered.wait_timeout_while(state, patience, is_unanswered);
        drop(waited);
        answer.get().cloned().transpose()
    }

    fn ask(&self, name: Name, state: &mut State) {
        let (look_up, shared) = (Arc::clone(&self.look_up), Arc::clone(&self.shared));
        let asked = name.clone();
        let thread = thread::Builder::new().name("look-up".into()).spawn(move || {
            let answer = ask(&*look_up, &asked);
            shared.lock().answer(asked, answer);
            shared.answered.notify_all();
        });
        if let Err(error) = thread {
            let error = NameError::new(&name.0, error.to_string());
            state.answer(name, Err(error));
        }
    }
}

impl State {
    fn answer(&mut self, name: Name, answer: Answer) {
        // Better an old answer than none: the failure may be ours.
        let answer = answer.or_else(|error| self.known.former(&name).ok_or(error));
        if let Some(place) = self.asked.remove(&name) {
            // It was asked once, and so it is answered once.
            let _ = place.set(answer.clone());
        }
        if let Ok(addresses) = answer {
            self.known.keep(name, addresses, Instant::now());
        }
    }
}

impl Shared {
    /// What lies under the lock stays whole whatever a thread does meanwhile.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for BlockingResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlockingResolver")
    }
}
