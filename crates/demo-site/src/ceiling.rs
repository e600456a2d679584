//! The upper bound of the site's throughput: a load generator that does as
//! little as possible per request. It tells whether a crawler or the site is the
//! bottleneck of a measurement.

use std::io::{self, Read, Write};
use std::net::{self, SocketAddr};
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::request::{head_end, read_some};

/// The timeout: the longest time without an event on any connection.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of connections being established at once.
const MAX_CONNECTING: usize = 1000;
const SCRATCH: usize = 64 * 1024;

/// The result of a load: how fast a server answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// The number of answered requests.
    pub requests: u64,
    /// The number of connections.
    pub connections: usize,
    /// The size of every response in bytes, head and body.
    pub response_size: usize,
    /// The time from the first request to the last response. The connections
    /// were established before.
    pub elapsed: Duration,
    /// `requests` divided by `elapsed`.
    pub requests_per_second: f64,
}

/// Requests `path` until `requests` responses have arrived, over this many
/// keep-alive connections, each with one request in flight at a time.
///
/// The loop runs on the calling thread and counts only bytes, so every response
/// must be as long as the first.
///
/// # Errors
///
/// `InvalidInput` for no connections; `InvalidData` when the first response
/// is not a 200 with a `Content-Length`, or a later one is longer;
/// `UnexpectedEof` when the server closes a connection; `TimedOut` after 30
/// seconds without an event; and the errors of the sockets.
pub fn measure(
    address: SocketAddr,
    path: &str,
    connections: usize,
    requests: u64,
) -> io::Result<Ceiling> {
    if connections == 0 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a load needs at least one connection",
        ));
    }
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let response_size = response_size(address, request.as_bytes())?;
    let mut load = Load {
        poll: Poll::new()?,
        request: request.as_bytes(),
        response_size,
        clients: Vec::with_capacity(connections),
        unsent: requests,
        unanswered: requests,
    };
    load.connect(address, connections)?;
    let start = Instant::now();
    load.run()?;
    let elapsed = start.elapsed();
    Ok(Ceiling {
        requests,
        connections,
        response_size,
        elapsed,
        requests_per_second: requests as f64 / elapsed.as_secs_f64(),
    })
}

/// A running load.
struct Load<'a> {
    poll: Poll,
    request: &'a [u8],
    response_size: usize,
    clients: Vec<Client>,
    /// The number of requests still to send.
    unsent: u64,
    /// The number of responses still to receive.
    unanswered: u64,
}

/// One connection of the load.
struct Client {
    stream: TcpStream,
    /// The number of bytes still to receive of its response.
    remaining: usize,
}

impl Load<'_> {
    /// Establishes all connections in batches, so that they do not overflow the
    /// server's backlog.
    fn connect(&mut self, address: SocketAddr, connections: usize) -> io::Result<()> {
        let mut events = Events::with_capacity(MAX_CONNECTING);
        while self.clients.len() < connections {
            let first = self.clients.len();
            for index in first..connections.min(first + MAX_CONNECTING) {
                let mut stream = TcpStream::connect(address)?;
                self.poll.registry().register(
                    &mut stream,
                    Token(index),
                    Interest::READABLE | Interest::WRITABLE,
                )?;
                self.clients.push(Client { stream, remaining: 0 });
            }
            let mut connected = vec![false; self.clients.len() - first];
            while connected.contains(&false) {
                wait(&mut self.poll, &mut events)?;
                for event in &events {
                    let Token(index) = event.token();
                    let client = &self.clients[index];
                    if let Some(error) = client.stream.take_error()? {
                        return Err(error);
                    }
                    if index >= first && client.stream.peer_addr().is_ok() {
                        connected[index - first] = true;
                    }
                }
            }
        }
        Ok(())
    }

    fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut scratch = vec![0; SCRATCH];
        for index in 0..self.clients.len() {
            self.send_request(index)?;
        }
        while self.unanswered > 0 {
            wait(&mut self.poll, &mut events)?;
            for event in &events {
                self.receive(event.token().0, &mut scratch)?;
            }
        }
        Ok(())
    }

    /// Sends a request, if one remains. It is small, and the one before was
    /// answered, so the socket's buffer has room for it.
    fn send_request(&mut self, index: usize) -> io::Result<()> {
        if self.unsent > 0 {
            self.unsent -= 1;
            let client = &mut self.clients[index];
            client.stream.write_all(self.request)?;
            client.remaining = self.response_size;
        }
        Ok(())
    }

    /// Reads what has arrived, and sends the next request after a complete
    /// response.
    fn receive(&mut self, index: usize, scratch: &mut [u8]) -> io::Result<()> {
        loop {
            let client = &mut self.clients[index];
            let count = match client.stream.read(scratch) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) if count > client.remaining => {
                    return Err(invalid("the responses differ in length"));
                }
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            client.remaining -= count;
            if client.remaining == 0 {
                self.unanswered -= 1;
                self.send_request(index)?;
            }
            if count < scratch.len() {
                return Ok(());
            }
        }
    }
}

/// Waits for events until the timeout.
fn wait(poll: &mut Poll, events: &mut Events) -> io::Result<()> {
    match poll.poll(events, Some(TIMEOUT)) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        Err(error) => Err(error),
        Ok(()) if events.is_empty() => Err(io::ErrorKind::TimedOut.into()),
        Ok(()) => Ok(()),
    }
}

/// Sends `request` once and returns the size of the response.
fn response_size(address: SocketAddr, request: &[u8]) -> io::Result<usize> {
    let mut stream = net::TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.write_all(request)?;
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    let end = loop {
        let count = read_some(&mut stream, &mut piece)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&piece[..count]);
        if let Some(end) = head_end(&head, 0) {
            break end;
        }
        if head.len() > crate::request::HEAD_LIMIT {
            return Err(invalid("the head of the response is too long"));
        }
    };
    let head = str::from_utf8(&head[..end]).map_err(|_| invalid("the response is not HTTP"))?;
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(invalid("the response is not a 200"));
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim().parse::<usize>().ok()?;
        name.eq_ignore_ascii_case("content-length").then_some(value)
    });
    length
        .and_then(|length| end.checked_add(length))
        .ok_or_else(|| invalid("the response has no Content-Length"))
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
