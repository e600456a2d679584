//! A loop around mio that knows all the URLs and decides nothing: the floor
//! below everything that can be built on it.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use slab::Slab;

use super::Work;
use super::bare_mio::{CONNECTING, SCRATCH, is_connected};
use super::response::{Response, invalid};
use crate::tally::Tally;

struct Client {
    stream: TcpStream,
    page: u32,
    /// The response, once it was asked for.
    response: Option<Response>,
}

struct Loop {
    work: Work,
    tally: Tally,
    poll: Poll,
    clients: Slab<Client>,
    connecting: usize,
    /// Pages that nobody has asked for.
    todo: Range<u32>,
    /// A request, and then the URL that was asked for.
    text: String,
}

pub(super) fn crawl(work: Work, tally: Tally) -> io::Result<()> {
    let todo = 0..work.pages;
    let poll = Poll::new()?;
    let (clients, text) = (Slab::new(), String::new());
    Loop { work, tally, poll, clients, connecting: 0, todo, text }.run()
}

impl Loop {
    fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut scratch = vec![0; SCRATCH];
        self.connect()?;
        while !self.clients.is_empty() {
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            for event in &events {
                self.advance(event.token(), &mut scratch)?;
            }
            self.connect()?;
        }
        Ok(())
    }

    /// Begins as many connections as there may be.
    fn connect(&mut self) -> io::Result<()> {
        while self.connecting < CONNECTING
            && self.clients.len() < self.work.max_tasks
            && let Some(page) = self.todo.next()
        {
            let mut stream = TcpStream::connect(self.work.address)?;
            let entry = self.clients.vacant_entry();
            let both = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(&mut stream, Token(entry.key()), both)?;
            entry.insert(Client { stream, page, response: None });
            self.connecting += 1;
        }
        Ok(())
    }

    fn advance(&mut self, Token(key): Token, scratch: &mut [u8]) -> io::Result<()> {
        // Gone, in this batch.
        let Some(client) = self.clients.get_mut(key) else { return Ok(()) };
        if client.response.is_none() {
            if !is_connected(&client.stream)? {
                return Ok(());
            }
            self.connecting -= 1;
            client.ask(&self.work, &mut self.text)?;
        }
        loop {
            let count = match client.stream.read(scratch) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let response = client.response.as_mut().ok_or_else(|| invalid("nobody has asked"))?;
            if response.feed(&scratch[..count], None)? {
                let keep_alive = response.keep_alive();
                self.text.clear();
                self.text += &self.work.root;
                push_path(&mut self.text, client.page);
                self.tally.found(&self.text);
                let next = if keep_alive { self.todo.next() } else { None };
                let Some(page) = next else {
                    self.clients.remove(key);
                    return Ok(());
                };
                client.page = page;
                client.ask(&self.work, &mut self.text)?;
            }
            if count < scratch.len() {
                return Ok(());
            }
        }
    }
}

impl Client {
    /// It is small, and the one before was answered, so there is room for it.
    fn ask(&mut self, work: &Work, text: &mut String) -> io::Result<()> {
        text.clear();
        text.push_str("GET /");
        push_path(text, self.page);
        // Writing to a string cannot fail.
        let _ = write!(text, " HTTP/1.1\r\nHost: {}\r\n\r\n", work.address);
        self.response = Some(Response::default());
        self.stream.write_all(text.as_bytes())
    }
}

/// The path of a page, without its slash.
fn push_path(text: &mut String, page: u32) {
    if page > 0 {
        let _ = write!(text, "page/{page}");
    }
}
