//! The subject `mio-floor`: an event loop around mio that knows all URLs and
//! decides nothing. Its cost is the lower bound for anything built on mio.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use slab::Slab;

use super::Work;
use super::bare_mio::{MAX_CONNECTING, SCRATCH, is_connected};
use super::response::{Response, invalid};
use crate::row_check::RowCheck;

struct Client {
    stream: TcpStream,
    page: u32,
    /// The response, once the request is sent.
    response: Option<Response>,
}

struct Loop {
    work: Work,
    row_check: RowCheck,
    poll: Poll,
    clients: Slab<Client>,
    connecting: usize,
    /// The pages still to request.
    todo: Range<u32>,
    /// A buffer for a request, and later for its URL.
    text: String,
}

pub(super) fn crawl(work: Work, row_check: RowCheck) -> io::Result<()> {
    let todo = 0..work.pages;
    let poll = Poll::new()?;
    let (clients, text) = (Slab::new(), String::new());
    Loop { work, row_check, poll, clients, connecting: 0, todo, text }.run()
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

    /// Starts as many connections as the limits allow.
    fn connect(&mut self) -> io::Result<()> {
        while self.connecting < MAX_CONNECTING
            && self.clients.len() < self.work.max_tasks
            && let Some(page) = self.todo.next()
        {
            let mut stream = TcpStream::connect(self.work.address)?;
            let entry = self.clients.vacant_entry();
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(&mut stream, Token(entry.key()), interest)?;
            entry.insert(Client { stream, page, response: None });
            self.connecting += 1;
        }
        Ok(())
    }

    fn advance(&mut self, Token(key): Token, scratch: &mut [u8]) -> io::Result<()> {
        // An earlier event of this batch has closed the connection.
        let Some(client) = self.clients.get_mut(key) else { return Ok(()) };
        if client.response.is_none() {
            if !is_connected(&client.stream)? {
                return Ok(());
            }
            self.connecting -= 1;
            client.send_request(&self.work, &mut self.text)?;
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
                self.row_check.record(&self.text);
                let next = if keep_alive { self.todo.next() } else { None };
                let Some(page) = next else {
                    self.clients.remove(key);
                    return Ok(());
                };
                client.page = page;
                client.send_request(&self.work, &mut self.text)?;
            }
            if count < scratch.len() {
                return Ok(());
            }
        }
    }
}

impl Client {
    /// Sends the request. It is small, and the one before was answered, so the
    /// socket's buffer has room for it.
    fn send_request(&mut self, work: &Work, text: &mut String) -> io::Result<()> {
        text.clear();
        text.push_str("GET /");
        push_path(text, self.page);
        // Writing to a string cannot fail.
        let _ = write!(text, " HTTP/1.1\r\nHost: {}\r\n\r\n", work.address);
        self.response = Some(Response::default());
        self.stream.write_all(text.as_bytes())
    }
}

/// Appends the path of a page, without the leading slash.
fn push_path(text: &mut String, page: u32) {
    if page > 0 {
        let _ = write!(text, "page/{page}");
    }
}
