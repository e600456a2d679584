//! Names to addresses, without ever blocking the caller.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::names::{Addresses, Answer, Known, LookUp, Name, NameError, ask};

/// Names one waiter of a [`Resolver`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// What a [`Resolver`] says to a question.
#[derive(Debug)]
pub enum Reply<W> {
    /// The answer is known; here is the waiter back, who need not wait.
    Known(Addresses, W),
    /// The waiter is held under this ticket until the answer comes.
    Pending(Ticket),
}

/// Looks names up on threads of its own and keeps the answers for a minute.
///
/// `W` is whoever waits: a callback, a future, anything. One question a name
/// is under way at a time, and at most eight in all; others take their turn.
pub struct Resolver<W> {
    look_up: Arc<LookUp>,
    notify: Arc<dyn Fn() + Send + Sync>,
    /// What the threads have found out and nobody has read yet.
    found: Arc<Mutex<Vec<(Name, Answer)>>>,
    known: Known,
    asked: HashMap<Name, Vec<Ticket>>,
    unasked: VecDeque<Name>,
    threads: usize,
    waiting: BTreeMap<Ticket, W>,
    tickets: u64,
}

impl<W> Resolver<W> {
    const MAX_THREADS: usize = 8;

    /// A resolver that asks `look_up` and calls `notify`, from another thread,
    /// when there is something to collect with [`Resolver::answered`].
    pub fn new(look_up: Arc<LookUp>, notify: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            look_up,
            notify: Arc::new(notify),
            found: Arc::new(Mutex::new(Vec::new())),
            known: Known::default(),
            asked: HashMap::new(),
            unasked: VecDeque::new(),
            threads: 0,
            waiting: BTreeMap::new(),
            tickets: 0,
        }
    }

    /// Asks for the addresses of `host`, a name, an IPv4 address or an IPv6
    /// address with or without brackets. Addresses written out are answered at
    /// once, and so is what was asked a short while before `now`.
    pub fn look_up(&mut self, host: &str, port: u16, now: Instant, waiter: W) -> Reply<W> {
        if let Some(addresses) = self.known.get(host, port, now) {
            return Reply::Known(addresses, waiter);
        }
        let name: Name = (host.into(), port);
        let ticket = Ticket(self.tickets);
        self.tickets += 1;
        self.waiting.insert(ticket, waiter);
        let tickets = self.asked.entry(name.clone()).or_default();
        tickets.push(ticket);
        if tickets.len() == 1 {
            self.unasked.push_back(name);
            self.ask_more();
        }
        Reply::Pending(ticket)
    }

    /// The addresses that [`Resolver::look_up`] would answer with at once.
    pub fn known(&mut self, host: &str, port: u16, now: Instant) -> Option<Addresses> {
        self.known.get(host, port, now)
    }

    /// The waiter of this ticket, unless it was answered.
    pub fn waiter_mut(&mut self, ticket: Ticket) -> Option<&mut W> {
        self.waiting.get_mut(&ticket)
    }

    // ANCHOR: take_back
    /// Gives the waiter back, unless it was answered. The look-up goes on, for
    /// whoever else wants to know.
    pub fn take_back(&mut self, ticket: Ticket) -> Option<W> {
        self.waiting.remove(&ticket)
    }
    // ANCHOR_END: take_back

    /// How many wait for an answer.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Everybody whose answer has come by `now`. To be called after `notify`
    /// was.
    pub fn answered(&mut self, now: Instant) -> Vec<(W, Answer)> {
        let found = std::mem::take(&mut *lock(&self.found));
        let mut answered = Vec::new();
        for (name, answer) in found {
            self.threads -= 1;
            // Better an old answer than none: the failure may be ours.
            let answer = answer.or_else(|error| self.known.former(&name).ok_or(error));
            let tickets = self.asked.remove(&name).unwrap_or_default();
            let waiters = tickets.iter().filter_map(|t| self.waiting.remove(t));
            answered.extend(waiters.map(|waiter| (waiter, answer.clone())));
            if let Ok(addresses) = answer {
                self.known.keep(name, addresses, now);
            }
        }
        self.ask_more();
        answered
    }

    fn ask_more(&mut self) {
        while self.threads < Self::MAX_THREADS {
            let Some(name) = self.unasked.pop_front() else {
                return;
            };
            let is_waiting = |ticket: &Ticket| self.waiting.contains_key(ticket);
            if !self.asked.get(&name).is_some_and(|tickets| tickets.iter().any(is_waiting)) {
                // All who wanted to know have given up.
                self.asked.remove(&name);
                continue;
            }
            self.threads += 1;
            self.ask(name);
        }
    }

    fn ask(&self, name: Name) {
        let look_up = Arc::clone(&self.look_up);
        let found = Arc::clone(&self.found);
        let notify = Arc::clone(&self.notify);
        let asked = name.clone();
        let thread = thread::Builder::new().name("look-up".into()).spawn(move || {
            let answer = ask(&*look_up, &asked);
            lock(&found).push((asked, answer));
            notify();
        });
        if let Err(error) = thread {
            let answer = Err(NameError::new(&name.0, error.to_string()));
            lock(&self.found).push((name, answer));
            (self.notify)();
        }
    }
}

/// The list stays whole whatever a thread does while it holds the lock.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<W> fmt::Debug for Resolver<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}
