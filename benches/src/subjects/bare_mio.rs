//! The subject `bare-mio`: an event loop around mio, written for this crawl
//! only. It uses our admission, our HTTP parser and our deadlines, but has no
//! callbacks, no tasks and no run queue between a socket and its state machine.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::time::Instant;

use crawl_core::{Crawl, Deadline, Job, Outcome, Phase, Visit};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use selector_core::{TimerKey, Timers};
use slab::Slab;

use super::Work;
use super::response::invalid;
use crate::row_check::RowCheck;

/// The maximum number of connections being established at once: the accept queue
/// of a server is limited.
pub(super) const MAX_CONNECTING: usize = 1000;
pub(super) const SCRATCH: usize = 64 * 1024;

struct Client {
    stream: TcpStream,
    visit: Visit,
    deadline: Deadline,
    timer: TimerKey,
    is_request_sent: bool,
}

struct Loop {
    work: Work,
    row_check: RowCheck,
    poll: Poll,
    crawl: Crawl,
    urls_todo: VecDeque<Job>,
    clients: Slab<Client>,
    timers: Timers<usize>,
    connecting: usize,
    now: Instant,
}

pub(super) fn crawl(work: Work, row_check: RowCheck) -> io::Result<()> {
    let mut crawl = Crawl::new(work.options.clone());
    let urls_todo = crawl.roots(&mut (Box::new(|_| ()) as crawl_core::Sink)).into();
    let (clients, timers, connecting) = (Slab::new(), Timers::new(), 0);
    let (poll, now) = (Poll::new()?, Instant::now());
    Loop { work, row_check, poll, crawl, urls_todo, clients, timers, connecting, now }.run()
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

    /// Starts as many connections as the limits allow.
    fn connect(&mut self) -> io::Result<()> {
        while self.connecting < MAX_CONNECTING
            && self.clients.len() < self.work.max_tasks
            && let Some(visit) = self.next_visit()
        {
            let mut stream = TcpStream::connect(self.work.address)?;
            let entry = self.clients.vacant_entry();
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(&mut stream, Token(entry.key()), interest)?;
            let deadline = Deadline::new(&self.work.options, self.now);
            let timer = self.timers.set(deadline.at(), entry.key());
            entry.insert(Client { stream, visit, deadline, timer, is_request_sent: false });
            self.connecting += 1;
        }
        Ok(())
    }

    fn next_visit(&mut self) -> Option<Visit> {
        self.crawl.begin(self.urls_todo.pop_front()?, self.now)
    }

    fn advance(&mut self, Token(key): Token, scratch: &mut [u8]) -> io::Result<()> {
        // An earlier event of this batch has closed the connection.
        let Some(client) = self.clients.get_mut(key) else { return Ok(()) };
        if !client.is_request_sent {
            if !is_connected(&client.stream)? {
                return Ok(());
            }
            self.connecting -= 1;
            client.send_request(&self.work)?;
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
            client.deadline.enter(Phase::Exchange, self.now);
            match client.visit.receive(&scratch[..count]) {
                ControlFlow::Continue(()) => {
                    let at = client.deadline.at();
                    client.timer = self.timers.move_to(client.timer, at).unwrap_or(client.timer);
                }
                ControlFlow::Break(received) => {
                    let received = received.map_err(|error| invalid(&error.message))?;
                    if self.complete(key, received.reusable)? {
                        return Ok(());
                    }
                }
            }
            if count < scratch.len() {
                return Ok(());
            }
        }
    }

    /// Completes a page and starts the next fetch on the same connection; returns
    /// true if the connection was closed instead.
    fn complete(&mut self, key: usize, reusable: bool) -> io::Result<bool> {
        let Client { stream, mut visit, timer, .. } = self.clients.remove(key);
        self.timers.cancel(timer);
        let _ = visit.judge(Ok(()));
        let completion = self.crawl.complete(&mut visit, self.now);
        if matches!(completion.row.outcome, Outcome::Page | Outcome::Other) {
            self.row_check.record(&completion.row.url);
        }
        self.urls_todo.extend(completion.jobs);
        let next = if reusable { self.next_visit() } else { None };
        let Some(visit) = next else { return Ok(true) };
        let deadline = Deadline::new(&self.work.options, self.now);
        // The slot that has just become vacant.
        let entry = self.clients.vacant_entry();
        let timer = self.timers.set(deadline.at(), entry.key());
        let client =
            entry.insert(Client { stream, visit, deadline, timer, is_request_sent: false });
        client.send_request(&self.work)?;
        Ok(false)
    }
}

/// Returns true if a connection is established, false while it is being
/// established.
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
    /// Sends the request. It is small, and the one before was answered, so the
    /// socket's buffer has room for it.
    fn send_request(&mut self, work: &Work) -> io::Result<()> {
        self.is_request_sent = true;
        self.deadline.enter(Phase::Exchange, Instant::now());
        self.stream.write_all(&self.visit.request(&work.options, true))
    }
}
