//! A loop around mio, written for this crawl and for nothing else: our rules
//! of what is let in, what a response is and how long to wait, and no callback,
//! no task and no queue of them between a socket and what is done about it.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Instant;

use crawl_core::{Crawl, Job, Outcome, Patience, Received, Visit};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use selector_core::{TimerKey, Timers};
use slab::Slab;

use super::Work;
use super::response::invalid;
use crate::tally::Tally;

/// The most connections that are being made at once: a server has only so much
/// room for those whom it has not accepted.
pub(super) const CONNECTING: usize = 1000;
pub(super) const SCRATCH: usize = 64 * 1024;

struct Client {
    stream: TcpStream,
    visit: Visit,
    patience: Patience,
    timer: TimerKey,
    has_asked: bool,
}

struct Loop {
    work: Work,
    tally: Tally,
    poll: Poll,
    crawl: Crawl,
    urls_todo: VecDeque<Job>,
    clients: Slab<Client>,
    timers: Timers<usize>,
    connecting: usize,
    now: Instant,
}

pub(super) fn crawl(work: Work, tally: Tally) -> io::Result<()> {
    let mut crawl = Crawl::new(work.options.clone());
    let urls_todo = crawl.roots(&mut (Box::new(|_| ()) as crawl_core::Sink)).into();
    let (clients, timers, connecting) = (Slab::new(), Timers::new(), 0);
    let (poll, now) = (Poll::new()?, Instant::now());
    Loop { work, tally, poll, crawl, urls_todo, clients, timers, connecting, now }.run()
}

impl Loop {
    fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut scratch = vec![0; SCRATCH];
        self.connect()?;
        while !self.clients.is_empty() {
            let next = self.timers.next_due();
            let timeout = next.map(|at| at.saturating_duration_since(Instant::now()));
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            self.now = Instant::now();
            for event in &events {
                self.advance(event.token(), &mut scratch)?;
            }
            if self.timers.pop_due(self.now).is_some() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.connect()?;
        }
        Ok(())
    }

    /// Begins as many connections as there may be.
    fn connect(&mut self) -> io::Result<()> {
        while self.connecting < CONNECTING
            && self.clients.len() < self.work.max_tasks
            && let Some(visit) = self.next_visit()
        {
            let mut stream = TcpStream::connect(self.work.address)?;
            let entry = self.clients.vacant_entry();
            let both = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(&mut stream, Token(entry.key()), both)?;
            let patience = Patience::new(&self.work.options, self.now);
            let timer = self.timers.set(patience.deadline(), entry.key());
            entry.insert(Client { stream, visit, patience, timer, has_asked: false });
            self.connecting += 1;
        }
        Ok(())
    }

    fn next_visit(&mut self) -> Option<Visit> {
        self.crawl.begin(self.urls_todo.pop_front()?, self.now)
    }

    fn advance(&mut self, Token(key): Token, scratch: &mut [u8]) -> io::Result<()> {
        // Gone, in this batch.
        let Some(client) = self.clients.get_mut(key) else { return Ok(()) };
        if !client.has_asked {
            if !is_connected(&client.stream)? {
                return Ok(());
            }
            self.connecting -= 1;
            client.ask(&self.work)?;
        }
        loop {
            let client = &mut self.clients[key];
            let count = match client.stream.read(scratch) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            client.patience.heard(self.now);
            match client.visit.receive(&scratch[..count]) {
                Ok(Received::More) => {
                    let at = client.patience.deadline();
                    client.timer = self.timers.move_to(client.timer, at).unwrap_or(client.timer);
                }
                Ok(Received::Complete { reusable }) => {
                    if self.complete(key, reusable)? {
                        return Ok(());
                    }
                }
                Err(error) => return Err(invalid(&error.message)),
            }
            if count < scratch.len() {
                return Ok(());
            }
        }
    }

    /// A page is there; returns whether the connection is gone.
    fn complete(&mut self, key: usize, reusable: bool) -> io::Result<bool> {
        let Client { stream, mut visit, timer, .. } = self.clients.remove(key);
        self.timers.cancel(timer);
        let _ = visit.judge(Ok(()));
        let conclusion = self.crawl.conclude(visit, self.now);
        if matches!(conclusion.row.outcome, Outcome::Page | Outcome::Other) {
            self.tally.found(&conclusion.row.url);
        }
        self.urls_todo.extend(conclusion.jobs);
        let next = if reusable { self.next_visit() } else { None };
        let Some(visit) = next else { return Ok(true) };
        let patience = Patience::new(&self.work.options, self.now);
        // The place that was left just now.
        let entry = self.clients.vacant_entry();
        let timer = self.timers.set(patience.deadline(), entry.key());
        let client = entry.insert(Client { stream, visit, patience, timer, has_asked: false });
        client.ask(&self.work)?;
        Ok(false)
    }
}

/// Whether a connection that is being made is there; it may also have failed.
pub(super) fn is_connected(stream: &TcpStream) -> io::Result<bool> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
        peer => peer.map(|_| true),
    }
}

impl Client {
    /// It is small, and the one before was answered, so there is room for it.
    fn ask(&mut self, work: &Work) -> io::Result<()> {
        self.has_asked = true;
        self.patience.heard(Instant::now());
        self.stream.write_all(&self.visit.request(&work.options, true))
    }
}
